"""Learner: the whole method on trusted arrays.

Float64, C order, labels 0/1 with NaN for unknown: nothing is validated here. The scikit-learn face
checks its input and then calls this class; streams, evaluation and adapters call it directly.
"""

from dataclasses import asdict

import numpy as np

from efcml._jit import on_first_compilation
from efcml.kernels.learning import (
    BIRTH,
    DONE,
    PAUSE,
    SPLIT_GROUPS,
    cluster_until_event,
    learn_until_event,
)
from efcml.kernels.pairs import find_closest_pair
from efcml.kernels.querying import scan_rows
from efcml.kernels.records import Watch
from efcml.kernels.scoring import score_rows
from efcml.model import batch
from efcml.model.birth import give_birth, start_variances
from efcml.model.casebase import CaseBase
from efcml.model.divergence import warn_of_divergence
from efcml.model.merging import MergeTest, compare, may_merge, merge, polish
from efcml.model.params import Params
from efcml.model.prior import Prior, choose_prior, precision
from efcml.model.repair import repair_stale
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler
from efcml.model.trace import learn_in_blocks
from efcml.model.usage import find_least_used
from efcml.support.blas import one_blas_thread
from efcml.support.guard import Guarded, one_at_a_time
from efcml.support.progress import tell
from efcml.support.states import from_plain, nest, pick, to_plain

on_first_compilation(lambda: tell("efcml compiles, once on this machine: about a minute"))

NOTHING = np.empty((0, 0))
STATE_FACTS = ("n_features", "n_labels", "rows_seen", "warned")
CAP_OVERLAP = 0.5  # share of `merge_overlap` that is enough to merge when there is no room


