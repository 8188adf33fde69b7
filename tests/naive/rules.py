"""Evolving rules, slow and obvious: full covariances, every inverse made anew for every row.

Written from the formulas; nothing is shared with the kernels but the numbers of the method.
`NaiveRules` takes rows one by one.
"""

import itertools

import numpy as np

FAST_KEPT, WINDOW, HELD = 0.97, 0.98, 5.0
SILENCE, TRIAL, LEAST_TO_SPLIT, RETEST = 10.0, 100, 40, 1.1
MOST_WEIGHT, LEAST_SHARE, STEP_INTERVAL = 1e6, 0.01, 4.0


def log_det(S):
    return np.linalg.slogdet(S)[1]


def far(x, center, S):
    """Squared Mahalanobis distance in the space of x."""
    e = x - center[: len(x)]
    return float(e @ np.linalg.solve(S[: len(x), : len(x)], e))


def precision(strength, p):
    return np.append(np.full(p, strength), 0.01 * strength)


def trust(errors, steps, weights, held, towards):
    """The m of ``e ~ m d`` by least squares, held to ``towards``, within 0 and 1.

    ``errors`` and ``steps`` are lists of rows (NaN where a label is unknown).
    """
    if not len(errors) or sum(weights) <= 0.0:
        return towards
    e, d, w = np.array(errors), np.array(steps), np.array(weights)[:, None]
    hold = held * np.nansum(w * e**2) / w.sum()
    against = np.nansum(w * d**2 * ~np.isnan(e)) + hold
    if against <= 0.0:
        return towards
    return float(np.clip((np.nansum(w * e * d) + hold * towards) / against, 0.0, 1.0))


class Trial:
    """All rows of a share, each with what is left of it."""

    def __init__(self, held, towards):
        self.held, self.towards, self.rows = held, towards, []

    @property
    def share(self):
        return (
            trust(*zip(*self.rows, strict=True), self.held, self.towards)
            if self.rows
            else (self.towards)
        )

    def note(self, errors, steps, weight, keep):
        self.scale(keep)
        self.rows.append((errors, steps, weight))

    def scale(self, factor):
        self.rows = [(e, d, w * factor) for e, d, w in self.rows if w * factor > 1e-25]


class Echo:
    """What the last errors tell of the next, and of what would be taken off it."""

    def __init__(self, K):
        self.level, self.gain, self.met, self.usual = np.zeros((2, K)), 0.0, 0.0, 0.0

    def listen(self, errors, steps):
        against = self.met + self.usual
        c = np.clip(self.gain / against, 0.0, 1.0) if against > 0.0 else 0.0
        expected = c * self.level
        self.gain, self.met, self.usual = 0.99 * self.gain, 0.99 * self.met, 0.99 * self.usual
        for k in np.flatnonzero(~np.isnan(errors)):
            last = self.level[0, k]
            self.gain, self.met = self.gain + errors[k] * last, self.met + last**2
            self.usual += 0.01 * errors[k] ** 2
            self.level[:, k] += 0.1 * (np.array([errors[k], steps[k]]) - self.level[:, k])
        return expected


class Memory:
    """What a rule knows of its rows: sums G, B, and the planes that follow."""

    def __init__(self, W, Delta):
        K, d = W.shape
        self.G, self.B, self.Delta = np.zeros((d, d)), np.zeros((K, d)), Delta.copy()
        self.W, self.W_0, self.seen = W.copy(), W.copy(), np.zeros(K)

    @property
    def P(self):
        return np.linalg.inv(self.G + np.diag(self.Delta))

    def learn(self, r, y, w, keep):
        """Least squares with forgetting, as if the rows of each label were the share a of all.

        The step that a label takes is ``w (P/a) r e / (l + w r'(P/a) r)``; B gets the label that
        would have led there by the P of all.
        """
        most, delta, known, P = self.G[-1, -1], self.Delta[0], ~np.isnan(y), self.P
        self.G, self.Delta = keep * self.G + w * np.outer(r, r), keep * self.Delta
        for c, height in enumerate(self.W @ r):
            target = height
            if known[c]:
                own = P / ((self.seen[c] + delta) / (most + delta))
                step = w * own @ r * (y[c] - height) / (keep + w * r @ own @ r)
                self.W[c] += step
                target += (step @ r) / (w * r @ self.P @ r)
                self.seen[c] = keep * self.seen[c] + w
            self.B[c] = keep * self.B[c] + w * target * r

    def solve(self):
        self.W = (self.B + self.Delta * self.W_0) @ self.P

    def step(self, known, penalty, alpha, beta, exact):
        """One proximal step of the planes of known labels; the intercept has no penalty."""
        slopes = self.W.copy()
        slopes[:, -1] = 0.0
        pull = beta * penalty @ slopes
        top = np.linalg.eigvalsh(penalty)[-1]
        new = self.W.copy()
        H = self.G + np.diag(self.Delta)
        L = np.abs(H).sum(axis=1).max() + beta * top
        L = L if exact else np.sqrt(L)
        for c in np.flatnonzero(known):
            gradient = H @ self.W[c] - self.B[c] - self.Delta * self.W_0[c]
            new[c] = self.W[c] - (gradient + np.append(pull[c, :-1], 0.0)) / L
            near = np.abs(new[c]) <= alpha / L
            soft = np.where(near, 0.0, new[c] - np.sign(new[c]) * alpha / L)
            new[c, :-1] = soft[:-1]
        self.W = new


