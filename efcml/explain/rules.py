"""The rules of a learner as a person reads them: arrays in units of the data, and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain import words as say
from efcml.explain.background import (
    Background,
    ColumnKinds,
    name_all,
    protect_arrays,
    why_left_out,
)
from efcml.explain.choosing import Condition, Partition, Text, thin_out
from efcml.explain.trust import Trust, measure_trust
from efcml.explain.wide import Reading, open_up
from efcml.support.aliases import Bools, Floats, Ints
from efcml.support.guard import one_at_a_time, one_blas_thread
from efcml.support.masks import densify, is_sparse
from efcml.support.statistics import label_means, wilson

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.model.learner import Learner

# Modules of the model are imported where they are needed: they load numba.

MOST_FEATURES = 5  # of the planes for reading
MOST_TENDENCIES = 5
LEAST_GAP = 0.1  # between the share of a label in a rule and the usual one
FEW_ROWS = 5  # of fewer nothing is told
MOST_TRENDS = 3  # labels whose slopes are put into words
MOST_PUSHES = 3
LEAST_PUSH = 0.05  # of the score, per standard deviation of the feature in the rule
PUSH_SHARE = 1 / 3  # of the strongest push of a label
NEARLY_ALL_ROWS = 0.8  # share that the background decides
LEAST_SPREAD = 1e-9  # of a scaled feature; below it is constant
NO_RULES = "there are no rules yet: they come when warmup_rows rows are learned, or with fit."


@dataclass(eq=False, repr=False)
class Rule:
    """A rule at the time it was read; later learning does not change it, and it cannot be changed.

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
    covers_all: bool  # the background: it decides nearly all rows
    weight: float  # sum of its activation: how many rows its planes come from
    mean: Floats  # (p,), of late, of a flag the share of yes; the center where these rows are few
    scaled_center: Floats  # (p,)
    scaled_covariance: Floats  # (p, p)
    scaled_weights: Floats  # (K, p + 1), slopes and, last, the intercept of every label's plane
    label_shares: Floats  # (K,), share of each label of late, NaN without any
    label_rows: Floats  # (K,), and how many rows that is from
    label_correlation: Floats  # (K, K), of late, by activation
    background: Background  # what all rules have in common

    def __post_init__(self) -> None:
        usual = self.background
        self.scaled_sigma = np.sqrt(np.diagonal(self.scaled_covariance))
        self.slopes = self.scaled_weights[:, :-1]  # (K, p)
        # Per standard deviation in the rule; of the rest of projected rows none.
        self.effects = self.slopes * self.scaled_sigma * usual.columns.named
        # (K,), what the rule says at its own center.
        self.answer = self.slopes @ self.scaled_center + self.scaled_weights[:, -1]
        self.center = usual.offset + usual.unit * self.scaled_center
        self.sigma = usual.unit * self.scaled_sigma
        self.covariance = self.scaled_covariance * np.outer(usual.unit, usual.unit)
        # (K, p + 1): the rule says ``weights[:, :-1] @ x + weights[:, -1]`` unless one is clipped.
        slopes = self.slopes / usual.unit
        intercepts = self.scaled_weights[:, -1] - slopes @ usual.offset
        self.weights = np.column_stack([slopes, intercepts])
        # Center and width (p,) in standard deviations from the usual.
        z = (self.scaled_center - usual.feature_means) / usual.feature_spreads
        self.position = np.array([z, self.scaled_sigma / usual.feature_spreads])
        protect_arrays(self)
        self.complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "complete" in vars(self):
            what = f"{name} of a rule cannot be set"
            raise AttributeError(f"{what}: it is what was read, and the model would stay as it is.")
        super().__setattr__(name, value)

    @cached_property
    def sparse(self) -> Floats:
        """The slopes (K, p) of planes over at most five features, for reading."""
        usual = self.background
        slopes = thin_out(self.slopes, self.scaled_covariance, usual.relevant, MOST_FEATURES)
        slopes.flags.writeable = False
        return slopes

    @property
    def text(self) -> Text:
        """Which rows it decides, as far as a few conditions tell, and how far they do."""
        partition = self.background.partition
        return Text() if partition is None or self.covers_all else partition.texts[self.place]

    @property
    def terms(self) -> list[str]:
        """The alternatives of the IF part in words, at most 3 of at most 4 conditions."""
        found: list[dict[str, str | list[str]]] = []  # what each says of each thing
        for conditions in self.text.alternatives:
            new = self._words(conditions)
            for old in found:
                (name, *more) = [name for name in new if old.get(name) != new[name]] or [""]
                before, values = old.get(name), new.get(name)
                if old.keys() == new.keys() and not more:
                    if isinstance(before, list) and isinstance(values, list):
                        old[name] = before + values
                        break
            else:
                found.append(new)
        return [
            " AND ".join(
                f"{name} {said if isinstance(said, str) else 'is ' + ' or '.join(said)}"
                for name, said in one.items()
            )
            for one in found
        ]

    def _words(self, conditions: Sequence[Condition]) -> dict[str, str | list[str]]:
        """Return what conditions say of each thing; a list if it is one value of a group."""
        said: dict[str, str | list[str]] = {}
        for column in dict.fromkeys(one.column for one in conditions):
            thing = next(thing for thing in self.background.variables if column in thing.columns)
            about = [one for one in conditions if one.column in thing.columns]
            if thing.kind == "number":
                said[thing.name] = say.number_words([one[1:] for one in about])
            elif thing.kind == "flag":
                said[thing.name] = f"is {'yes' if about[0].above else 'no'}"
            else:
                values = dict(zip(thing.columns, thing.values, strict=True))
                yes, no = (
                    [values[c] for c, above, _ in about if above == s] for s in (True, False)
                )
                plain = len(yes) == 1 and not no
                said[thing.name] = yes if plain else f"is {say.values_words(yes, no)}"
        return said

    @property
    def antecedent(self) -> str:
        """The IF part, without the word."""
        if self.covers_all:
            return "otherwise" if self.background.n_rules > 1 else "always"
        nothing = "nothing simple sets it apart"
        if self.decided < FEW_ROWS:
            nothing = "too few rows of late to say where"
        return " OR ".join(self.terms) or nothing

    @property
    def conditions(self) -> list[str]:
        """The IF part, a line for each alternative, or why there is none, in capitals."""
        terms = self.terms
        pairs = zip(["IF", *["OR"] * len(terms)], terms, strict=False)
        return [f"{word} {term}" for word, term in pairs] or [self.antecedent.upper()]

    @property
    def label_tendencies(self) -> list[str]:
        """Labels whose share in the rows of late is not the usual one, at most 5, in words.

        Not the answer at the center: rules are formed by features and labels together, so the
        labels there can be rarer, or more frequent, than where the rule decides.
        """
        answer, usual = self.label_shares, self.background.label_means
        gap = np.nan_to_num(np.abs(answer - usual))
        low, high = wilson(answer, self.label_rows)
        unlike = (gap >= LEAST_GAP) & ((usual < low) | (usual > high))
        order, names = np.argsort(-gap, kind="stable"), self.background.label_names
        return [
            f"{names[k]} {say.short(answer[k])} ({say.short(low[k])} to {say.short(high[k])}, "
            f"usual {say.short(usual[k])})"
            for k in order[unlike[order]][:MOST_TENDENCIES]
        ]

    @property
    def consequent(self) -> str:
        """The THEN part, without the word."""
        if self.label_rows.max() < FEW_ROWS:
            return "too few rows to tell"
        words = ", ".join(self.label_tendencies) or "labels as usual"
        return words if self.decided >= FEW_ROWS else f"{words}, but hardly any row of late"

    def sentence(self) -> str:
        """Return the rule as one IF-THEN sentence."""
        return f"{' '.join(self.conditions)} THEN {self.consequent}"

    @cached_property
    def trends(self) -> list[str]:
        """What moves the labels that move most inside the rule, one sentence each.

        By the planes of at most five features: a number by a standard deviation in the rule, a flag
        from no to yes. What all rows of the rule share moves nothing.
        """
        usual, names = self.background, list(self.background.columns.names)
        for thing in usual.variables:
            for j, value in zip(thing.columns, thing.values, strict=False):
                names[j] = f"{thing.name} {value}"
        flags, shares = usual.columns.flags, self.mean
        varies = ~flags | ((shares > say.NONE_OF_IT) & (shares < 1.0 - say.NONE_OF_IT))
        # As far as the rows show it, too: slopes of features that go together may cancel.
        along = self.slopes @ self.scaled_covariance / self.scaled_sigma**2
        slopes = np.clip(self.sparse, np.minimum(along, 0.0), np.maximum(along, 0.0))
        pushes = slopes * np.where(flags, 1.0 / usual.unit, self.scaled_sigma) * varies
        sentences, sizes = [], np.abs(pushes)
        for k in np.argsort(-sizes.max(axis=1), kind="stable")[:MOST_TRENDS]:
            least = max(LEAST_PUSH, PUSH_SHARE * sizes[k].max())
            strong, parts = np.argsort(-sizes[k], kind="stable")[:MOST_PUSHES], []
            for verb, sign in (("rises", 1.0), ("falls", -1.0)):
                named = [
                    f"{names[j]} {say.signed(pushes[k, j])}"
                    for j in strong
                    if sign * pushes[k, j] >= least
                ]
                parts += [f"{verb} with {', '.join(named)}"] * bool(named)
            if parts:
                sentences.append(f"{usual.label_names[k]} {' and '.join(parts)}")
        return sentences

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
        lines = [(1, line) for line in self.conditions]
        if self.terms:
            fitting, decided = say.percent(self.text.fitting), say.percent(self.text.decided)
            lines.append((2, f"{fitting} of its rows fit; it decides {decided} of all that fit"))
        lines.append((1, f"THEN {self.consequent}"))
        return say.Block(title, lines + [(2, trend) for trend in self.trends])

    def __str__(self) -> str:
        return say.as_text([self.block()])

    __repr__ = __str__


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

    def matches(self, X: Any) -> Bools:
        """Return which rows fit the text of which rule (n, rules), exactly as it is said.

        ``X`` is in the units of the data, its columns in the order of the model. A condition on a
        missing value does not fit. OTHERWISE fits rows that no other text fits, ALWAYS all of them,
        and a rule without a text none.
        """
        usual = self.background
        rows = X.tocsr() if is_sparse(X) else np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != usual.width:
            raise ValueError(f"X must be rows of {usual.width} features; got shape {rows.shape}.")
        if usual.partition is None:
            return np.zeros((rows.shape[0], 0), dtype=bool)
        values = densify(rows[:, usual.sources])
        fit = np.transpose([text.fits(values) for text in usual.partition.texts])
        shares = np.bincount(usual.partition.winners, minlength=usual.n_rules)
        covering = shares >= NEARLY_ALL_ROWS * len(usual.partition.winners)
        fit[:, covering] = ~fit[:, ~covering].any(axis=1, keepdims=True)
        return fit[:, [rule.place for rule in self]]

    def importance(self) -> Floats:
        """Return how much each feature moves each label (p, K): mean size of `Rule.effects`.

        Rules count by the rows that they have learned from.
        """
        total = np.zeros((len(self.feature_names), len(self.label_names)))
        for rule in self:
            total += rule.weight * np.abs(rule.effects.T)
        return total / (sum(rule.weight for rule in self) or 1.0)

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
        out = self.background.left_out_note
        head = say.Block(self.title, [(1, out)] if out else [])
        return [head, *(rule.block(widest) for rule in self), *trust]

    def __str__(self) -> str:
        return say.as_text(self.blocks())

    __repr__ = __str__

    def to_html(self) -> str:
        """Return all rules as HTML."""
        return say.as_html(self.blocks())

    _repr_html_ = to_html


