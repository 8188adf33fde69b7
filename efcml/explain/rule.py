"""One rule as a person reads it: arrays in the units of the data, and an IF-THEN sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.background import Background
from efcml.explain.phrases import Push, Tendency, Term, count, distinctness, level, percent

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

MOST_TERMS = 4
DISTINCT = 0.25  # as much as a shift of the center by half a standard deviation at equal width
MOST_TENDENCIES = 5
LEAST_GAP = 0.1  # between a rule's typical answer and the usual share of a label
MOST_TRENDS = 3  # labels of the THEN part whose slopes are put into words
MOST_PUSHES = 3
LEAST_PUSH = 0.01  # of the score, per standard deviation of the feature in the rule
PUSH_SHARE = 1 / 3  # of the strongest push of a label


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """A rule at the time it was read; later learning does not change it.

    Features are in the units of the data unless the name says scaled. Scaled features have mean 0
    and standard deviation 1 in the initial rows, so their slopes can be compared.

    Attributes
    ----------
    uid, born : int
        Identity, as in events, and the row of birth.
    support : float
        Rows the rule has won.
    weight, share : float
        Its sum of activation over the learned rows, alone and as a share of all rules'.
    scaled_center, scaled_covariance : arrays of shape (p,) and (p, p)
    scaled_weights : array of shape (K, p + 1)
        Slopes and, last, the intercept of every label's plane.
    label_means : array of shape (K,)
        Share of each label in the rule, by activation; NaN where nothing is learned yet.
    label_weights : array of shape (K,)
        Activation over the rows in which the label was known.
    label_correlation : array of shape (K, K)
    background : Background
        What all rules have in common.
    """

    uid: int
    born: int
    support: float
    weight: float
    share: float
    scaled_center: Floats
    scaled_covariance: Floats
    scaled_weights: Floats
    label_means: Floats
    label_weights: Floats
    label_correlation: Floats
    background: Background

    # -- arrays -----------------------------------------------------------------------------

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.background.feature_names

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self.background.label_names

    @property
    def center(self) -> Floats:
        """Center of the rule (p,)."""
        return self.background.offset + self.background.unit * self.scaled_center

    @property
    def scaled_sigma(self) -> Floats:
        """Width of the rule along each scaled feature (p,)."""
        return np.sqrt(np.diagonal(self.scaled_covariance))

    @property
    def sigma(self) -> Floats:
        """Width of the rule along each feature (p,): the standard deviation of its projection."""
        return self.background.unit * self.scaled_sigma

    @property
    def covariance(self) -> Floats:
        """Covariance of the features in the rule (p, p)."""
        return self.scaled_covariance * np.outer(self.background.unit, self.background.unit)

    @property
    def slopes(self) -> Floats:
        """Slopes of every label's plane over the scaled features (K, p)."""
        return self.scaled_weights[:, :-1]

    @property
    def weights(self) -> Floats:
        """Slopes per unit of the data and, last, intercepts (K, p + 1).

        What the rule says of a row ``x`` is ``weights[:, :-1] @ x + weights[:, -1]``, as long as
        no feature is clipped.
        """
        slopes = self.slopes / self.background.unit
        intercepts = self.scaled_weights[:, -1] - slopes @ self.background.offset
        return np.column_stack([slopes, intercepts])

    @property
    def answer(self) -> Floats:
        """What the rule says at its own center, its typical score of each label (K,)."""
        return self.slopes @ self.scaled_center + self.scaled_weights[:, -1]

    @property
    def effects(self) -> Floats:
        """Change of each score per standard deviation of a feature in the rule (K, p)."""
        return self.slopes * self.scaled_sigma

    # -- words ------------------------------------------------------------------------------

    @cached_property
    def _position(self) -> tuple[Floats, Floats]:
        """Center and width in standard deviations of each feature, as usual."""
        usual = self.background
        z = (self.scaled_center - usual.feature_means) / usual.feature_spreads
        return z, self.scaled_sigma / usual.feature_spreads

    @property
    def distinctness(self) -> Floats:
        """How much the rule differs from all rows along each feature (p,)."""
        return distinctness(*self._position)

    @property
    def terms(self) -> list[Term]:
        """The features that set the rule apart, as (feature, term, value, sigma), at most 4."""
        z, width = self._position
        distinct = self.distinctness
        strongest = np.argsort(-distinct, kind="stable")[:MOST_TERMS]
        return [
            Term(self.feature_names[j], level(z[j], width[j]), self.center[j], self.sigma[j])
            for j in strongest
            if distinct[j] >= DISTINCT
        ]

    @property
    def label_tendencies(self) -> list[Tendency]:
        """Labels the rule answers otherwise than usual, as (label, answer, usual), at most 5.

        The answer at the center, not the share of the label by activation: with many features all
        rules fire a little everywhere, so those shares hardly differ.
        """
        answer, usual = self.answer, self.background.label_means
        gap = np.abs(answer - usual)
        strongest = np.argsort(-gap, kind="stable")[:MOST_TENDENCIES]
        return [
            Tendency(self.label_names[k], float(answer[k]), float(usual[k]))
            for k in strongest
            if gap[k] >= LEAST_GAP
        ]

    def important(self, label: int | str, n: int = MOST_PUSHES) -> list[Push]:
        """Return the features that move a label most inside the rule, as (feature, effect).

        The effect is the change of the score per standard deviation of the feature in the rule.
        Weak ones are left out, so there may be fewer than ``n``.
        """
        effects = self.effects[self.background.label_index(label)]
        order = np.argsort(-np.abs(effects), kind="stable")[:n]
        least = max(LEAST_PUSH, PUSH_SHARE * np.abs(effects).max())
        return [
            Push(self.feature_names[j], float(effects[j]))
            for j in order
            if np.abs(effects[j]) >= least
        ]

    @property
    def antecedent(self) -> str:
        """The IF part, without the word."""
        return " AND ".join(map(str, self.terms)) or "anything (covers all)"

    @property
    def consequent(self) -> str:
        """The THEN part, without the word."""
        if not (self.label_weights > 0.0).any():
            return "nothing learned yet"
        return ", ".join(map(str, self.label_tendencies)) or "labels as usual"

    @property
    def trends(self) -> list[str]:
        """What moves the labels of the THEN part and the steepest label, one sentence each."""
        labels = [tendency.label for tendency in self.label_tendencies[:MOST_TRENDS]]
        steepest = self.label_names[np.abs(self.effects).max(axis=1).argmax()]
        if steepest not in labels:
            labels.append(steepest)
        return [text for label in labels if (text := self._trend(label))]

    def _trend(self, label: str) -> str:
        pushes = self.important(label)
        groups = (
            ("rises", [push for push in pushes if push.effect > 0.0]),
            ("falls", [push for push in pushes if push.effect < 0.0]),
        )
        parts = [f"{verb} with {', '.join(map(str, some))}" for verb, some in groups if some]
        return f"{label} {' and '.join(parts)}" if parts else ""

    def sentence(self) -> str:
        """Return the rule as one IF-THEN sentence."""
        return f"IF {self.antecedent} THEN {self.consequent}"

    @property
    def title(self) -> str:
        """Name, share and support in one line."""
        return (
            f"rule {self.uid}: {percent(self.share)} of the activation, "
            f"{count(self.support, 'row')}, born in row {self.born}"
        )

    def __str__(self) -> str:
        parts = [self.title, f"  IF {self.antecedent}", f"  THEN {self.consequent}"]
        return "\n".join(parts + [f"    {trend}" for trend in self.trends])

    def __repr__(self) -> str:
        return f"Rule({self.uid}, {self.sentence()!r})"
