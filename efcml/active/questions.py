"""What an active learner sees, asks and notes, and rows and answers as people bring them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from efcml.estimators.targets import one_row
from efcml.kernels.linalg import whole
from efcml.kernels.planes import SLOW
from efcml.model.learner import Learner
from efcml.tables.fields import FLAGS

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Facts, Floats

FIRST = {"ambiguity": 0.6, "instability": 0.075}  # thresholds


class Spending(NamedTuple):
    """How much was asked so far, in rows or labels, and the thresholds for the next row."""

    rows: int = 0
    room: int = 0  # units that could have been asked
    spent: int = 0
    recent: float = 0.0  # rows asked, the older the less they count
    thresholds: dict[str, float] = FIRST

    @property
    def share(self) -> float:
        """Share of all rows or labels that was asked; 0 before the first row."""
        return self.spent / max(self.room, 1)


@dataclass
class Row:
    """The next row of a stream, as criteria see it."""

    x: Floats  # (p,), scaled, none missing
    scores: Floats  # (K,)
    thresholds: dict[str, float]
    due: float  # share of rows that would use up the budget
    seed: tuple[int, int]
    learner: Learner

    @property
    def draw(self) -> float:
        """A random number from 0 to 1, the same whatever was asked before."""
        return float(np.random.default_rng(self.seed).random())

    @cached_property
    def psi(self) -> Floats:
        """The activations of the rules."""
        return self.learner.rules.activations(self.x[None])[0]

    @property
    def novel(self) -> bool:
        """Whether a rule would be born from it."""
        rules, i = self.learner.rules, int(self.psi.argmax())
        e = self.x[rules.features.numbers] - rules.center[i, : rules.a]
        distance, support = e @ whole(rules.marginal[i].copy()) @ e, float(rules.support[i])
        return bool(rules.birth_test(distance, float(rules.a), support, rules.settings.vigilance))

    @property
    def instability(self) -> float:
        """The largest share that learning it would take from P of a rule that is active.

        That is of the trace over the slopes, in closed form and without forgetting, of the label
        that the rule knows least of: its P would be larger by ``1/a`` (`planes.count_known`).
        """
        rules, psi, most = self.learner.rules, self.psi, 0.0
        r = np.append(rules.features.take(self.x[None])[0], 1.0)
        for i in np.flatnonzero(psi >= rules.settings.activation_floor):
            P, prior = whole(rules.P[i, SLOW].copy()), rules.Delta[i, SLOW, 0]
            v = P @ r
            a = (rules.seen[i, SLOW].min() + prior) / (rules.G[i, SLOW, -1, -1] + prior)
            rest = (a + psi[i] * (r @ v)) * np.trace(P[:-1, :-1])
            most = max(most, psi[i] * (v[:-1] @ v[:-1]) / rest) if rest > 0.0 else most
        return float(most)


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
    after : Spending
        What was spent, this question included.
    """

    row: int
    names: tuple[str | int, ...]
    labels: Bools = field(repr=False)
    reasons: tuple[str, ...]
    thresholds: dict[str, float] = field(repr=False)
    scores: Floats = field(repr=False)
    after: Spending = field(repr=False)
    x: Any = field(repr=False)  # (1, p), checked, not scaled; None in the log
    asker: object = field(repr=False)  # stands for the active learner; its copy has a copy

    def __post_init__(self) -> None:
        self.labels.flags.writeable = self.scores.flags.writeable = False

    def __bool__(self) -> bool:
        return bool(self.labels.any())

    @classmethod
    def from_facts(cls, facts: Facts, asker: object) -> Self:
        """Build one from what JSON has of its attributes."""
        known: Facts = {name: tuple(facts[name]) for name in ("names", "reasons")}
        known |= {"labels": np.array(facts["labels"], bool), "after": Spending(*facts["after"])}
        known |= {"scores": np.array(facts["scores"], np.float64), "asker": asker}
        x = None if facts["x"] is None else np.array(facts["x"], np.float64)
        return cls(**facts | known | {"x": x})


def find_learner(model: Any) -> Learner:
    """Return the learner of a model, or refuse the model with a sentence."""
    kind, learner = type(model).__name__, getattr(model, "learner_", None)
    if learner is None and hasattr(model, "check_features"):
        raise ValueError(f"{kind} is not fitted: fit an initial part first.")
    if not isinstance(learner, Learner):
        raise TypeError(f"active learning needs the rules of an EFCMLClassifier; got {kind}.")
    if not learner.fitted:
        raise ValueError("the model still holds warm-up rows: fit an initial part first.")
    return learner


def read_row(model: Any, x: Any) -> Floats:
    """Return one row of features as checked floats of shape (1, p); a copy, it may be kept."""
    if x is None:
        raise ValueError("x is missing: give the next row, or row=... for an open question.")
    X = model.check_features(one_row(x, "x"))
    return X.copy() if hasattr(X, "toarray") else np.array(X, order="C")


def read_answer(model: Any, y: Any, question: Question) -> Floats:
    """Return an answer to a question as checked floats of shape (1, K)."""
    Y = model.check_labels(one_row(spread_out(model, y) if isinstance(y, Mapping) else y, "y"), 1)
    asked = np.flatnonzero(question.labels)
    extra = np.setdiff1d(np.flatnonzero(~np.isnan(Y[0])), asked)
    if extra.size:
        raise ValueError(
            f"row {question.row} asks for the labels {asked.tolist()} only; y also gives "
            f"{extra.tolist()}: put NaN there."
        )
    return Y


def spread_out(model: Any, answer: Mapping[Any, Any]) -> list[Any]:
    """Return an answer by name or index as one value per label, NaN where it says nothing.

    Words such as yes and no are 1 and 0, unless they are classes of a 1-D target.
    """
    K, names = model.learner_.n_labels, list(getattr(model, "label_names_", ()))
    classes = model.classes_ if model._binary else ()
    places = {name: c for c, name in enumerate(names)} | {c: c for c in range(K)}
    values: dict[int, Any] = {}
    for label, value in answer.items():
        if label not in places:
            known = f" or one of {names}" if names else ""
            raise ValueError(f"there is no label {label!r}: give an index below {K}{known}.")
        if places[label] in values:
            raise ValueError(f"y gives label {places[label]} twice, by name and by index.")
        if isinstance(value, str) and value not in classes:
            word = value.strip().casefold()
            if word not in FLAGS:
                raise ValueError(f"label {label!r} is {value!r}: answer 0 or 1, or yes or no.")
            value = FLAGS[word]
        values[places[label]] = value
    return [values.get(c, float("nan")) for c in range(K)]
