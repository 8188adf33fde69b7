"""What is compared, and on what: models with how each gets its labels, data sets with orders."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from efcml import datasets
from efcml.datasets import CATALOG, Dataset
from efcml.evaluation.adapters import last_step
from efcml.evaluation.stream_pass import check_options
from efcml.studies.runs import Table, describe_active
from efcml.support.aliases import Facts, Ints
from efcml.support.masks import is_sparse

NUMBER = r"(?<==)-?\d+(\.\d*)?(e[-+]?\d+)?"  # in names of variants
NAMED = 'name them, as in {"default": EFCMLClassifier()}'
MOST_ORDERS = 1000  # so that no two seeds of a study share a shuffle


@dataclass(frozen=True)
class Variant:
    """One line of a study: a model, and how it gets its labels.

    Parameters
    ----------
    model : object
        New, not fitted. Whatever `prequential` takes; the steps of a pipeline are fitted on the
        initial part.
    active : ActiveLearner, optional
        Decides which labels are asked; every run gets a new one with the same options. Without
        ``random_state`` its seed is that of the order.
    delay : int
        Labels arrive this many rows late.
    learn : bool
        False fits the initial part and learns nothing more.
    """

    model: Any
    active: Any = None
    delay: int = 0
    learn: bool = True

    def settings(self) -> Facts:
        """Return everything that is set, by name."""
        given = self.model.get_params() if hasattr(self.model, "get_params") else {}
        asks = None if self.active is None else describe_active(self.active)
        own = {"active": asks, "delay": self.delay, "learn": self.learn}
        return {"class": type(self.model).__name__} | given | own


def read_variants(models: Any) -> dict[str, Variant]:
    """Return all lines of a study by name; without names classes are, or what was set in them."""
    if not isinstance(models, Mapping):
        given = list(models) if isinstance(models, list | tuple) else [models]
        kinds = [type(getattr(one, "model", one)).__name__ for one in given]
        several = [
            k if kinds.count(k) == 1 else short(one) for k, one in zip(kinds, given, strict=True)
        ]
        models = by_name(list(zip(several, given, strict=True)), "models", NAMED)
    if not all(isinstance(name, str) for name in models):
        raise TypeError(f"names of models are text: {NAMED}.")
    if not models:
        raise ValueError("there are no models: give at least one.")
    variants = {
        name: one if isinstance(one, Variant) else Variant(one) for name, one in models.items()
    }
    for name, one in variants.items():  # what cannot be run is refused before anything is
        try:
            check_options(last_step(one.model), one.active, one.learn, one.delay)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name!r}: {error}") from None
    return variants


def vary(model: Any, /, **axes: Iterable[Any]) -> dict[str, Any]:
    """Return copies of a model with every combination of values, by names that say them.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, Study
    >>> list(Study.vary(EFCMLClassifier(), correlation=["none", "shift"], alpha=[0, 0.1]))[:2]
    ['correlation=none, alpha=0', 'correlation=none, alpha=0.1']
    """
    if not hasattr(model, "set_params") or isinstance(model, type):
        raise TypeError(f"Study.vary needs a model with set_params; got {model!r}.")
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"{name} is {values!r}: give a list of values to compare.")
    lines = []
    for values in product(*axes.values()):
        given = dict(zip(axes, values, strict=True))
        name = ", ".join(f"{key}={short(value)}" for key, value in given.items())
        lines.append((name or type(model).__name__, deepcopy(model).set_params(**given)))
    if not lines:
        raise ValueError("one of the lists is empty: give at least one value of each parameter.")
    return by_name(lines, "variants", "give every value once")


def short(value: Any) -> str:
    """Return a value for a name: a function by its own, numbers without zeros at the end."""
    brief = f"{value:g}" if isinstance(value, float) else getattr(value, "__name__", str(value))
    return repr(value) if isinstance(value, float) and float(brief) != value else one_line(brief)


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())


def usual_name(name: str) -> str:
    """Return a name with numbers as `vary` writes them, and words without quotes."""
    plain = re.sub(r"=(['\"])(.*?)\1", r"=\2", name)
    return re.sub(NUMBER, lambda found: short(float(found[0])), plain)


def choose(name: Any, known: list[Any], what: str) -> Any:
    """Return a name that is known, the first if none is given."""
    if name is None or name in known:
        return known[0] if name is None else name
    alike = {usual_name(str(one)): one for one in known}
    if usual_name(str(name)) not in alike:
        raise ValueError(f"there is no {what} {name!r}: choose from {', '.join(map(repr, known))}.")
    return alike[usual_name(str(name))]


def refuse_words(given: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Refuse arguments that are not there, and say what is there instead."""
    for word in given:
        instead = f": give {names[word]}" if word in names else ""
        raise TypeError(f"there is no argument {word!r}{instead}.")


