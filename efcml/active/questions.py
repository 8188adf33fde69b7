"""Questions of an active learner, and rows and answers as people bring them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from efcml.estimators.targets import one_row
from efcml.model.learner import Learner
from efcml.support.masks import fill_mask
from efcml.tables.words import FLAGS

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats


@dataclass
class Spending:
    """How much was asked so far, in rows or labels, and the thresholds for the next row."""

    rows: int = 0
    room: int = 0  # units that could have been asked
    spent: int = 0
    recent: float = 0.0  # rows asked, the older the less they count
    ambiguity: float = 0.5
    instability: float = 0.0

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds by criterion."""
        return {"ambiguity": self.ambiguity, "instability": self.instability}


@dataclass(frozen=True, eq=False)
class Question:
    """What is wanted of one row. True if any label is.

    Attributes
    ----------
    row : int
        Number of the row in the stream of the active learner, from 0.
    names : tuple
        The labels to give, by name, or by index if the model knows no names.
    labels : bool array of shape (K,)
        The same by place; all False if nothing is asked.
    reasons : tuple of str
        The criteria that fired.
    thresholds : dict
        By criterion, as they were when this was decided.
    scores : array of shape (K,)
        What the model says of the row.
    """

    row: int
    names: tuple[str | int, ...]
    labels: Bools = field(repr=False)
    reasons: tuple[str, ...]
    thresholds: dict[str, float] = field(repr=False)
    scores: Floats = field(repr=False)
    x: Floats = field(repr=False)  # (1, p), checked, not scaled
    after: Spending = field(repr=False)  # once the row is counted
    asker: object = field(repr=False)  # stands for the active learner; its copy has a copy

    def __post_init__(self) -> None:
        self.labels.flags.writeable = self.scores.flags.writeable = False

    def __bool__(self) -> bool:
        return bool(self.labels.any())


class Query(NamedTuple):
    """One line of the log: a question that was asked.

    ``spent`` counts rows or labels, this question included; ``share`` is that over all rows or
    labels so far.
    """

    row: int
    reasons: tuple[str, ...]
    labels: Bools
    thresholds: dict[str, float]
    spent: int
    share: float


def find_learner(model: Any) -> Learner:
    """Return the rule learner of a model, or refuse the model with a sentence."""
    kind, learner = type(model).__name__, model
    if hasattr(model, "check_features"):
        learner = getattr(model, "learner_", None)
        if learner is None:
            raise ValueError(f"{kind} is not fitted: fit an initial part first.")
    if not isinstance(learner, Learner):
        raise TypeError(f"active learning needs the rules of an EFCMLClassifier; got {kind}.")
    if not learner.fitted:
        raise ValueError("the model still holds warm-up rows: fit an initial part first.")
    return learner


def read_row(model: Any, learner: Learner, x: Any) -> Floats:
    """Return one row of features as checked floats of shape (1, p); a copy, it may be kept."""
    if x is None:
        raise ValueError("x is missing: give the next row, or row=... for an open question.")
    table = one_row(x, "x")
    if model is not learner:
        X = model.check_features(table)
        return X.copy() if hasattr(X, "toarray") else np.array(X, order="C")
    X = np.array(fill_mask(table), dtype=np.float64, order="C")
    if X.shape != (1, learner.n_features) or np.isinf(X).any():
        raise ValueError(
            f"x must be one row of {learner.n_features} finite features, NaN where one is missing."
        )
    return X


def read_answer(model: Any, learner: Learner, y: Any, question: Question) -> Floats:
    """Return an answer to a question as checked floats of shape (1, K)."""
    K = learner.n_labels
    table = one_row(spread_out(model, y, K) if isinstance(y, Mapping) else y, "y")
    if model is not learner:
        Y = model.check_labels(table, 1)
    else:
        Y = np.array(fill_mask(table), dtype=np.float64, order="C")
        if Y.shape != (1, K) or not (np.isnan(Y) | (Y == 0.0) | (Y == 1.0)).all():
            raise ValueError(f"y must be {K} labels of 0, 1 or NaN (not asked).")
    asked = np.flatnonzero(question.labels)
    extra = np.setdiff1d(np.flatnonzero(~np.isnan(Y[0])), asked)
    if extra.size:
        raise ValueError(
            f"row {question.row} asks for the labels {asked.tolist()} only; y also gives "
            f"{extra.tolist()}: put NaN there."
        )
    return Y


def names_of(model: Any) -> dict[int, str]:
    """Return the names of a model's labels by index; nothing where they are not known."""
    return dict(enumerate(getattr(model, "label_names_", ())))


def spread_out(model: Any, answer: Mapping[Any, Any], n_labels: int) -> list[Any]:
    """Return an answer by name or index as one value per label, NaN where it says nothing.

    Words such as yes and no are 1 and 0, unless they are classes of a 1-D target.
    """
    names = names_of(model)
    classes = model.classes_ if getattr(model, "_binary", False) else ()
    places = {name: c for c, name in names.items()} | {c: c for c in range(n_labels)}
    values: dict[int, Any] = {}
    for label, value in answer.items():
        if label not in places:
            known = f" or one of {list(names.values())}" if names else ""
            raise ValueError(f"there is no label {label!r}: give an index below {n_labels}{known}.")
        if places[label] in values:
            raise ValueError(f"y gives label {places[label]} twice, by name and by index.")
        if isinstance(value, str) and value not in classes:
            word = value.strip().casefold()
            if word not in FLAGS:
                raise ValueError(f"label {label!r} is {value!r}: answer 0 or 1, or yes or no.")
            value = FLAGS[word]
        values[places[label]] = value
    return [values.get(c, float("nan")) for c in range(n_labels)]
