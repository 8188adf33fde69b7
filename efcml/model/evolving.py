"""EvolvingRules: rules are born, merged, split, dropped and repaired while kernels go through rows.

The kernels come back when something happens that allocates (kernels/learning.py); here it is done,
and they go on with the next row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.kernels.firing import look_ahead
from efcml.kernels.growth import count_rows_in_use, find_idle, find_silent, is_too_large
from efcml.kernels.learning import (
    BIRTH,
    DONE,
    PAUSE,
    SPLIT_GROUPS,
    cluster_until_event,
    learn_until_event,
)
from efcml.kernels.memory import SPLIT, recent_share
from efcml.kernels.pairs import find_closest_pair
from efcml.model import batch
from efcml.model.arguments import Model
from efcml.model.birth import give_birth, weigh_birth
from efcml.model.casebase import CaseBase
from efcml.model.divergence import warn_of_divergence
from efcml.model.filling import row_for
from efcml.model.memories import (
    follow_antecedents,
    mixed_planes,
    recent_cases,
    tell_of_drift,
)
from efcml.model.merging import MergeTest, compare, may_merge, merge, polish, solve_weights
from efcml.model.prior import precision
from efcml.model.repair import repair_stale
from efcml.model.rulebase import RuleBase
from efcml.model.scratch import ALL_ALIKE
from efcml.model.sequelbase import SequelBase
from efcml.model.sharing import next_renewal, share_planes, shared_planes
from efcml.model.splitting import split
from efcml.model.steering import settings_of
from efcml.model.usage import find_least_used

if TYPE_CHECKING:
    from efcml.model.merging import Pair
    from efcml.model.params import Params
    from efcml.model.trace import Trace
    from efcml.support.aliases import Events, Floats, Pairs

CAP_OVERLAP = 0.5  # share of `merge_overlap` that is enough to merge when there is no room
COUNTED = ("births", "merges", "splits", "drops", "drifts", "repairs")
NOT_YET: Any = None  # in the place of what there is once there are rows


class EvolvingRules:
    """A rule base, what steers it, and what has happened to it."""

    def __init__(
        self,
        params: Params,
        n_features: int,
        n_labels: int,
        *,
        capacity: int = 8,
        pairs: Pairs | None = None,
    ) -> None:
        self.params = params
        self.pairs = pairs  # (alpha, beta), several at once; then scores have K columns for each
        self.n_features = n_features
        self.n_labels = n_labels
        self.capacity = capacity
        self.counts = dict.fromkeys(COUNTED, 0)
        self.rows_seen = 0  # that had a known label; others change nothing
        self.rules: RuleBase = NOT_YET
        self.brief: RuleBase | None = None  # under forgetting="auto"
        self.cases: CaseBase = NOT_YET
        self._forget_recent()
        self.sequel: SequelBase = NOT_YET
        self.start_variance: Floats = NOT_YET  # S_0
        self.prior_precision: Floats = NOT_YET
        self.split_share: float = NOT_YET
        self.shared: float | None = None  # strength that holds the planes that all rules share
        self.renewal: int | None = None  # number of rows at which these are derived anew
        self.settings: Any = NOT_YET
        self.amounts = ALL_ALIKE  # weights of the rows that are being learned
        self.warned = False
        self._model: Any = None

    @property
    def n_pairs(self) -> int:
        """Number of (alpha, beta) carried along."""
        return 1 if self.pairs is None else len(self.pairs)

    @property
    def n_planes(self) -> int:
        """Number of planes of a rule."""
        return self.n_labels * self.n_pairs

    @property
    def model(self) -> Any:
        """What kernels are given, made anew when one of its parts was."""
        rules, cases = self.rules, self.cases
        brief = rules if self.brief is None else self.brief
        parts = (
            *(rules.arrays, cases.arrays, self.settings, rules.scratch, self.start_variance),
            *(brief.arrays, brief.scratch, self.recent.arrays, self.recent_trial),
            *(self.sequel.arrays, self.amounts),
        )
        old = self._model
        if old is None or any(a is not b for a, b in zip(old.values(), parts, strict=True)):
            self._model = Model(*parts)
        return self._model

    @contextmanager
    def _weighed(self, amounts: Floats) -> Iterator[None]:
        """Let rows count for so much while they are learned; kernels find it in the model."""
        self.amounts = np.array(amounts) if len(amounts) else ALL_ALIKE
        try:
            yield
        finally:
            self.amounts = ALL_ALIKE

    def cluster(self, X: Floats, Y: Floats, delta: float, split_share: float) -> None:
        """One antecedent pass over scaled rows: births, updates, merges."""
        sizes = self.n_features, self.n_labels
        room = min(self.capacity, self.params.max_rules)
        self.rules, self.brief = RuleBase(*sizes, n_pairs=self.n_pairs, capacity=room), None
        self.cases = CaseBase(self.n_features, self.n_planes, 0, 1.0, 1.0)
        self._forget_recent()
        self.sequel = SequelBase(self.n_labels, trusts=False, times=False)
        if self.n_labels > 1 and np.isnan(Y).any():
            self.rules.split_groups()
        self.prior_precision = precision(delta, self.n_features)
        self.split_share, self.shared, self.renewal = split_share, None, None
        self._steer()
        self.rows_seen = 0
        self._run(X, Y, with_consequents=False)

    def _steer(self) -> None:
        """Derive what kernels are steered by."""
        self.settings = settings_of(
            self.params,
            self.n_features,
            self.n_labels,
            self.prior_precision[0],
            self.split_share,
            self.pairs,
            np.inf if self.renewal is None else self.renewal,
        )

    def _run(
        self,
        X: Floats,
        Y: Floats,
        trace: Trace | None = None,
        watch: Any = None,
        with_consequents: bool = True,
    ) -> None:
        """Drive the kernels from event to event over scaled rows.

        At an event ``rows_seen`` is the number of the row at which Python has to act. Rows without
        any known label have none.
        """
        Y = np.ascontiguousarray(Y)
        numbers = np.arange(self.rows_seen, self.rows_seen + len(Y) + 1)
        unknown = np.isnan(Y)
        if unknown.any():
            numbers[1:] -= np.cumsum(unknown.all(axis=1))
        row, newborn, filled = 0, -1, 0
        status = None
        while status != DONE:
            rules = self.rules
            if with_consequents:
                status, row, rule, other = learn_until_event(
                    X, Y, row, newborn, numbers, rules.n_rules, self.model, watch
                )
            else:
                status, row, rule, other = cluster_until_event(
                    X, Y, row, newborn, numbers, rules.n_rules, self.model
                )
            complete = row - (status == PAUSE)
            self.rows_seen = int(numbers[complete])
            if trace is not None:
                trace.rules[filled:complete] = self.rules.n_rules
                filled = complete
            newborn = -1
            if self.brief is not None and status != DONE:  # Python acts on both memories
                follow_antecedents(self.brief, self.rules)
            events = [] if trace is None else trace.events
            if status == BIRTH:
                newborn = self._give_birth(X[row], Y[row], rule, with_consequents, events, row)
            elif status == SPLIT_GROUPS:
                for rules in self.memories:
                    rules.split_groups()
            elif status == PAUSE:
                for rules in self.memories:
                    self.counts["repairs"] += repair_stale(rules, self.prior_precision)
                self.counts["drifts"] += tell_of_drift(self.rules, row - 1, events)
                self._reshape(rule, other, with_consequents, events, row - 1)
                if self.shared is not None and self.rows_seen + 1 >= self.settings.renewal:
                    self._renew_shared_planes(self.shared)

    def _renew_shared_planes(self, strength: float) -> None:
        Delta = precision(strength, self.n_features)
        for rules in self.memories:
            share_planes(rules, shared_planes(rules, Delta))
        self.renewal = next_renewal(self.rows_seen + 1, self.n_features)
        self._steer()

    # -- events -----------------------------------------------------------------------------

    def _give_birth(
        self, x: Floats, y: Floats, nearest: int, with_consequents: bool, events: Events, at: int
    ) -> int:
        x = row_for(self.rules, nearest, x)
        W = [np.zeros(rules.arrays.W.shape[1:]) for rules in self.memories]
        expected = np.full(self.n_labels, 0.5)
        if nearest >= 0 and with_consequents:
            planes = self.planes[nearest, : self.n_labels]
            expected = np.clip(planes[:, :-1] @ x + planes[:, -1], 0.0, 1.0)
            W = [self._planes_at(x, nearest, rules.W) for rules in self.memories]
        if self.rules.n_rules >= self.params.max_rules:
            self._make_room(with_consequents, events, at)
        z = np.concatenate([x, np.where(np.isnan(y), expected, y)])
        self.counts["births"] += 1
        for rules, own in zip(self.memories, W, strict=True):
            rules.reserve(rules.n_rules + 1, self.params.max_rules)
            start = self.rows_seen, self.start_variance, self.prior_precision
            rule = give_birth(rules, z, own, *start)
            if len(self.amounts):
                weigh_birth(rules, rule, self.amounts[at])
        events.append((at, "birth", int(self.rules.uid[rule])))
        return rule

    @property
    def memories(self) -> list[RuleBase]:
        """The rules, once for each memory they have."""
        return [self.rules] if self.brief is None else [self.rules, self.brief]

    @property
    def planes(self) -> Floats:
        """The planes with which the rules answer: those of both memories mixed."""
        return mixed_planes(self.rules, self.brief)

    @property
    def recent_share(self) -> float:
        """How much the recent cases are trusted."""
        return float(recent_share(self.recent_trial))

    def _forget_recent(self, *, room: bool = False) -> None:
        """Begin the recent cases anew, for a learner that follows its stream."""
        self.recent = recent_cases(self.n_features, self.n_planes, room=room)
        self.recent_trial = np.zeros(4)

    def _planes_at(self, x: Floats, nearest: int, W: Floats) -> Floats:
        """Return what a rule that is born at a scaled row starts with."""
        if self.params.birth_plane == "nearest":
            return W[nearest].copy()
        psi = batch.activations(self.rules, x[None], self.settings.replace(activation_floor=0.0))
        return np.tensordot(psi[0], W, axes=1)

    @property
    def _merge_test(self) -> MergeTest:
        sizes = self.n_features, self.n_labels
        params = self.params
        return MergeTest(
            params.merge_overlap,
            params.merge_log_volume(*sizes),
            params.merge_width(*sizes),
            params.product_space,
        )

    def _reshape(
        self, winner: int, other: int, with_consequents: bool, events: Events, at: int
    ) -> None:
        """Do what is due after a row: compare two rules, split the winner, or take in an idle one.

        What else is due waits for the next row that the rule wins.
        """
        due = self.rows_seen, self.rules.n_rules, self.rules.arrays, self.settings
        if other >= 0:
            self._try_merge(winner, other, with_consequents, events, at)
        elif is_too_large(winner, *due):
            self._split(winner, with_consequents, events, at)
        elif (idle := find_idle(*due)) >= 0:
            self._take_in(idle, with_consequents, events, at)

    def _split(self, rule: int, with_consequents: bool, events: Events, at: int) -> None:
        by, S_0 = self.params.splitting, self.start_variance
        if self.rules.n_rules >= self.params.max_rules:
            silent = self._find_silent()
            self._drop(silent, events, at)
            rule = silent if rule == self.rules.n_rules else rule  # the last one takes its place
        self.counts["splits"] += 1
        events.append((at, "split", int(self.rules.uid[rule])))
        for rules in self.memories:
            rules.reserve(rules.n_rules + 1, self.params.max_rules)
            other = split(rules, rule, self.rows_seen, S_0, by)
            for half in (rule, other) if with_consequents else ():
                rules.arrays.drifting[half] = SPLIT
                solve_weights(rules, half)
                if rules is self.rules:
                    polish(rules, half, self.rows_seen, self.settings)

    def _take_in(self, idle: int, with_consequents: bool, events: Events, at: int) -> None:
        """Make an idle rule part of the one that is nearest to its center.

        If it lies so far away that both in one Gaussian would be nothing but rounding, it goes.
        """
        rules, test = self.rules, self._merge_test
        arrays, scratch = rules.arrays, rules.scratch
        precision = arrays.joint_precision if test.product_space else arrays.input_precision
        center = np.ascontiguousarray(rules.center[[idle], : precision.shape[1]])
        look_ahead(center, 0, 1, arrays.center, precision, rules.n_rules, scratch.e, scratch.alone)
        distances = scratch.alone[0, : rules.n_rules]
        distances[idle] = np.inf
        try:
            pair = compare(rules, idle, int(np.argmin(distances)), self.start_variance, test)
        except np.linalg.LinAlgError:
            self._drop(idle, events, at)
        else:
            self._merge(pair, with_consequents, events, at)

    def _may_hold(self, a: int, b: int) -> bool:
        """Tell whether two rules together are small enough not to be split again."""
        rules = self.rules
        together = rules.updates[a] + rules.updates[b] + 2
        rows = count_rows_in_use(self.rows_seen, rules.n_rules, rules.arrays, self.settings)
        return not self.settings.splits or bool(together <= self.split_share * rows)

    def _try_merge(self, a: int, b: int, with_consequents: bool, events: Events, at: int) -> None:
        test = self._merge_test
        pair = compare(self.rules, a, b, self.start_variance, test)
        if may_merge(pair, test) and self._may_hold(a, b):
            self._merge(pair, with_consequents, events, at)
        else:
            tested = self.rules.updates[a] + self.rules.updates[b] + 2
            self.rules.arrays.tested[a, b] = self.rules.arrays.tested[b, a] = tested

    def _merge(self, pair: Pair, with_consequents: bool, events: Events, at: int) -> None:
        paper = self.params.merge_consequents == "paper"
        self.counts["merges"] += 1
        for rules in self.memories:
            rule = merge(rules, pair, max_support=self.params.max_support, paper_weights=paper)
            if with_consequents and not paper and rules is self.rules:
                polish(rules, rule, self.rows_seen, self.settings)
        events.append((at, "merge", int(self.rules.uid[rule])))

    def _make_room(self, with_consequents: bool, events: Events, at: int) -> None:
        """At the cap: drop a silent rule, merge the most similar pair, or drop the least used."""
        rules, test = self.rules, self._merge_test
        if (silent := self._find_silent()) >= 0:
            self._drop(silent, events, at)
            return
        if self.params.merging and rules.n_rules > 1:
            arrays = rules.arrays
            precision = arrays.joint_precision if test.product_space else arrays.input_precision
            a, b = find_closest_pair(rules.n_rules, arrays.center, precision, rules.scratch.e)
            try:
                pair = compare(rules, a, b, self.start_variance, test)
            except np.linalg.LinAlgError:
                pass  # so far apart that their union is lost in rounding
            else:
                if pair.overlap >= CAP_OVERLAP * test.overlap:
                    self._merge(pair, with_consequents, events, at)
                    return
        least = find_least_used(rules, self.rows_seen, with_consequents=with_consequents)
        self._drop(least, events, at)

    def _find_silent(self) -> int:
        """Return the rule that goes first when there is no room, or -1 if all are in use."""
        rules = self.rules
        return find_silent(self.rows_seen, rules.n_rules, rules.arrays, self.settings)

    def _drop(self, rule: int, events: Events, at: int) -> None:
        self._warn_of_divergence()  # the rule that goes may be the one that was stopped
        events.append((at, "drop", int(self.rules.uid[rule])))
        for rules in self.memories:
            rules.swap_remove(rule)
        self.counts["drops"] += 1

    def _warn_of_divergence(self) -> None:
        self.warned = self.warned or warn_of_divergence(self.rules, self.params)
