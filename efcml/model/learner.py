"""Learner: the whole method on trusted arrays.

Float64, C order, labels 0/1 with NaN for unknown: nothing is validated here. The scikit-learn face
checks its input and then calls this class; streams, evaluation and adapters call it directly.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml._jit import on_first_compilation
from efcml.kernels.querying import scan_rows
from efcml.kernels.scoring import score_rows
from efcml.model import batch
from efcml.model.answers_of_rows import Answer, plain_answer
from efcml.model.arguments import Asking, Watch
from efcml.model.beginning import Beginning
from efcml.model.birth import start_variances
from efcml.model.casebase import CaseBase
from efcml.model.clipping import warn_of_clipping
from efcml.model.evolving import NOT_YET, EvolvingRules
from efcml.model.following_scale import FollowingScale, decide_scale
from efcml.model.honest_errors import honest_errors
from efcml.model.label_layer import LabelLayer
from efcml.model.memories import begin_brief, follow_antecedents
from efcml.model.params import DECISIONS, Params
from efcml.model.prior import choose_prior_and_share
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler
from efcml.model.sequelbase import SequelBase
from efcml.model.sharing import next_renewal
from efcml.model.trace import Trace, learn_in_blocks
from efcml.support.blas import one_blas_thread
from efcml.support.guard import Guarded, one_at_a_time
from efcml.support.interrupts import interrupts_held
from efcml.support.label_means import label_means
from efcml.support.progress import tell
from efcml.support.states import from_plain, nest, pick, to_plain

if TYPE_CHECKING:
    from efcml.model.prior import Prior
    from efcml.support.aliases import Arrays, Bools, Facts, Floats, Pairs, State

on_first_compilation(lambda: tell("efcml compiles, once on this machine: about 20 s"))

NOTHING = np.empty((0, 0))
STATE_FACTS = "n_features n_labels rows_seen warned split_share shared renewal layered".split()

STATE_ARRAYS = ("start_variance", "prior_precision", "recent_trial")


class Learner(Guarded, EvolvingRules):
    """One evolving rule base: ``fit`` a batch, ``learn`` a stream, ``score`` rows."""

    def __init__(
        self,
        params: Params,
        n_features: int,
        n_labels: int,
        *,
        capacity: int = 8,
        pairs: Pairs | None = None,
        layered: bool = True,
    ) -> None:
        super().__init__(params, n_features, n_labels, capacity=capacity, pairs=pairs)
        self.scaler: Scaler = NOT_YET
        self.following: FollowingScale | None = None  # if the scale follows, once there is one
        self.held: list[tuple[Floats, Floats]] = []  # warm-up rows
        self.beginning = self._new_beginning()
        self.told_of_clipping = False
        self.layered = layered and pairs is None  # whether errors teach of the labels
        self.labels: LabelLayer | None = None  # then, once there are rules

    # -- batch ------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """Whether rules exist; before, the rows that are held answer (model/beginning.py)."""
        return self.rules is not None

    @property
    def n_rules(self) -> int:
        """Number of rules now."""
        return self.rules.n_rules if self.fitted else 0

    @one_at_a_time
    @one_blas_thread()
    def fit(self, X: Floats, Y: Floats) -> Self:
        """Learn an initial batch from nothing (Algorithm 1)."""
        labelled = ~np.isnan(Y).all(axis=1)
        X, Y = X[labelled], Y[labelled]
        self.counts = dict.fromkeys(self.counts, 0)
        self.rows_seen, self.warned, self.held = 0, False, []
        self.beginning = self._new_beginning()
        self.scaler = Scaler.from_rows(X, self.params.clip)
        raw, X = X, self.scaler.transform(X)
        self.following = None
        if self.params.scaling == "follow":
            self.following = FollowingScale.from_rows(raw, X, self.n_labels)
        self.start_variance = start_variances(X, self.n_labels, self.params.birth_width)
        self.build(X, Y, *choose_prior_and_share(self._form_rules, X, Y, self.params))
        self.cases, self.sequel = self._new_cases(), self._new_sequel()
        if self.cases.capacity or self.sequel.is_on:
            errors = batch.errors_without_own_row(self.rules, X, Y, self.settings)
            if self.cases.capacity:
                self.cases.fill(X, errors)
            if self.sequel.is_on:
                self.sequel.begin(errors, Y)
        self.labels = self._new_labels()
        if self.labels is not None:
            self.labels.begin(*self._honest_errors(X, Y))
        return self

    def _new_labels(self) -> LabelLayer | None:
        return LabelLayer(self.n_labels) if self.layered else None

    def _honest_errors(self, X: Floats, Y: Floats) -> tuple[Floats, Floats]:
        """Return errors at the newest scaled rows of the batch without the own row, and labels."""
        errors = honest_errors(self.rules, self.cases, self.shared, X, Y, self.settings)
        return errors, Y[-len(errors) :]

    def _new_beginning(self) -> Beginning:
        return Beginning(self.params.clip, answers=self.params.provisional)

    def _form_rules(self, X: Floats, Y: Floats, split_share: float) -> tuple[RuleBase, Any]:
        """Return the rules that scaled rows would form, and their settings."""
        trial = EvolvingRules(self.params, self.n_features, self.n_labels, capacity=self.capacity)
        trial.start_variance = self.start_variance
        trial.cluster(X, Y, 1.0, split_share)
        return trial.rules, trial.settings

    def _new_cases(self) -> CaseBase:
        params = self.params
        return CaseBase(
            self.n_features, self.n_planes, params.cases, params.case_width, params.case_noise
        )

    def _new_sequel(self) -> SequelBase:
        """Return one that knows nothing yet; several pairs (alpha, beta) have none."""
        one, params = self.pairs is None, self.params
        return SequelBase(self.n_labels, trusts=one and params.caution, times=one and params.time)

    def build(self, X: Floats, Y: Floats, prior: Prior, split_share: float) -> None:
        """Form rules from scaled rows and solve for their consequents."""
        self.cluster(X, Y, prior.strength, split_share)
        psi = batch.activations(self.rules, X, self.settings)
        batch.set_statistics(self.rules, X, Y, psi)
        base = prior.planes(X, Y)
        diverged = batch.set_weights(self.rules, self.prior_precision, base, self.settings)
        for rule in diverged:
            self.rules.arrays.stopped[rule] = len(X)
        self._warn_of_divergence()
        if prior.shared is not None:
            self.shared, self.renewal = prior.shared, next_renewal(self.rows_seen, self.n_features)
            self._steer()
        if self.settings.follows:
            self.brief = begin_brief(self.rules)
            self._forget_recent(room=self.params.cases > 0)

    # -- stream -----------------------------------------------------------------------------

    @one_at_a_time
    @one_blas_thread()
    def learn(self, X: Floats, Y: Floats, trace: Trace | None = None) -> Self:
        """Learn rows in order; any split into calls gives the same state.

        A trace gets the scores of every row before it is learned, or those of the other rows that
        it brings. An interrupt takes effect between two rows: those before it are learned.
        """
        start = 0 if self.fitted else self._hold(X, Y, trace)
        clipped: list[Floats] = []
        learn_in_blocks(partial(self._learn_block, clipped), X, Y, trace, start)
        if self.fitted:
            self._warn_of_divergence()
        if trace is None and start < len(X):
            self.warn_of_clipping(np.sum(clipped, axis=0), len(X) - start)
        return self

    def _learn_block(
        self, clipped: list[Floats], X: Floats, Y: Floats, trace: Trace | None
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
                done, event = self.following.watch(X[rest], rows, Y[rest], self.scaler.clip)
                last = first + done
            block = slice(first, last)
            part = None if trace is None else trace.part(block)
            clipped.append(self.scaler.count_clipped(rows[: last - first]))
            if part is not None:
                part.add_clipped(clipped[-1])
            if not doubt:
                self._learn_scaled(rows[: last - first], Y[block], part)
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
        X, Y = decide_scale(self)
        self.sequel.stop_waiting(len(X))
        part = Trace.for_rows(len(X), self.n_planes)
        part.rows = X[:0]  # they have been answered already
        self._learn_scaled(self.scaler.transform(X), Y, part)
        if trace is not None:
            trace.rules[-1] = self.n_rules
            trace.events += [(len(trace.rules) - 1, kind, uid) for _, kind, uid in part.events]

    def _learn_scaled(self, rows: Floats, Y: Floats, trace: Trace | None) -> None:
        seen, scores, own, ahead = NOTHING, NOTHING, False, 0
        if trace is not None:
            seen = rows if trace.rows is None else self.scaler.transform(trace.rows)
            scores, own, ahead = trace.scores, trace.rows is None, trace.ahead
        n = 0 if self.labels is None else len(rows)
        learned, kept = np.zeros((n, self.n_planes)), np.ones(n)
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

    @property
    def frequencies(self) -> Floats:
        """Label frequencies of the rows that are held."""
        return label_means(np.array([y for _, y in self.held]).reshape(-1, self.n_labels))

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
            self.cases.add_labels(count)
            self.recent.add_labels(count)
            self.sequel.add_labels(count)
            if self.labels is not None:
                self.labels.add_labels(count)
            if self.following is not None:
                self.following.add_labels(count)
        else:
            self._forget_recent()

    def take_features(self, n_features: int) -> None:
        """Change the number of features, as long as no row is fitted."""
        self.n_features = n_features
        self._forget_recent()

    @one_at_a_time
    def copy(self) -> Learner:
        """Return an independent learner in the same state."""
        other = Learner(self.params, self.n_features, self.n_labels)
        other.__dict__.update(self.__dict__)
        other.counts = dict(self.counts)
        other.held, other._model = list(self.held), None
        other.beginning = self.beginning.copy()
        if self.fitted:
            other.rules, other.cases = self.rules.copy(), self.cases.copy()
            other.recent, other.recent_trial = self.recent.copy(), self.recent_trial.copy()
            other.sequel = self.sequel.copy()
            other.labels = None if self.labels is None else self.labels.copy()
            other.brief = None if self.brief is None else self.brief.copy()
            other.following = None if self.following is None else self.following.copy()
        return other

    @one_at_a_time
    def state(self) -> State:
        """Return facts and arrays for saving; settings and scratch follow from them."""
        if self.pairs is not None:
            raise ValueError("a learner of several pairs (alpha, beta) cannot be saved.")
        facts: Facts = {name: getattr(self, name) for name in STATE_FACTS}
        facts["params"] = {name: to_plain(value) for name, value in asdict(self.params).items()}
        facts |= {"counts": dict(self.counts), "n_held": len(self.held), "rules": None}
        facts["evidence"] = self.beginning.evidence.tolist()
        facts["n_cases"] = self.cases.n_cases if self.fitted else 0
        facts["n_recent"] = self.recent.n_cases if self.fitted else 0
        held = np.array([np.concatenate(row) for row in self.held])
        arrays = {"held": held.reshape(-1, self.n_features + self.n_labels)}
        if self.fitted:
            fields, facts["rules"] = self.rules.state()
            arrays |= {"mean": self.scaler.mean, "scale": self.scaler.scale}
            arrays |= {name: getattr(self, name) for name in STATE_ARRAYS}
            arrays |= nest(rules=fields, cases=self.cases.state(), recent=self.recent.state())
            if self.sequel.is_on:
                arrays |= nest(sequel=self.sequel.state())
            if self.brief is not None:
                follow_antecedents(self.brief, self.rules)
                arrays |= nest(brief=self.brief.state()[0])
            if self.labels is not None:
                arrays |= nest(labels=self.labels.state())
            if self.following is not None:
                arrays |= nest(follow=self.following.state())
        return facts, arrays

    @classmethod
    def from_state(cls, facts: Facts, arrays: Arrays) -> Self:
        """Build a learner from what :meth:`state` returned."""
        params = {name: from_plain(value) for name, value in facts["params"].items()}
        learner = cls(Params(**params), facts["n_features"], facts["n_labels"])
        learner.counts.update(facts["counts"])
        learner.rows_seen, learner.warned = facts["rows_seen"], facts["warned"]
        learner.layered = facts["layered"]
        p = learner.n_features
        learner.held = [(row[:p].copy(), row[p:].copy()) for row in arrays["held"]]
        learner.beginning.evidence = np.array(facts["evidence"])
        if facts["rules"] is not None:
            learner.rules = RuleBase.from_state(pick(arrays, "rules"), facts["rules"])
            learner.scaler = Scaler(arrays["mean"], arrays["scale"], float(learner.params.clip))
            for name in STATE_ARRAYS:
                setattr(learner, name, arrays[name])
            for name in ("split_share", "shared", "renewal"):
                setattr(learner, name, facts[name])
            learner._steer()
            learner.cases = learner._new_cases().restore(pick(arrays, "cases"))
            follows = learner.settings.follows
            learner._forget_recent(room=follows and learner.cases.capacity > 0)
            learner.recent_trial = arrays["recent_trial"]
            if follows:
                learner.brief = RuleBase.from_state(pick(arrays, "brief"), facts["rules"])
            learner.recent.restore(pick(arrays, "recent"))
            learner.sequel = learner._new_sequel()
            if learner.sequel.is_on:
                learner.sequel.restore(pick(arrays, "sequel"))
            learner.labels = learner._new_labels()
            if learner.labels is not None:
                learner.labels.restore(pick(arrays, "labels"))
            if learner.params.scaling == "follow":
                learner.following = FollowingScale.from_state(pick(arrays, "follow"))
        return learner