class Rule:
    """A Gaussian with a plane for each label; ``n_memories`` 2: slow and fast."""

    def __init__(self, z, S_0, planes, Delta, weight, now, uid):
        K = len(planes[0])
        self.center, self.S, self.uid = z.copy(), np.diag(S_0), uid
        self.support = self.prior_share = max(1.0, weight)
        self.memories = [Memory(W, Delta) for W in planes]
        self.trial = Trial(HELD, 0.0)
        self.labels = np.zeros((3, K, K))  # n, sum y_c, sum y_c y_k of rows that know both
        self.penalty = np.zeros((K, K))
        self.weight = self.use = self.penalty_age = self.unstepped = 0.0
        self.updates, self.born, self.last_won = 0, now, now
        self.stopped, self.drifting, self.quiet = False, False, 0

    @property
    def planes(self):
        slow, fast = self.memories[0].W, self.memories[-1].W
        return slow + self.trial.share * (fast - slow)


def correlation(labels):
    """Correlation of labels from sums over rows that know both; 0 where one never varies."""
    n, ones, both = labels
    K = len(n)
    C, var = np.eye(K), np.zeros(K)
    for c in range(K):
        if n[c, c] > 0.0:
            var[c] = both[c, c] / n[c, c] - (ones[c, c] / n[c, c]) ** 2
    for c, k in itertools.permutations(range(K), 2):
        if n[c, k] > 0.0 and var[c] >= 1e-12 and var[k] >= 1e-12:
            cov = both[c, k] / n[c, k] - ones[c, k] / n[c, k] * ones[k, c] / n[k, c]
            C[c, k] = np.clip(cov / np.sqrt(var[c] * var[k]), -1.0, 1.0)
        else:
            C[c, k] = 0.0
    return C


def penalty_of(labels, mode):
    C = correlation(labels)
    A = 1.0 - C
    if mode == "paper":
        return A
    if mode == "shift":
        return A - np.linalg.eigvalsh(A)[0] * np.eye(len(A))
    C = C - np.eye(len(C))
    C = np.maximum(C, 0.0) if mode == "laplacian" else C
    return np.diag(np.abs(C).sum(axis=1)) - C


def union(a, b, S_0):
    """Center and covariance of the rows of two rules; S_0, which both hold, counts once."""
    n = a.support + b.support
    center = (a.support * a.center + b.support * b.center) / n
    scatter = -min(a.prior_share, b.prior_share) * np.diag(S_0)
    for rule in (a, b):
        e = rule.center - center
        scatter = scatter + rule.support * (rule.S + np.outer(e, e))
    return center, scatter / n


def across_labels(S, p):
    cross = S[:p, p:]
    if np.abs(cross).max(initial=0.0) <= 1e-12:
        return along_axis(S, p)
    v = np.linalg.eigh(cross @ cross.T)[1][:, -1]
    return v * np.sign(v[np.abs(v).argmax()])


def along_axis(S, p):
    v = np.linalg.eigh(S[:p, :p])[1][:, -1]
    return v * np.sign(v[np.abs(v).argmax()])


