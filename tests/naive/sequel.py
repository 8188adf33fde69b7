"""The slow, obvious twin of what follows rules and cases (how_it_works.md 9)."""

import numpy as np

FADES = np.array([0.0, 0.8])
KEPT, TRUST_HELD, TIME_HELD, MOST_PHI = 0.998, 10.0, 3.0, 0.98
LOSSES_KEPT, LEANS, LEAST_SHARE = 0.995, np.array([0.0, -2.4, -3.0, -5.0]), 0.1
LINKS_KEPT, LINKS_HELD, USUAL_VARIANCE, NEVER = 0.999, 100.0, 0.25, 10**6
TINY = 1e-9


class NaiveSequel:
    """Trust and time over the scores ``s`` of rules and cases, a row at a time."""

    amount = 1.0  # weight of the next row

    def __init__(self, K, *, trust=True, time=True):
        self.trust, self.time = trust, time
        self.seen, self.ones = np.zeros(K), np.zeros(K)
        self.A, self.b, self.error, self.weight = np.zeros((5, 5)), np.zeros(5), 0.0, 0.0
        self.L, self.decay = np.zeros(4), np.zeros(2)
        self.P0 = 1.0 / (LINKS_HELD * USUAL_VARIANCE)
        self.P, self.W = self.P0 * np.eye(K), np.zeros((K, K))
        self.l, self.v = np.zeros((2, K)), np.zeros((2, K))
        self.before = self.l.copy(), self.v.copy()
        self.ago = np.full(K, NEVER)

    @property
    def f(self):
        """Label frequencies so far."""
        return (self.ones + 0.5) / (self.seen + 1.0)

    def means(self):
        """Mean over rows of the squared g, and of the squared error."""
        if self.weight == 0.0:
            return 1.0, 1.0
        return self.A[0, 0] / self.weight, self.error / self.weight

    def coefficients(self):
        """c of least squares, held to (1, 0, 0, 0, 0); its first within 0 and 1."""
        spread, error = self.means()
        hold = np.array([TRUST_HELD * spread] + [TIME_HELD * error] * 4) + TINY
        start = np.eye(5)[0]
        c = start + np.linalg.solve(self.A + np.diag(hold), self.b - self.A @ start)
        if not 0.0 <= c[0] <= 1.0:
            c[0] = np.clip(c[0], 0.0, 1.0)
            H = self.A[1:, 1:] + np.diag(hold[1:])
            c[1:] = np.linalg.solve(H, self.b[1:] - c[0] * self.A[1:, 0])
        return c

    def t(self):
        """The share of g if time says nothing."""
        held = TRUST_HELD * self.means()[0] + TINY
        return np.clip((self.b[0] + held) / (self.A[0, 0] + held), 0.0, 1.0)

    def phi(self):
        """What is left of what time says, one row later."""
        if self.decay[1] == 0.0:
            return 0.0
        return np.clip(self.decay[0] / (self.decay[1] + self.means()[1]), 0.0, MOST_PHI)

    def shares(self, timed=True):
        """Shares of the four answers, or of the two that know no time."""
        on = np.array([True, self.trust, self.time and timed, self.time and timed])
        w = np.where(on, np.exp(LEANS - self.L), 0.0)
        w[w < LEAST_SHARE * w.max()] = 0.0
        return w / w.sum()

    def four(self, s, errors, labels, linked):
        """The four answers (4, K)."""
        g, c = s - self.f, self.coefficients()
        timed = self.f + c[0] * g + c[1::2] @ errors + c[2::2] @ labels
        return np.array([s, self.f + self.t() * g, timed, timed + linked])

    def left(self, ahead):
        """What is left, by label, of what was last known."""
        return self.phi() ** (self.ago + ahead - 1.0)

    def answer(self, s, ahead=0):
        """The score of a row that comes ``ahead`` rows after the next."""
        left = self.left(ahead)
        linked = (left * self.v[0]) @ self.W
        four = self.four(s, self.l, self.v, 0.0)
        base = self.shares(timed=False) @ four
        return base + left * (self.shares() @ four - base) + self.shares()[3] * linked

    def pass_row(self):
        """Let a row go by that has no label."""
        if self.time:
            self.ago = np.minimum(self.ago + 1, NEVER)

    def learn(self, s, y):
        """Learn a row of which the scores of rules and cases were ``s``."""
        known = ~np.isnan(y)
        if not known.any():
            self.pass_row()
            return
        z, f, left, K = np.where(known, y, 0.0), self.f, self.left(0), len(y)
        l, v = left * self.l, left * self.v
        four = self.four(s, l, v, v[0] @ self.W)
        self.count_decay(s, z, known & (self.ago == 1))
        part = known.mean()
        x = np.array([np.clip(s, 0.0, 1.0) - f, l[0], v[0], l[1], v[1]])[:, known]
        self.A = KEPT**part * self.A + self.amount * x @ x.T
        self.b = KEPT**part * self.b + self.amount * x @ (z - f)[known]
        wrong = self.amount * np.sum((z - np.clip(four, 0.0, 1.0))[:, known] ** 2, axis=1)
        self.error = KEPT**part * self.error + wrong[2]
        self.weight = KEPT**part * self.weight + self.amount * part
        self.L = LOSSES_KEPT**part * self.L + wrong
        self.L -= self.L.min()
        if self.time:
            self.P = LINKS_KEPT * self.P + (1.0 - LINKS_KEPT) * self.P0 * np.eye(K)
            gain = self.P @ v[0] / (1.0 + v[0] @ self.P @ v[0])
            self.W = np.sqrt(LINKS_KEPT) * self.W
            self.W += np.outer(gain, np.where(known, z - four[3], 0.0))
            self.P = self.P - part * np.outer(gain, self.P @ v[0])
        self.seen, self.ones = self.seen + self.amount * known, self.ones + self.amount * z
        if not self.time:
            return
        last = z - np.clip(s, 0.0, 1.0), z - f
        now = [
            FADES[:, None] * old + (1.0 - FADES[:, None]) * new
            for old, new in zip((l, v), last, strict=True)
        ]
        self.before = tuple(
            np.where(known, old, older)
            for old, older in zip((self.l, self.v), self.before, strict=True)
        )
        self.l, self.v = np.where(known, now[0], self.l), np.where(known, now[1], self.v)
        self.ago = np.where(known, 1, np.minimum(self.ago + 1, NEVER))

    def count_decay(self, s, z, fresh):
        """Least squares of what is left of what time said a row ago, where that was known."""
        if not self.time:
            return
        l, v = self.before
        old = self.four(s, l, v, v[0] @ self.W)
        base = self.shares(timed=False) @ old
        said = self.shares() @ old - base
        self.decay = KEPT * self.decay
        self.decay += [np.sum((said * (z - base))[fresh]), np.sum((said * said)[fresh])]

    def arrays(self):
        """Everything it remembers, by the names of the package."""
        return {
            "moments": self.A,
            "targets": self.b,
            "tally": np.array([self.weight, self.error]),
            "losses": self.L,
            "decay": self.decay,
            "errors": self.l,
            "labels": self.v,
            "errors_before": self.before[0],
            "labels_before": self.before[1],
            "ago": self.ago,
            "waiting": np.zeros(1),
            "ones": self.ones,
            "seen": self.seen,
            "links": self.W if self.time else np.zeros((0, 0)),
            "link_covariance": self.P if self.time else np.zeros((0, 0)),
            "link_start": np.array([self.P0]),
        }
