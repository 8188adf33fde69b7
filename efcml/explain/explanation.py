"""Why a model says what it says of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain import words as say
from efcml.explain.rules import RuleList, read_in_order
from efcml.explain.trust import find_addends, remembered_by
from efcml.explain.wide import Reading, open_up
from efcml.support.guard import one_at_a_time, one_blas_thread

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.explain.background import Background, ColumnKinds, Variable
    from efcml.model.learner import Learner
    from efcml.support.aliases import Bools, Floats, Ints

TYPICAL, SIMILAR, KNOWING = "typical answer", "similar cases", "knowing"  # in place of features
NO_RULE = -1  # in the table: of what no rule adds
LEAST_CORRECTION = 0.05  # of a score by the cases; below, and if no decision turns, none is named
LEAST_ADDED = 0.005  # of a score; less is not worth a sentence
THE_SAME = 1.0 - 1e-9  # similarity of equal rows, but for rounding
LEAST_ACTIVATION = 0.01  # of a rule that is shown
NEARLY_ALL = 0.9  # of the answer; so many rules are counted in the first line
MOST_CASES, MOST_LABELS, MOST_RULES, MOST_FEATURES = 3, 8, 5, 3  # that are named
MOST_KNOWN, MOST_TURNED = 5, 8  # known labels, and turned decisions, that have a sentence
FREQUENCIES = "label frequencies"  # an addend for which the usual words would say nothing


@dataclass(frozen=True, eq=False)
class LabelAnswer:
    """What was decided of a row, and what known labels had to do with it."""

    kind: str  # the parameter ``decision``; "hamming" before there are rules
    score: Floats  # (K,), given what is known
    decision: Ints  # (K,)
    alone: Ints  # (K,), what is decided in the same way by the scores of the strongest rule
    without_cases: Ints  # (K,), and of all rules
    thresholds: Floats  # (K,), from which score on a label is said; not so for "subset"
    known: Floats  # (K,), labels that were given; NaN for the others
    # What each known label adds to all, (K,), by its number; to itself, what it lacked.
    added: Mapping[int, Floats]


@dataclass(eq=False, repr=False)
class Explanation:
    """The scores of one row, taken apart.

    A rule with the activation ``Psi`` gives ``Psi (W x + b)``. Read from its center ``c``, that
    is its typical answer ``Psi (W c + b)`` and ``Psi W_j (x_j - c_j)`` of each feature. All of
    them, over all rules, what remembered cases add, what follows and what known labels add, give
    the score. During the warm-up there are no rules, and the base is the score.
    """

    x: Floats  # (p,), the row
    labels: LabelAnswer  # what became of the scores
    rules: RuleList  # all rules, the one that fires most first
    activation: Floats  # (rules,), normalised
    typical: Floats  # (rules, K), what each rule adds by its typical answer
    contributions: Floats  # (rules, K, p), and because a feature differs from the rule's center
    cases: Floats  # (m, K), what each remembered row adds, the most similar first
    # (m,), their numbers: rows that `fit` learned, then those of the stream; rows without any known
    # label are not counted. -1 if it is none of the last 500, or was filled in.
    case_rows: Ints
    case_similarity: Floats  # (m,), 1 if equal
    clipped: Bools  # (p,), features so far from the initial rows that they count as less far
    # What label frequencies, the last rows and stages of one's own add, by name, (K,) each.
    afterwards: Mapping[str, Floats]
    # (p,), the row with what the rules expect of features that are missing (NaN in ``x``), or so
    # wild that they count as missing; in the warm-up the row.
    taken: Floats

    background: Background = field(init=False)  # what all rules have in common
    score: Floats = field(init=False)  # (K,), ``decision_function`` plus 0.5, given what is known
    # (K,), 0 or 1 for each label, as `predict` says; for a 1-D target 1 is the last class.
    decision: Ints = field(init=False)
    # (K,), what the rules say whatever the row's features are: typical answers, blended. With
    # `by_feature`, `by_cases`, `afterwards` and `by_known` the score.
    base: Floats = field(init=False)
    by_feature: Floats = field(init=False)  # (p, K), what each feature adds over all rules
    by_variable: Floats = field(init=False)  # (things, K), columns of a group taken together
    by_rule: Floats = field(init=False)  # (rules, K), what each rule adds, except in the warm-up
    by_cases: Floats = field(init=False)  # (K,), what all remembered rows add together
    by_known: dict[str, Floats] = field(init=False)  # (K,), what each known label adds, by its name
    alone: Floats = field(init=False)  # (K,), what the strongest rule says alone
    without_cases: Floats = field(init=False)  # (K,), what all rules say without remembered rows

    def __post_init__(self) -> None:
        usual, labels = self.rules.background, self.labels
        self.background, self.score, self.decision = usual, labels.score, labels.decision
        self.feature_names, self.label_names = usual.columns.names, usual.label_names
        self.by_feature = self.contributions.sum(axis=0).T
        parts = [self.by_feature[list(one.columns)].sum(axis=0) for one in usual.columns.variables]
        self.by_variable = np.array(parts)
        self.by_rule = self.typical + self.contributions.sum(axis=2)
        self.by_cases = self.cases.sum(axis=0)
        self.by_known = {usual.label_names[k]: added for k, added in labels.added.items()}
        known = sum(self.by_known.values(), np.zeros(len(self.score)))
        self.without_cases = self.score - known - self.by_cases - sum(self.afterwards.values())
        self.base = self.alone = self.without_cases  # in the warm-up
        if len(self.rules):
            self.base, self.alone = self.typical.sum(axis=0), self.by_rule[0] / self.activation[0]

    @property
    def cases_matter(self) -> bool:
        """Whether remembered rows turn a decision, or move a score by .05 or more."""
        turned = self.labels.without_cases != self.decision
        return bool(turned.any() or np.abs(self.by_cases).max(initial=0.0) >= LEAST_CORRECTION)

    def top(self, label: int | str, n: int = 5) -> list[say.Push]:
        """Return the features that moved a label most, as (feature, effect)."""
        effects = self.by_feature[:, self.background.label_index(label)]
        return [say.Push(self.feature_names[j], float(effects[j])) for j in strongest(effects, n)]

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame of all contributions, which sum to the score of each label.

        Columns are rule, label, feature, contribution. In place of a feature stand "typical
        answer", what a rule adds whatever the row is, and with rule -1 "similar cases", what
        `afterwards` has, and "knowing ...", what each known label adds; during the warm-up there is
        no other rule.
        """
        import pandas

        names, parts = (TYPICAL, *self.feature_names), []
        for rule, typical, own in zip(self.rules, self.typical, self.contributions, strict=True):
            values = zip(names, (typical, *own.T), strict=True)
            parts += [(rule.uid, name, added) for name, added in values]
        first = (SIMILAR, self.by_cases) if parts else (TYPICAL, self.base)
        known = [(f"{KNOWING} {name}", added) for name, added in self.by_known.items()]
        if not parts or len(self.case_rows):
            parts.append((NO_RULE, *first))
        parts += [(NO_RULE, *pair) for pair in (*self.afterwards.items(), *known)]
        lines = [
            (uid, label, name, value)
            for uid, name, values in parts
            for label, value in zip(self.label_names, values.tolist(), strict=True)
        ]
        return pandas.DataFrame(lines, columns=["rule", "label", "feature", "contribution"])

    @property
    def title(self) -> str:
        """How many rules stand behind the answer, in one line."""
        if not len(self.rules):
            return self.rules.title
        few = 1 + int((np.cumsum(self.activation)[:-1] < NEARLY_ALL).sum())
        return f"{few} of {len(self.rules)} rules make up {say.percent(NEARLY_ALL)} of the answer"

    def blocks(self) -> list[say.Block | say.Table]:
        """Return the explanation as it is read: labels, rules, and what else there is to know."""
        shown = np.argsort(-self.score, kind="stable")[:MOST_LABELS].tolist()
        if len(self.score) <= MOST_LABELS:
            shown.sort()
        parts: list[say.Block | say.Table] = [say.Block(self.title), self._label_table(shown)]
        pairs = zip(self.rules, self.activation, self.by_rule, strict=True)
        for rule, activation, by_rule in list(pairs)[:MOST_RULES]:
            if activation >= LEAST_ACTIVATION:
                adds = ", ".join(f"{self.label_names[k]} {say.signed(by_rule[k])}" for k in shown)
                title = say.Bar(
                    f"rule {rule.uid}, activation {say.percent(activation)}", activation
                )
                parts.append(say.Block(title, [(1, rule.condition), (1, f"adds {adds}")]))
        notes = [(0, note) for note in self.notes]
        return [*parts, say.Block("", notes)] if notes else parts

    def _label_table(self, shown: list[int]) -> say.Table:
        """Return score, decision, and what moved it most, of each label shown."""
        with_cases, things = bool(len(self.case_rows)), self.background.columns.variables
        rows = []
        for k in shown:
            effects = self.by_variable[:, k]
            moved = ", ".join(
                f"{self.value_of(things[i])} {say.signed(effects[i])}"
                for i in strongest(effects, MOST_FEATURES)
            )
            known = "" if np.isnan(self.labels.known[k]) else ", known"
            decision = f"{'yes' if self.decision[k] else 'no'}{known}"
            score, cases = say.short(self.score[k]), [say.signed(self.by_cases[k])] * with_cases
            name, bar = self.label_names[k], say.Bar(score, self.score[k])
            rows.append([name, bar, decision, say.short(self.base[k]), *cases, moved])
        head = ["label", "score", "", "base", *["cases"] * with_cases, "moved most by"]
        left = len(self.score) - len(shown)
        return say.Table(head, rows, f"and {left} labels with lower scores" if left else "")

    def value_of(self, thing: Variable) -> str:
        """Return a thing with its value in the row."""
        values = self.x[list(thing.columns)]
        expected = self.taken[thing.columns[0]]
        if thing.kind == "rest":
            return thing.name
        if np.isnan(values).any():
            given = thing.kind != "number" or np.isnan(expected)
            words = "not given" + ("" if given else f"; taken as {say.plain_number(expected)}")
        elif thing.kind == "number":
            words = say.plain_number(values[0])
        elif thing.kind == "flag":
            words = "yes" if values[0] >= 0.5 else "no"
        else:
            pairs = zip(thing.values, values, strict=True)
            words = " and ".join(name for name, value in pairs if value >= 0.5) or "another"
        return f"{thing.name} ({words})"

    @property
    def notes(self) -> list[str]:
        """What else a reader should know, one sentence each."""
        outside = "is far outside the initial rows and counts as less far"
        wild = "is so far outside the initial rows that it counts as missing"
        missing = (self.taken != self.x) & ~np.isnan(self.x)
        far = ((self.clipped, outside), (missing, wild))
        return [
            *(self._trust_notes() if len(self.rules) else []),
            *added_notes(self.afterwards, self.label_names),
            *known_notes(self.labels, self.label_names),
            *turned_notes(self.labels, self.label_names),
            *(f"{self.feature_names[j]} {w}" for which, w in far for j in np.flatnonzero(which)),
            *filter(None, [self.background.left_out_words]),
        ]

    def _trust_notes(self) -> list[str]:
        """Say how far the strongest rule, and all rules, answer as the model does."""
        notes = [f"rule {self.rules[0].uid} alone decides {self._compare(self.labels.alone)}"]
        if not len(self.case_rows):
            return notes
        largest = int(np.abs(self.by_cases).argmax())
        if not self.cases_matter:
            size = say.short(abs(self.by_cases[largest]))
            return [*notes, f"remembered rows change no decision, and no score by more than {size}"]
        named: dict[object, str] = {}  # each once, and not the row itself
        for i, (row, likeness) in enumerate(zip(self.case_rows, self.case_similarity, strict=True)):
            if likeness < THE_SAME:
                name, key = (f"row {row}", int(row)) if row >= 0 else ("an earlier row", -1 - i)
                named.setdefault(key, f"{name} ({say.percent(likeness)})")
        similar = ", ".join([*named.values()][:MOST_CASES])
        return [
            *notes,
            f"all rules without remembered rows decide {self._compare(self.labels.without_cases)}",
            f"remembered rows move {self.label_names[largest]} most, by "
            f"{say.signed(self.by_cases[largest])}"
            + (f"; the most similar: {similar}" * bool(similar)),
        ]

    def _compare(self, decided: Ints) -> str:
        """Say whether others decide as the model does, or where they do not."""
        other = np.flatnonzero(decided != self.decision)
        if not len(other):
            return "the same"
        names = ", ".join(self.label_names[k] for k in other[:MOST_LABELS])
        more = ", ..." if len(other) > MOST_LABELS else ""
        return f"otherwise for {say.count(len(other), 'label')}: {names}{more}"

    def __str__(self) -> str:
        return say.as_text(self.blocks())

    def __repr__(self) -> str:
        sizes = f"{len(self.rules)} rules, {len(self.x)} features, {len(self.score)} labels"
        return f"Explanation({sizes})"

    def _repr_html_(self) -> str:
        return say.as_html(self.blocks())


