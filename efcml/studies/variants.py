"""What is compared, and on what: models with how each gets its labels, data sets with orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import datasets
from efcml.datasets import CATALOG, Dataset
from efcml.evaluation.pipelines import last_step
from efcml.evaluation.stream_pass import check_options
from efcml.studies.runs import Table, describe_active
from efcml.support.checks import check_whole
from efcml.support.masks import is_sparse

if TYPE_CHECKING:
    from efcml.support.aliases import Facts, Ints

MOST_ORDERS = 1000  # so that no two seeds of a study share a shuffle
BLOCK = 50  # rows that are drawn together where neighbours belong together
IN_TIME = ("mediamill",)  # published sets whose neighbouring rows belong together


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
    start : int or float, optional
        Rows of the initial part, or their share of all rows if it is below 1. The data set's own
        initial part if not given. What follows is the stream.
    learn : bool
        False fits the initial part and learns nothing more.

    Examples
    --------
    >>> from efcml import EFCMLClassifier
    >>> Variant(EFCMLClassifier(), start=0.1, delay=20).delay
    20
    """

    model: Any
    active: Any = None
    delay: int = 0
    start: int | float | None = None
    learn: bool = True

    def check(self, name: str) -> None:
        """Refuse what cannot be run, before anything is."""
        try:
            check_options(last_step(self.model), self.active, self.learn, self.delay)
            start = self.start
            if start is not None and not is_share(start):
                check_whole("start, if it is no share between 0 and 1,", start, least=1)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name!r}: {error}") from None

    def settings(self) -> Facts:
        """Return everything that is set, by name."""
        given = self.model.get_params() if hasattr(self.model, "get_params") else {}
        asks = None if self.active is None else describe_active(self.active)
        own = {"active": asks, "delay": self.delay, "start": self.start, "learn": self.learn}
        return {"class": type(self.model).__name__} | given | own


def is_share(value: Any) -> bool:
    """Tell whether a value is a share of a whole, neither nothing nor all of it."""
    return isinstance(value, Real) and 0.0 < float(value) < 1.0


def read_variants(models: Any, axes: Mapping[str, Any]) -> dict[str, Variant]:
    """Return all lines of a study by name: every model, with every value of every axis.

    ``axes`` are some of the options of `Variant` besides the model, each a value or a list.
    """
    several = isinstance(models, Iterable) and not isinstance(models, str)
    pairs = list(models.items() if isinstance(models, Mapping) else models if several else [models])
    if not pairs:
        raise ValueError("there are no models: give at least one, with its name.")
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise TypeError('give models with their names, as in {"default": EFCMLClassifier()}.')
    axes = {key: values if isinstance(values, list) else [values] for key, values in axes.items()}
    for key in axes:
        if not axes[key]:
            raise ValueError(f"{key} is an empty list: give at least one value.")
    lines: list[tuple[str, Variant]] = []
    for name, model in pairs:
        if not isinstance(name, str) or not name.strip():
            raise TypeError(f"names of models must be words; got {name!r}.")
        variant = model if isinstance(model, Variant) else Variant(model)
        for values in product(*axes.values()):
            given = dict(zip(axes, values, strict=True))
            words = [in_words(key, given[key]) for key in axes if len(axes[key]) > 1]
            lines.append((", ".join([" ".join(name.split()), *words]), replace(variant, **given)))
    variants = by_name(lines, "variants", "give each one a name of its own")
    for name, variant in variants.items():
        variant.check(name)
    return variants


def by_name(pairs: list[tuple[str, Any]], what: str, help: str) -> dict[str, Any]:
    """Return a dict of pairs; refuse names that stand for two things."""
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"two {what} are named {name!r}: {help}.")
    return dict(pairs)


def in_words(axis: str, value: Any) -> str:
    """Return a value of an axis in words.

    Examples
    --------
    >>> in_words("delay", 20), in_words("start", 0.1), in_words("learn", False)
    ('20 rows late', 'start of 10 %', 'static')
    """
    if axis == "delay":
        return f"{value} rows late" if value else "in time"
    if axis == "learn":
        return "learning" if value else "static"
    if axis == "start":
        share = f"{100 * value:g} %" if is_share(value) else f"{value} rows"
        return "usual start" if value is None else f"start of {share}"
    if value is None or not hasattr(value, "budget"):
        return "all labels" if value is None else repr(value)
    from efcml.active.criteria import USUAL

    criteria = "" if tuple(value.criteria) == tuple(USUAL) else f" by {'+'.join(value.criteria)}"
    return f"{100 * value.budget:g} % of {value.unit}{criteria}"


