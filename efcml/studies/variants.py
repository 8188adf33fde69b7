"""What is compared: models by name, and how each one gets its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.evaluation.pipelines import last_step
from efcml.studies.provenance import ADDRESS
from efcml.studies.runs import ASKING, describe_active
from efcml.support.checks import check_whole

if TYPE_CHECKING:
    from efcml.support.aliases import Facts

LEARNS = ("begin_stream", "partial_fit", "learn_one")
ANSWERS = (*LEARNS, "predict", "predict_one")


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
        kind, last, start = type(self.model).__name__, last_step(self.model), self.start
        if isinstance(self.model, type):
            raise TypeError(f"{name!r} is the class {self.model.__name__}: give a model of it.")
        if not any(hasattr(last, method) for method in (LEARNS if self.learn else ANSWERS)):
            raise TypeError(
                f"{name!r} is no model that learns from a stream but of type {kind}: give one with"
                " partial_fit or learn_one."
            )
        check_whole(f"delay of {name!r}", self.delay, least=0)
        whole = isinstance(start, Integral) and not isinstance(start, bool) and start >= 1
        if start is not None and not whole and not is_share(start):
            raise ValueError(
                f"start of {name!r} must be a number of rows, or a share between 0 and 1; got"
                f" {start!r}."
            )
        if self.active is None:
            return
        if not all(hasattr(self.active, option) for option in ASKING):
            asks = type(self.active).__name__
            raise TypeError(f"active of {name!r} must be an ActiveLearner; got {asks}.")
        if self.delay or not self.learn:
            raise ValueError(f"{name!r} asks for labels: leave delay and learn as they are.")
        if not hasattr(last, "begin_stream"):
            raise TypeError(f"{name!r} asks for labels: that needs an EFCMLClassifier, not {kind}.")

    def settings(self) -> Facts:
        """Return everything that is set as JSON can hold it; of what it cannot hold, the text."""
        given = self.model.get_params() if hasattr(self.model, "get_params") else {}
        found = {"class": type(self.model).__name__} | given | vars(self)
        if self.active is not None:
            found["active"] = describe_active(self.active)
        return {name: readable(found[name]) for name in found if name != "model"}


def readable(value: Any) -> Any:
    """Return a value as JSON can hold it; of what it cannot hold, the text."""
    if isinstance(value, dict):
        return {str(name): readable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [readable(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    plain = value is None or isinstance(value, str | int | bool)
    plain = plain or (isinstance(value, float) and isfinite(value))
    return value if plain else ADDRESS.sub("", repr(value))


def is_share(value: Any) -> bool:
    """Tell whether a value is a share of a whole, neither nothing nor all of it."""
    return isinstance(value, Real) and 0.0 < float(value) < 1.0


def read_variants(models: Any, axes: Mapping[str, Any]) -> dict[str, Variant]:
    """Return all lines of a study by name: every model, with every value of every axis.

    ``axes`` are some of the options of `Variant` besides the model, each a value or a list.
    """
    axes = {key: values if isinstance(values, list) else [values] for key, values in axes.items()}
    for key, values in axes.items():
        if not values:
            raise ValueError(f"{key} is an empty list: give at least one value.")
    found: list[tuple[str, Variant]] = []
    for name, model in name_models(models):
        variant = model if isinstance(model, Variant) else Variant(model)
        for values in product(*axes.values()):
            given = dict(zip(axes, values, strict=True))
            words = [in_words(key, given[key]) for key in axes if len(axes[key]) > 1]
            found.append((", ".join([name, *words]), replace(variant, **given)))
    refuse_twice([name for name, _ in found], "variants", "give each one a name of its own")
    for name, variant in found:
        variant.check(name)
    return dict(found)


def name_models(models: Any) -> list[tuple[str, Any]]:
    """Return names and models, as they were given."""
    several = isinstance(models, Iterable) and not isinstance(models, str)
    pairs = list(models.items() if isinstance(models, Mapping) else models if several else [models])
    if not pairs:
        raise ValueError("there are no models: give at least one, with its name.")
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise TypeError('give models with their names, as in {"default": EFCMLClassifier()}.')
    for name, _ in pairs:
        if not isinstance(name, str) or not name.strip():
            raise TypeError(f"names of models must be words; got {name!r}.")
    return [(" ".join(name.split()), model) for name, model in pairs]


def refuse_twice(names: list[str], what: str, help: str) -> None:
    """Refuse names that stand for two things."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"two {what} are named {twice[0]!r}: {help}.")


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


def vary(model: Any, axes: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """Return copies of a model with every combination of values, by names that say them."""
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
    found = []
    for values in product(*axes.values()):
        given = dict(zip(axes, values, strict=True))
        name = ", ".join(f"{key}={short(value)}" for key, value in given.items())
        found.append((name or type(model).__name__, deepcopy(model).set_params(**given)))
    refuse_twice([name for name, _ in found], "variants", "give every value once")
    if not found:
        raise ValueError("one of the lists is empty: give at least one value of each parameter.")
    return dict(found)


def short(value: Any) -> str:
    """Return a value for a name, short unless that would hide what it is.

    Examples
    --------
    >>> short(10.0), short(0.1000001), short("none")
    ('10', '0.1000001', 'none')
    """
    if callable(value):
        return str(getattr(value, "__name__", value))
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