def strongest(effects: Floats, n: int) -> list[int]:
    """Return the indices of the ``n`` largest effects of either sign; none that is 0."""
    order = np.argsort(-np.abs(effects), kind="stable")[:n]
    return [j for j in order if effects[j] != 0.0]


def added_notes(addends: Mapping[str, Floats], label_names: Sequence[str]) -> list[str]:
    """Say of each addend that moves a label which one it moves most, and by how much."""
    notes = []
    for name, added in addends.items():
        k = int(np.abs(added).argmax())
        label, size = label_names[k], say.signed(added[k])
        words = f"{name} move {label} most, by {size}"
        if name == FREQUENCIES:
            words = "the model has left the label frequencies too far of late: "
            words += f"{label} is drawn back most, by {size}"
        notes += [words] * bool(abs(added[k]) >= LEAST_ADDED)
    return notes


def known_notes(answer: LabelAnswer, label_names: Sequence[str]) -> list[str]:
    """Say what each known label moves most, the strongest first."""
    others = np.flatnonzero(np.isnan(answer.known))
    if not answer.added or not len(others):
        return []
    moves = []
    for k, added in answer.added.items():
        other = others[np.abs(added[others]).argmax()]
        there = "there" if answer.known[k] else "not there"
        words = f"knowing that {label_names[k]} is {there} moves {label_names[other]} most, by "
        moves.append((abs(added[other]), f"{words}{say.signed(added[other])}"))
    moves = sorted(moves, key=lambda move: -move[0])[:MOST_KNOWN]
    notes = [words for size, words in moves if size >= LEAST_ADDED]
    return notes or ["what is known says next to nothing of the other labels"]


