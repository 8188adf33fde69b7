"""Why a model says what it says of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.background import Named
from efcml.explain.document import Bar, Block, Table, as_html, as_text
from efcml.explain.phrases import Push, count, percent, plain_number, short, signed
from efcml.explain.rulelist import RuleList

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.explain.background import Background, Variable
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
ADDED = "{name} move {label} most, by {size}"
ADDED_BY = {  # of addends for which the usual words would say nothing
    "label frequencies": "the model has left the label frequencies too far of late: {label} is"
    " drawn back most, by {size}"
}


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
    added: Mapping[int, Floats] = field(default_factory=dict)

    @property
    def is_known(self) -> Bools:
        """Which labels were given (K,)."""
        return ~np.isnan(self.known)

    @property
    def all_added(self) -> Floats:
        """What all known labels add together (K,)."""
        return sum(self.added.values(), np.zeros(len(self.score)))


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Named):
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
    case_rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=int))
    case_similarity: Floats = field(default_factory=lambda: np.zeros(0))  # (m,), 1 if equal
    # (p,), features so far from the initial rows that they count as less far; empty in the warm-up.
    clipped: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    # What label frequencies, the last rows and stages of one's own add, by name, (K,) each.
    afterwards: Mapping[str, Floats] = field(default_factory=dict)
    # (p,), the row with what the rules expect of features that are missing (NaN in ``x``), or so
    # wild that they count as missing; None in the warm-up.
    taken: Floats | None = None

    @property
    def background(self) -> Background:  # type: ignore[override]
        """What all rules have in common."""
        return self.rules.background

    @property
    def score(self) -> Floats:
        """``decision_function`` plus 0.5, given what is known (K,)."""
        return self.labels.score

    @property
    def decision(self) -> Ints:
        """0 or 1 for each label (K,), as `predict` says; for a 1-D target 1 is the last class."""
        return self.labels.decision

    @property
    def base(self) -> Floats:
        """What the rules say whatever the row's features are: typical answers, blended (K,)."""
        if len(self.rules):
            return self.typical.sum(axis=0)
        return self.score - self.labels.all_added

    @property
    def by_known(self) -> dict[str, Floats]:
        """What each known label adds to all (K,), by its name; to itself, what it lacked."""
        return {self.label_names[k]: added for k, added in self.labels.added.items()}

    @cached_property
    def by_cases(self) -> Floats:
        """What all remembered rows add together (K,)."""
        return self.cases.sum(axis=0)

    @cached_property
    def by_feature(self) -> Floats:
        """What each feature adds over all rules (p, K).

        With `base`, `by_cases`, `afterwards` and `by_known` the score.
        """
        return self.contributions.sum(axis=0).T

    @property
    def _variables(self) -> tuple[Variable, ...]:
        return self.background.columns.variables

    @cached_property
    def by_variable(self) -> Floats:
        """The same, columns of a group taken together (things, K)."""
        sums = [self.by_feature[list(thing.columns)].sum(axis=0) for thing in self._variables]
        return np.array(sums)

    @cached_property
    def by_rule(self) -> Floats:
        """What each rule adds (rules, K), except in the warm-up."""
        return self.typical + self.contributions.sum(axis=2)

    @property
    def alone(self) -> Floats:
        """What the strongest rule says alone (K,); the score in the warm-up."""
        return self.by_rule[0] / self.activation[0] if len(self.rules) else self.base

    @property
    def without_cases(self) -> Floats:
        """What all rules say without the remembered rows (K,)."""
        added = self.by_cases + sum(self.afterwards.values()) + self.labels.all_added
        return self.score - added

    @property
    def cases_matter(self) -> bool:
        """Whether remembered rows turn a decision, or move a score by .05 or more."""
        turned = self.labels.without_cases != self.decision
        return bool(turned.any() or np.abs(self.by_cases).max(initial=0.0) >= LEAST_CORRECTION)

    def top(self, label: int | str, n: int = 5) -> list[Push]:
        """Return the features that moved a label most, as (feature, effect)."""
        effects = self.by_feature[:, self.background.label_index(label)]
        return [Push(self.feature_names[j], float(effects[j])) for j in strongest(effects, n)]

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame of all contributions, which sum to the score of each label.

        Columns are rule, label, feature, contribution. In place of a feature stand "typical
        answer", what a rule adds whatever the row is, and with rule -1 "similar cases", what
        `afterwards` has, and "knowing ...", what each known label adds; during the warm-up there is
        no other rule.
        """
        import pandas

        parts: dict[tuple[int, str], Floats] = {}
        for rule, typical, by_feature in zip(
            self.rules, self.typical, self.contributions, strict=True
        ):
            names, values = (TYPICAL, *self.feature_names), (typical, *by_feature.T)
            parts |= {(rule.uid, name): v for name, v in zip(names, values, strict=True)}
        if not parts:
            parts[NO_RULE, TYPICAL] = self.base
        elif len(self.case_rows):
            parts[NO_RULE, SIMILAR] = self.by_cases
        parts |= {(NO_RULE, name): added for name, added in self.afterwards.items()}
        parts |= {(NO_RULE, f"{KNOWING} {name}"): v for name, v in self.by_known.items()}
        lines = [
            (uid, label, name, value)
            for (uid, name), values in parts.items()
            for label, value in zip(self.label_names, values.tolist(), strict=True)
        ]
        return pandas.DataFrame(lines, columns=["rule", "label", "feature", "contribution"])

    # -- words ------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """How many rules stand behind the answer, in one line."""
        if not len(self.rules):
            return self.rules.title
        few = 1 + int((np.cumsum(self.activation)[:-1] < NEARLY_ALL).sum())
        return f"{few} of {len(self.rules)} rules make up {percent(NEARLY_ALL)} of the answer"

    def blocks(self) -> list[Block | Table]:
        """Return the explanation as it is read: labels, rules, and what else there is to know."""
        rules = [
            self._rule_block(i)
            for i, activation in enumerate(self.activation[:MOST_RULES])
            if activation >= LEAST_ACTIVATION
        ]
        notes = [Block("", [(0, note) for note in self.notes])] if self.notes else []
        return [Block(self.title), self._label_table(), *rules, *notes]

    def _shown(self) -> list[int]:
        """Return the labels to show: all, or those with the highest scores."""
        if len(self.score) <= MOST_LABELS:
            return list(range(len(self.score)))
        return np.argsort(-self.score, kind="stable")[:MOST_LABELS].tolist()

    def _label_table(self) -> Table:
        """Return score, decision, and what moved it most, of each label shown."""
        shown, with_cases = self._shown(), bool(len(self.case_rows))
        rows = []
        for k in shown:
            effects = self.by_variable[:, k]
            moved = [
                f"{self._value(self._variables[i])} {signed(effects[i])}"
                for i in strongest(effects, MOST_FEATURES)
            ]
            known = ", known" if self.labels.is_known[k] else ""
            decision = f"{'yes' if self.decision[k] else 'no'}{known}"
            row = [self.label_names[k], Bar(short(self.score[k]), self.score[k]), decision]
            row += [short(self.base[k]), *[signed(self.by_cases[k])] * with_cases]
            rows.append([*row, ", ".join(moved)])
        head = ["label", "score", "", "base", *["cases"] * with_cases, "moved most by"]
        left = len(self.score) - len(shown)
        return Table(head, rows, f"and {left} labels with lower scores" if left else "")

    def _value(self, thing: Variable) -> str:
        """Return a thing with its value in the row."""
        values = self.x[list(thing.columns)]
        if np.isnan(values).any():
            expected = self.taken is not None and thing.kind == "number"
            taken = plain_number(self.taken[thing.columns[0]]) if expected else ""  # type: ignore[index]
            words = f"not given; taken as {taken}" if expected else "not given"
        elif thing.kind == "number":
            words = plain_number(values[0])
        elif thing.kind == "flag":
            words = "yes" if values[0] >= 0.5 else "no"
        else:
            pairs = zip(thing.values, values, strict=True)
            words = " and ".join(name for name, value in pairs if value >= 0.5) or "another"
        return f"{thing.name} ({words})"

    def _rule_block(self, i: int) -> Block:
        """Return a rule, how strongly it fires, and what it adds to the labels shown."""
        rule, activation = self.rules[i], self.activation[i]
        adds = (f"{self.label_names[k]} {signed(self.by_rule[i, k])}" for k in self._shown())
        title = Bar(f"rule {rule.uid}, activation {percent(activation)}", activation)
        return Block(title, [(1, rule.condition), (1, f"adds {', '.join(adds)}")])

    @property
    def notes(self) -> list[str]:
        """What else a reader should know, one sentence each."""
        taken = self.x if self.taken is None else self.taken
        wild = (taken != self.x) & ~np.isnan(self.x)
        wild_words = "is so far outside the initial rows that it counts as missing"
        far_words = "is far outside the initial rows and counts as less far"
        far = [f"{self.feature_names[j]} {far_words}" for j in np.flatnonzero(self.clipped)]
        far += [f"{self.feature_names[j]} {wild_words}" for j in np.flatnonzero(wild)]
        return [
            *(self._trust_notes() if len(self.rules) else []),
            *added_notes(self.afterwards, self.label_names),
            *known_notes(self.labels, self.label_names),
            *turned_notes(self.labels, self.label_names),
            *far,
            *filter(None, [self.background.left_out_words]),
        ]

    def _trust_notes(self) -> list[str]:
        """Say how far the strongest rule, and all rules, answer as the model does."""
        notes = [f"rule {self.rules[0].uid} alone decides {self._compare(self.labels.alone)}"]
        if not len(self.case_rows):
            return notes
        if not self.cases_matter:
            size = short(float(np.abs(self.by_cases).max()))
            return [*notes, f"remembered rows change no decision, and no score by more than {size}"]
        largest, similar = int(np.abs(self.by_cases).argmax()), self._similar_rows()
        return [
            *notes,
            f"all rules without remembered rows decide {self._compare(self.labels.without_cases)}",
            f"remembered rows move {self.label_names[largest]} most, by "
            f"{signed(self.by_cases[largest])}"
            + (f"; the most similar: {similar}" * bool(similar)),
        ]

    def _similar_rows(self) -> str:
        """Name the most similar remembered rows, each once; not the row itself."""
        named: dict[object, str] = {}
        for i, (row, likeness) in enumerate(zip(self.case_rows, self.case_similarity, strict=True)):
            if likeness < THE_SAME:
                name, key = (f"row {row}", int(row)) if row >= 0 else ("an earlier row", -1 - i)
                named.setdefault(key, f"{name} ({percent(likeness)})")
        return ", ".join([*named.values()][:MOST_CASES])

    def _compare(self, decided: Ints) -> str:
        """Say whether others decide as the model does, or where they do not."""
        other = np.flatnonzero(decided != self.decision)
        if not len(other):
            return "the same"
        names = ", ".join(self.label_names[k] for k in other[:MOST_LABELS])
        more = ", ..." if len(other) > MOST_LABELS else ""
        return f"otherwise for {count(len(other), 'label')}: {names}{more}"

    def __str__(self) -> str:
        return as_text(self.blocks())

    def __repr__(self) -> str:
        sizes = f"{len(self.rules)} rules, {len(self.x)} features, {len(self.score)} labels"
        return f"Explanation({sizes})"

    def _repr_html_(self) -> str:
        return as_html(self.blocks())


def strongest(effects: Floats, n: int) -> list[int]:
    """Return the indices of the ``n`` largest effects of either sign; none that is 0."""
    order = np.argsort(-np.abs(effects), kind="stable")[:n]
    return [j for j in order if effects[j] != 0.0]


def added_notes(addends: Mapping[str, Floats], label_names: Sequence[str]) -> list[str]:
    """Say of each addend that moves a label which one it moves most, and by how much."""
    notes = []
    for name, added in addends.items():
        k = int(np.abs(added).argmax())
        if abs(added[k]) >= LEAST_ADDED:
            words = ADDED_BY.get(name, ADDED)
            notes.append(words.format(name=name, label=label_names[k], size=signed(added[k])))
    return notes


def known_notes(answer: LabelAnswer, label_names: Sequence[str]) -> list[str]:
    """Say what each known label moves most, the strongest first."""
    others = np.flatnonzero(~answer.is_known)
    if not answer.added or not len(others):
        return []
    moves = []
    for k, added in answer.added.items():
        other = others[np.abs(added[others]).argmax()]
        there = "there" if answer.known[k] else "not there"
        words = f"knowing that {label_names[k]} is {there} moves {label_names[other]} most, by "
        moves.append((abs(added[other]), f"{words}{signed(added[other])}"))
    moves = sorted(moves, key=lambda move: -move[0])[:MOST_KNOWN]
    notes = [words for size, words in moves if size >= LEAST_ADDED]
    return notes or ["what is known says next to nothing of the other labels"]


def turned_notes(answer: LabelAnswer, label_names: Sequence[str]) -> list[str]:
    """Say which labels are decided otherwise than from a score of .5 on, and why."""
    turned = (answer.decision != (answer.score >= 0.5)) & ~answer.is_known
    notes = []
    for k in np.flatnonzero(turned)[:MOST_TURNED]:
        yes, name = answer.decision[k], label_names[k]
        if answer.kind == "subset":
            notes.append(f"{name} is {'' if yes else 'not '}said because of the set as a whole")
        else:
            only, threshold = "" if yes else "only ", short(answer.thresholds[k])
            notes.append(f"{name} is said {only}from {threshold} on")
    return notes
