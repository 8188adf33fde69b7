"""The rules of a learner as a person reads them: arrays in units of the data, and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from efcml.explain import words as say
from efcml.explain.background import Background, ColumnKinds, name_all
from efcml.explain.choosing import Landscape, SparsePlanes, thin_out
from efcml.explain.trust import Trust, measure_trust
from efcml.explain.wide import Reading, open_up
from efcml.support.guard import one_at_a_time, one_blas_thread
from efcml.support.statistics import CUTS, label_means, wilson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.explain.background import Variable
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats

# Modules of the model are imported where they are needed: they load numba.

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
NEARLY_ALL_ROWS = 0.8  # share that the background decides
MOST_SAMPLES = 60  # rows that stand for a rule when its terms are chosen
LEAST_SPREAD = 1e-9  # of a scaled feature; below it is constant

# The order of reading of each learner, and for which state: to find it takes longer than a row.
_orders: WeakKeyDictionary[Learner, tuple[Any, list[int]]] = WeakKeyDictionary()


@dataclass(eq=False, repr=False)
class Rule:
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

    scaled_sigma: Floats = field(init=False)  # (p,), width along each feature
    slopes: Floats = field(init=False)  # (K, p), of every label's plane over the scaled features
    effects: Floats = field(init=False)  # (K, p), per standard deviation of a feature in the rule
    answer: Floats = field(init=False)  # (K,), what the rule says at its own center
    probabilities: Floats = field(init=False)  # (K,), the same kept within 0 and 1
    center: Floats = field(init=False)  # (p,)
    mean: Floats = field(init=False)  # (p,), of the rows of late; of a flag the share of yes
    sigma: Floats = field(init=False)  # (p,)
    covariance: Floats = field(init=False)  # (p, p)
    # (K, p + 1), slopes per unit of the data and, last, intercepts. As long as no feature is
    # clipped, the rule says ``weights[:, :-1] @ x + weights[:, -1]``.
    weights: Floats = field(init=False)
    # Center and width along each feature (p,), in standard deviations from the usual, and how much
    # the rule differs from all rows along each.
    position: tuple[Floats, Floats] = field(init=False)
    distinctness: Floats = field(init=False)

    def __post_init__(self) -> None:
        usual = self.background
        self.scaled_sigma = np.sqrt(np.diagonal(self.scaled_covariance))
        self.slopes = self.scaled_weights[:, :-1]
        self.effects = self.slopes * self.scaled_sigma * usual.columns.named
        self.answer = self.slopes @ self.scaled_center + self.scaled_weights[:, -1]
        self.probabilities = np.clip(self.answer, 0.0, 1.0)
        self.center = usual.offset + usual.unit * self.scaled_center
        self.mean = usual.offset + usual.unit * self.scaled_mean
        self.sigma = usual.unit * self.scaled_sigma
        self.covariance = self.scaled_covariance * np.outer(usual.unit, usual.unit)
        slopes = self.slopes / usual.unit
        intercepts = self.scaled_weights[:, -1] - slopes @ usual.offset
        self.weights = np.column_stack([slopes, intercepts])
        z = (self.scaled_center - usual.feature_means) / usual.feature_spreads
        self.position = z, self.scaled_sigma / usual.feature_spreads
        self.distinctness = say.distinctness(*self.position)

    @cached_property
    def sparse(self) -> SparsePlanes:
        """The planes by at most five features, for reading."""
        blocks = [thing.columns for thing in self.background.variables]
        return thin_out(self.slopes, self.scaled_covariance, blocks, MOST_FEATURES)

    @cached_property
    def terms(self) -> list[say.Term]:
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
        middle = (CUTS[1] <= z) & (z < CUTS[2]) & (width > say.NARROW)
        unusual = np.array([t.kind != "number" or not middle[t.columns[0]] for t in things])
        plain = len(chosen) - int(unusual[chosen].sum())
        if lost < SET_APART and (plain > 1 or plain == len(chosen)):
            chosen, lost = land.choose(self.place, blocks, allowed & unusual, MOST_TERMS)
        return [self._term(things[i]) for i in chosen] if lost >= HARDLY_APART else []

    def _term(self, thing: Variable) -> say.Term:
        columns, (z, width) = list(thing.columns), self.position
        j, shares = columns[0], np.clip(self.mean[columns], 0.0, 1.0)
        if thing.kind == "flag":
            return say.flag_term(thing.name, float(shares[0]))
        if thing.kind == "group":
            usual = self.background.usual_center[columns]
            return say.group_term(thing.name, thing.values, shares, usual)
        return say.Term(
            thing.name, say.level(z[j], width[j]), float(self.center[j]), float(self.sigma[j])
        )

    @property
    def antecedent(self) -> str:
        """The IF part, without the word."""
        if self.covers_all:
            return "otherwise" if self.background.n_rules > 1 else "always"
        return " AND ".join(map(str, self.terms)) or "nothing simple sets it apart"

    @property
    def condition(self) -> str:
        """The IF part with its word, or why there is none, in capitals."""
        return f"IF {self.antecedent}" if self.terms else self.antecedent.upper()

    @property
    def label_tendencies(self) -> list[say.Tendency]:
        """Labels whose share in the rows of late is not the usual one, at most 5.

        Not the answer at the center: rules are formed by features and labels together, so the
        labels there can be rarer, or more frequent, than where the rule decides.
        """
        answer, usual = self.label_shares, self.background.label_means
        gap = np.nan_to_num(np.abs(answer - usual))
        low, high = wilson(answer, self.label_rows)
        unlike = (gap >= LEAST_GAP) & ((usual < low) | (usual > high))
        return [
            say.Tendency(
                self.background.label_names[k], *(float(v[k]) for v in (answer, usual, low, high))
            )
            for k in np.argsort(-gap, kind="stable")
            if unlike[k]
        ][:MOST_TENDENCIES]

    @property
    def consequent(self) -> str:
        """The THEN part, without the word."""
        if not (self.label_weights > 0.0).any():
            return "nothing learned yet"
        if self.label_rows.max() < FEW_ROWS:
            return "too few rows to tell"
        words = ", ".join(map(str, self.label_tendencies)) or "labels as usual"
        return words if self.decided >= FEW_ROWS else f"{words}, but hardly any row of late"

    def sentence(self) -> str:
        """Return the rule as one IF-THEN sentence."""
        return f"{self.condition} THEN {self.consequent}"

    def important(self, label: int | str, n: int = MOST_PUSHES) -> list[say.Push]:
        """Return the features that move a label most inside the rule, as (feature, effect).

        By the change of the score per standard deviation in the rule; weak ones are left out.
        """
        effects = self.effects[self.background.label_index(label)]
        pairs = zip(self.background.columns.names, effects.tolist(), strict=True)
        return keep_strong([say.Push(*pair) for pair in pairs])[:n]

    @cached_property
    def trends(self) -> list[str]:
        """What moves the labels of the THEN part and the steepest label, one sentence each.

        By the planes of at most five features. The last sentence says what that costs.
        """
        things, slopes = self.background.variables, self.sparse.slopes
        labels = [tendency.label for tendency in self.label_tendencies[:MOST_TRENDS]]
        steepest = np.abs(slopes * self.scaled_sigma).max(axis=1).argmax()
        labels.append(self.background.label_names[steepest])
        sentences = []
        for label in dict.fromkeys(labels):
            own = slopes[self.background.label_index(label)]
            pushes = [push for i in self.sparse.blocks for push in self._pushes(things[i], own)]
            pushes = keep_strong(pushes)[:MOST_PUSHES]
            ways = (("rises", 1.0), ("falls", -1.0))
            some = [(verb, [p for p in pushes if p.effect * sign > 0.0]) for verb, sign in ways]
            parts = [f"{verb} with {', '.join(map(str, some))}" for verb, some in some if some]
            if parts:
                sentences.append(f"{label} {' and '.join(parts)}")
        n = len(self.sparse.blocks)
        kept = f"{say.count(n, 'feature')} keep{'s' * (n == 1)} {say.percent(self.sparse.kept)}"
        return [*sentences, f"{kept} of the variance of its answers"] if sentences else []

    def _pushes(self, thing: Variable, slopes: Floats) -> list[say.Push]:
        """Return what a thing does to a score.

        A number by a standard deviation in the rule, a flag from no to yes, a value of a group in
        place of the mixture of values in the rule. What all its rows share moves nothing.
        """
        columns = list(thing.columns)
        if thing.kind == "number":
            return [say.Push(thing.name, float(slopes[columns[0]] * self.scaled_sigma[columns[0]]))]
        steps = slopes[columns] / self.background.unit[columns]
        shares = np.clip(self.mean[columns], 0.0, 1.0)
        varies = (shares > say.NONE_OF_IT) & (shares < 1.0 - say.NONE_OF_IT)
        if thing.kind == "group":
            steps = steps - shares @ steps
        names = [f"{thing.name} {value}" for value in thing.values] or [thing.name]
        return [
            say.Push(name, float(step))
            for name, step, free in zip(names, steps, varies, strict=True)
            if free
        ]

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
            "label_names": [self.background.label_names[k] for k in shown],
            "answers": answers[shown],
            "low": low,
            "high": high,
            "usual": usual[shown],
        }

    @property
    def title(self) -> str:
        """Name, what it decides, and support in one line."""
        return (
            f"rule {self.uid}: decides {say.percent(self.decides)} of the rows, "
            f"learned from {say.count(round(self.weight), 'row')}, born in row {self.born}"
        )

    def block(self, widest: float = 1.0) -> say.Block:
        """Return the rule as it is read; ``widest`` is the share of rows that fills the bar."""
        title = say.Bar(self.title, self.decides / (widest or 1.0))
        lines = [(1, self.condition), (1, f"THEN {self.consequent}")]
        return say.Block(title, lines + [(2, trend) for trend in self.trends])

    def __str__(self) -> str:
        return say.as_text([self.block()])

    def __repr__(self) -> str:
        return f"Rule({self.uid}, {self.sentence()!r})"


def keep_strong(pushes: list[say.Push]) -> list[say.Push]:
    """Return pushes by their size, without those that are weak beside the strongest."""
    ranked = sorted(pushes, key=lambda push: -abs(push.effect))
    least = max(LEAST_PUSH, PUSH_SHARE * abs(ranked[0].effect)) if ranked else 0.0
    return [push for push in ranked if abs(push.effect) >= least]


class RuleList(Sequence[Rule]):
    """Rules by what they decide: a sequence of `Rule` that can be printed and shows in notebooks.

    The background, a rule that covers everything, stands last. ``trust`` says how far the reading
    is what the model does, by the last rows that it has learned; None before there are rules.
    """

    def __init__(
        self, rules: Iterable[Rule], background: Background, trust: Trust | None = None
    ) -> None:
        self._rules = tuple(rules)
        self.background, self.trust = background, trust
        self.feature_names, self.label_names = background.columns.names, background.label_names

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, index: int | slice) -> Any:  # a Rule, or a RuleList of a slice
        if isinstance(index, slice):
            return RuleList(self._rules[index], self.background, self.trust)
        return self._rules[index]

    @property
    def centers(self) -> Floats:
        """Centers of all rules, in the units of the data (n, p)."""
        return np.reshape([rule.center for rule in self], (-1, len(self.feature_names)))

    @property
    def covariances(self) -> Floats:
        """Covariances of the features in all rules, in the units of the data (n, p, p)."""
        p = len(self.feature_names)
        return np.reshape([rule.covariance for rule in self], (-1, p, p))

    def firing(self, X: ArrayLike) -> Floats:
        """Return how strongly each rule fires at rows in the units of the data (rows, n).

        The rule that fires most decides. That is the density of its Gaussian, up to a factor that
        all rules share; with ``activation="distance"`` volumes do not count.
        """
        usual, land = self.background, self.background.landscape
        if land is None:
            return np.zeros((len(np.asarray(X)), 0))
        places = [rule.place for rule in self]
        scaled = (np.asarray(X, dtype=float) - usual.offset) / usual.unit
        gaps: Any = scaled[:, None] - land.centers[places]
        distances = np.einsum("nri,rij,nrj->nr", gaps, land.precisions[places], gaps)
        return np.exp(-0.5 * (distances + land.log_volumes[places]))

    def telling(self, most: int = 6) -> list[int]:
        """Return the columns that the rules name in their IF parts, those that decide most first.

        A column counts by what the rules decide that name it, the first terms more than later ones.
        """
        places = {thing.name: thing.columns for thing in self.background.columns.variables}
        counts = np.zeros(len(self.feature_names))
        for rule in self:
            for place, term in enumerate(rule.terms):
                counts[list(places[term.feature])] += (rule.decides + 1e-9) / (1.0 + place)
        order = np.argsort(-counts, kind="stable")[:most]
        return order[counts[order] > 0.0].tolist()

    def memberships(self, most: int = 6) -> dict[str, Any]:
        """Return what `efcml.plots.draw_memberships` draws, by the names of its arguments.

        At most so many features: those of `telling`.
        """
        columns, n = self.telling(most), len(self)
        shares = np.reshape([np.clip(rule.mean[columns], 0.0, 1.0) for rule in self], (n, -1))
        return {
            "shares": np.where(self.background.columns.flags[columns], shares, np.nan),
            "positions": np.reshape([rule.position[0][columns] for rule in self], (n, -1)),
            "widths": np.reshape([rule.position[1][columns] for rule in self], (n, -1)),
            "feature_names": [self.feature_names[column] for column in columns],
            "rule_names": [f"rule {rule.uid}" for rule in self],
        }

    def importance(self) -> Floats:
        """Return how much each feature moves each label (p, K): mean size of `Rule.effects`.

        Rules count by their share of the activation. Where rows are projected, only the strongest
        features have names; the rest counts as 0.
        """
        total = np.zeros((len(self.feature_names), len(self.label_names)))
        for rule in self:
            total += rule.share * np.abs(rule.effects.T)
        return total / (sum(rule.share for rule in self) or 1.0)

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with what the sentences say, one line per rule.

        At the end stands the share of every label in the rows that the rule decided of late.
        """
        import pandas

        names = ("uid", "born", "decides", "weight", "support", "antecedent", "consequent")
        facts = {name: [getattr(rule, name) for rule in self] for name in names}
        shares = np.reshape([rule.label_shares for rule in self], (-1, len(self.label_names)))
        labels = pandas.DataFrame(shares, columns=list(self.label_names))
        return pandas.concat([pandas.DataFrame(facts), labels], axis=1)

    @property
    def title(self) -> str:
        """What the list holds, in one line."""
        rows, n_rules = self.background.rows, self.background.n_rules
        if n_rules == 0:
            similar = self.background.similar
            besides = f", and similar ones among them by {say.percent(similar)}" if similar else ""
            return f"no rules yet: label frequencies of {say.count(rows, 'row')} answer{besides}"
        part = "" if len(self) == n_rules else f"{len(self)} of "
        return f"{part}{say.count(n_rules, 'rule')} after {say.count(rows, 'row')}"

    def blocks(self) -> list[say.Block]:
        """Return the rules as they are read, with how far to trust them."""
        widest = max((rule.decides for rule in self), default=0.0)
        trust = [] if self.trust is None else [self.trust.block]
        out = self.background.left_out_words
        head = say.Block(self.title, [(1, out)] if out else [])
        return [head, *(rule.block(widest) for rule in self), *trust]

    def __str__(self) -> str:
        return say.as_text(self.blocks())

    def __repr__(self) -> str:
        sizes = f"{len(self.feature_names)} features, {len(self.label_names)} labels"
        return f"RuleList({len(self)} rules, {sizes})"

    def to_html(self, most: int | None = None) -> str:
        """Return all rules, or the first ``most``, as HTML."""
        return say.as_html(self[:most].blocks())

    def _repr_html_(self) -> str:
        return self.to_html()