def turned_notes(answer: LabelAnswer, label_names: Sequence[str]) -> list[str]:
    """Say which labels are decided otherwise than from a score of .5 on, and why."""
    turned = (answer.decision != (answer.score >= 0.5)) & np.isnan(answer.known)
    notes = []
    for k in np.flatnonzero(turned)[:MOST_TURNED]:
        yes, name = answer.decision[k], label_names[k]
        if answer.kind == "subset":
            notes.append(f"{name} is {'' if yes else 'not '}said because of the set as a whole")
        else:
            only, threshold = "" if yes else "only ", say.short(answer.thresholds[k])
            notes.append(f"{name} is said {only}from {threshold} on")
    return notes


@one_at_a_time
@one_blas_thread()
def explain_row(
    learner: Learner,
    x: Floats,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    columns: ColumnKinds | None = None,
    known: Floats | None = None,
) -> Explanation:
    """Return why a learner says what it says of the row ``x`` of shape (1, p), not scaled.

    Names and columns as in `read_rules`; ``known`` (1, K) has NaN where a label is not known.
    """
    learner = open_up(learner, x)
    background, rules = read_in_order(learner, feature_names, label_names, columns)
    score, p, K = learner.score(x)[0], learner.n_features, learner.n_labels
    psi, cases = np.zeros(0), (np.zeros((0, K)), np.zeros(0, dtype=int), np.zeros(0))
    scaled = filled = taken = x
    if rules:
        scaled = learner.scaled(x)
        x = learner.shown(x) if isinstance(learner, Reading) else learner.inside(x)
        filled = learner.fill(scaled)
        psi = learner.rules.activations(filled)[0]
        expected = learner.scaler.mean + learner.scaler.scale * filled
        taken = np.where(np.isnan(scaled), expected, x)
        cases = remembered_by(learner, filled)
    order = np.argsort(-psi, kind="stable")
    psi, rules = psi[order], [rules[r] for r in order]
    typical = psi[:, None] * np.reshape([rule.answer for rule in rules], (-1, K))
    gaps = [rule.slopes * (filled[0] - rule.scaled_center) for rule in rules]
    contributions = psi[:, None, None] * np.reshape(gaps, (-1, K, p))
    if isinstance(learner, Reading):
        contributions = learner.gather(contributions)
    by_rule = typical + contributions.sum(axis=2)
    blended = by_rule.sum(axis=0)
    alone = by_rule[0] / psi[0] if rules else score
    return Explanation(
        x[0].copy(),
        answer_labels(learner, score, alone, blended if rules else score, known),
        RuleList(rules, background),
        psi,
        typical,
        contributions,
        *cases,
        np.abs(scaled[0]) >= learner.scaler.clip if rules else np.zeros(p, dtype=bool),
        find_addends(learner, blended + cases[0].sum(axis=0), score) if rules else {},
        taken[0].copy(),
    )


