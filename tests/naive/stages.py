"""What follows the rules, slow and obvious: cases, trust and time, the label layer."""

import itertools

import numpy as np

from naive.cases import similarity
from naive.rules import Echo, Trial

FOLDS = 5


def folds_out(n):
    """Every fifth row, and the rest."""
    for fold in range(FOLDS):
        out = np.arange(fold, n, FOLDS)
        yield out, np.delete(np.arange(n), out)


class NaiveCases:
    """Mean ``u`` (m, K) and covariance ``C`` (m, m) of the errors at the remembered rows."""

    def __init__(self, p, K, capacity, *, recent=False):
        self.K, self.capacity, self.recent, self.echo = K, capacity, recent, Echo(K)
        self.width, self.noise = (1.0, 0.3) if recent else (0.25, 1.0)
        self.trial = Trial(1.0, 0.0) if recent else Trial(20.0, 1.0)
        self.fade, self.owed, self.wait, self.born = 0.9 if recent else 1.0, 1.0, 0, 0
        self.rows, self.age = np.zeros((0, p)), np.zeros(0)
        self.u, self.C = np.zeros((0, K)), np.zeros((0, 0))

    def begin(self, X, scores, Y, weights):
        if self.recent:
            return scores
        chosen = np.unique(np.linspace(0, len(X), self.capacity, endpoint=False).astype(int))
        for row in np.clip(X[chosen], -3.0, 3.0):
            if self.share(row)[1] > 1e-3:
                self.add(row)
        self.age = np.arange(len(self.rows))
        K, k = similarity(self.rows, self.rows, self.width), similarity(X, self.rows, self.width)
        errors, counts = np.nan_to_num(Y - scores), ~np.isnan(Y) * weights[:, None] / self.noise

        def learn(rows):
            """Weights of the cases from some rows: ``(K + k'Q k)^-1 k'Q e`` of each label."""
            k_, found = k[rows], []
            for count, e in zip(counts[rows].T, errors[rows].T, strict=True):
                H = K + k_.T @ np.diag(count) @ k_
                found.append(np.linalg.solve(H, k_.T @ (count * e)))
            return np.array(found).T

        self.u = K @ learn(np.arange(len(X)))
        A = np.linalg.inv(K + k.T @ np.diag(counts.mean(axis=1)) @ k)
        self.C, held_out = K @ A @ K, scores.copy()
        for out, rest in folds_out(len(X)):
            held_out[out] += k[out] @ learn(rest)
        return held_out

    def share(self, x):
        """How the cases predict the error at x, and what they leave open."""
        if len(self.rows) == 0:
            return np.zeros(0), 1.0
        k = similarity(x[None], self.rows, self.width)[0]
        q = np.linalg.solve(similarity(self.rows, self.rows, self.width), k)
        return q, 1.0 - q @ k

    def drop(self, slot):
        """Forget a case: the joint distribution of the others stays what it is."""
        keep = np.arange(len(self.rows)) != slot
        self.rows, self.age, self.u = self.rows[keep], self.age[keep], self.u[keep]
        self.C = self.C[np.ix_(keep, keep)]

    def add(self, x):
        """Make a case of x: its error follows from the others as far as they determine it."""
        q, left_open = self.share(x)
        covariance = self.C @ q
        self.u = np.vstack([self.u, q @ self.u])
        self.C = np.block(
            [[self.C, covariance[:, None]], [covariance[None], left_open + q @ covariance]]
        )
        self.rows = np.vstack([self.rows, np.clip(x, -3.0, 3.0)])
        self.born += 1
        self.age = np.append(self.age, self.born)

    def answer(self, x, score):
        return score + self.trial.share * (self.share(x)[0] @ self.u)

    def learn(self, x, score, y, weight, kept):
        """Condition the process on the errors of a row."""
        errors, known = y - score, ~np.isnan(y)
        if not known.any() or weight == 0.0:
            return
        said = self.share(x)[0] @ self.u
        expected = self.echo.listen(errors, said) if self.recent else np.zeros((2, self.K))
        self.trial.note(errors - expected[0], said - expected[1], weight, 0.99**weight)
        self.owed *= min(kept, self.fade**weight)
        self.wait += 1
        new = len(self.rows) < self.capacity or self.wait >= 5
        if self.owed < 0.99 or (new and self.owed < 1.0):  # towards no error anywhere
            prior = similarity(self.rows, self.rows, self.width)
            self.C = self.owed * self.C + (1.0 - self.owed) * prior
            self.u, self.owed = np.sqrt(self.owed) * self.u, 1.0
        if new and self.share(x)[1] > 1e-3:
            if len(self.rows) == self.capacity:
                self.drop(int(np.argmin(self.age)))
            self.add(x)
            self.wait = 0
        q = self.share(x)[0]
        gain, noise = self.C @ q, self.noise / weight
        variance = q @ gain
        surprise = np.where(known, errors - q @ self.u, 0.0)
        self.u = self.u + np.outer(gain, surprise) / (variance + noise)
        spread = variance + noise * self.K / known.sum()
        self.C = self.C - np.outer(gain, gain) / spread