def vary(model: Any, /, **axes: Iterable[Any]) -> dict[str, Any]:
    """Return copies of a model with every combination of values, by names that say them.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, Study
    >>> list(Study.vary(EFCMLClassifier(), correlation=["shift", "none"], beta=[0, 1.0]))[:2]
    ['correlation=shift, beta=0', 'correlation=shift, beta=1']
    """
    if not hasattr(model, "set_params") or isinstance(model, type):
        raise TypeError(f"Study.vary needs a model with set_params; got {model!r}.")
    known = list(model.get_params())
    for name, values in axes.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}."
            raise ValueError(f"{type(model).__name__} has no parameter {name!r}: {hint}")
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
    return repr(value) if isinstance(value, float) and float(brief) != value else brief


# -- data -----------------------------------------------------------------------------------


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

    @property
    def block(self) -> int:
        """Length of the blocks of samples that intervals are drawn from."""
        return BLOCK if self.redrawn or self.dataset.marks or self.name in IN_TIME else 1

    def table(self, order: int, seed: int) -> Table:
        """Return features and labels for one order, in the order of the file.

        They are always the same, unless the stream is made anew.
        """
        number = MOST_ORDERS * seed + order if self.redrawn else 0
        if number not in self._draws:
            ds = datasets.load(self.name, seed=number) if number else self.dataset
            self._draws[number] = Table(ds.X if self.frame is None else self.frame, ds.Y)
        return self._draws[number]

    def n_initial(self, start: float | None) -> int:
        """Return how many rows are fitted; one sentence if nothing is left to fit or to stream."""
        n, count = len(self.dataset), self.dataset.n_initial
        if start is not None:
            count = int(start * n) if is_share(start) else int(start)
        if not 0 < count < n:
            raise ValueError(
                f"{self.name} has {n} rows, of which {count} are the initial part: leave some for"
                " both, the initial part and the stream."
            )
        return count

    def order(self, order: int, seed: int, n_initial: int) -> Ints:
        """Return the rows of the stream in the order in which they arrive."""
        rows = np.arange(n_initial, len(self.dataset))
        if order == 0 or self.redrawn:
            return rows
        return np.random.default_rng(MOST_ORDERS * seed + order).permutation(rows)

    @property
    def fingerprint(self) -> str:
        """A short text that stands for rows and labels in the order of the file."""
        return self.table(0, 0).key[:12]


def read_data(data: Any) -> dict[str, StudyData]:
    """Return data sets by name: of a name, a Dataset, (X, Y), or several in a list or mapping."""
    if isinstance(data, Mapping):
        sets = [read_one(one, name) for name, one in data.items()]
    elif isinstance(data, list) or (isinstance(data, tuple) and not is_pair(data)):
        sets = [read_one(one) for one in data]
    else:
        sets = [read_one(data)]
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
    if hasattr(one, "shape"):
        raise TypeError(
            "a table alone does not say which columns are labels: give (X, Y), or"
            " datasets.from_frame(table, labels)."
        )
    if not is_pair(one):
        raise TypeError(f"{one!r:.60} is no data set: give names, datasets, or pairs (X, Y).")
    X, Y = one  # data frames and sparse rows stay what they are
    X, name = X.tocsr() if is_sparse(X) else X, str(name or "data")
    frame = X if hasattr(X, "iloc") or is_sparse(X) else None
    if is_sparse(X) or (
        hasattr(X, "iloc") and X.select_dtypes(exclude=["number", "bool"]).shape[1]
    ):
        X = np.arange(X.shape[0], dtype=float)[:, None]  # numbers of rows: nobody learns them
    return StudyData(name, datasets.from_arrays(X, Y, name=name), frame=frame)


def is_pair(one: Any) -> bool:
    """Tell whether something is a pair of features and labels: tables, or lists of rows."""
    pair = isinstance(one, tuple) and len(one) == 2
    return pair and all(hasattr(part, "shape") or isinstance(part, list) for part in one)