def answer_labels(
    learner: Learner, score: Floats, alone: Floats, rules: Floats, known: Floats | None
) -> LabelAnswer:
    """Return what a learner makes of a row with this ``score`` (K,).

    ``alone`` and ``rules`` are what the strongest rule and all rules say of it; ``known`` has the
    shape (1, K). What each known label k adds to a label u is E_uk E_kk^-1 (y_k - s_k). That is
    linear in the gaps between truth and score, so a gap of 1 of each known label, and of 0 of the
    others, gives the columns. Before there are rules a known label tells of itself alone.
    """
    scores, layer = np.stack([score, alone, rules]), learner.labels
    answer = learner.answer_scores(scores, None if known is None else np.repeat(known, 3, axis=0))
    given = np.full(len(score), np.nan) if known is None else known[0]
    places = np.flatnonzero(~np.isnan(given))
    gaps = np.full((len(places), len(given)), np.nan)
    gaps[:, places] = np.eye(len(places))
    columns = np.nan_to_num(gaps)
    if layer is not None:
        columns, _ = layer.condition(np.zeros_like(gaps), gaps)
    decision, by_strongest, by_rules = answer.decisions.astype(int)
    return LabelAnswer(
        "hamming" if layer is None else learner.params.decision,
        answer.scores[0],
        decision,
        by_strongest,
        by_rules,
        np.full(len(score), 0.5) if layer is None else layer.thresholds(),
        given,
        {int(k): column * (given[k] - score[k]) for k, column in zip(places, columns, strict=True)},
    )
