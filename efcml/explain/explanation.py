"""Why a model says what it says of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain import words as say
from efcml.explain.background import ColumnKinds, Group
from efcml.explain.rules import NO_RULES, RuleList, read_all
from efcml.explain.wide import Reading, open_up
from efcml.support.aliases import Bools, Floats, Ints
from efcml.support.guard import one_at_a_time, one_blas_thread

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.model.learner import Learner

TYPICAL, SIMILAR, KNOWN = "typical answer", "similar cases", "known labels"  # not features
NO_RULE = OLDER = -1  # in place of the uid of a rule, and of the number of a row
LEAST_ADDED = 0.005  # of a score; less is not worth a sentence
THE_SAME = 1.0 - 1e-9  # similarity of equal rows, but for rounding
LEAST_ACTIVATION = 0.01  # of a rule that is shown
NEARLY_ALL = 0.9  # of the activation; so many rules are counted in the first line
MOST_CASES, MOST_LABELS, MOST_RULES, MOST_FEATURES = 3, 8, 5, 3  # that are named


@dataclass(eq=False, repr=False)
class Explanation:
    """The scores of one row, taken apart.

    A rule with the activation ``Psi`` gives ``Psi (W x + b)``. Read from its center ``c``, that
    is its typical answer ``Psi (W c + b)`` and ``Psi W_j (x_j - c_j)`` of each feature. All of
    them, over all rules, what remembered cases add and what follows give the score.
    """

    x: Floats  # (p,), the row
    # (p,), the row with what the rules expect of features that are missing (NaN in ``x``), or so
    # wild that they count as missing.
    taken: Floats
    clipped: Bools  # (p,), features so far from the initial rows that they count as less far
    score: Floats  # (K,), ``decision_function`` plus 0.5, given what is known
    decision: Ints  # (K,), 0 or 1 as `predict` says; for a 1-D target 1 is the last class
    decision_alone: Ints  # (K,), in the same way by the scores of the strongest rule alone
    kind: str  # the parameter ``decision``
    thresholds: Floats  # (K,), from which score on a label is said; not so for "subset"
    known: Floats  # (K,), labels that were given; NaN for the others
    rules: RuleList  # all rules, the one that fires most first
    activation: Floats  # (rules,), normalised
    typical: Floats  # (rules, K), what each rule adds by its typical answer
    contributions: Floats  # (rules, K, p), and because a feature differs from the rule's center
    cases: Floats  # (m, K), what each remembered row adds, the most similar first
    # (m,), their numbers: rows that `fit` learned, then those of the stream; rows without any known
    # label are not counted. -1 if it is none of the last 500, or was filled in.
    case_rows: Ints
    case_similarity: Floats  # (m,), 1 if equal
    # What label frequencies, the last rows, stages of one's own and known labels add, by name,
    # (K,) each.
    afterwards: Mapping[str, Floats]

    def __post_init__(self) -> None:
        self.background = self.rules.background
        columns, self.label_names = self.background.columns, self.background.label_names
        self.feature_names = columns.names
        self.by_feature = self.contributions.sum(axis=0).T  # (p, K), what each adds over all rules
        parts = [self.by_feature[list(thing.columns)].sum(axis=0) for thing in columns.variables]
        self.by_variable = np.array(parts)  # (things, K), columns of a group taken together
        self.by_rule = self.typical + self.contributions.sum(axis=2)  # (rules, K)
        self.by_cases = self.cases.sum(axis=0)  # (K,), what all remembered rows add together
        self.base = self.typical.sum(axis=0)  # (K,), the same whatever the row's features are

    def top(self, label: int | str, n: int = 5) -> list[tuple[str, float]]:
        """Return the features that moved a label most, given by name or index, and by how much."""
        k = self.label_names.index(label) if isinstance(label, str) else label
        effects = self.by_feature[:, k]
        return [(self.feature_names[j], float(effects[j])) for j in strongest(effects, n)]

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame of all contributions, which sum to the score of each label.

        Columns are rule, label, feature, contribution. In place of a feature stand "typical
        answer", what a rule adds whatever the row is, and with rule -1 "similar cases" and what
        `afterwards` has.
        """
        import pandas

        others = {SIMILAR: self.by_cases, **self.afterwards}
        parts = {(NO_RULE, name): added for name, added in others.items()}
        for rule, typical, own in zip(self.rules, self.typical, self.contributions, strict=True):
            pairs = zip((TYPICAL, *self.feature_names), (typical, *own.T), strict=True)
            parts |= {(rule.uid, name): added for name, added in pairs}
        frame = pandas.DataFrame(parts, index=list(self.label_names)).T
        long = frame.rename_axis(["rule", "feature"]).melt(
            var_name="label", value_name="contribution", ignore_index=False
        )
        return long.reset_index()[["rule", "label", "feature", "contribution"]]

    @property
    def title(self) -> str:
        """How many rules fire for the row, in one line."""
        few = 1 + int((np.cumsum(self.activation)[:-1] < NEARLY_ALL).sum())
        return f"{few} of {len(self.rules)} rules have {say.percent(NEARLY_ALL)} of the activation"

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
                words = f"rule {rule.uid}, activation {say.percent(activation)}"
                lines = [(1, line) for line in (*rule.conditions, f"adds {adds}")]
                parts.append(say.Block(say.Bar(words, activation), lines))
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
            known = "" if np.isnan(self.known[k]) else ", known"
            decision = f"{'yes' if self.decision[k] else 'no'}{known}"
            score, cases = say.short(self.score[k]), [say.signed(self.by_cases[k])] * with_cases
            name, bar = self.label_names[k], say.Bar(score, self.score[k])
            rows.append([name, bar, decision, say.short(self.base[k]), *cases, moved])
        head = ["label", "score", "", "base", *["cases"] * with_cases, "moved most by"]
        left = len(self.score) - len(shown)
        return say.Table(head, rows, f"and {left} labels with lower scores" if left else "")

    def value_of(self, thing: Group) -> str:
        """Return a thing with its value in the row."""
        values = self.x[list(thing.columns)]
        expected = self.taken[thing.columns[0]]
        if thing.kind == "rest":
            return thing.name
        if np.isnan(values).any():
            given = thing.kind != "number" or np.isnan(expected)
            words = "not given" + ("" if given else f"; taken as {expected + 0.0:.4g}")
        elif thing.kind == "number":
            words = f"{values[0] + 0.0:.4g}"
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
        others = np.isnan(self.known)
        moves = {name: self._largest(added * others) for name, added in self.afterwards.items()}
        return [
            *self._trust_notes(),
            *(f"{name} move {words}" for name, (size, words) in moves.items() if size),
            *self._turned_notes(),
            *(f"{self.feature_names[j]} {w}" for which, w in far for j in np.flatnonzero(which)),
            *filter(None, [self.background.left_out_note]),
        ]

    def _largest(self, added: Floats) -> tuple[float, str]:
        """Return by how much the label is moved that is moved most, 0 if next to none; in words."""
        k = int(np.abs(added).argmax())
        size = abs(float(added[k]))
        words = f"{self.label_names[k]} most, by {say.signed(added[k])}"
        return size * (size >= LEAST_ADDED), words

    def _trust_notes(self) -> list[str]:
        """Say how far the strongest rule, and all rules, answer as the model does."""
        other = [self.label_names[k] for k in np.flatnonzero(self.decision_alone != self.decision)]
        labels = f"otherwise for {say.count(len(other), 'label')}: {', '.join(other)}"
        notes = [f"rule {self.rules[0].uid} alone decides {labels if other else 'the same'}"]
        if len(self.case_rows):
            named: dict[int, str] = {}  # each once, and not the row itself
            for row, likeness in zip(self.case_rows, self.case_similarity, strict=True):
                if row != OLDER and likeness < THE_SAME:
                    named.setdefault(row, f"row {row} ({say.percent(likeness)})")
            similar = ", ".join([*named.values()][:MOST_CASES])
            moves = f"remembered rows move {self._largest(self.by_cases)[1]}"
            notes.append(moves + f"; the most similar: {similar}" * bool(similar))
        return notes

    def _turned_notes(self) -> list[str]:
        """Say which labels are decided otherwise than from a score of .5 on, and why."""
        turned = (self.decision != (self.score >= 0.5)) & np.isnan(self.known)
        notes = []
        for k in np.flatnonzero(turned):
            yes, name = self.decision[k], self.label_names[k]
            if self.kind == "subset":
                notes.append(f"{name} is {'' if yes else 'not '}said because of the set as a whole")
            else:
                only, threshold = "" if yes else "only ", say.short(self.thresholds[k])
                notes.append(f"{name} is said {only}from {threshold} on")
        return notes

    def __str__(self) -> str:
        return say.as_text(self.blocks())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return say.as_html(self.blocks())