@one_at_a_time
@one_blas_thread()
def read_rules(
    learner: Learner,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    columns: ColumnKinds | None = None,
) -> RuleList:
    """Return the rules of a learner by what they decide; none before the first fit.

    Things without names are ``x0``, ``x1``, ... and ``label0``, ``label1``, ...; ``columns`` says
    which columns are flags and which belong together, with names of their own.
    """
    learner = open_up(learner)
    background, rules = read_all(learner, feature_names, label_names, columns)
    if not rules:
        return RuleList([], background)
    trust = measure_trust(learner, rules, learner.latest[0], learned=True)
    return RuleList((rules[r] for r in reading_order(learner)), background, trust)


@one_at_a_time
@one_blas_thread()
def read_activations(learner: Learner, X: Floats) -> Floats:
    """Return the activation of every rule at rows that are not scaled, as `read_rules` orders."""
    return learner.activations(learner.scaled(X))[:, reading_order(learner)]


@one_at_a_time
@one_blas_thread()
def read_trust(learner: Learner, X: Floats, columns: ColumnKinds | None = None) -> Trust:
    """Return how far the reading of a fitted learner holds for rows that are not scaled."""
    learner = open_up(learner)
    _, rules = read_all(learner, None, None, columns)
    return measure_trust(learner, rules, learner.scaled(X))