@one_at_a_time
@one_blas_thread()
def read_rules(
    learner: Learner,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    columns: ColumnKinds | None = None,
) -> RuleList:
    """Return the rules of a learner by what they decide; none during the warm-up.

    Things without names are ``x0``, ``x1``, ... and ``label0``, ``label1``, ...; ``columns`` says
    which columns are flags and which belong together, with names of their own.
    """
    learner = open_up(learner)
    background, rules = read_in_order(learner, feature_names, label_names, columns)
    late = learner.latest[0]
    trust = measure_trust(learner, rules, late, "learned row") if rules and len(late) else None
    return RuleList((rules[r] for r in reading_order(rules)), background, trust)


@one_at_a_time
@one_blas_thread()
def read_activations(learner: Learner, X: Floats) -> Floats:
    """Return the activation of every rule at rows that are not scaled, as `read_rules` orders."""
    stamp = learner.rows_seen, learner.rules.uid.tobytes()
    known, order = _orders.get(learner, (None, []))
    if known != stamp:
        order = reading_order(read_in_order(open_up(learner), None, None)[1])
        _orders[learner] = stamp, order
    return learner.activations(learner.scaled(X))[:, order]


@one_at_a_time
@one_blas_thread()
def read_trust(learner: Learner, X: Floats, columns: ColumnKinds | None = None) -> Trust:
    """Return how far the reading of a fitted learner holds for rows that are not scaled."""
    learner = open_up(learner)
    _, rules = read_in_order(learner, None, None, columns)
    return measure_trust(learner, rules, learner.scaled(X), "row")