def strongest(effects: Floats, n: int) -> list[int]:
    """Return the indices of the ``n`` largest effects of either sign; none that is 0."""
    order = np.argsort(-np.abs(effects), kind="stable")[:n]
    return [j for j in order if effects[j] != 0.0]


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
    if not learner.fitted:
        raise ValueError(NO_RULES)
    learner = open_up(learner, x)
    background, rules = read_all(learner, feature_names, label_names, columns)
    own, scaled = learner.score(x)[0], learner.scaled(x)
    x = learner.shown(x) if isinstance(learner, Reading) else learner.inside(x)
    filled = learner.fill(scaled)
    taken = np.where(np.isnan(scaled), learner.scaler.mean + learner.scaler.scale * filled, x)
    cases, psi = remembered_by(learner, filled), learner.rules.activations(filled)[0]
    order = np.argsort(-psi, kind="stable")
    psi, rules = psi[order], [rules[r] for r in order]
    typical = psi[:, None] * np.array([rule.answer for rule in rules])
    gaps = [rule.slopes * (filled[0] - rule.scaled_center) for rule in rules]
    contributions = psi[:, None, None] * np.array(gaps)
    if isinstance(learner, Reading):
        contributions = learner.gather(contributions)
    by_rule = typical + contributions.sum(axis=2)
    blended = by_rule.sum(axis=0)
    scores = np.stack([own, by_rule[0] / psi[0]])
    given = np.full(scores.shape, np.nan) if known is None else np.repeat(known, 2, axis=0)
    answer, layer = learner.answer_scores(scores, given), learner.labels
    chain = learner.score_scaled(scaled)[0] if learner.shared else own
    afterwards = find_addends(learner, blended + cases[0].sum(axis=0), chain)
    if learner.shared:
        afterwards["similar first rows"], layer = own - chain, None
    if known is not None:
        afterwards[KNOWN] = answer.scores[0] - own
    return Explanation(
        x=x[0].copy(),
        taken=taken[0].copy(),
        clipped=np.abs(scaled[0]) >= learner.scaler.clip,
        score=answer.scores[0],
        decision=answer.decisions[0].astype(int),
        decision_alone=answer.decisions[1].astype(int),
        kind="hamming" if layer is None else learner.params.decision,
        thresholds=np.full(len(own), 0.5) if layer is None else layer.thresholds(),
        known=given[0],
        rules=RuleList(rules, background),
        activation=psi,
        typical=typical,
        contributions=contributions,
        cases=cases[0],
        case_rows=cases[1],
        case_similarity=cases[2],
        afterwards=afterwards,
    )


