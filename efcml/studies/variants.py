"""What is compared: models by name, and how each one gets its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any

from efcml.evaluation.pipelines import last_step
from efcml.evaluation.stream_pass import check_options
from efcml.studies.runs import describe_active
from efcml.support.checks import check_whole

if TYPE_CHECKING:
    from efcml.support.aliases import Facts


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