def by_name(pairs: list[tuple[str, Any]], what: str, help: str) -> dict[str, Any]:
    """Return a dict of pairs; refuse names that stand for two things."""
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"two {what} are named {name!r}: {help}.")
    return dict(pairs)


@dataclass(eq=False)
class StudyData:
    """A data set of a study.

    Order 0 is that of the file. Others shuffle the stream, never the initial part. A built-in
    stream that was given by name is made anew instead, with another seed: a shuffle would destroy
    its drift.
    """

    name: str
    dataset: Dataset
    redrawn: bool = False
    frame: Any = None  # features as they were given, of any kind; the first step of a pipeline
    _draws: dict[int, Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, count = len(self.dataset), self.dataset.n_initial
        if not 0 < count < n:
            raise ValueError(
                f"{self.name} has {n} rows, of which {count} are the initial part: leave some for"
                " both, the initial part and the stream."
            )

    def table(self, seed: int = 0) -> Table:
        """Return features and labels, always the same unless the stream is made anew."""
        number = seed if self.redrawn else 0
        if number not in self._draws:
            ds = datasets.load(self.name, seed=number) if number else self.dataset
            self._draws[number] = Table(ds.X if self.frame is None else self.frame, ds.Y)
        return self._draws[number]

    def arriving(self, seed: int) -> Ints:
        """Return the rows of the stream as they arrive; 0 stands for the order of the file."""
        rows = np.arange(self.dataset.n_initial, len(self.dataset))
        return np.random.default_rng(seed).permutation(rows) if seed and not self.redrawn else rows


def read_data(data: Any) -> dict[str, StudyData]:
    """Return data sets by name: of a name, a Dataset, (X, Y), or several in a list or mapping."""
    if isinstance(data, Mapping):
        sets = [read_one(one, name) for name, one in data.items()]
    else:
        several = isinstance(data, list) or (isinstance(data, tuple) and not is_pair(data))
        sets = [read_one(one) for one in (data if several else [data])]
    if not sets:
        raise ValueError("there is no data: give at least one data set.")
    help = 'name them, as in {"first": (X, Y), "second": (X2, Y2)}'
    return by_name([(one.name, one) for one in sets], "data sets", help)


def read_one(one: Any, name: str | None = None) -> StudyData:
    """Return one data set; ``name`` replaces its own."""
    if isinstance(one, str):
        ds = datasets.load(one)
        redrawn = name in (None, ds.name) and ds.name not in CATALOG
        return StudyData(name or ds.name, ds, redrawn)
    if isinstance(one, Dataset):
        return StudyData(str(name or one.name), one)
    if not is_pair(one):
        raise TypeError(f"{type(one)} is no data set: give names, datasets, or pairs (X, Y).")
    X, Y = one  # data frames and sparse rows stay what they are
    X, name = X.tocsr() if is_sparse(X) else X, str(name or "data")
    frame = X if hasattr(X, "iloc") or is_sparse(X) else None
    if frame is not None:
        X = np.arange(X.shape[0], dtype=float)[:, None]  # numbers of rows: nobody learns them
    return StudyData(name, datasets.from_arrays(X, Y, name=name), frame=frame)


def is_pair(one: Any) -> bool:
    """Tell whether something is a pair of features and labels: tables, or lists of rows."""
    pair = isinstance(one, tuple) and len(one) == 2
    return pair and all(hasattr(part, "shape") or isinstance(part, list) for part in one)