def reading_order(rules: Sequence[Rule]) -> list[int]:
    """Return the places of rules in the order in which they are read."""
    keys = [(rule.covers_all, -rule.decides, -rule.share) for rule in rules]
    return sorted(range(len(rules)), key=keys.__getitem__)


def read_in_order(
    learner: Learner,
    feature_names: Sequence[str] | None,
    label_names: Sequence[str] | None,
    columns: ColumnKinds | None = None,
) -> tuple[Background, list[Rule]]:
    """Return the background and the rules in the order of the learner's arrays."""
    p, K = learner.n_features, learner.n_labels
    if isinstance(learner, Reading):
        columns = learner.columns(columns, feature_names)
    if columns is None:
        columns = ColumnKinds(name_all(feature_names, "x", p), np.zeros(p, dtype=bool))
    names = name_all(label_names, "label", K)
    if not learner.fitted:
        nothing = np.zeros(p), np.ones(p), np.zeros(p), np.ones(p)
        usual, held, share = learner.frequencies, len(learner.held), learner.warm_start.share
        return Background(columns, names, *nothing, usual, held, 0, None, share), []
    from efcml.model.reshape import label_correlation

    rules, scaler, (given, Y, _) = learner.rules, learner.scaler, learner.latest
    rows = learner.fill(given)
    winners = rules.activations(rows).argmax(axis=1)
    decided = np.bincount(winners, minlength=rules.n_rules)
    amounts = decided.astype(float) if len(rows) else rules.use
    decides = amounts / (amounts.sum() or 1.0)
    centers, covariances, precisions = rules.whole_gaussians()
    own = [rows[winners == r] for r in range(rules.n_rules)]
    land = Landscape(
        centers,
        covariances,
        precisions,
        rules.log_det_x * float(learner.params.activation == "density"),
        decides,
        tuple(
            some[-MOST_SAMPLES:] if len(some) >= FEW_ROWS else centers[[r]]
            for r, some in enumerate(own)
        ),
    )
    weights, ones = np.diagonal(rules.label_sums[:, :2], axis1=2, axis2=3).swapaxes(0, 1)
    with np.errstate(invalid="ignore"):  # NaN where nothing is learned
        label_shares, usual = ones / weights, ones.sum(axis=0) / weights.sum(axis=0)
    usual = np.nan_to_num(np.where(np.isnan(Y).all(axis=0), usual, label_means(Y)))
    spreads = rows.std(axis=0) if len(rows) else np.ones(p)
    background = Background(
        columns.with_found_groups(given, -scaler.mean / scaler.scale),
        names,
        scaler.mean,
        scaler.scale,
        rows.mean(axis=0) if len(rows) else decides @ centers,
        np.where(spreads > LEAST_SPREAD, spreads, 1.0),
        usual,
        learner.rows_seen,
        rules.n_rules,
        land,
        relevant=np.isin(np.arange(p), rules.features.numbers),
    )
    covering, total = find_background(background, land), rules.weight.sum() or 1.0
    made, planes = [], rules.whole_planes()
    for r in range(rules.n_rules):
        mean, labels, counted = centers[r], label_shares[r], weights[r].copy()
        if decided[r] >= FEW_ROWS:
            mean, late = own[r].mean(axis=0), Y[winners == r]
            counted = (~np.isnan(late)).sum(axis=0).astype(float)
            labels = np.where(counted > 0.0, label_means(late), np.nan)
        rule = Rule(
            uid=int(rules.uid[r]),
            born=int(rules.born[r]),
            place=r,
            support=float(rules.support[r]),
            decided=int(decided[r]),
            decides=float(decides[r]),
            covers_all=r == covering,
            weight=float(rules.weight[r]),
            share=float(rules.weight[r] / total),
            scaled_center=centers[r],
            scaled_mean=mean,
            scaled_covariance=land.covariances[r],
            scaled_weights=planes[r],
            label_means=label_shares[r],
            label_weights=weights[r].copy(),
            label_shares=labels,
            label_rows=counted,
            label_correlation=label_correlation(rules.label_sums[r]),
            background=background,
        )
        made.append(rule)
    return background, made


def find_background(usual: Background, land: Landscape) -> int:
    """Return the rule that covers everything, -1 if there is none.

    That is one that decides nearly all rows, or the widest that no feature sets apart from all.
    """
    if land.shares.max() >= NEARLY_ALL_ROWS:
        return int(land.shares.argmax())
    z = (land.centers - usual.feature_means) / usual.feature_spreads
    widths = np.sqrt(np.diagonal(land.covariances, axis1=1, axis2=2)) / usual.feature_spreads
    covering = np.flatnonzero(say.distinctness(z, widths).max(axis=1) < DISTINCT)
    volumes = [np.linalg.slogdet(land.covariances[r])[1] for r in covering]
    return int(covering[np.argmax(volumes)]) if len(covering) else -1
