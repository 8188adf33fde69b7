"""The rules of a learner as a list that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from efcml.explain.background import Background, name_all
from efcml.explain.phrases import count, percent
from efcml.explain.rule import Rule
from efcml.support.extras import extra_for
from efcml.support.guard import one_at_a_time
from efcml.support.markup import bar, escape, faint, join, lines, table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats


class RuleList(Sequence[Rule]):
    """Rules, strongest first: a sequence of `Rule` that prints as text and shows as a table."""

    def __init__(self, rules: Iterable[Rule], background: Background) -> None:
        self._rules = tuple(rules)
        self.background = background

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> RuleList: ...

    def __getitem__(self, index: int | slice) -> Rule | RuleList:
        if isinstance(index, slice):
            return RuleList(self._rules[index], self.background)
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
            return f"no rules yet: label frequencies of {count(rows, 'row')} answer"
        part = "" if len(self) == n_rules else f"{len(self)} of "
        return f"{part}{count(n_rules, 'rule')} after {count(rows, 'row')}"

    def __str__(self) -> str:
        return "\n\n".join([self.title, *map(str, self)])

    def __repr__(self) -> str:
        sizes = f"{len(self.feature_names)} features, {len(self.label_names)} labels"
        return f"RuleList({len(self)} rules, {sizes})"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self, most: int | None = None) -> str:
        """Return a table of all rules, or of the first ``most``."""
        if not self:
            return escape(self.title)
        widest = max(rule.share for rule in self)
        rows = [
            (
                rule.uid,
                bar(rule.share / widest if widest else 0.0, percent(rule.share)),
                f"{rule.support:.0f}",
                join(" AND ", rule.terms) or rule.antecedent,
                lines(rule.consequent, *map(faint, rule.trends)),
            )
            for rule in self[:most]
        ]
        caption = self[:most].title
        return table(["rule", "share", "rows", "IF", "THEN"], rows, caption=caption, right=(0, 2))


@one_at_a_time
def read_rules(
    learner: Learner,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
) -> RuleList:
    """Return the rules of a learner, strongest first; none during the warm-up.

    Parameters
    ----------
    learner : Learner
    feature_names, label_names : sequence of str, optional
        ``x0``, ``x1``, ... and ``label0``, ``label1``, ... where not given.

    Returns
    -------
    RuleList
    """
    background, rules = read_in_order(learner, feature_names, label_names)
    return RuleList(sorted(rules, key=lambda rule: -rule.weight), background)


def read_in_order(
    learner: Learner, feature_names: Sequence[str] | None, label_names: Sequence[str] | None
) -> tuple[Background, list[Rule]]:
    """Return the background and the rules in the order of the learner's arrays."""
    from efcml.model.definite import invert  # not above: it loads numba

    p, K = learner.n_features, learner.n_labels
    names = name_all(feature_names, "x", p), name_all(label_names, "label", K)
    if not learner.fitted:
        frequencies = learner.score(np.zeros((1, p)))[0]
        nothing = np.zeros(p), np.ones(p), np.zeros(p), np.ones(p)
        return Background(*names, *nothing, frequencies, len(learner.held), 0), []
    rules, scaler = learner.rules, learner.scaler
    centers = rules.center[:, :p].copy()
    covariances = [invert(precision) for precision in rules.input_precision]
    label_weights, label_means = own(rules.label_weight), own(rules.label_mean)
    known = label_weights.sum(axis=0)
    usual = (label_weights * label_means).sum(axis=0) / np.where(known > 0.0, known, 1.0)
    usual = np.clip(usual, 0.0, 1.0)  # rounding
    background = Background(
        *names,
        scaler.mean,
        scaler.scale,
        *pool(rules.support, centers, covariances),
        usual,
        learner.rows_seen,
        rules.n_rules,
    )
    shares = rules.weight / (rules.weight.sum() or 1.0)
    found = [
        Rule(
            uid=int(rules.uid[r]),
            born=int(rules.born[r]),
            support=float(rules.support[r]),
            weight=float(rules.weight[r]),
            share=float(shares[r]),
            scaled_center=centers[r],
            scaled_covariance=covariances[r],
            scaled_weights=rules.W[r, :K].copy(),
            label_means=np.where(label_weights[r] > 0.0, label_means[r], np.nan),
            label_weights=label_weights[r],
            label_correlation=correlation(rules, r),
            background=background,
        )
        for r in range(rules.n_rules)
    ]
    return background, found


def own(table: Floats) -> Floats:
    """Return what each label says of itself, (rules, K), of an array over pairs of labels."""
    return (table[:, 0] if table.shape[1] == 1 else np.diagonal(table, axis1=1, axis2=2)).copy()


def correlation(rules: Any, rule: int) -> Floats:
    """Return the label correlation of a rule, as its penalty uses it."""
    from efcml.kernels.proximal import correlate  # not above: it loads numba

    corr = np.empty((rules.n_labels, rules.n_labels))
    correlate(rules.label_cov[rule], rules.label_weight[rule], corr)
    return corr


def pool(support: Floats, centers: Floats, covariances: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each scaled feature over the rows of all rules.

    The deviation is at most 1, that of the initial rows: widths of young rules hold much of the
    width they were born with, which is no property of the data.
    """
    share = support / support.sum()
    means = share @ centers
    variances = np.array([np.diagonal(covariance) for covariance in covariances])
    spreads = np.sqrt(share @ (variances + (centers - means) ** 2))
    return means, np.minimum(spreads, 1.0)
