"""Single rows and answers as people bring them, for estimators and bare learners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.estimators.targets import one_row
from efcml.model.learner import Learner
from efcml.support.masks import fill_mask

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats


def find_learner(model: Any) -> Learner:
    """Return the rule learner of a model, or refuse the model with a sentence."""
    learner = model
    if hasattr(model, "check_features"):
        learner = getattr(model, "learner_", None)
        if learner is None:
            raise ValueError(f"{type(model).__name__} is not fitted: fit an initial part first.")
    if not isinstance(learner, Learner):
        raise TypeError(
            f"active learning needs the rules of an EFCMLClassifier; got {type(model).__name__}."
        )
    if not learner.fitted:
        raise ValueError("the model still holds warm-up rows: fit an initial part first.")
    return learner


def read_row(model: Any, learner: Learner, x: Any) -> Floats:
    """Return one row of features as checked floats of shape (1, p); a copy, it may be kept."""
    if x is None:
        raise ValueError("x is missing: give the next row, or row=... for an open question.")
    table = one_row(x, "x")
    if model is not learner:
        return np.array(model.check_features(table), order="C")
    X = np.array(fill_mask(table), dtype=np.float64, order="C")
    if X.shape != (1, learner.n_features) or np.isinf(X).any():
        raise ValueError(
            f"x must be one row of {learner.n_features} finite features, NaN where one is missing."
        )
    return X


def read_answer(model: Any, learner: Learner, y: Any, labels: Bools, row: int) -> Floats:
    """Return an answer as checked floats of shape (1, K); ``labels`` are the ones asked."""
    if isinstance(y, Mapping):
        y = spread_out(y, label_names_of(model), learner.n_labels)
    table = one_row(y, "y")
    if model is not learner:
        Y = model.check_labels(table, 1)
    else:
        Y = np.array(fill_mask(table), dtype=np.float64, order="C")
        good = np.isnan(Y) | (Y == 0.0) | (Y == 1.0)
        if Y.shape != (1, learner.n_labels) or not good.all():
            raise ValueError(f"y must be {learner.n_labels} labels of 0, 1 or NaN (not asked).")
    asked = np.flatnonzero(labels)
    extra = np.setdiff1d(np.flatnonzero(~np.isnan(Y[0])), asked)
    if extra.size:
        raise ValueError(
            f"row {row} asks for the labels {asked.tolist()} only; y also gives {extra.tolist()}: "
            "put NaN there."
        )
    return Y


def label_names_of(model: Any) -> dict[int, str]:
    """Return the names of a model's labels by index; nothing where they are not known."""
    return dict(enumerate(getattr(model, "label_names_", ())))


def spread_out(answer: Mapping[Any, Any], names: Mapping[int, str], n_labels: int) -> list[float]:
    """Return an answer by name or index as one value per label, NaN where it says nothing.

    Examples
    --------
    >>> spread_out({"calm": 1, 0: 0}, {0: "happy", 1: "calm", 2: "sad"}, 3)
    [0, 1, nan]
    """
    places = {name: c for c, name in names.items()} | {c: c for c in range(n_labels)}
    values, seen = [float("nan")] * n_labels, set()
    for label, value in answer.items():
        if label not in places:
            known = f" or one of {list(names.values())}" if names else ""
            raise ValueError(f"there is no label {label!r}: give an index below {n_labels}{known}.")
        place = places[label]
        if place in seen:
            raise ValueError(f"y gives label {place} twice, by name and by index.")
        seen.add(place)
        values[place] = value
    return values
