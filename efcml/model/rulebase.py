"""RuleBase: the evolving rules, first stage of the model, and all that happens to them."""

from collections import Counter, namedtuple
from functools import partial

import numpy as np

from efcml import seams
from efcml._jit import check_compiled, plain
from efcml.kernels import rows as kernel_rows
from efcml.kernels.gaussian import SILENCE, is_novel
from efcml.kernels.linalg import invert, whole
from efcml.kernels.planes import DRIFTING, ERRORS_AGAINST, NEWS, SLOW, learn_planes, share_of
from efcml.kernels.rows import DERIVE_EVERY, LEARNED, RENEW_PENALTY, RENEWAL, scratch_for
from efcml.model import reshape
from efcml.model.fit import COARSE, Prior, choose_prior, fit_planes, held_out_scores
from efcml.model.params import LEAST
from efcml.model.relevance import Features
from efcml.model.stages import Stage
from efcml.model.tables import FACTS, RULES, Rules
from efcml.support.guard import one_blas_thread

BEFORE_A_ROW = (kernel_rows.DONE, kernel_rows.BIRTH)
LEAST_SHARE = 0.01  # of the rows since its birth; a rule that has won fewer is taken in by another
STEP_INTERVAL = 4.0  # activation that a rule gathers between proximal steps, which cost K d^2
seams.USUAL |= {
    ("split", "labels"): reshape.across_labels,
    ("split", "axis"): reshape.along_axis,
    ("update", "rls"): seams.Update(learn_planes, at_birth=True, solves=True),
    ("update", "paper"): seams.Update(learn_planes, at_birth=False, solves=True),
}
EVENTS = ("birth", "merge", "split", "drop", "drift")


# The numbers that steer the driver, see `RuleBase._settings`
Settings = namedtuple(
    "Settings",
    "vigilance bandwidth density product_space variance_floor activation_floor learns_at_birth"
    " merges most_gap split_share least_share max_rules corrects alpha beta exact_length"
    " step_interval follows antecedents_forget forgetting least_prior S_0 axes",
)