class NaiveRules:
    """Takes rows one by one; ``prior``: strength, and that of shared planes or None."""

    def __init__(self, params, p, K, S_0, prior=(1.0, None), split_share=0.3):
        self.params, self.p, self.K, self.S_0, self.prior = params, p, K, S_0, prior
        self.rules, self.tested, self.events, self.echo = [], {}, [], Echo(K)
        self.rows, self.next_uid, self.renewal = 0, 0, np.inf
        self.tau = p if params.bandwidth == "dimension" else params.bandwidth
        splits = params.splitting != "off"
        self.split_share = split_share if splits else np.inf
        self.least_share = LEAST_SHARE if splits else 0.0
        self.direction = {"labels": across_labels, "axis": along_axis}.get(params.splitting)
        self.correlates = params.correlation != "none" and params.beta > 0.0
        self.corrects = self.correlates or params.alpha > 0.0
        self.D = p + K if params.product_space else p
        self.width = 1.0 if params.merge_volume == "paper" else float(self.D)

    # Answers

    def sizes(self, D):
        dense = self.params.activation == "density"
        return np.array([log_det(rule.S[:D, :D]) if dense else 0.0 for rule in self.rules])

    def activations(self, x):
        m2 = np.array([far(x, rule.center, rule.S) for rule in self.rules])
        logs = -(m2 + self.sizes(self.p)) / (2.0 * self.tau)
        psi = np.exp(logs - logs.max())
        return psi / psi.sum()

    def score(self, x):
        if not self.rules:
            return np.zeros(self.K)
        r = np.append(x, 1.0)
        return sum(
            psi * rule.planes @ r for psi, rule in zip(self.activations(x), self.rules, strict=True)
        )

    def fill(self, x):
        """Missing features as the rules expect them, each by its density at what is there."""
        gone = np.isnan(x)
        if not gone.any():
            return x
        logs, expected = [], []
        for rule in self.rules:
            S, c, e = rule.S[: self.p, : self.p], rule.center[: self.p], (x - rule.center[: self.p])
            o = ~gone
            logs.append(0.0)
            expected.append(c[gone])
            if o.any():
                S_oo = S[np.ix_(o, o)]
                logs[-1] = e[o] @ np.linalg.solve(S_oo, e[o])
                expected[-1] = c[gone] + S[np.ix_(gone, o)] @ np.linalg.solve(S_oo, e[o])
                if self.params.activation == "density":
                    logs[-1] += log_det(S_oo)
        weights = np.exp(-(np.array(logs) - min(logs)) / (2.0 * self.tau))
        filled = x.copy()
        filled[gone] = weights / weights.sum() @ np.array(expected)
        return filled

    # One row

    def learn(self, x, y, weight=1.0, with_planes=True):
        """Answer and learn a row; return the scores and what the row leaves of those before."""
        score, known, p = self.score(x), ~np.isnan(y), self.params
        if not known.any() or weight == 0.0:
            return score, 1.0
        winner, born = self.find_winner(x, y)
        if born:
            winner = self.give_birth(x, y, weight, winner, with_planes)
        shares = [rule.trial.share for rule in self.rules]
        follows = p.forgetting == "auto"
        left = [FAST_KEPT ** (m**2) if follows else p.forgetting for m in shares]
        if not born:
            self.move(x, y, weight, winner, left[self.rules.index(winner)], with_planes)
        psi, r, kept, ran_away = self.activations(x), np.append(x, 1.0), 1.0, None
        expected = np.zeros((2, self.K))
        if with_planes and follows:
            slow, fast = (
                psi @ np.array([rule.memories[m].W @ r for rule in self.rules]) for m in (0, 1)
            )
            expected = self.echo.listen(y - slow, fast - slow)
        if with_planes and not (born and p.update == "paper"):
            kept = float(np.exp(weight * psi @ np.log(left) / len(psi)))
            for i, rule in enumerate(self.rules):
                if psi[i] >= p.activation_floor and not (born and rule is winner):
                    w = weight * psi[i]
                    if self.learn_planes(rule, r, y, w, left[i], shares[i], expected):
                        ran_away = rule
        self.rows += 1
        if ran_away is not None:
            self.stop(ran_away)
        else:
            self.act(winner, born, with_planes)
        if with_planes:
            self.upkeep()
        return score, kept

    def find_winner(self, x, y):
        """The rule with the largest density, and whether the row is new to it."""
        if not self.rules:
            return None, True
        whole = self.params.product_space and not np.isnan(y).any()
        z = np.append(x, y) if whole else x
        m2 = np.array([far(z, rule.center, rule.S) for rule in self.rules])
        best = int(np.argmin(m2 + self.sizes(len(z))))
        if self.params.max_rules == 1:
            return self.rules[best], False
        k, reach = self.rules[best].support, self.params.vigilance * len(z) ** (1.0 / np.sqrt(2.0))
        return self.rules[best], bool(np.sqrt(m2[best]) > reach / (1.0 - 1.0 / (k + 1.0)) ** 4)

    def give_birth(self, x, y, weight, nearest, with_planes):
        n = 2 if self.params.forgetting == "auto" else 1
        planes, expected = [np.zeros((self.K, self.p + 1))] * n, np.full(self.K, 0.5)
        if nearest is not None and with_planes:
            planes = [memory.W for memory in nearest.memories]
            expected = np.clip(nearest.planes @ np.append(x, 1.0), 0.0, 1.0)
        if len(self.rules) >= self.params.max_rules:
            self.make_room(with_planes)
        z = np.append(x, np.where(np.isnan(y), expected, y))
        Delta = precision(self.prior[0], self.p)
        rule = Rule(z, self.S_0, planes, Delta, weight, self.rows, self.next_uid)
        self.next_uid += 1
        self.rules.append(rule)
        self.note("birth", rule)
        self.note_tested(rule)
        return rule

    def move(self, x, y, weight, rule, left, with_planes):
        """``S <- (1 - a)(S + a e e')``, a = w/(k + w), and one variance in turn grows a little."""
        expected = rule.planes @ np.append(x, 1.0) if with_planes else rule.center[self.p :]
        z = np.append(x, np.where(np.isnan(y), np.clip(expected, 0.0, 1.0), y))
        p, grown, q = self.params, rule.support + weight, len(z)
        caps = left < 1.0 and p.variance_floor >= 1e-9
        support = min(grown, 1.0 / (1.0 - left)) if caps else grown
        a, e = weight / grown, z - rule.center
        rule.S = (1.0 - a) * (rule.S + a * np.outer(e, e))
        rule.center = rule.center + a * e
        rule.updates += 1
        turn = rule.updates % q
        rule.S[turn, turn] += weight * p.variance_floor * q * self.S_0[turn] / support
        rule.support, rule.prior_share = support, rule.prior_share * support / grown
        rule.last_won = self.rows

    def learn_planes(self, rule, r, y, w, left, share, expected):
        """Least squares in all memories, label sums, a proximal step; tell whether it ran away."""
        p, known = self.params, ~np.isnan(y)
        keep = left**w
        if len(rule.memories) == 2:
            slow, fast = (memory.W @ r for memory in rule.memories)
            news = y - slow - expected[0], fast - slow - expected[1]
            rule.trial.note(*news, w, WINDOW**w)
            self.note_drift(rule, share)
        for m, memory in enumerate(rule.memories):
            memory.learn(r, y, w, FAST_KEPT**w if m == 1 else keep)
        both, one = np.outer(known, known), np.where(known, y, 0.0)
        new = np.stack([both, both * one[:, None], np.outer(one, one)])
        rule.labels = np.where(both, keep * rule.labels + w * new, rule.labels)
        rule.weight, rule.penalty_age = keep * rule.weight + w, keep * rule.penalty_age + w
        rule.use, rule.unstepped = rule.use + w, rule.unstepped + w
        if not self.corrects or rule.stopped:
            return False
        if rule.unstepped < (STEP_INTERVAL if p.activation_floor > 0.0 else 0.0):
            return False
        self.step(rule, known)
        slopes = rule.memories[0].W[known, :-1]
        return bool(np.abs(slopes).max(initial=0.0) > MOST_WEIGHT)

    def step(self, rule, known):
        p, rule.unstepped = self.params, 0.0
        exact = p.lipschitz == "exact"
        rule.memories[0].step(known, rule.penalty, p.alpha, p.beta, exact)

    def note_drift(self, rule, share):
        """Halves of a split are quiet for 200 rows, and until the fast memory is trusted little."""
        if rule.quiet > 0:
            rule.quiet -= 1
        elif not rule.drifting and share > 0.5:
            rule.drifting = "news"
        elif rule.drifting and share < 0.25:
            rule.drifting = False

    # Events: at most one after a row

    def note(self, kind, rule):
        self.events.append((self.rows, kind, rule.uid))

    def silent(self, rule):
        return self.least_share * (self.rows - rule.last_won) > SILENCE

    @property
    def rows_in_use(self):
        return sum(rule.updates + 1 for rule in self.rules if not self.silent(rule))

    def act(self, winner, born, with_planes):
        pair = None if born or not self.params.merging else self.find_pair(winner)
        if pair is not None:
            alike = self.alike(winner, pair)
            rows = winner.updates + pair.updates + 2
            if alike >= 1.0 and rows <= self.split_share * self.rows_in_use:
                self.merge(winner, pair, with_planes)
            else:
                self.tested[frozenset((winner.uid, pair.uid))] = rows
            return
        own, silent = winner.updates + 1, [rule for rule in self.rules if self.silent(rule)]
        room = len(self.rules) < self.params.max_rules or silent
        if room and own >= LEAST_TO_SPLIT and own > self.split_share * self.rows_in_use:
            self.split(winner, with_planes)
            return
        for rule in self.rules:
            age = self.rows - rule.born
            few = rule.updates + 1 < self.least_share * age
            if len(self.rules) > 1 and age >= TRIAL and few and not self.silent(rule):
                self.take_in(rule, with_planes)
                return

    def take_in(self, rule, with_planes):
        """A rule that is not needed becomes part of the most alike, or is dropped."""
        best = max((r for r in self.rules if r is not rule), key=lambda r: self.alike(rule, r))
        if self.alike(rule, best) > 0.0:
            self.merge(rule, best, with_planes)
        else:
            self.drop(rule)

    def find_pair(self, winner):
        """The first rule whose merge with the winner is to be judged."""
        most = -8.0 * self.width * np.log(self.params.merge_overlap)
        for rule in self.rules:
            key, rows = frozenset((winner.uid, rule.uid)), winner.updates + rule.updates + 2
            young = min(winner.updates, rule.updates) + 1 < self.D
            if rule is winner or young or rows < RETEST * self.tested.get(key, 0):
                continue
            gap = self.gap(winner, rule)
            if gap <= most:
                return rule
            self.tested[key] = rows
        return None

    def gap(self, a, b):
        """Squared distance of the centers, by the rule that is nearer to the other."""
        pairs = ((a, b), (b, a))
        return min(far(one.center[: self.D], two.center, two.S) for one, two in pairs)

    def measure(self, a, b):
        """Overlap of two rules, and by how much their union is larger than both; or None."""
        D = self.D
        S = union(a, b, self.S_0)[1]
        if np.linalg.eigvalsh(S)[0] <= 0.0:
            return None
        mean = 0.5 * (a.S + b.S)[:D, :D]
        logs = [0.5 * log_det(rule.S[:D, :D]) for rule in (a, b)]
        distance = far(a.center[:D], b.center, mean) / 8.0 + 0.5 * (log_det(mean) - sum(logs))
        return np.exp(-max(distance, 0.0) / self.width), 0.5 * log_det(S[:D, :D]) - np.logaddexp(
            *logs
        )

    def alike(self, a, b):
        p, found = self.params, self.measure(a, b)
        if found is None:
            return -np.inf
        paper = p.merge_volume == "paper"
        most = np.log(self.p) if paper else self.width * np.log(p.merge_volume)
        value = found[0] / p.merge_overlap
        return value if found[1] <= most else min(value, np.nextafter(1.0, 0.0))

    def merge(self, a, b, with_planes):
        """One rule in place of two: what it would hold had it seen the rows of both."""
        if self.rules.index(a) > self.rules.index(b):
            a, b = b, a
        printed = self.params.merge_consequents == "paper"
        planes = self.printed_planes(a, b) if printed else None
        center, S = union(a, b, self.S_0)
        weights = np.array([a.weight, b.weight])
        weights = weights if weights.any() else np.array([a.support, b.support])
        share = weights / weights.sum()
        for other in self.rules:
            keys = [frozenset((rule.uid, other.uid)) for rule in (a, b)]
            tested = max(self.tested.pop(key, 0) for key in keys)
            other.tested_with_both = tested
        a.uid = a.uid if a.support >= b.support else b.uid
        n, prior_share = a.support + b.support, max(a.prior_share, b.prior_share)
        fixed = self.params.forgetting not in ("auto", 1.0)
        a.support = min(n, 1.0 / (1.0 - self.params.forgetting)) if fixed else n
        a.prior_share = prior_share * a.support / n
        a.center, a.S = center, S
        a.updates += b.updates + 1
        a.born, a.last_won = min(a.born, b.born), max(a.last_won, b.last_won)
        a.stopped, a.quiet = a.stopped or b.stopped, max(a.quiet, b.quiet)
        a.drifting = a.drifting or b.drifting
        a.trial.rows += b.trial.rows
        a.labels = a.labels + b.labels
        for name in ("weight", "use", "unstepped"):
            setattr(a, name, getattr(a, name) + getattr(b, name))
        for one, two in zip(a.memories, b.memories, strict=True):
            one.G, one.B, one.seen = one.G + two.G, one.B + two.B, one.seen + two.seen
            one.Delta = np.maximum(one.Delta, two.Delta)
            one.W = share[0] * one.W + share[1] * two.W
            one.W_0 = share[0] * one.W_0 + share[1] * two.W_0
        self.remove(b)
        for other in self.rules:
            if other is not a:
                self.tested[frozenset((a.uid, other.uid))] = other.tested_with_both
        self.finish(a, with_planes, planes)
        self.note("merge", a)

    def printed_planes(self, a, b):
        """``W_1 + a rho (W_2 - W_1)``, rho 1 if the planes are as similar as the Gaussians."""
        strong, weak = (a, b) if a.support >= b.support else (b, a)
        share = weak.support / (a.support + b.support)
        angles = []
        for w_1, w_2 in zip(strong.memories[0].W, weak.memories[0].W, strict=True):
            n_1, n_2 = np.append(w_1[:-1], -1.0), np.append(w_2[:-1], -1.0)
            cosine = n_1 @ n_2 / np.linalg.norm(n_1) / np.linalg.norm(n_2)
            angles.append(np.arccos(np.clip(cosine, -1.0, 1.0)))
        rho = 1.0 - max(angles) / np.pi >= self.measure(a, b)[0]
        pairs = zip(strong.memories, weak.memories, strict=True)
        return [one.W + share * rho * (two.W - one.W) for one, two in pairs]

    def finish(self, rule, with_planes, planes=None):
        """Planes and penalty of a rule with new sums."""
        if not with_planes:
            return
        self.put_prior_back(rule)
        for m, memory in enumerate(rule.memories):
            if planes is None:
                memory.solve()
            else:
                memory.W = planes[m]
        if self.correlates and rule.weight >= 1.0:
            self.renew_penalty(rule)
        rule.unstepped = STEP_INTERVAL

    def split(self, rule, with_planes):
        """Cut a rule at its mean along ``t = v'x``, as a Gaussian is cut."""
        if len(self.rules) >= self.params.max_rules:
            self.drop(min(filter(self.silent, self.rules), key=lambda each: each.last_won))
        self.note("split", rule)
        n = len(rule.memories)
        blank = [np.zeros((self.K, self.p + 1))] * n
        other = Rule(
            rule.center, self.S_0, blank, np.ones(self.p + 1), 1.0, self.rows, self.next_uid
        )
        self.next_uid += 1
        v = self.direction(rule.S, self.p)
        g = rule.S[:, : self.p] @ v
        s = np.sqrt(2.0 / np.pi) * g / np.sqrt(v @ g[: self.p])
        S = rule.S - np.outer(s, s) + rule.prior_share / rule.support * np.diag(self.S_0)
        other.updates = (rule.updates - 1) // 2
        rule.updates -= other.updates + 1
        other.last_won, other.stopped, other.prior_share = (
            rule.last_won,
            rule.stopped,
            rule.prior_share,
        )
        other.penalty, other.penalty_age = rule.penalty, rule.penalty_age
        for one, two in zip(rule.memories, other.memories, strict=True):
            two.W, two.W_0, two.Delta = one.W.copy(), one.W_0.copy(), one.Delta.copy()
            one.G, one.B, one.seen = one.G / 2.0, one.B / 2.0, one.seen / 2.0
            two.G, two.B, two.seen = one.G.copy(), one.B.copy(), one.seen.copy()
        other.labels = self.cut_labels(rule, s[self.p :])
        rule.labels = rule.labels - other.labels
        rule.trial.scale(0.5)
        other.trial.rows = list(rule.trial.rows)
        for name in ("support", "weight", "use", "unstepped"):
            setattr(rule, name, 0.5 * getattr(rule, name))
            setattr(other, name, getattr(rule, name))
        for half, side in ((rule, -1.0), (other, 1.0)):
            half.center, half.S = half.center + side * s, S.copy()
            half.drifting, half.quiet = True, 200
        self.rules.append(other)
        for half in (rule, other):
            self.note_tested(half)
        for half in (rule, other):
            self.finish(half, with_planes)

    def cut_labels(self, rule, moved):
        half = rule.labels / 2.0
        n, ones, both = half.copy()
        mean = ones / np.where(n > 0.0, n, 1.0)
        for c, k in itertools.product(range(self.K), repeat=2):
            half[1, c, k] += n[c, k] * moved[c]
            half[2, c, k] += n[c, k] * (moved[c] * mean[k, c] + moved[k] * mean[c, k])
        assert (both >= 0.0).all()
        return half

    def make_room(self, with_planes):
        silent = [rule for rule in self.rules if self.silent(rule)]
        if silent:
            self.drop(min(silent, key=lambda rule: rule.last_won))
            return
        n = len(self.rules)
        use = [(r.use if with_planes else r.updates + 1.0) + 1.0 for r in self.rules]
        rates = [u / (self.rows - r.born + n) for u, r in zip(use, self.rules, strict=True)]
        least = self.rules[int(np.argmin(rates))]
        if self.params.merging and n > 1:
            self.take_in(least, with_planes)
        else:
            self.drop(least)

    def drop(self, rule):
        self.note("drop", rule)
        self.remove(rule)

    def remove(self, rule):
        """The last rule takes its place."""
        i, last = self.rules.index(rule), self.rules.pop()
        if last is not rule:
            self.rules[i] = last

    def stop(self, rule):
        rule.stopped = True
        self.put_prior_back(rule)
        for memory in rule.memories:
            memory.solve()

    def note_tested(self, rule):
        for other in self.rules:
            if other is not rule:
                key = frozenset((rule.uid, other.uid))
                self.tested[key] = rule.updates + other.updates + 2

    # Upkeep

    def renew_penalty(self, rule):
        rule.penalty = penalty_of(rule.labels, self.params.correlation)
        rule.penalty_age = 0.0

    def put_prior_back(self, rule):
        """A prior of which forgetting has taken half is a new one."""
        Delta = precision(self.prior[0], self.p)
        for memory in rule.memories:
            if (memory.Delta < 0.5 * Delta).any():
                more, memory.Delta = Delta - memory.Delta, Delta.copy()
                memory.W = memory.W + (memory.W_0 - memory.W) * more @ memory.P

    def upkeep(self):
        for rule in self.rules:
            self.put_prior_back(rule)
            if self.correlates and rule.weight >= 1.0 and rule.penalty_age >= 0.1 * rule.weight:
                self.renew_penalty(rule)
            if rule.drifting == "news":
                rule.drifting = True
                self.note("drift", rule)
        if self.rows >= self.renewal:
            self.share_planes()

    def share_planes(self):
        """Hold all rules to the planes of all rows: ``W += P Delta (W_0 new - W_0 old)``."""
        Delta = np.diag(precision(self.prior[1], self.p))
        for m in range(len(self.rules[0].memories)):
            memories = [rule.memories[m] for rule in self.rules]
            G, B = sum(memory.G for memory in memories), sum(memory.B for memory in memories)
            for c in range(self.K):
                flat = np.zeros(self.p + 1)
                flat[-1] = B[c, -1] / max(G[-1, -1], 1e-300)
                plane = np.linalg.solve(G + Delta, B[c] + Delta @ flat)
                for memory in memories:
                    memory.W[c] += memory.P @ (memory.Delta * (plane - memory.W_0[c]))
                    memory.W_0[c] = plane
        self.set_renewal()

    def set_renewal(self):
        self.renewal = self.rows + max(int(0.03 * self.rows), self.p // 8) + 1