def cut(x):
    return np.clip(x, 0.0, 1.0)


class NaiveTemporal:
    """Three answers, the evidence for each, and least squares over a list of all labels so far."""

    def __init__(self, K):
        self.K, self.history = K, []  # [x, height, error, weight]: of each label, what is left
        self.rows = 0.0
        self.gain = self.spread = 0.0
        self.evidence = [Evidence(), Evidence()]
        self.last, self.past, self.delay = [np.zeros((2, 2))] * K, [], 0  # errors, labels
        self.ring, self.due = {}, 0
        self.ago, self.ones, self.seen = np.full(K, 10**6), np.zeros(K), np.zeros(K)

    def begin(self, scores, Y, weights):
        known = ~np.isnan(Y)
        self.ones, self.seen = weights @ np.where(known, Y, 0.0), weights @ known
        out = scores.copy()
        for t in range(len(Y)):
            self.ones = self.ones - weights[t] * np.nan_to_num(Y[t])
            self.seen = self.seen - weights[t] * known[t]
            out[t] = self.learn(scores[t], Y[t], weights[t])
        for evidence in self.evidence:
            evidence.fade(min(1.0, 30.0 / self.rows))
        self.fade(min(1.0, 5.0 / self.rows))
        self.last, self.past, self.ring = [np.zeros((2, 2))] * self.K, [], {}
        self.ago, self.due = np.full(self.K, 10**6), 0
        return out

    def fade(self, kept):
        self.history = [[*label, kept * weight] for *label, weight in self.history]
        self.rows, self.gain, self.spread = kept * self.rows, kept * self.gain, kept * self.spread

    def coefficients(self):
        """c of the third answer, t of the second, phi."""
        rows, weights = self.rows or 1.0, np.array([label[3] for label in self.history])
        x = np.array([label[0] for label in self.history]).reshape(-1, 5)
        height, error = (np.array([label[i] for label in self.history]) for i in (1, 2))
        spread, error = (weights @ x[:, 0] ** 2 / rows, weights @ error / rows)
        if not self.rows:
            spread = error = 1.0
        hold = np.array([10.0 * spread, *[3.0 * error] * 4]) + 1e-9
        H = (weights[:, None] * x).T @ x + np.diag(hold)
        target = (weights * height) @ x + hold * [1, 0, 0, 0, 0]
        c = np.linalg.solve(H, target)
        if not 0.0 <= c[0] <= 1.0:
            c[0] = cut(c[0])
            c[1:] = np.linalg.solve(H[1:, 1:], target[1:] - c[0] * H[1:, 0])
        phi = self.gain / (self.spread + error) if self.spread + error > 0.0 else 0.0
        phi = cut(phi) ** (1.0 / self.stride) if self.rows else 0.0
        return c, cut(target[0] / H[0, 0]), min(phi, 0.98)

    def three(self, k, s, left, last):
        c, t, _ = self.coefficients()
        f = (self.ones[k] + 0.5) / (self.seen[k] + 1.0)
        drawn, said = f + t * (s - f), f + c[0] * (s - f)
        said += sum(c[1 + 2 * i] * last[0, i] + c[2 + 2 * i] * last[1, i] for i in range(2))
        return np.array([s, drawn, (1.0 - left) * drawn + left * said]), said

    def say(self, k, s, left, last):
        (score, drawn, _), said = self.three(k, s, left, last)
        trusted, timed = (evidence.share for evidence in self.evidence)
        base = (1.0 - trusted) * score + trusted * drawn
        return (1.0 - timed * left) * base + timed * left * said

    def answer(self, scores, ahead=0):
        left = self.coefficients()[2] ** np.maximum(0.0, self.ago - 1.0 + ahead - self.delay)
        return np.array([self.say(k, scores[k], left[k], self.last[k]) for k in range(self.K)])

    def forget_time(self):
        for label in self.history:
            label[0] = label[0] * [1, 0, 0, 0, 0]
        self.evidence[1], self.gain, self.spread = Evidence(), 0.0, 0.0

    def remembered(self, row):
        """What was known before a row, as far as it is remembered: last, ago."""
        return self.past[row] if row >= 0 and self.ring.get(self.slot(row)) == row else None

    def slot(self, row):
        return (row // self.stride) % 16

    @property
    def stride(self):
        return 1 + self.delay // 15

    def pass_row(self):
        if len(self.past) % self.stride == 0:
            self.ring[self.slot(len(self.past))] = len(self.past)
        self.past.append(([one.copy() for one in self.last], self.ago.copy()))
        self.ago = np.minimum(self.ago + 1, 10**6)

    def learn(self, scores, y, weight, late=None):
        """Answer a row by what was known when it came, and learn it."""
        if late is None:
            self.pass_row()
        row = len(self.past) - 1 - (self.delay if late is None else late)
        then = self.remembered(row) if late is None or late <= 2 * self.delay + 1 else None
        phi, known = self.coefficients()[2], ~np.isnan(y)
        last, ago = then or ([np.zeros((2, 2))] * self.K, np.full(self.K, np.inf))
        left = phi ** (ago - 1.0) if then else np.zeros(self.K)
        out = np.array([self.say(k, scores[k], left[k], last[k]) for k in range(self.K)])
        if known.any() and weight > 0.0:
            if then:
                self.count(scores, y, weight, left, then, self.remembered(row - self.stride))
            self.note(scores, y, 1 + (late or 0), phi)
            self.ones = self.ones + weight * np.nan_to_num(y)
            self.seen = self.seen + weight * known
        if len(self.past) >= self.due:
            for evidence in self.evidence:
                evidence.close(1 + self.delay)
            self.due = len(self.past) + 1 + self.delay
        return out

    def note(self, scores, y, gone, phi):
        f = (self.ones + 0.5) / (self.seen + 1.0)
        for k in np.flatnonzero(~np.isnan(y) & (self.ago > gone)):
            fade = np.array([0.0, 0.8]) * phi ** (self.ago[k] - gone - 1.0)
            now = np.array([[y[k] - cut(scores[k])], [y[k] - f[k]]])
            self.last[k] = fade * self.last[k] + np.array([1.0, 0.2]) * now
            self.ago[k] = gone

    def count(self, scores, y, weight, left, then, earlier):
        known, (last, ago), new, gain = ~np.isnan(y), then, [], np.zeros(2)
        f, kept = (self.ones + 0.5) / (self.seen + 1.0), 0.995 ** known.mean()
        for evidence in self.evidence:
            evidence.fade(kept)
        for k in np.flatnonzero(known):
            s, three = scores[k], cut(self.three(k, scores[k], left[k], last[k])[0])
            x = np.array([cut(s) - f[k], *(left[k] * last[k].T).ravel()])
            new.append([x, y[k] - f[k], (y[k] - three[2]) ** 2, weight])
            if earlier and ago[k] == 1:
                (_, drawn, _), said = self.three(k, s, 1.0, earlier[0][k])
                gain += weight * (said - drawn) * np.array([y[k] - drawn, said - drawn])
            for evidence, one, other in zip(self.evidence, three, three[1:], strict=False):
                evidence.new.append((y[k], one, other, weight))
        self.fade(kept)
        self.history += new
        self.rows += weight * known.mean()
        self.gain, self.spread = np.array([self.gain, self.spread]) + gain


class Evidence:
    """How much likelier labels were by one of two answers, in blocks of rows."""

    def __init__(self):
        self.ratio, self.noise, self.steps, self.new = 0.0, 0.0, 0.0, []

    def fade(self, kept):
        self.ratio, self.noise, self.steps = kept * self.ratio, kept * self.noise, kept * self.steps
        self.new = [(*rest, kept * weight) for *rest, weight in self.new]

    @property
    def share(self):
        share = 1.0 / (1.0 + np.exp(7.0 - self.ratio))
        return share if share >= 0.1 else 0.0

    def close(self, block):
        """Gaussian errors of the variance that was seen along the steps so far."""
        y, one, other, weight = np.array(self.new).reshape(-1, 4).T
        spread = weight @ (other - one) ** 2
        few = 5.0 * spread + 1e-9
        variance = (self.noise + block * 0.25 * few) / (self.steps + few)
        self.ratio += weight @ ((y - one) ** 2 - (y - other) ** 2) / (2.0 * variance)
        self.noise += (weight @ ((other - one) * (y - other))) ** 2
        self.steps, self.new = self.steps + spread, []


GRID = -0.1 + 0.025 * np.arange(41)


def sigma(x):
    return 1.0 / (1.0 + np.exp(-np.clip(x, -35.0, 35.0)))


class NaiveLabels:
    """Errors of all rows so far, each with what is left of it; curves by Newton steps."""

    def __init__(self, K, decision):
        self.K, self.decision, self.h = K, decision, K + 2.0
        self.history = []  # [y, scores, weight]
        self.variance = np.full(K, 0.1)
        self.trial = Trial(5.0, 0.0)
        self.shared, self.own = np.array([-1.0, 1.0, 1.0]), np.zeros((K, 3))
        self.known_shared, self.known_own = np.eye(3), np.tile(20.0 * np.eye(3), (K, 1, 1))
        self.rows = 0
        self.renew()

    # Covariance of the errors

    @property
    def errors(self):
        return np.array([np.nan_to_num(y - s) for y, s, _ in self.history]).reshape(-1, self.K)

    @property
    def weights(self):
        return np.array([w for _, _, w in self.history])

    @property
    def counts(self):
        """Weighted rows that know each label."""
        known = np.array([~np.isnan(y) for y, _, _ in self.history]).reshape(-1, self.K)
        return self.weights @ known

    @property
    def sums(self):
        e = self.errors
        return (self.weights[:, None] * e).T @ e

    def E(self):
        n, V = self.counts, self.h * np.diag(self.variance)
        return (self.sums + V) / np.sqrt(np.outer(n + self.h, n + self.h))

    def renew(self):
        E = self.E()
        m = self.trial.share
        self.full, self.covariance = E, m * E + (1.0 - m) * np.diag(np.diag(E))
        most = self.counts.max(initial=0.0)
        self.renewal = self.rows + 1 + max(self.K, int(0.03 * most))

    def begin(self, scores, Y, weights):
        """Go through the batch as a first stream; what its errors vary by is known before."""
        squares, n = weights @ np.nan_to_num(Y - scores) ** 2, weights @ ~np.isnan(Y)
        pooled = squares.sum() / max(n.sum(), 1.0)
        self.variance = np.maximum((squares + 2.0 * pooled) / (n + 2.0), 1e-6)
        self.renew()
        for y, s, w in zip(Y, scores, weights, strict=True):
            self.learn(s, y, 1.0, w)

    @staticmethod
    def tell(e, Q):
        """What the other errors say of each, by the regression that an inverse covariance holds."""
        return e - Q @ e / np.diag(Q)

    # Answers

    def probabilities(self, s, sharpness=1.0):
        level, *slopes = (self.shared + self.own).T
        low, high = np.maximum(slopes, 0.05)
        u = 4.0 * (s - 0.25)
        return sigma(sharpness * (level + low * np.minimum(u, 0.0) + high * np.maximum(u, 0.0)))

    def thresholds(self):
        if self.decision != "f1":
            return np.full(self.K, 0.5)
        hits, raised, true = np.zeros((3, self.K, len(GRID)))
        for y, s, w in self.history:
            up = (s[:, None] >= GRID) & ~np.isnan(y)[:, None]
            raised, hits = raised + w * up, hits + w * up * (y == 1.0)[:, None]
            true = true + w * (y == 1.0)[:, None]
        total = max(true[:, 0].sum(), 1.0)
        recall, effort = hits.sum(axis=0) / total, raised.sum(axis=0) / total
        f1 = 2.0 * (hits + 20.0 * recall) / (raised + 20.0 * effort + true + 20.0)
        return np.where(f1.max(axis=1) > 0.0, GRID[np.argmax(f1, axis=1)], 0.5)

    def decide(self, s, known=None):
        """The decision of a row; ``known`` labels are what they are."""
        fixed = np.full(self.K, np.nan) if known is None else known
        given = self.condition(s, fixed)[0]
        if self.decision == "subset":
            Q, best = np.linalg.inv(self.covariance), None
            for y in itertools.product((0.0, 1.0), repeat=self.K):
                y = np.array(y)
                if (np.isnan(fixed) | (y == fixed)).all():
                    loss = (y - s) @ Q @ (y - s)
                    best = (loss, y) if best is None or loss < best[0] else best
            return best[1]
        return np.where(np.isnan(fixed), given >= self.thresholds(), fixed)

    def condition(self, s, known):
        """Mean and sharpness of a Gaussian of which some coordinates are known."""
        k, E, mean, sharpness = ~np.isnan(known), self.covariance, s.copy(), np.ones(self.K)
        if k.any():
            gain = E[:, k] @ np.linalg.inv(E[np.ix_(k, k)])
            mean = s + gain @ (known - s)[k]
            after = np.diag(E - gain @ E[k])
            sharpness[~k] = np.sqrt(np.diag(E) / np.maximum(after, 1e-6 * np.diag(E)))[~k]
            mean[k] = known[k]
        return mean, sharpness

    # Learning

    def learn(self, s, y, kept, weight=1.0):
        known = ~np.isnan(y)
        if not known.any() or weight == 0.0:
            return
        e = np.nan_to_num(y - s)
        said = self.tell(e, np.linalg.inv(self.full))
        self.trial.note(np.where(known, e, np.nan), said, weight, kept)
        for row in self.history:
            row[2] *= kept
        self.history.append([y, s, weight])
        self.learn_curves(s, y, known, weight)
        self.rows += 1
        if self.rows >= self.renewal:
            self.renew()

    def learn_curves(self, s, y, known, weight=1.0):
        """One Newton step of the shared curve, then of each own one, with fading information."""
        p, u = self.probabilities(s), 4.0 * (s - 0.25)
        x = np.stack([np.ones(self.K), np.minimum(u, 0.0), np.maximum(u, 0.0)], axis=1)
        v = weight * np.maximum(p * (1.0 - p), 1e-6)
        seen = [v[k] * np.outer(x[k], x[k]) for k in range(self.K)]
        pull = [weight * (y[k] - p[k]) * x[k] for k in range(self.K)]
        prior = 0.005 * np.eye(3)
        self.known_shared = 0.995 * self.known_shared + prior
        for k in np.flatnonzero(known):
            self.known_shared = self.known_shared + seen[k]
            self.known_own[k] = 0.995 * self.known_own[k] + 20.0 * prior + seen[k]
            self.own[k] += np.linalg.solve(self.known_own[k], pull[k])
        total = sum(pull[k] for k in np.flatnonzero(known))
        self.shared = self.shared + np.linalg.solve(self.known_shared, total)
