"""One rule as a person reads it: arrays in the units of the data, and an IF-THEN sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain.background import Background, Named
from efcml.explain.choosing import SparsePlanes, thin_out
from efcml.explain.document import Bar, Block, as_text
from efcml.explain.phrases import (
    NARROW,
    NONE_OF_IT,
    Push,
    Tendency,
    Term,
    count,
    distinctness,
    flag_term,
    group_term,
    level,
    percent,
)
from efcml.support.statistics import CUTS, wilson

if TYPE_CHECKING:
    from efcml.explain.background import Variable
    from efcml.support.aliases import Floats

MOST_TERMS = 4
SET_APART = 0.9  # of the lead of a rule over others: terms that take so much set it apart
HARDLY_APART = 0.05  # terms that take less are not worth a sentence
DISTINCT = 0.25  # as much as a shift of the center by half a standard deviation at equal width
VISIBLE = 0.1  # of the same; where a rule lies as all rows do, its place says nothing to a reader
MOST_FEATURES = 5  # of the planes for reading
MOST_ON_CARD = 12  # labels
MOST_TENDENCIES = 5
LEAST_GAP = 0.1  # between the share of a label in a rule and the usual one
FEW_ROWS = 5  # of fewer nothing is told
MOST_TRENDS = 3  # labels of the THEN part whose slopes are put into words
MOST_PUSHES = 3
LEAST_PUSH = 0.01  # of the score, per standard deviation of the feature in the rule
PUSH_SHARE = 1 / 3  # of the strongest push of a label


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Named):
    """A rule at the time it was read; later learning does not change it.

    Features are in the units of the data unless the name says scaled. Scaled features have mean 0
    and standard deviation 1 in the initial rows, so their slopes can be compared. Of late means: of
    the last 500 learned rows, those in which the rule is the strongest by now; what is so marked is
    by activation of all rows where these are fewer than five.
    """

    uid: int  # identity, as in events
    born: int  # row of birth
    place: int  # in the learner's arrays, and in the landscape of the background
    support: float  # rows it has won, as far as they are not forgotten
    decided: int  # rows of late
    decides: float  # and their share of the last rows
    covers_all: bool  # the background: it decides nearly all rows, or no feature sets it apart
    weight: float  # sum of its activation: how many rows its planes come from
    share: float  # of the weights of all rules
    scaled_center: Floats  # (p,)
    scaled_mean: Floats  # (p,), of late; the center where these rows are few
    scaled_covariance: Floats  # (p, p)
    scaled_weights: Floats  # (K, p + 1), slopes and, last, the intercept of every label's plane
    label_means: Floats  # (K,), share of each label, by activation; NaN where nothing is learned
    label_weights: Floats  # (K,), activation over the rows in which the label was known
    label_shares: Floats  # (K,), share of each label of late, NaN without any
    label_rows: Floats  # (K,), and how many rows that is from
    label_correlation: Floats  # (K, K)
    background: Background  # what all rules have in common

    # -- arrays -----------------------------------------------------------------------------

    @property
    def center(self) -> Floats:
        """Center of the rule (p,)."""
        return self.background.offset + self.background.unit * self.scaled_center

    @property
    def mean(self) -> Floats:
        """Mean of the rows that it decided of late (p,); of a flag the share of yes."""
        return self.background.offset + self.background.unit * self.scaled_mean

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

        As long as no feature is clipped, the rule says ``weights[:, :-1] @ x + weights[:, -1]``.
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
    def position(self) -> tuple[Floats, Floats]:
        """Center and width along each feature (p,), in standard deviations from the usual."""
        usual = self.background
        z = (self.scaled_center - usual.feature_means) / usual.feature_spreads
        return z, self.scaled_sigma / usual.feature_spreads

    @property
    def distinctness(self) -> Floats:
        """How much the rule differs from all rows along each feature (p,)."""
        return distinctness(*self.position)

    @cached_property
    def terms(self) -> list[Term]:
        """The features that decide that this rule fires, at most 4, the strongest first.

        Those along which a rule lies where all rows lie are left out: their place tells a reader
        nothing. So are several features in which the rule is in the middle, unless these few terms
        really set it apart.
        """
        land, things = self.background.landscape, self.background.variables
        if land is None or self.covers_all:
            return []
        blocks, distinct = [thing.columns for thing in things], self.distinctness
        visible = np.array([distinct[list(block)].max() for block in blocks])
        allowed = visible >= min(VISIBLE, visible.max())
        chosen, lost = land.choose(self.place, blocks, allowed, MOST_TERMS)
        z, width = self.position
        middle = (CUTS[1] <= z) & (z < CUTS[2]) & (width > NARROW)
        unusual = np.array([t.kind != "number" or not middle[t.columns[0]] for t in things])
        plain = len(chosen) - int(unusual[chosen].sum())
        if lost < SET_APART and (plain > 1 or plain == len(chosen)):
            chosen, lost = land.choose(self.place, blocks, allowed & unusual, MOST_TERMS)
        return [self._term(things[i]) for i in chosen] if lost >= HARDLY_APART else []

    def _term(self, variable: Variable) -> Term:
        columns = list(variable.columns)
        if variable.kind == "number":
            (j,) = columns
            z, width = self.position
            return Term(
                variable.name, level(z[j], width[j]), float(self.center[j]), float(self.sigma[j])
            )
        shares = np.clip(self.mean[columns], 0.0, 1.0)
        if variable.kind == "flag":
            return flag_term(variable.name, float(shares[0]))
        usual = self.background.usual_center[columns]
        return group_term(variable.name, variable.values, shares, usual)

    @property
    def probabilities(self) -> Floats:
        """What the rule says of each label at its center, kept within 0 and 1 (K,)."""
        return np.clip(self.answer, 0.0, 1.0)

    @property
    def label_tendencies(self) -> list[Tendency]:
        """Labels whose share in the rows of late is not the usual one, at most 5.

        Not the answer at the center: rules are formed by features and labels together, so the
        labels there can be rarer, or more frequent, than where the rule decides.
        """
        answer, usual = self.label_shares, self.background.label_means
        gap = np.nan_to_num(np.abs(answer - usual))
        low, high = wilson(answer, self.label_rows)
        unlike = (gap >= LEAST_GAP) & ((usual < low) | (usual > high))
        return [
            Tendency(self.label_names[k], *(float(v[k]) for v in (answer, usual, low, high)))
            for k in np.argsort(-gap, kind="stable")
            if unlike[k]
        ][:MOST_TENDENCIES]

    def important(self, label: int | str, n: int = MOST_PUSHES) -> list[Push]:
        """Return the features that move a label most inside the rule, as (feature, effect).

        By the change of the score per standard deviation in the rule; weak ones are left out.
        """
        effects = self.effects[self.background.label_index(label)]
        pairs = zip(self.feature_names, effects.tolist(), strict=True)
        return keep_strong([Push(*pair) for pair in pairs])[:n]

    @cached_property
    def sparse(self) -> SparsePlanes:
        """The planes by at most five features, for reading."""
        blocks = [variable.columns for variable in self.background.variables]
        return thin_out(self.slopes, self.scaled_covariance, blocks, MOST_FEATURES)

    @property
    def antecedent(self) -> str:
        """The IF part, without the word."""
        if self.covers_all:
            return "otherwise" if self.background.n_rules > 1 else "always"
        return " AND ".join(map(str, self.terms)) or "nothing simple sets it apart"

    @property
    def consequent(self) -> str:
        """The THEN part, without the word."""
        if not (self.label_weights > 0.0).any():
            return "nothing learned yet"
        if self.label_rows.max() < FEW_ROWS:
            return "too few rows to tell"
        said = ", ".join(map(str, self.label_tendencies)) or "labels as usual"
        return said if self.decided >= FEW_ROWS else f"{said}, but hardly any row of late"

    @cached_property
    def trends(self) -> list[str]:
        """What moves the labels of the THEN part and the steepest label, one sentence each.

        By the planes of at most five features. The last sentence says what that costs.
        """
        labels = [tendency.label for tendency in self.label_tendencies[:MOST_TRENDS]]
        effects = self.sparse.slopes * self.scaled_sigma
        steepest = self.label_names[np.abs(effects).max(axis=1).argmax()]
        if steepest not in labels:
            labels.append(steepest)
        found = [text for label in labels if (text := self._trend(label))]
        if found:
            n = len(self.sparse.blocks)
            kept = f"{count(n, 'feature')} keep{'s' * (n == 1)} {percent(self.sparse.kept)}"
            found.append(f"{kept} of the variance of its answers")
        return found

    def _trend(self, label: str) -> str:
        slopes = self.sparse.slopes[self.background.label_index(label)]
        variables = self.background.variables
        pushes = keep_strong(
            [push for i in self.sparse.blocks for push in self._pushes(variables[i], slopes)]
        )[:MOST_PUSHES]
        groups = (
            ("rises", [push for push in pushes if push.effect > 0.0]),
            ("falls", [push for push in pushes if push.effect < 0.0]),
        )
        parts = [f"{verb} with {', '.join(map(str, some))}" for verb, some in groups if some]
        return f"{label} {' and '.join(parts)}" if parts else ""

    def _pushes(self, variable: Variable, slopes: Floats) -> list[Push]:
        """Return what a thing does to a score.

        A number by a standard deviation in the rule, a flag from no to yes, a value of a group in
        place of the mixture of values in the rule. What all its rows share moves nothing.
        """
        columns = list(variable.columns)
        if variable.kind == "number":
            (j,) = columns
            return [Push(variable.name, float(slopes[j] * self.scaled_sigma[j]))]
        steps = slopes[columns] / self.background.unit[columns]
        shares = np.clip(self.mean[columns], 0.0, 1.0)
        varies = (shares > NONE_OF_IT) & (shares < 1.0 - NONE_OF_IT)
        if variable.kind == "flag":
            return [Push(variable.name, float(steps[0]))] if varies[0] else []
        steps = steps - shares @ steps
        return [
            Push(f"{variable.name} {value}", float(step))
            for value, step, free in zip(variable.values, steps, varies, strict=True)
            if free
        ]

    @property
    def condition(self) -> str:
        """The IF part with its word, or why there is none, in capitals."""
        return f"IF {self.antecedent}" if self.terms else self.antecedent.upper()

    def sentence(self) -> str:
        """Return the rule as one IF-THEN sentence."""
        return f"{self.condition} THEN {self.consequent}"

    def card(self, most: int = MOST_ON_CARD) -> dict[str, Any]:
        """Return what `efcml.plots.draw_rule_card` draws, by the names of its arguments.

        Of many labels those are shown whose shares are least as usual.
        """
        answers = np.where(self.label_rows > 0.0, self.label_shares, self.probabilities)
        usual = self.background.label_means
        shown = np.sort(np.argsort(-np.abs(answers - usual), kind="stable")[:most])
        low, high = wilson(answers[shown], self.label_rows[shown])
        return {
            "title": self.title,
            "conditions": [str(term) for term in self.terms] or [self.antecedent.upper()],
            "label_names": [self.label_names[k] for k in shown],
            "answers": answers[shown],
            "low": low,
            "high": high,
            "usual": usual[shown],
        }

    @property
    def title(self) -> str:
        """Name, what it decides, and support in one line."""
        return (
            f"rule {self.uid}: decides {percent(self.decides)} of the rows, "
            f"learned from {count(round(self.weight), 'row')}, born in row {self.born}"
        )

    def block(self, widest: float = 1.0) -> Block:
        """Return the rule as it is read; ``widest`` is the share of rows that fills the bar."""
        title = Bar(self.title, self.decides / (widest or 1.0))
        lines = [(1, self.condition), (1, f"THEN {self.consequent}")]
        return Block(title, lines + [(2, trend) for trend in self.trends])

    def __str__(self) -> str:
        return as_text([self.block()])

    def __repr__(self) -> str:
        return f"Rule({self.uid}, {self.sentence()!r})"


def keep_strong(pushes: list[Push]) -> list[Push]:
    """Return pushes by their size, without those that are weak beside the strongest."""
    ranked = sorted(pushes, key=lambda push: -abs(push.effect))
    least = max(LEAST_PUSH, PUSH_SHARE * abs(ranked[0].effect)) if ranked else 0.0
    return [push for push in ranked if abs(push.effect) >= least]