class Learner(Guarded):
    """One evolving rule base: ``fit`` a batch, ``learn`` a stream, ``score`` rows."""

    def __init__(self, params, n_features, n_labels, *, capacity=8, pairs=None):
        self.params = params
        self.pairs = pairs  # (alpha, beta), several at once; then scores have K columns for each
        self.n_features = n_features
        self.n_labels = n_labels
        self.capacity = capacity
        self.counts = {"births": 0, "merges": 0, "drops": 0, "repairs": 0}
        self.rows_seen = 0  # that had a known label; others change nothing
        self.rules = None  # RuleBase, once fitted
        self.cases = None  # CaseBase, once fitted
        self.scaler = None
        self.start_variance = None  # S_0
        self.prior_precision = None
        self.settings = None
        self.warned = False
        self.held = []  # warm-up rows

    # -- batch ------------------------------------------------------------------------------

    @property
    def fitted(self):
        """Whether rules exist; before, label frequencies answer."""
        return self.rules is not None

    @property
    def n_rules(self):
        """Number of rules now."""
        return self.rules.n_rules if self.fitted else 0

    @property
    def n_pairs(self):
        """Number of (alpha, beta) carried along."""
        return 1 if self.pairs is None else len(self.pairs)

    @one_at_a_time
    @one_blas_thread()
    def fit(self, X, Y):
        """Learn an initial batch from nothing (Algorithm 1)."""
        labelled = ~np.isnan(Y).all(axis=1)
        X, Y = X[labelled], Y[labelled]
        self.counts = dict.fromkeys(self.counts, 0)
        self.rows_seen, self.warned, self.held = 0, False, []
        self.scaler = Scaler.from_rows(X, self.params.clip)
        X = self.scaler.transform(X)
        self.start_variance = start_variances(X, self.n_labels, self.params.birth_width)
        given = self.params.prior
        prior = choose_prior(self, X, Y) if given == "auto" else Prior(given)
        self.build(X, Y, prior)
        self.cases = self._new_cases()
        if self.cases.capacity:
            self.cases.fill(X, batch.errors_without_own_row(self.rules, X, Y, self.settings))
        return self

    def _new_cases(self):
        params, planes = self.params, self.n_labels * self.n_pairs
        return CaseBase(self.n_features, planes, params.cases, params.case_width, params.case_noise)

    def build(self, X, Y, prior):
        """Form rules from scaled rows and solve for their consequents."""
        self.cluster(X, Y, prior.strength)
        psi = batch.activations(self.rules, X, self.settings)
        batch.set_statistics(self.rules, X, Y, psi)
        base = prior.planes(X, Y)
        diverged = batch.set_weights(self.rules, self.prior_precision, base, self.settings)
        for rule in diverged:
            self.rules.arrays.stopped[rule] = len(X)
        self._warn_of_divergence()

    def cluster(self, X, Y, delta):
        """One antecedent pass over scaled rows: births, updates, merges."""
        sizes = self.n_features, self.n_labels
        room = min(self.capacity, self.params.max_rules)
        self.rules = RuleBase(*sizes, n_pairs=self.n_pairs, capacity=room)
        if self.n_labels > 1 and np.isnan(Y).any():
            self.rules.split_groups()
        self.prior_precision = precision(delta, self.n_features)
        self.settings = self.params.settings(*sizes, float(delta), self.pairs)
        self.rows_seen = 0
        self._run(X, Y, with_consequents=False)

    # -- stream -----------------------------------------------------------------------------

    @one_at_a_time
    @one_blas_thread()
    def learn(self, X, Y, trace=None):
        """Learn rows in order; any split into calls gives the same state.

        A trace gets the scores of every row before it is learned, or those of the other rows that
        it brings. An interrupt takes effect between two rows: those before it are learned.
        """
        start = 0 if self.fitted else self._hold(X, Y, trace)
        learn_in_blocks(self._learn_block, X, Y, trace, start)
        if self.fitted:
            self._warn_of_divergence()
        return self

    def _learn_block(self, X, Y, trace):
        rows = self.scaler.transform(X)
        watch = Watch(NOTHING, NOTHING, False)
        if trace is not None:
            own = trace.rows is None
            seen = rows if own else self.scaler.transform(trace.rows)
            watch = Watch(seen, trace.scores, own)
        self._run(rows, Y, trace, watch)

    def _hold(self, X, Y, trace):
        """Keep warm-up rows until there are enough, then fit; return how many were taken."""
        for t in range(len(X)):
            if trace is not None:
                rows = X if trace.rows is None else trace.rows
                trace.scores[t] = self.score(rows[t : t + 1])[0]
            if not np.isnan(Y[t]).all():
                row = X[t].copy(), Y[t].copy()
                if len(self.held) + 1 < self.params.warmup_rows:
                    self.held.append(row)
                else:
                    self._fit_held(row)
            if trace is not None:
                trace.rules[t] = self.n_rules
            if self.fitted:
                return t + 1
        return len(X)

    def _fit_held(self, last):
        """Fit the warm-up rows, aside: if that breaks off, they are still held, the last is not."""
        rows, labels = (np.array(part) for part in zip(*self.held, last, strict=True))
        vars(self).update(vars(self.copy().fit(rows, labels)))

    def _run(self, X, Y, trace=None, watch=None, with_consequents=True):
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
                    X, Y, row, newborn, numbers, rules.antecedents, rules.consequents,
                    rules.n_rules, self.start_variance, self.settings, rules.work,
                    rules.consequent_work, self.cases.arrays, watch,
                )  # fmt: skip
            else:
                status, row, rule, other = cluster_until_event(
                    X, Y, row, newborn, rules.antecedents, rules.n_rules, self.start_variance,
                    self.settings, rules.work, rules.consequent_work.known,
                )  # fmt: skip
            complete = row - (status == PAUSE)
            self.rows_seen = int(numbers[complete])
            if trace is not None:
                trace.rules[filled:complete] = self.rules.n_rules
                filled = complete
            newborn = -1
            events = [] if trace is None else trace.events
            if status == BIRTH:
                newborn = self._give_birth(X[row], Y[row], rule, with_consequents, events, row)
            elif status == SPLIT_GROUPS:
                self.rules.split_groups()
            elif status == PAUSE:
                self.counts["repairs"] += repair_stale(self.rules, self.prior_precision)
                if other >= 0:
                    self._try_merge(rule, other, with_consequents, events, row - 1)

    # -- events -----------------------------------------------------------------------------

    def _give_birth(self, x, y, nearest, with_consequents, events, at):
        W = np.zeros(self.rules.arrays.W.shape[1:])
        expected = np.full(self.n_labels, 0.5)
        if nearest >= 0 and with_consequents:
            planes = self.rules.W[nearest, : self.n_labels]
            expected = np.clip(planes[:, :-1] @ x + planes[:, -1], 0.0, 1.0)
            W = self._planes_at(x, nearest)
        if self.rules.n_rules >= self.params.max_rules:
            self._make_room(with_consequents, events, at)
        self.rules.reserve(self.rules.n_rules + 1, self.params.max_rules)
        z = np.concatenate([x, np.where(np.isnan(y), expected, y)])
        self.counts["births"] += 1
        rule = give_birth(
            self.rules, z, W, self.rows_seen, self.start_variance, self.prior_precision
        )
        events.append((at, "birth", int(self.rules.uid[rule])))
        return rule

    def _planes_at(self, x, nearest):
        """Return what a rule that is born at a scaled row starts with."""
        if self.params.birth_plane == "nearest":
            return self.rules.W[nearest].copy()
        psi = batch.activations(self.rules, x[None], self.settings.replace(activation_floor=0.0))
        return np.tensordot(psi[0], self.rules.W, axes=1)

    @property
    def _merge_test(self):
        sizes = self.n_features, self.n_labels
        params = self.params
        return MergeTest(
            params.merge_overlap,
            params.merge_log_volume(*sizes),
            params.merge_width(*sizes),
            params.product_space,
        )

    def _try_merge(self, a, b, with_consequents, events, at):
        test = self._merge_test
        pair = compare(self.rules, a, b, self.start_variance, test)
        if may_merge(pair, test):
            self._merge(pair, with_consequents, events, at)
        else:
            tested = self.rules.updates[a] + self.rules.updates[b] + 2
            self.rules.arrays.tested[a, b] = self.rules.arrays.tested[b, a] = tested

    def _merge(self, pair, with_consequents, events, at):
        paper = self.params.merge_consequents == "paper"
        rule = merge(self.rules, pair, max_support=self.params.max_support, paper_weights=paper)
        self.counts["merges"] += 1
        events.append((at, "merge", int(self.rules.uid[rule])))
        if with_consequents and not paper:
            polish(self.rules, rule, self.rows_seen, self.settings)

    def _make_room(self, with_consequents, events, at):
        """At the cap: merge the most similar pair, or drop the least used rule if none is alike."""
        rules, test = self.rules, self._merge_test
        if self.params.merging and rules.n_rules > 1:
            arrays = rules.arrays
            precision = arrays.joint_precision if test.product_space else arrays.input_precision
            a, b = find_closest_pair(rules.n_rules, arrays.center, precision, rules.work.e)
            pair = compare(rules, a, b, self.start_variance, test)
            if pair.overlap >= CAP_OVERLAP * test.overlap:
                self._merge(pair, with_consequents, events, at)
                return
        self._drop(with_consequents, events, at)

    def _drop(self, with_consequents, events, at):
        self._warn_of_divergence()  # the rule that goes may be the one that was stopped
        rules = self.rules
        least = find_least_used(rules, self.rows_seen, with_consequents=with_consequents)
        events.append((at, "drop", int(rules.uid[least])))
        rules.swap_remove(least)
        self.counts["drops"] += 1

    def _warn_of_divergence(self):
        self.warned = self.warned or warn_of_divergence(self.rules, self.params)

    # -- answers ----------------------------------------------------------------------------

    @one_at_a_time
    @one_blas_thread()
    def score(self, X):
        """Return the (n, K) continuous outputs."""
        if self.fitted:
            return self._score_scaled(self.scaler.transform(X))
        held = np.array([y for _, y in self.held]).reshape(-1, self.n_labels)
        return np.tile(batch.label_means(held), (len(X), self.n_pairs))

    def _score_scaled(self, X):
        scores, rules = np.empty((len(X), self.n_labels * self.n_pairs)), self.rules
        score_rows(
            X, rules.antecedents, rules.consequents.W, rules.n_rules, self.settings, rules.work,
            rules.consequent_work.row, rules.consequent_work.heights, self.cases.arrays, scores,
        )  # fmt: skip
        return scores

    @one_at_a_time
    @one_blas_thread()
    def find_question(self, X, draws, start, ask, state, scores, wanted):
        """Score scaled rows from ``start`` on until one is worth a question (kernels/querying.py).

        Only ``state``, ``scores`` and ``wanted`` are written.
        """
        rules = self.rules
        return scan_rows(
            X, draws, start, rules.antecedents, rules.consequents, rules.n_rules, self.settings,
            rules.work, rules.consequent_work, self.cases.arrays, ask, state, scores, wanted,
        )  # fmt: skip

    @one_at_a_time
    def add_labels(self, count):
        """Take in labels that appear late; every row so far counts as not having them."""
        self.n_labels += count
        self.held = [(x, np.concatenate([y, np.zeros(count)])) for x, y in self.held]
        if self.fitted:
            self.start_variance = self.rules.add_labels(
                count, self.start_variance, self.params.variance_floor
            )
            self.settings = self.params.settings(
                self.n_features, self.n_labels, self.prior_precision[0]
            )
            self.cases.add_labels(count)

    @one_at_a_time
    def copy(self):
        """Return an independent learner in the same state."""
        other = Learner(self.params, self.n_features, self.n_labels)
        other.__dict__.update(self.__dict__)
        other.counts = dict(self.counts)
        other.held = list(self.held)
        if self.fitted:
            other.rules, other.cases = self.rules.copy(), self.cases.copy()
        return other

    @one_at_a_time
    def state(self):
        """Return facts and arrays for saving; settings and scratch follow from them."""
        if self.pairs is not None:
            raise ValueError("a learner of several pairs (alpha, beta) cannot be saved.")
        facts = {name: getattr(self, name) for name in STATE_FACTS}
        facts["params"] = {name: to_plain(value) for name, value in asdict(self.params).items()}
        facts |= {"counts": dict(self.counts), "n_held": len(self.held), "rules": None}
        facts["n_cases"] = self.cases.n_cases if self.fitted else 0
        held = np.array([np.concatenate(row) for row in self.held])
        arrays = {"held": held.reshape(-1, self.n_features + self.n_labels)}
        if self.fitted:
            fields, facts["rules"] = self.rules.state()
            arrays |= {"mean": self.scaler.mean, "scale": self.scaler.scale}
            arrays |= {name: getattr(self, name) for name in ("start_variance", "prior_precision")}
            arrays |= nest(rules=fields, cases=self.cases.state())
        return facts, arrays

    @classmethod
    def from_state(cls, facts, arrays):
        """Build a learner from what :meth:`state` returned."""
        params = {name: from_plain(value) for name, value in facts["params"].items()}
        learner = cls(Params(**params), facts["n_features"], facts["n_labels"])
        learner.counts.update(facts["counts"])
        learner.rows_seen, learner.warned = facts["rows_seen"], facts["warned"]
        p = learner.n_features
        learner.held = [(row[:p].copy(), row[p:].copy()) for row in arrays["held"]]
        if facts["rules"] is not None:
            learner.rules = RuleBase.from_state(pick(arrays, "rules"), facts["rules"])
            learner.scaler = Scaler(arrays["mean"], arrays["scale"], float(learner.params.clip))
            learner.start_variance = arrays["start_variance"]
            learner.prior_precision = arrays["prior_precision"]
            delta = learner.prior_precision[0]
            learner.settings = learner.params.settings(p, learner.n_labels, delta)
            learner.cases = learner._new_cases().restore(pick(arrays, "cases"))
        return learner
