"""The rules of a learner as a list that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakKeyDictionary

import numpy as np

from efcml.explain.background import Background
from efcml.explain.columns import ColumnKinds
from efcml.explain.learner_rules import read_in_order, reading_order
from efcml.explain.phrases import count, percent
from efcml.explain.rule import Rule
from efcml.explain.trust import GIVEN, LEARNED, Trust, measure_trust
from efcml.support.blas import one_blas_thread
from efcml.support.extras import extra_for
from efcml.support.guard import one_at_a_time
from efcml.support.markup import Safe, bar, escape, faint, join, lines, table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats


# The order of reading of each learner, and for which state: to find it takes longer than a row.
_orders: WeakKeyDictionary[Learner, tuple[Any, list[int]]] = WeakKeyDictionary()


class RuleList(Sequence[Rule]):
    """Rules by what they decide: a sequence of `Rule` that prints as text and shows as a table.

    The background, a rule that covers everything, stands last. ``trust`` says how far the reading
    is what the model does, by the last rows that it has learned; None before there are rules.
    """

    def __init__(
        self, rules: Iterable[Rule], background: Background, trust: Trust | None = None
    ) -> None:
        self._rules = tuple(rules)
        self.background = background
        self.trust = trust

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> RuleList: ...

    def __getitem__(self, index: int | slice) -> Rule | RuleList:
        if isinstance(index, slice):
            return RuleList(self._rules[index], self.background, self.trust)
        return self._rules[index]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.background.feature_names

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self.background.label_names

    @property
    def centers(self) -> Floats:
        """Centers of all rules, in the units of the data (n, p)."""
        return np.reshape([rule.center for rule in self], (-1, len(self.feature_names)))

    @property
    def covariances(self) -> Floats:
        """Covariances of the features in all rules, in the units of the data (n, p, p)."""
        p = len(self.feature_names)
        return np.reshape([rule.covariance for rule in self], (-1, p, p))

    def telling(self, most: int = 6) -> list[int]:
        """Return the columns that the rules name in their IF parts, those that decide most first.

        A column counts by what the rules decide that name it, the first terms more than later ones.
        """
        places = {thing.name: thing.columns for thing in self.background.columns.variables}
        counts = np.zeros(len(self.feature_names))
        for rule in self:
            for place, term in enumerate(rule.terms):
                for column in places[term.feature]:
                    counts[column] += (rule.decides + 1e-9) / (1.0 + place)
        order = np.argsort(-counts, kind="stable")[:most]
        return [int(column) for column in order if counts[column] > 0.0]

    def memberships(self, most: int = 6) -> dict[str, Any]:
        """Return what `efcml.plots.draw_memberships` draws, by the names of its arguments.

        At most so many features: those of `telling`.
        """
        columns, n = self.telling(most), len(self)
        flags = self.background.columns.flags[columns]
        shares = np.reshape([np.clip(rule.mean[columns], 0.0, 1.0) for rule in self], (n, -1))
        return {
            "shares": np.where(flags, shares, np.nan),
            "positions": np.reshape([rule.position[0][columns] for rule in self], (n, -1)),
            "widths": np.reshape([rule.position[1][columns] for rule in self], (n, -1)),
            "feature_names": [self.feature_names[column] for column in columns],
            "rule_names": [f"rule {rule.uid}" for rule in self],
        }

    def squared_distances(self, X: ArrayLike) -> Floats:
        """Return the squared Mahalanobis distance of every row to every center (rows, n)."""
        gaps = np.asarray(X)[:, None, :] - self.centers
        return np.einsum("nri,rij,nrj->nr", gaps, np.linalg.inv(self.covariances), gaps)

    def importance(self) -> Floats:
        """Return how much each feature moves each label (p, K): mean size of `Rule.effects`.

        Rules count by their share of the activation.
        """
        total = sum(rule.share for rule in self)
        weighted = np.zeros((len(self.feature_names), len(self.label_names)))
        for rule in self:
            weighted += rule.share * np.abs(rule.effects.T)
        return weighted / total if total else weighted

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame: one line per rule, at the end the share of every label."""
        with extra_for("to_frame"):
            import pandas

        said = pandas.DataFrame(
            {
                "uid": [rule.uid for rule in self],
                "born": [rule.born for rule in self],
                "decides": [rule.decides for rule in self],
                "support": [rule.support for rule in self],
                "share": [rule.share for rule in self],
                "antecedent": [rule.antecedent for rule in self],
                "consequent": [rule.consequent for rule in self],
            }
        )
        means = np.reshape([rule.label_means for rule in self], (-1, len(self.label_names)))
        means = pandas.DataFrame(means, columns=list(self.label_names))
        return pandas.concat([said, means], axis=1)

    @property
    def title(self) -> str:
        """What the list holds, in one line."""
        rows, n_rules = self.background.rows, self.background.n_rules
        if n_rules == 0:
            similar = self.background.similar
            besides = f", and similar ones among them by {percent(similar)}" if similar else ""
            return f"no rules yet: label frequencies of {count(rows, 'row')} answer{besides}"
        part = "" if len(self) == n_rules else f"{len(self)} of "
        return f"{part}{count(n_rules, 'rule')} after {count(rows, 'row')}"

    def __str__(self) -> str:
        trust = [] if self.trust is None else [str(self.trust)]
        return "\n\n".join([self.title, *map(str, self), *trust])

    def __repr__(self) -> str:
        sizes = f"{len(self.feature_names)} features, {len(self.label_names)} labels"
        return f"RuleList({len(self)} rules, {sizes})"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self, most: int | None = None) -> str:
        """Return a table of all rules, or of the first ``most``."""
        if not self:
            return escape(self.title)
        widest = max(rule.decides for rule in self)
        rows = [
            (
                rule.uid,
                bar(rule.decides / widest if widest else 0.0, percent(rule.decides)),
                f"{rule.weight:.0f}",
                join(" AND ", rule.terms) or rule.antecedent,
                lines(rule.consequent, *map(faint, rule.trends)),
            )
            for rule in self[:most]
        ]
        caption = self[:most].title
        head = ["rule", "decides", "rows", "IF", "THEN"]
        trust = [] if self.trust is None else self.trust.sentences
        return Safe(table(head, rows, caption=caption, right=(0, 2)) + lines(*map(faint, trust)))