class RuleBase(Stage):
    """Gaussian rules in the product space with a plane per label.

    ``events`` and ``n_rules_by_row`` tell what happened in the last call of ``follow``.
    """

    table = RULES

    def __init__(self, params, n_features, n_labels, features=None):
        self.params, self.K, self.n_features = params, n_labels, n_features
        self.features = features = features or Features.all(n_features)
        self.p, self.a = len(features.used), len(features.axes)
        self.n_rules = self.next_uid = 0
        self.counts = Counter(dict.fromkeys(EVENTS, 0))
        self.prior = self.split_share = self.S_0 = self.settings = None
        self.diverged = None  # (uid, row) of the first rule that ran away
        self.events, self.n_rules_by_row = [], np.zeros(0, np.int64)
        self._choose_functions()
        self.arrays = self.room_for(1)

    def _choose_functions(self):
        """Find what stands for the parts that can be replaced (seams.py)."""
        params = self.params
        update = seams.function_of("update", params.update)
        self.update = update if isinstance(update, seams.Update) else seams.Update(update)
        self.birth_test = seams.function_of("birth", params.vigilance) or is_novel
        for kind, function in (("update", self.update.learn), ("birth", self.birth_test)):
            if function not in (learn_planes, is_novel):
                check_compiled(kind, function)
                seams.try_out(kind, function)
        self.driver = kernel_rows.driver_with(self.birth_test, self.update.learn)
        direction = seams.function_of("split", params.splitting)
        self.direction = direction and partial(seams.ask, "split", direction)
        self.criterion = seams.function_of("merging", params.merging)

    def __getattr__(self, name):
        """Return the used entries of an array or of a fact, for reading: ``rules.center``."""
        if name in FACTS.names:
            return self.arrays.facts[name][: self.n_rules]
        if name in RULES.names:
            return getattr(self.arrays, name)[: self.n_rules]
        raise AttributeError(name)

    @property
    def rows_seen(self):
        """Number of learned rows."""
        return int(self.arrays.clock[LEARNED])

    @property
    def planes(self):
        """The planes (rules, K, d) with which the rules answer: those of both memories mixed."""
        trust = plain(share_of)
        shares = np.array([trust(sums, ERRORS_AGAINST, 0.0) for sums in self.trust_sums])
        slow, fast = self.W[:, SLOW], self.W[:, -1]
        return slow + shares.reshape(-1, 1, 1) * (fast - slow)

    def whole_planes(self):
        """Return the planes (rules, K, n_features + 1); 0 for features that are not used."""
        planes = np.zeros((self.n_rules, self.K, self.n_features + 1))
        planes[..., np.append(self.features.used, self.n_features)] = self.planes
        return planes

    def whole_gaussians(self):
        """Return centers, covariances and precisions of the rules over all features.

        Those that rules are not formed over have no precision: they decide nothing. Where they lie
        is what the rows of a rule tell of them, by a regression on those that it is formed over.
        """
        n, p, (used, axes) = self.n_rules, self.n_features, self.features
        center, precision = np.zeros((n, p)), np.zeros((n, p, p))
        covariance = np.tile(np.eye(p), (n, 1, 1))
        at, others = self.features.numbers, np.delete(np.arange(self.p), axes)
        for i in range(n):
            S, G = invert(self.marginal[i]), whole(self.G[i, SLOW].copy())
            rows = max(G[-1, -1], 1.0)
            mean = G[-1, :-1] / rows
            C = G[:-1, :-1] / rows - np.outer(mean, mean) + np.eye(self.p) / rows
            slopes = np.linalg.solve(C[np.ix_(axes, axes)], C[np.ix_(axes, others)]).T
            center[i, at] = self.center[i, : self.a]
            center[i, used[others]] = mean[others] + slopes @ (center[i, at] - mean[axes])
            precision[i][np.ix_(at, at)] = whole(self.marginal[i].copy())
            left = C[np.ix_(others, others)] - slopes @ C[np.ix_(axes, others)]
            covariance[i][np.ix_(at, at)] = S
            covariance[i][np.ix_(used[others], at)] = slopes @ S
            covariance[i][np.ix_(at, used[others])] = S @ slopes.T
            covariance[i][np.ix_(used[others], used[others])] = slopes @ S @ slopes.T + left
        return center, covariance, precision

    # Batch

    def begin(self, rows, scores, Y, weights):
        """Form rules from a batch and solve for their planes; ``scores`` are not looked at."""
        params, rows = self.params, self.features.take(rows)

        def form(rows, Y, weights, share):
            self.form(rows, Y, weights, share)
            return self.fire

        self.S_0 = self._start_variances(rows)
        self.prior, share = choose_prior(form, rows, Y, weights, params)
        self.form(rows, Y, weights, share)
        psi = self.fire(rows) * weights[:, None]
        for i in fit_planes(self.arrays, self.n_rules, rows, Y, psi, self.prior, params):
            self._stop(i)
        if self.prior.shared is not None:
            reshape.set_renewal(self.arrays)
        self.counts = Counter(dict.fromkeys(EVENTS, 0)) | Counter(birth=self.n_rules)
        return held_out_scores(self.arrays, rows, Y, psi, self.activations(rows), self.prior)

    def _start_variances(self, rows):
        rows, width = rows[:, self.features.axes], self.params.birth_width
        return reshape.start_variances(rows, self.K, width)

    def form(self, rows, Y, weights, share=COARSE):
        """Form rules, without planes, in one pass; those above this share of the rows are split."""
        if self.S_0 is None:
            self.S_0 = self._start_variances(rows)
        self.arrays = self.room_for(self.params.max_rules + 1)
        self.split_share, self.n_rules, self.next_uid = share, 0, 0
        self.settings = self._settings()
        self._run(rows, Y, weights, with_planes=False)

    def room_for(self, n_rules, memories=None):
        """Return the arrays of no rule; those that nothing is asked of have no entry."""
        p, memories = self.params, memories or 1 + self.params.follows
        own = p.splitting not in ("axis", "off") or self.criterion is not None
        needs = {"joint": p.product_space or p.correlates or own, "correlates": p.correlates}
        return reshape.allocate(self.p, self.a, self.K, n_rules, memories, **needs)

    def _settings(self):
        p, sizes = self.params, (self.a, self.K)
        alone = p.max_rules == 1  # a single rule takes every row: another would know nothing
        splits = self.direction is not None
        own_test = self.birth_test is not is_novel
        return Settings(
            vigilance=np.inf if alone else 1.0 if own_test else float(p.vigilance),
            bandwidth=float(self.a if p.bandwidth == "dimension" else p.bandwidth),
            density=p.activation == "density",
            product_space=bool(p.product_space),
            variance_floor=float(p.variance_floor),
            activation_floor=float(p.activation_floor),
            learns_at_birth=self.update.at_birth,
            merges=self.criterion is not None or bool(p.merging),
            # Centers farther apart cannot have the overlap; a criterion of one's own sees all.
            most_gap=np.inf if self.criterion is not None else p.most_gap(*sizes),
            split_share=float(self.split_share) if splits else np.inf,
            least_share=LEAST_SHARE if splits else 0.0,
            max_rules=int(p.max_rules),
            corrects=p.correlates or p.alpha > 0.0,
            alpha=float(p.alpha),
            beta=float(p.beta) if p.correlates else 0.0,
            exact_length=p.lipschitz == "exact",
            step_interval=STEP_INTERVAL if p.activation_floor > 0.0 else 0.0,
            follows=p.follows,
            # Without a floor, a feature that rests would lose its variance.
            antecedents_forget=p.variance_floor >= LEAST,
            forgetting=p.fixed_forgetting,
            least_prior=0.0 if self.prior is None else 0.5 * self.prior.strength,
            S_0=self.S_0,
            axes=self.features.axes,
        )

    # Answers

    def answer(self, rows, scores=None, ahead=0):
        """Return the scores (n, K) of rows: of weight 0, so nothing is learned."""
        unknown, nothing = np.full((len(rows), self.K), np.nan), np.zeros(len(rows))
        out, given = np.empty(unknown.shape), (self.features.take(rows), unknown, nothing)
        self._drive(*given, 0, -1, True, out, np.ones(len(rows)), self._scratch())
        return out

    def _scratch(self):
        sizes = self.arrays.W.shape  # rules, memories, K, d
        return scratch_for(*sizes, self.a)

    def _drive(self, X, Y, weights, row, newborn, with_planes, scores, retention, scratch):
        first = row, newborn, self.n_rules, with_planes
        tables = self.arrays, self.settings, scratch
        return self.driver(X, Y, weights, *first, *tables, scores, retention)

    def distances(self, rows):
        """Return the squared distances (n, rules) of rows to the rules."""
        rows = self.features.take(rows)[:, self.features.axes]
        gaps = [rows - center[: self.a] for center in self.center]
        pairs = zip(gaps, self.marginal, strict=True)
        found = [((e @ whole(S.copy())) * e).sum(axis=1) for e, S in pairs]
        return np.maximum(np.stack(found, axis=1), 0.0)

    def activations(self, rows):
        """Return Psi (n, rules)."""
        return self._shares(self.distances(rows) + self._sizes)

    @property
    def _sizes(self):
        """What a rule counts by besides its distance: log|S_x|, or nothing."""
        return self.log_det_x if self.settings.density else 0.0

    def _shares(self, logs):
        """Return Psi of squared distances with sizes, the last axis rules (eq. 4)."""
        logs = -0.5 / self.settings.bandwidth * logs
        psi = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return psi / psi.sum(axis=-1, keepdims=True)

    def fire(self, rows):
        """Return Psi (n, rules) of the rules that learn from rows, 0 below the floor."""
        psi = self.activations(rows)
        return np.where(psi < self.params.activation_floor, 0.0, psi)

    def fill(self, row):
        """Put what the rules expect of missing features (NaN) into a scaled row.

        A rule is a Gaussian: with its precision L and e = x - c it expects of the missing features
        m, by those o that are there, ``e_m = -L_mm^-1 L_mo e_o``. With this e_m the form e'L e is
        the distance at what is there, and ``log|S_oo| = log|S| + log|L_mm|``; so every rule counts
        by its density there. Features that rules are not formed over are filled by the second
        moments of the planes, of which P is the inverse, as far as they have learned; else by 0,
        the usual value.
        """
        used, axes, rules = self.features.used, self.features.numbers, self.arrays
        m = np.flatnonzero(np.isnan(row[axes]))
        if len(m):
            L = np.array([whole(S.copy()) for S in self.marginal])
            center, L_mm = self.center[:, : self.a], L[:, m[:, None], m]
            e = np.nan_to_num(row[axes] - center)
            e[:, m] = -np.linalg.solve(L_mm, L[:, m] @ e[..., None])[..., 0]
            distance = np.maximum((e[:, None] @ L @ e[..., None])[:, 0, 0], 0.0)
            opened = np.linalg.slogdet(L_mm)[1] if self.settings.density else 0.0
            psi = self._shares(distance + self._sizes + opened)
            row[axes[m]] = psi @ (center + e)[:, m]
        missing = np.isnan(row)
        if not missing.any():
            return
        r, m = np.append(row[used], 1.0), np.flatnonzero(missing[used])
        r[m], row[missing] = 0.0, 0.0
        if len(m) == 0 or not rules.P[: self.n_rules, SLOW].any():
            return
        for psi, P in zip(self.activations(row[None])[0], rules.P[:, SLOW], strict=False):
            P = whole(P.copy())[m]
            row[used[m]] -= psi * np.linalg.solve(P[:, m], P @ r)

    # Stream

    def follow(self, rows, scores, Y, weights, kept):
        """Answer and learn rows; ``scores`` are not looked at, ``kept`` is filled in."""
        return self._run(self.features.take(rows), Y, weights, kept=kept)

    def _run(self, X, Y, weights, *, with_planes=True, kept=None):
        """Drive the kernel from event to event."""
        scores, kept = np.empty(Y.shape), np.empty(len(Y)) if kept is None else kept
        self.events, self.n_rules_by_row = [], np.empty(len(Y), np.int64)
        event, row, newborn, before, scratch = None, 0, -1, 0, self._scratch()
        while event != kernel_rows.DONE:
            given = X, Y, weights, row, newborn, with_planes, scores, kept, scratch
            event, row, rule, other = self._drive(*given)
            complete = row - (event not in BEFORE_A_ROW)
            self.n_rules_by_row[before:complete] = self.n_rules
            before, self._at, self._with_planes = complete, complete, with_planes
            if event != kernel_rows.DONE:
                now = X[row:][:1], Y[row:][:1], weights[row:][:1]
                newborn = self._act(event, rule, other, *now)
        return scores

    @one_blas_thread()
    def _act(self, event, rule, other, x, y, weight):
        """Do what an event asks for; return the rule that the next row gives birth to, or -1."""
        newborn = -1
        if event == kernel_rows.BIRTH:
            newborn = self._give_birth(x[0], y[0], weight[0], rule)
        elif event == kernel_rows.MERGE:
            self._try_merge(rule, other)
        elif event == kernel_rows.SPLIT:
            self._split(rule)
        elif event == kernel_rows.IDLE:
            self._merge_into_nearest(rule)
        elif event == kernel_rows.DIVERGED:
            self._stop(rule)
        if self._with_planes:  # then nothing is due
            self._upkeep()
        return newborn

    def _upkeep(self):
        """Derive anew what rounding, forgetting or new rows have left behind; note drifts."""
        rules, facts = self.arrays, self.arrays.facts[: self.n_rules]
        for i, m in np.argwhere(rules.updates_since_refresh[: self.n_rules] >= DERIVE_EVERY):
            reshape.derive(rules, i, m, self._Delta, solves=self.update.solves)
        old = facts["penalty_age"] >= RENEW_PENALTY * facts["weight"]
        for i in np.flatnonzero(old & (facts["weight"] >= 1.0)):
            reshape.renew_penalty(rules, i, self.params.correlation)
        for i in np.flatnonzero(facts["drifting"] == NEWS):
            facts["drifting"][i] = DRIFTING
            self._note("drift", i)
        if rules.clock[LEARNED] >= rules.clock[RENEWAL]:
            Delta = reshape.precision(self.prior.shared, self.p)
            if self.update.solves:
                reshape.share_planes(rules, self.n_rules, Delta)
            else:
                reshape.set_renewal(rules)

    # Events

    @property
    def _Delta(self):
        return reshape.precision(self.prior.strength if self.prior else 1.0, self.p)

    def _note(self, kind, i):
        self.counts = self.counts + Counter([kind])
        self.events.append((self._at, kind, int(self.arrays.facts["uid"][i])))

    def _name(self, i):
        self.arrays.facts["uid"][i], self.next_uid = self.next_uid, self.next_uid + 1

    def _give_birth(self, x, y, weight, nearest):
        """Make a rule at a row; until it has learned, it answers as its neighbour does."""
        rules = self.arrays
        expected, W = np.full(self.K, 0.5), np.zeros(rules.W.shape[1:])
        if nearest >= 0 and self._with_planes:
            W = rules.W[nearest].copy()
            planes = self.planes[nearest]
            expected = np.clip(planes[:, :-1] @ x + planes[:, -1], 0.0, 1.0)
        if self.n_rules >= self.params.max_rules:
            self._make_room()
        z = np.append(x[self.features.axes], np.where(np.isnan(y), expected, y))
        i, self.n_rules = self.n_rules, self.n_rules + 1
        reshape.init_rule(rules, i, z, W, weight, self.S_0, self._Delta)
        self._name(i)
        self._note("birth", i)
        return i

    def _finish(self, i, planes=None):
        """Give a rule with new sums its penalty and its planes, unless these are given."""
        if not self._with_planes:
            return
        rules = self.arrays
        if planes is not None:
            rules.W[i] = planes
        reshape.settle(rules, i, self._Delta, planes=planes is None and self.update.solves)
        if rules.facts["weight"][i] >= 1.0:
            reshape.renew_penalty(rules, i, self.params.correlation)
        rules.facts["unstepped"][i] = STEP_INTERVAL  # with its next row it takes a step

    def _stop(self, i):
        """Let a rule whose planes ran away go on from least squares, without proximal steps."""
        rules, facts = self.arrays, self.arrays.facts
        facts["stopped"][i] = rules.clock[LEARNED]
        reshape.settle(rules, i, self._Delta)
        if self.diverged is None:
            self.diverged = int(facts["uid"][i]), int(rules.clock[LEARNED]) - 1

    def _split(self, i):
        if self.n_rules >= self.params.max_rules:
            silent = self._find_silent()
            self._drop(silent)
            i = silent if i == self.n_rules else i  # the last one takes its place
        self._note("split", i)
        reshape.split(self.arrays, i, self.n_rules, self.S_0, self.direction)
        self.n_rules += 1
        self._name(self.n_rules - 1)
        for half in (i, self.n_rules - 1):
            self._finish(half)

    def _compare(self, i, j):
        """Return two rules as a pair, and how alike they are by the merging criterion."""
        p, sizes = self.params, (self.a, self.K)
        width = p.merge_width(*sizes)
        pair = reshape.Pair(self.arrays, i, j, self.S_0, p.product_space, width)
        if self.criterion is None:
            return pair, reshape.by_overlap(pair, p.merge_overlap, p.merge_log_volume(*sizes))
        return pair, seams.ask("merging", self.criterion, pair) if pair.growth < np.inf else 0.0

    def _try_merge(self, i, j):
        """Merge two rules that are alike enough, if the union would not be split again."""
        rows = self.updates[i] + self.updates[j] + 2
        if rows <= self.settings.split_share * (self.updates + 1)[~self._silent()].sum():
            pair, alike = self._compare(i, j)
            if alike >= 1.0:
                self._merge(pair)
                return
        self.arrays.tested[i, j] = self.arrays.tested[j, i] = rows

    def _merge(self, pair):
        printed = self.params.merge_consequents == "paper"
        planes = reshape.printed_planes(self.arrays, pair, pair.overlap) if printed else None
        most = self.params.max_support if self.settings.antecedents_forget else np.inf
        i = reshape.merge(self.arrays, pair, self.n_rules, most)
        self.n_rules -= 1
        self._finish(i, planes)
        self._note("merge", i)

    def _merge_into_nearest(self, idle):
        """Make an idle rule part of the one that is most alike, or drop it if none is at all."""
        others = [j for j in range(self.n_rules) if j != idle]
        pair, alike = max((self._compare(idle, j) for j in others), key=lambda found: found[1])
        if alike <= 0.0 or pair.growth == np.inf:
            self._drop(idle)
        else:
            self._merge(pair)

    def _make_room(self):
        """At the cap: drop a silent rule, or let the least used one become part of another."""
        if (silent := self._find_silent()) >= 0:
            self._drop(silent)
            return
        used = self.use if self._with_planes else self.updates + 1.0
        age = self.arrays.clock[LEARNED] - self.born
        least = int(np.argmin((used + 1.0) / (age + self.n_rules)))  # a young one counts as average
        if self.settings.merges and self.n_rules > 1:
            self._merge_into_nearest(least)
        else:
            self._drop(least)

    def _silent(self):
        gone = self.arrays.clock[LEARNED] - self.last_won
        return self.settings.least_share * gone > SILENCE

    def _find_silent(self):
        """Return the rule that has been silent for longest, or -1."""
        silent = np.flatnonzero(self._silent())
        return int(silent[np.argmin(self.last_won[silent])]) if len(silent) else -1

    def _drop(self, i):
        self._note("drop", i)
        reshape.remove(self.arrays, i, self.n_rules)
        self.n_rules -= 1

    # State

    def in_use(self, name):
        """Return which entries of an array mean something: there is room for more rules."""
        return slice(self.n_rules if name in (*reshape.BY_RULE, "tested") else None)

    def add_labels(self, count):
        """Append labels that were absent (0) in every row so far.

        Zero is exact for what the planes keep of such a label. The joint space gains coordinates
        that never varied: S_0/k and what the floor would have kept.
        """
        p, K, n, old = self.a, self.K, self.n_rules, self.arrays
        more = {"L": count * (old.label_sums.shape[-1] > 0), "j": count * (old.joint.shape[1] > 0)}
        rules = self.arrays = RULES.resized(old, K=count, q=count, **more)
        rules.seen[..., K:] = old.G[..., -1, -1, None]
        self.S_0 = np.append(self.S_0, np.full(count, self.S_0[p]))
        for i in range(n):
            facts = rules.facts[i]
            own = facts["prior_share"] / facts["support"] + self.params.variance_floor
            variance = self.S_0[p] * own
            if more["j"]:
                rules.joint[i, p + K :, p + K :] = np.eye(count) / variance
                facts["log_det"] += count * np.log(variance)
            if more["L"]:
                known, ones, _ = np.diagonal(old.label_sums[i], axis1=1, axis2=2)
                sums = rules.label_sums[i]
                sums[0, K:, :K], sums[0, :K, K:] = known, known[:, None]
                sums[0, K:, K:], sums[1, :K, K:] = facts["weight"], ones[:, None]
        self.K += count
        self.settings = self._settings()

    def follow_on(self, old):
        """Count on where other rules end; these have just begun from the last rows."""
        rules, gone = self.arrays, old.rows_seen - self.rows_seen
        rules.clock[:] += gone
        facts = rules.facts[: self.n_rules]
        facts["born"] += gone
        facts["last_won"] += gone
        facts["stopped"][facts["stopped"] > 0] += gone
        facts["uid"] += old.next_uid
        self.next_uid += old.next_uid
        self.counts = old.counts + self.counts + Counter(drop=old.n_rules)
        if old.diverged is not None:
            self.diverged = old.diverged
        elif self.diverged is not None:
            self.diverged = self.diverged[0] + old.next_uid, self.diverged[1] + gone

    def state(self):
        """Return the used entries of all arrays, every fact as one, and the numbers beside them."""
        rules = RULES.resized(self.arrays, R=self.n_rules - len(self.arrays.center))._asdict()
        facts = rules.pop("facts")
        shared = np.nan if self.prior.shared is None else self.prior.shared
        beside = {
            "prior": np.array([self.prior.strength, shared]),
            "S_0": self.S_0.copy(),
            "numbers": np.array([self.next_uid, self.split_share]),
        }
        return rules | {name: facts[name].copy() for name in FACTS.names} | beside

    def allocate(self, n_rules, memories):
        """Make place for what `restore` takes over."""
        self.arrays = self.room_for(n_rules, memories)
        self.n_rules, self.S_0 = n_rules, np.zeros(self.a + self.K)
        self.prior, self.split_share = Prior(0.0), 0.0

    def restore(self, state):
        """Take over what `state` returned; there is room for more rules again."""
        facts = np.rec.fromarrays([state[name] for name in FACTS.names], FACTS)
        rules = Rules(facts, *(state[name] for name in RULES.names[1:]))
        self.n_rules = len(facts)
        self.arrays = RULES.resized(rules, R=self.params.max_rules + 1 - self.n_rules)
        self.next_uid, self.split_share = int(state["numbers"][0]), float(state["numbers"][1])
        strength, shared = (float(value) for value in state["prior"])
        self.prior = Prior(strength, None if np.isnan(shared) else shared)
        self.S_0 = state["S_0"].copy()
        self.settings = self._settings()
