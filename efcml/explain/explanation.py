"""Why a model says what it says of one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain.afterwards import tell_addends
from efcml.explain.label_answer import tell_known, tell_turned
from efcml.explain.learner_rules import NO_RULE
from efcml.explain.phrases import Push, count, percent, plain_number, short, signed
from efcml.explain.remembered import OLDER
from efcml.explain.rulelist import RuleList
from efcml.support.extras import extra_for
from efcml.support.markup import Safe, bar, faint, join, lines, table

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.explain.columns import Variable
    from efcml.explain.label_answer import LabelAnswer
    from efcml.explain.rule import Rule
    from efcml.support.aliases import Bools, Floats, Ints

TYPICAL = "typical answer"  # stands for a feature in the table of contributions
SIMILAR = "similar cases"  # likewise
OLD = "an earlier row"
KNOWING = "knowing"  # likewise, before the name of a known label
LEAST_CORRECTION = 0.05  # of a score by the cases; below, and if no decision turns, none is named
MOST_CASES = 3  # remembered rows that are named
THE_SAME = 1.0 - 1e-9  # similarity of equal rows, but for rounding
MOST_LABELS = 8
MOST_RULES = 5
LEAST_ACTIVATION = 0.01  # of a rule that is shown
MOST_FEATURES = 3
NEARLY_ALL = 0.9  # of the answer; so many rules are counted in the first line


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The scores of one row, taken apart.

    A rule with the activation ``Psi`` gives ``Psi (W x + b)``. Read from its center ``c``, that
    is its typical answer ``Psi (W c + b)`` and ``Psi W_j (x_j - c_j)`` of each feature. All of
    them, over all rules, what remembered cases add, what follows and what known labels add, give
    the score. During the warm-up there are no rules, and the base is the score.

    Attributes
    ----------
    x : array of shape (p,)
        The row.
    labels : LabelAnswer
        What became of the scores: decisions, and what known labels had to do with them.
    rules : RuleList
        All rules, the one that fires most first.
    activation : array of shape (rules,)
        Normalised, in the same order.
    typical : array of shape (rules, K)
        What each rule adds by its typical answer.
    contributions : array of shape (rules, K, p)
        What each rule adds because a feature differs from the rule's center.
    cases : array of shape (m, K)
        What each remembered row adds, the most similar first.
    case_rows : array of shape (m,)
        Their row numbers: rows that `fit` learned, then those of the stream; rows without any
        known label are not counted. -1 if it is none of the last 500, or was filled in.
    case_similarity : array of shape (m,)
        Their similarity to the row, 1 if equal.
    clipped : bool array of shape (p,)
        Features so far from the initial rows that they count as less far; empty in the warm-up.
    afterwards : dict
        What label frequencies, the last rows and stages of one's own add, by name, (K,) each.
    taken : array of shape (p,), optional
        The row with what the rules expect of missing features (NaN in ``x``); None in the warm-up.
    """

    x: Floats
    labels: LabelAnswer
    rules: RuleList
    activation: Floats
    typical: Floats
    contributions: Floats
    cases: Floats
    case_rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=int))
    case_similarity: Floats = field(default_factory=lambda: np.zeros(0))
    clipped: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    afterwards: Mapping[str, Floats] = field(default_factory=dict)
    taken: Floats | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.rules.feature_names

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self.rules.label_names

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
        return self.rules.background.columns.variables

    @cached_property
    def by_variable(self) -> Floats:
        """The same, columns of a group taken together (things, K)."""
        return np.array(
            [self.by_feature[list(thing.columns)].sum(axis=0) for thing in self._variables]
        )

    def _value(self, thing: Variable) -> str:
        """Return a thing with its value in the row."""
        values = self.x[list(thing.columns)]
        if np.isnan(values).any():
            return f"{thing.name} ({self._missing(thing)})"
        if thing.kind == "number":
            return f"{thing.name} ({plain_number(values[0])})"
        if thing.kind == "flag":
            return f"{thing.name} ({'yes' if values[0] >= 0.5 else 'no'})"
        held = [name for name, value in zip(thing.values, values, strict=True) if value >= 0.5]
        return f"{thing.name} ({' and '.join(held) or 'another'})"

    def _missing(self, thing: Variable) -> str:
        """Say what a thing that is missing in the row was taken for."""
        if self.taken is None or thing.kind != "number":
            return "not given"
        return f"not given; taken as {plain_number(self.taken[thing.columns[0]])}"

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
        effects = self.by_feature[:, self.rules.background.label_index(label)]
        return [Push(self.feature_names[j], float(effects[j])) for j in strongest(effects, n)]

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame of all contributions: rule, label, feature, contribution.

        Contributions of a label sum to its score. The feature "typical answer" is what a rule adds
        whatever the row is, "similar cases" what remembered rows add, what `afterwards` has, and
        "knowing ..." what each known label adds; the rule of these is -1, as it is during the
        warm-up.
        """
        with extra_for("to_frame"):
            import pandas

        columns = ["rule", "label", "feature"]
        uids = [rule.uid for rule in self.rules]
        values = np.concatenate([self.typical[:, :, None], self.contributions], axis=2)
        names = uids, list(self.label_names), [TYPICAL, *self.feature_names]
        index = pandas.MultiIndex.from_product(names, names=columns)
        if len(self.case_rows) or not uids:
            rest = self.by_cases if uids else self.base
            more = [NO_RULE], list(self.label_names), [SIMILAR if uids else TYPICAL]
            index = index.append(pandas.MultiIndex.from_product(more, names=columns))
            values = np.append(values, rest)
        knowing = {f"{KNOWING} {name}": added for name, added in self.by_known.items()}
        for name, added in (dict(self.afterwards) | knowing).items():
            more = [NO_RULE], list(self.label_names), [name]
            index = index.append(pandas.MultiIndex.from_product(more, names=columns))
            values = np.append(values, added)
        return pandas.DataFrame({"contribution": values.ravel()}, index=index).reset_index()

    # -- words ------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """How many rules stand behind the answer, in one line."""
        if not len(self.rules):
            return self.rules.title
        few = 1 + int((np.cumsum(self.activation)[:-1] < NEARLY_ALL).sum())
        return f"{few} of {len(self.rules)} rules make up {percent(NEARLY_ALL)} of the answer"

    @property
    def notes(self) -> list[str]:
        """What else a reader should know, one sentence each."""
        far = [self.feature_names[j] for j in np.flatnonzero(self.clipped)]
        trust = self._tell_trust() if len(self.rules) else []
        return (
            trust
            + tell_addends(dict(self.afterwards), self.label_names)
            + tell_known(self.labels, self.label_names)
            + tell_turned(self.labels, self.label_names)
            + [f"{name} is far outside the initial rows and counts as less far" for name in far]
        )

    def _tell_trust(self) -> list[str]:
        """Say how far the strongest rule, and all rules, answer as the model does."""
        uid = self.rules[0].uid
        told = [f"rule {uid} alone decides {self._compare(self.labels.alone)}"]
        if not len(self.case_rows):
            return told
        if not self.cases_matter:
            size = short(float(np.abs(self.by_cases).max()))
            return [*told, f"remembered rows change no decision, and no score by more than {size}"]
        largest = int(np.abs(self.by_cases).argmax())
        return [
            *told,
            f"all rules without remembered rows decide {self._compare(self.labels.without_cases)}",
            f"remembered rows move {self.label_names[largest]} most, by "
            f"{signed(self.by_cases[largest])}; the most similar: {self._name_cases()}",
        ]

    def _name_cases(self) -> str:
        """Name the most similar remembered rows, each once, and say which is the row itself."""
        named: dict[object, str] = {}
        for i, (row, likeness) in enumerate(zip(self.case_rows, self.case_similarity, strict=True)):
            how = "this row itself" if likeness >= THE_SAME else percent(likeness)
            older = row == OLDER
            named.setdefault(
                (older, i if older else row), f"{OLD if older else f'row {row}'} ({how})"
            )
        return ", ".join([*named.values()][:MOST_CASES])

    def _compare(self, decided: Ints) -> str:
        """Say whether others decide as the model does, or where they do not."""
        other = np.flatnonzero(decided != self.decision)
        if not len(other):
            return "the same"
        names = ", ".join(self.label_names[k] for k in other[:MOST_LABELS])
        more = ", ..." if len(other) > MOST_LABELS else ""
        return f"otherwise for {count(len(other), 'label')}: {names}{more}"

    def _labels(self) -> list[int]:
        """Return the labels to show: all, or those with the highest scores."""
        if len(self.score) <= MOST_LABELS:
            return list(range(len(self.score)))
        return np.argsort(-self.score, kind="stable")[:MOST_LABELS].tolist()

    def _label_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield name, score, decision, base, cases and strongest features of each label shown."""
        for k in self._labels():
            effects = self.by_variable[:, k]
            moved = [
                f"{self._value(self._variables[i])} {signed(effects[i])}"
                for i in strongest(effects, MOST_FEATURES)
            ]
            decision = "yes" if self.decision[k] else "no"
            decision += ", known" if self.labels.is_known[k] else ""
            parts = [short(self.base[k])]
            if len(self.case_rows):
                parts.append(signed(self.by_cases[k]))
            yield self.label_names[k], self.score[k], decision, *parts, ", ".join(moved)

    @property
    def _head(self) -> list[str]:
        parts = ["base", "cases"] if len(self.case_rows) else ["base"]
        return ["label", "score", "", *parts, "moved most by"]

    def _shown_rules(self) -> Iterator[tuple[Rule, float, Floats]]:
        """Yield rule, activation and its part of every shown label, strongest first."""
        for i, rule in enumerate(self.rules[:MOST_RULES]):
            if self.activation[i] >= LEAST_ACTIVATION:
                yield rule, self.activation[i], self.by_rule[i, self._labels()]

    def text(self) -> str:
        """Return the explanation as plain text."""
        rows: list[Sequence[str]] = [self._head]
        rows += [(name, short(score), *rest) for name, score, *rest in self._label_rows()]
        parts = [self.title, "", *align(rows)]
        hidden = len(self.score) - len(self._labels())
        if hidden:
            parts.append(f"and {hidden} labels with lower scores")
        names = [self.label_names[k] for k in self._labels()]
        for rule, activation, adds in self._shown_rules():
            added = (f"{name} {signed(value)}" for name, value in zip(names, adds, strict=True))
            parts += ["", f"rule {rule.uid}, activation {percent(activation)}"]
            parts += [f"  {rule.condition}", f"  adds {', '.join(added)}"]
        return "\n".join(parts + [""] * bool(self.notes) + self.notes)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        sizes = f"{len(self.rules)} rules, {len(self.x)} features, {len(self.score)} labels"
        return f"Explanation({sizes})"

    def _repr_html_(self) -> str:
        rows = [
            (name, bar(score, short(score)), *rest) for name, score, *rest in self._label_rows()
        ]
        numbers = range(3, len(self._head) - 1)
        labels = table(self._head, rows, caption=self.title, right=tuple(numbers))
        names = [self.label_names[k] for k in self._labels()]
        rows = [
            (
                rule.uid,
                bar(activation, percent(activation)),
                join(" AND ", rule.terms) or rule.antecedent,
                *map(signed, adds),
            )
            for rule, activation, adds in self._shown_rules()
        ]
        numbers = range(3, 3 + len(names))
        rules = table(["rule", "activation", "IF", *names], rows, right=(0, *numbers))
        notes = lines(*map(faint, self.notes))
        return Safe(labels + (rules if rows else "") + notes)


def strongest(effects: Floats, n: int) -> list[int]:
    """Return the indices of the ``n`` largest effects of either sign; none that is 0."""
    order = np.argsort(-np.abs(effects), kind="stable")[:n]
    return [j for j in order if effects[j] != 0.0]


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines of text."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