@one_at_a_time
@one_blas_thread()
def read_rules(
    learner: Learner,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    columns: ColumnKinds | None = None,
) -> RuleList:
    """Return the rules of a learner by what they decide; none during the warm-up.

    Parameters
    ----------
    learner : Learner
    feature_names, label_names : sequence of str, optional
        ``x0``, ``x1``, ... and ``label0``, ``label1``, ... where not given.
    columns : ColumnKinds, optional
        Which columns are flags and which belong together, with names of their own.

    Returns
    -------
    RuleList
    """
    background, rules = read_in_order(learner, feature_names, label_names, columns)
    late = learner.latest[0]
    trust = measure_trust(learner, rules, late, LEARNED) if rules and len(late) else None
    return RuleList((rules[r] for r in reading_order(rules)), background, trust)


@one_at_a_time
@one_blas_thread()
def read_activations(learner: Learner, X: Floats) -> Floats:
    """Return the activation of every rule at rows that are not scaled, as `read_rules` orders."""
    stamp = learner.rows_seen, learner.rules.uid.tobytes()
    known, order = _orders.get(learner, (None, []))
    if known != stamp:
        order = reading_order(read_in_order(learner, None, None)[1])
        _orders[learner] = stamp, order
    return learner.activations(learner.scaler.transform(X))[:, order]


@one_at_a_time
@one_blas_thread()
def read_trust(learner: Learner, X: Floats, columns: ColumnKinds | None = None) -> Trust:
    """Return how far the reading of a fitted learner holds for rows that are not scaled."""
    _, rules = read_in_order(learner, None, None, columns)
    return measure_trust(learner, rules, learner.scaler.transform(X), GIVEN)