def remembered_by(learner: Learner, x: Floats) -> tuple[Floats, Ints, Floats]:
    """Return what each remembered row adds (m, K), its number and similarity, most similar first.

    ``x`` (1, p) is scaled, without gaps. A row that is a case and a recent case is there twice:
    recent cases reach further.
    """
    from efcml.kernels.cases import FAR
    from efcml.model.cases import CaseStage

    if isinstance(learner, Reading):
        learner, x = learner.learner, x @ learner.T
    adds, rows, similar = [np.zeros((0, learner.n_labels))], list[bytes](), [np.zeros(0)]
    for stage in learner.stages:
        if isinstance(stage, CaseStage):
            n = stage.n_cases
            similar.append(stage.similarity(x)[0])
            adds.append(stage.share * similar[-1][:, None] * stage.arrays.weights[:n])
            rows += [row.tobytes() for row in stage.arrays.rows[:n]]
    # The last rows as a case would hold them.
    late = learner.rules.features.take(np.clip(learner.latest[0], -FAR, FAR))
    numbers = {row.tobytes(): learner.rows_seen - len(late) + i for i, row in enumerate(late)}
    known = np.array([numbers.get(row, OLDER) for row in rows], dtype=int)
    likeness = np.concatenate(similar)
    order = np.argsort(-likeness, kind="stable")
    return np.concatenate(adds)[order], known[order], likeness[order]


def find_addends(learner: Learner, scores: Floats, final: Floats) -> dict[str, Floats]:
    """Return what is added to ``scores`` (K,) of rules and cases of the next row, by name.

    What adds nothing to any label is left out. Stages of one's own are one addend: what is left.
    """
    from efcml.model.temporal import TemporalStage

    temporal = learner.stage(TemporalStage)
    addends = {} if temporal is None else temporal.addends(scores)
    if learner.params.stages:
        addends["further stages"] = final - scores - sum(addends.values())
    return {name: added for name, added in addends.items() if added.any()}
