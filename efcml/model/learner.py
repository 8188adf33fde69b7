"""Learner: the whole method on trusted arrays.

Float64, C order, labels 0/1 with NaN for unknown: nothing is validated here. The scikit-learn face
checks its input and then calls this class; streams, evaluation and adapters call it directly.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml._jit import on_first_compilation
from efcml.kernels.querying import scan_rows
from efcml.kernels.scoring import score_rows
from efcml.model.answers_of_rows import Answer, plain_answer
from efcml.model.arguments import Asking, Watch
from efcml.model.batch_learner import BatchLearner
from efcml.model.clipping import warn_of_clipping
from efcml.model.following_scale import decide_scale
from efcml.model.learner_state import PARTS, copy_learner, restore_learner, save_learner
from efcml.model.params import DECISIONS, Params
from efcml.model.scratch import ALL_ALIKE
from efcml.model.trace import Trace, learn_in_blocks
from efcml.support.blas import one_blas_thread
from efcml.support.guard import Guarded, one_at_a_time
from efcml.support.interrupts import interrupts_held
from efcml.support.progress import tell
from efcml.support.states import from_plain

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Bools, Facts, Floats, State

on_first_compilation(lambda: tell("efcml compiles, once on this machine: about 20 s"))

NOTHING = np.empty((0, 0))


class Learner(Guarded, BatchLearner):
    """One evolving rule base: ``fit`` a batch, ``learn`` a stream, ``score`` rows."""

    # -- stream -----------------------------------------------------------------------------

    @one_at_a_time
    @one_blas_thread()
    def learn(
        self, X: Floats, Y: Floats, trace: Trace | None = None, amounts: Floats = ALL_ALIKE
    ) -> Self:
        """Learn rows in order; any split into calls gives the same state.

        ``amounts`` are weights above 0, one for each row; rows of a warm-up cannot have any.

        A trace gets the scores of every row before it is learned, or those of the other rows that
        it brings. An interrupt takes effect between two rows: those before it are learned.
        """
        start = 0 if self.fitted else self._hold(X, Y, trace)
        clipped: list[Floats] = []
        learn_in_blocks(partial(self._learn_block, clipped), X, Y, trace, start, amounts)
        if self.fitted:
            self._warn_of_divergence()
        if trace is None and start < len(X):
            self.warn_of_clipping(np.sum(clipped, axis=0), len(X) - start)
        return self

    def _learn_block(
        self,
        clipped: list[Floats],
        X: Floats,
        Y: Floats,
        trace: Trace | None,
        amounts: Floats = ALL_ALIKE,
    ) -> None:
        """Learn rows; while the scale is in doubt they are only answered, and held.

        How many values of each feature were clipped is added to a list.
        """
        first = 0
        while first < len(X):
            rest, last, event, doubt = slice(first, None), len(X), False, False
            rows = self.scaler.transform(X[rest])
            if self.following is not None:
                doubt = self.following.in_doubt
                done, event = self.following.watch(
                    X[rest], rows, Y[rest], self.scaler.clip, amounts[rest]
                )
                last = first + done
            block = slice(first, last)
            part = None if trace is None else trace.part(block)
            clipped.append(self.scaler.count_clipped(rows[: last - first]))
            if part is not None:
                part.add_clipped(clipped[-1])
            if not doubt:
                self._learn_scaled(rows[: last - first], Y[block], part, amounts[block])
            else:
                self._answer(rows[: last - first], part)
            if doubt and event:
                self._learn_held(part)
            if trace is not None and part is not None:
                trace.take_events(part, first)
            first = last

    def warn_of_clipping(self, clipped: Any, rows: int) -> None:
        """Warn if many values of some rows were clipped, once."""
        self.told_of_clipping = self.told_of_clipping or warn_of_clipping(clipped, rows)

    def _answer(self, rows: Floats, trace: Trace | None) -> None:
        """Note what is said of rows that are not learned yet."""
        if trace is not None:
            seen = rows if trace.rows is None else self.scaler.transform(trace.rows)
            scores = self._score_scaled(seen, trace.ahead)
            trace.take_answer(self.answer_scores(scores), slice(len(seen)))
            trace.rules[:] = self.n_rules
        self.sequel.wait(len(rows))

    def _learn_held(self, trace: Trace | None) -> None:
        """Decide about the scale and learn the rows that were held for that."""
        following: Any = self.following
        amounts = following.held_amounts
        X, Y = decide_scale(self)
        self.sequel.stop_waiting(len(X))
        part = Trace.for_rows(len(X), self.n_planes)
        part.rows = X[:0]  # they have been answered already
        self._learn_scaled(self.scaler.transform(X), Y, part, amounts)
        if trace is not None:
            trace.rules[-1] = self.n_rules
            trace.events += [(len(trace.rules) - 1, kind, uid) for _, kind, uid in part.events]

    def _learn_scaled(
        self, rows: Floats, Y: Floats, trace: Trace | None, amounts: Floats = ALL_ALIKE
    ) -> None:
        seen, scores, own, ahead = NOTHING, NOTHING, False, 0
        if trace is not None:
            seen = rows if trace.rows is None else self.scaler.transform(trace.rows)
            scores, own, ahead = trace.scores, trace.rows is None, trace.ahead
        n = 0 if self.labels is None else len(rows)
        learned, kept = np.zeros((n, self.n_planes)), np.ones(n)
        with self._weighed(amounts):
            self._run(rows, Y, trace, Watch(seen, scores, own, ahead, learned, kept))
        if self.labels is not None:
            shown = learned[:0] if trace is None else scores[: len(seen)]
            decision, Y = DECISIONS[self.params.decision], np.ascontiguousarray(Y)
            answer = self.labels.follow(shown, learned, Y, kept, decision)
            if trace is not None:
                trace.take_answer(answer, slice(len(shown)))

    def _hold(self, X: Floats, Y: Floats, trace: Trace | None) -> int:
        """Keep warm-up rows until there are enough, then fit; return how many were taken."""
        for t in range(len(X)):
            if trace is not None:
                rows = X if trace.rows is None else trace.rows
                trace.scores[t] = self.score(rows[t : t + 1])[0]
            if not np.isnan(Y[t]).all():
                row = X[t].copy(), Y[t].copy()
                if len(self.held) + 1 < self.params.warmup_rows:
                    self._keep(row)
                else:
                    self._fit_held(row)
            if trace is not None:
                trace.rules[t] = self.n_rules
            if self.fitted:
                return t + 1
        return len(X)

    def _keep(self, row: tuple[Floats, Floats]) -> None:
        """Hold a row; what was wrong about it counts before. An interrupt waits for both."""
        with interrupts_held():
            self.beginning.note(self.held, self.frequencies, *row)
            self.held.append(row)

    def _fit_held(self, last: tuple[Floats, Floats]) -> None:
        """Fit the warm-up rows, aside: if that breaks off, they are still held, the last is not."""
        rows, labels = (np.array(part) for part in zip(*self.held, last, strict=True))
        vars(self).update(vars(self.copy().fit(rows, labels)))

    # -- answers ----------------------------------------------------------------------------

    @one_at_a_time
    @one_blas_thread()
    def score(self, X: Floats) -> Floats:
        """Return the (n, K) continuous outputs of rows that follow each other."""
        if self.fitted:
            return self._score_scaled(self.scaler.transform(X))
        answer = self.beginning.answer(self.held, self.frequencies, X)
        return np.tile(answer, (1, self.n_pairs))

    @one_at_a_time
    def answer(self, X: Floats, known: Floats | None = None) -> Answer:
        """Return scores, decisions and probabilities, given the labels that are known."""
        return self.answer_scores(self.score(X), known)

    def answer_scores(self, scores: Floats, known: Floats | None = None) -> Answer:
        """Return what is said of rows with these scores."""
        if self.labels is None:
            return plain_answer(scores, known)
        return self.labels.answer(scores, DECISIONS[self.params.decision], known)

    def _score_scaled(self, X: Floats, ahead: int = 0) -> Floats:
        scores = np.empty((len(X), self.n_planes))
        score_rows(X, ahead, self.rules.n_rules, self.model, scores)
        return scores

    @one_at_a_time
    def pass_rows(self, count: int) -> None:
        """Let rows of the stream go by of which nothing is learned."""
        if self.following is not None and self.following.in_doubt:
            self.sequel.wait(count)
        else:
            self.sequel.pass_rows(count)

    @one_at_a_time
    @one_blas_thread()
    def find_question(
        self,
        X: Floats,
        draws: Floats,
        start: int,
        ask: Any,
        state: Floats,
        scores: Floats,
        wanted: Bools,
    ) -> tuple[int, int]:
        """Score scaled rows from ``start`` on until one is worth a question (kernels/querying.py).

        Only ``state``, ``scores`` and ``wanted`` are written.
        """
        asking = Asking(ask, state, wanted)
        return scan_rows(X, draws, start, self.rules.n_rules, self.model, asking, scores)

    @one_at_a_time
    def add_labels(self, count: int) -> None:
        """Take in labels that appear late; every row so far counts as not having them."""
        self.n_labels += count
        self.held = [(x, np.concatenate([y, np.zeros(count)])) for x, y in self.held]
        if self.fitted:
            S_0, floor = self.start_variance, self.params.variance_floor
            for rules in self.memories:
                self.start_variance = rules.add_labels(count, S_0, floor)
            self._steer()
            for name in PARTS:
                if (part := getattr(self, name)) is not None:
                    part.add_labels(count)
        else:
            self._forget_recent()

    @one_at_a_time
    def copy(self) -> Learner:
        """Return an independent learner in the same state."""
        return copy_learner(self, Learner(self.params, self.n_features, self.n_labels))

    @one_at_a_time
    def state(self) -> State:
        """Return facts and arrays for saving; settings and scratch follow from them."""
        return save_learner(self)

    @classmethod
    def from_state(cls, facts: Facts, arrays: Arrays) -> Self:
        """Build a learner from what :meth:`state` returned."""
        params = {name: from_plain(value) for name, value in facts["params"].items()}
        learner = cls(Params(**params), facts["n_features"], facts["n_labels"])
        restore_learner(learner, facts, arrays)
        return learner
