"""The rules of a learner as a list that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakKeyDictionary

import numpy as np

from efcml.explain.activity import activate_scaled, remembered_rows
from efcml.explain.background import Background, name_all
from efcml.explain.columns import ColumnKinds
from efcml.explain.landscape import Landscape, draw_rows
from efcml.explain.phrases import count, distinctness, percent
from efcml.explain.rule import DISTINCT, Rule
from efcml.explain.trust import GIVEN, REMEMBERED, Trust, measure_trust
from efcml.support.blas import one_blas_thread
from efcml.support.extras import extra_for
from efcml.support.guard import one_at_a_time
from efcml.support.markup import Safe, bar, escape, faint, join, lines, table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats, Ints


NO_RULE = -1
STANDS_FOR_ALL = 0.9  # of the rows that could be remembered
MOST_SAMPLES = 60  # rows that stand for a rule when its terms are chosen
FEW_SAMPLES = 20
LEAST_SAMPLE = 100  # rows from which shares are told, if the learner has seen as many

# The order of reading of each learner, and for which state: to find it takes longer than a row.
_orders: WeakKeyDictionary[Learner, tuple[Any, list[int]]] = WeakKeyDictionary()


class RuleList(Sequence[Rule]):
    """Rules by what they decide: a sequence of `Rule` that prints as text and shows as a table.

    The background, a rule that covers everything, stands last. ``trust`` says how far the reading
    is what the model does, by the rows that the model remembers; None if it remembers none.
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
        return {
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
            return f"no rules yet: label frequencies of {count(rows, 'row')} answer"
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
    remembered = remembered_rows(learner)
    trust = measure_trust(learner, rules, remembered, REMEMBERED) if len(remembered) else None
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
    return activate_scaled(learner, learner.scaler.transform(X))[:, order]


@one_at_a_time
@one_blas_thread()
def read_trust(learner: Learner, X: Floats, columns: ColumnKinds | None = None) -> Trust:
    """Return how far the reading of a fitted learner holds for rows that are not scaled."""
    _, rules = read_in_order(learner, None, None, columns)
    return measure_trust(learner, rules, X, GIVEN)


def reading_order(rules: Sequence[Rule]) -> list[int]:
    """Return the places of rules in the order in which they are read."""
    return sorted(
        range(len(rules)),
        key=lambda r: (rules[r].covers_all, -rules[r].decides, -rules[r].share),
    )


def read_in_order(
    learner: Learner,
    feature_names: Sequence[str] | None,
    label_names: Sequence[str] | None,
    columns: ColumnKinds | None = None,
) -> tuple[Background, list[Rule]]:
    """Return the background and the rules in the order of the learner's arrays."""
    p, K = learner.n_features, learner.n_labels
    if columns is None:
        columns = ColumnKinds.of_numbers(name_all(feature_names, "x", p))
    names = name_all(label_names, "label", K)
    if not learner.fitted:
        frequencies = learner.score(np.zeros((1, p)))[0]
        nothing = np.zeros(p), np.ones(p), np.zeros(p), np.ones(p)
        held = len(learner.held)
        return Background(columns, names, *nothing, frequencies, held, 0, None), []
    rules, scaler = learner.rules, learner.scaler
    remembered = remembered_rows(learner)
    scaled = scaler.transform(remembered)
    winners = activate_scaled(learner, scaled).argmax(axis=1)
    land = survey(learner, scaled, winners)
    label_weights, label_means = own(rules.label_weight), own(rules.label_mean)
    known = label_weights.sum(axis=0)
    usual = (label_weights * label_means).sum(axis=0) / np.where(known > 0.0, known, 1.0)
    usual = np.clip(usual, 0.0, 1.0)  # rounding
    means, spreads = pool(land)
    background = Background(
        columns.with_found_groups(remembered, scaler.mean),
        names,
        scaler.mean,
        scaler.scale,
        means,
        spreads,
        usual,
        learner.rows_seen,
        rules.n_rules,
        land,
    )
    decides = decided_shares(learner, winners)
    covering = find_background(land, means, spreads)
    shares = rules.weight / (rules.weight.sum() or 1.0)
    found = [
        Rule(
            uid=int(rules.uid[r]),
            born=int(rules.born[r]),
            place=r,
            support=float(rules.support[r]),
            decides=float(decides[r]),
            covers_all=r == covering,
            weight=float(rules.weight[r]),
            share=float(shares[r]),
            scaled_center=land.centers[r],
            scaled_covariance=land.covariances[r],
            scaled_weights=rules.W[r, :K].copy(),
            label_means=np.where(label_weights[r] > 0.0, label_means[r], np.nan),
            label_weights=label_weights[r],
            label_correlation=correlation(rules, r),
            background=background,
        )
        for r in range(rules.n_rules)
    ]
    return background, found


def survey(learner: Learner, remembered: Floats, winners: Ints) -> Landscape:
    """Return where the rules of a learner lie, with rows of each.

    These are rows that it remembers, or draws from the Gaussian of the rule where they are few.
    """
    from efcml.model.definite import invert  # not above: it loads numba

    rules, settings = learner.rules, learner.settings
    precisions = np.array(rules.input_precision)
    centers = rules.center[:, : learner.n_features].copy()
    covariances = np.array([invert(precision) for precision in precisions])
    samples = []
    for r in range(rules.n_rules):
        own = remembered[winners == r][-MOST_SAMPLES:]
        drawn = draw_rows(centers[r], covariances[r], FEW_SAMPLES)
        samples.append(own if len(own) >= FEW_SAMPLES else drawn)
    return Landscape(
        centers,
        covariances,
        precisions,
        rules.log_det[:, 1] * float(settings.density),
        rules.support.copy(),
        tuple(samples),
    )


def decided_shares(learner: Learner, winners: Ints) -> Floats:
    """Return the share of rows in which each rule is the strongest.

    By the rows that the learner remembers, which are recent, if there are enough. Where many rows
    were not worth remembering, as others are like them, those that are do not stand for all. Then
    by the sum of each rule's activation, of which nothing is forgotten.
    """
    rules, seen = learner.rules, learner.rows_seen
    wanted = min(max(learner.cases.capacity, LEAST_SAMPLE), seen)
    if len(winners) >= STANDS_FOR_ALL * wanted > 0:
        return np.bincount(winners, minlength=rules.n_rules) / len(winners)
    return rules.use / (rules.use.sum() or 1.0)


def find_background(land: Landscape, means: Floats, spreads: Floats) -> int:
    """Return the widest rule that no feature sets apart from all rows, -1 if there is none."""
    z = (land.centers - means) / spreads
    widths = np.sqrt(np.diagonal(land.covariances, axis1=1, axis2=2)) / spreads
    covering = np.flatnonzero(distinctness(z, widths).max(axis=1) < DISTINCT)
    volumes = [np.linalg.slogdet(land.covariances[r])[1] for r in covering]
    return int(covering[np.argmax(volumes)]) if len(covering) else NO_RULE


def own(table: Floats) -> Floats:
    """Return what each label says of itself, (rules, K), of an array over pairs of labels."""
    return (table[:, 0] if table.shape[1] == 1 else np.diagonal(table, axis1=1, axis2=2)).copy()


def correlation(rules: Any, rule: int) -> Floats:
    """Return the label correlation of a rule, as its penalty uses it."""
    from efcml.kernels.proximal import correlate  # not above: it loads numba

    corr = np.empty((rules.n_labels, rules.n_labels))
    correlate(rules.label_cov[rule], rules.label_weight[rule], corr)
    return corr


def pool(land: Landscape) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each scaled feature over the rows of all rules.

    The deviation is at most 1, that of the initial rows: widths of young rules hold much of the
    width they were born with, which is no property of the data.
    """
    spreads = np.sqrt(np.diagonal(land.covariance))
    return land.mean, np.minimum(spreads, 1.0)