def find_winners(learner: Learner) -> tuple[Ints, Floats]:
    """Return the strongest rule of each of the last rows, and the share that each rule decides."""
    rules, late = learner.rules, learner.fill(learner.latest[0])
    winners = rules.activations(late).argmax(axis=1)
    return winners, np.bincount(winners, minlength=rules.n_rules) / len(late)


def reading_order(learner: Learner) -> Ints:
    """Return the places of rules in the order in which they are read."""
    _, decides = find_winners(learner)
    return np.lexsort((-learner.rules.weight, -decides, decides >= NEARLY_ALL_ROWS))


def read_all(
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
        held, every, share = len(learner.held), np.ones(p, bool), learner.warm_start.share
        usual, where = learner.frequencies, (np.arange(p), p)
        start = Background(columns, names, *nothing, usual, held, 0, None, every, *where, "", share)
        return start, []
    from efcml.kernels.planes import SLOW
    from efcml.model.fit import pairs_of_labels
    from efcml.model.projection import RECENT, last
    from efcml.model.reshape import label_correlation

    rules, scaler, (late, Y, _) = learner.rules, learner.scaler, learner.latest
    rows, (winners, decides) = learner.fill(late), find_winners(learner)
    flags = (np.array([[0.0], [1.0]]) - scaler.mean) / scaler.scale
    halfway = np.clip(flags, -scaler.clip, scaler.clip).mean(axis=0)  # from no to yes
    columns = columns.look_for_several(late > halfway)
    own = [winners == r for r in range(rules.n_rules)]
    centers, covariances, _ = rules.whole_gaussians()
    raw = last(learner.last, RECENT)[0]
    wide = learner if isinstance(learner, Reading) else None
    shown = learner.inside(raw) if wide is None else wide.shown(raw)
    filled = np.where(np.isnan(late + shown), scaler.mean + scaler.scale * rows, shown)
    groups = [list(thing.columns) for thing in columns.groups if thing.kind == "group"]
    relevant = np.isin(np.arange(p), rules.features.numbers)
    weights = rules.seen[:, SLOW]
    with np.errstate(invalid="ignore"):  # NaN where nothing is learned
        label_shares = rules.B[:, SLOW, :, -1] / rules.G[:, SLOW, -1, -1, None]
        label_shares = np.where(weights > 0.0, np.clip(label_shares, 0.0, 1.0), np.nan)
        usual = np.nansum(weights * label_shares, axis=0) / weights.sum(axis=0)
    spreads = rows.std(axis=0)
    background = Background(
        columns,
        names,
        offset=scaler.mean.copy(),
        unit=scaler.scale.copy(),
        feature_means=rows.mean(axis=0),
        feature_spreads=np.where(spreads > LEAST_SPREAD, spreads, 1.0),
        label_means=np.nan_to_num(np.where(np.isnan(Y).all(axis=0), usual, label_means(Y))),
        rows=learner.rows_seen,
        n_rules=rules.n_rules,
        partition=Partition(
            shown, filled, winners, rules.n_rules, np.flatnonzero(relevant), groups
        ),
        relevant=relevant,
        sources=np.arange(p) if wide is None else wide.features,
        width=p if wide is None else wide.learner.n_features,
        why_left_out=why_left_out(learner.relevance),
    )
    made, planes, psi = [], rules.whole_planes(), rules.activations(rows)
    for r, some in enumerate(own):
        mean, labels, counted = centers[r], label_shares[r], weights[r].copy()
        if some.sum() >= FEW_ROWS:
            mean, known = rows[some].mean(axis=0), ~np.isnan(Y[some])
            counted = known.sum(axis=0).astype(float)
            labels = np.where(counted > 0.0, label_means(Y[some]), np.nan)
        rule = Rule(
            uid=int(rules.uid[r]),
            born=int(rules.born[r]),
            place=r,
            support=float(rules.support[r]),
            decided=int(some.sum()),
            decides=float(decides[r]),
            covers_all=bool(decides[r] >= NEARLY_ALL_ROWS),
            weight=float(rules.weight[r]),
            mean=scaler.mean + scaler.scale * mean,
            scaled_center=centers[r],
            scaled_covariance=covariances[r],
            scaled_weights=planes[r],
            label_shares=labels,
            label_rows=counted,
            label_correlation=label_correlation(pairs_of_labels(Y, psi[:, r])),
            background=background,
        )
        made.append(rule)
    return background, made
