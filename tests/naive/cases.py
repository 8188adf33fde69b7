"""The slow, obvious twin of the remembered cases: every matrix is built and inverted anew."""

import numpy as np

RENEWAL = 5
LEAST_NOVELTY = 1e-3
FAR = 3.0
REFRESH = 1000


def similarity(A, B, width):
    """``exp(-|a - b|^2 / (2 p width))`` for all pairs of rows, far values cut."""
    A, B = np.clip(A, -FAR, FAR), np.clip(B, -FAR, FAR)
    squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-squares / (2.0 * A.shape[1] * width))


def process_posterior(X, errors, X_new, width, noise):
    """Mean of a Gaussian process at new rows, given errors at others: the textbook formula."""
    K = similarity(X, X, width)
    weights = np.linalg.solve(K + noise * np.eye(len(X)), errors)
    return similarity(X_new, X, width) @ weights


class NaiveCases:
    """Mean ``u`` (m, K) and covariance ``C`` (m, m) of the errors at the remembered rows."""

    amount = 1.0  # weight of the next row

    def __init__(self, p, K, capacity, width, noise):
        self.K, self.capacity, self.width, self.noise = K, capacity, width, noise
        self.rows = np.zeros((0, p))
        self.age = np.zeros(0)
        self.u = np.zeros((0, K))
        self.C = np.zeros((0, 0))
        self.wait = 0
        self.changes = 0  # since the inverse was derived

    def share(self, x):
        """How the cases predict the error at x, and what they leave open."""
        if len(self.rows) == 0:
            return np.zeros(0), 1.0
        k = similarity(x[None], self.rows, self.width)[0]
        q = np.linalg.solve(similarity(self.rows, self.rows, self.width), k)
        return q, 1.0 - q @ k

    def recall(self, x):
        """Expected error at x."""
        return self.share(x)[0] @ self.u

    def drop(self, slot):
        """Forget a case: the joint distribution of the others stays what it is."""
        keep = np.arange(len(self.rows)) != slot
        self.rows, self.age, self.u = self.rows[keep], self.age[keep], self.u[keep]
        self.C = self.C[np.ix_(keep, keep)]

    def add(self, x, number):
        """Make a case of x: its error follows from the others as far as they determine it."""
        q, open_part = self.share(x)
        covariance = self.C @ q
        variance = open_part + q @ covariance
        self.u = np.vstack([self.u, q @ self.u])
        self.C = np.block([[self.C, covariance[:, None]], [covariance[None], variance]])
        self.rows = np.vstack([self.rows, np.clip(x, -FAR, FAR)])
        self.age = np.append(self.age, number)
        self.changes = (self.changes + 1) % REFRESH

    def observe(self, x, errors):
        """Condition on the errors at x, NaN where unknown."""
        q = self.share(x)[0]
        known = ~np.isnan(errors)
        gain = self.C @ q
        variance = q @ gain
        surprise = np.where(known, errors - q @ self.u, 0.0)
        noise = self.noise / self.amount
        self.u = self.u + np.outer(gain, surprise) / (variance + noise)
        spread = variance + noise * self.K / known.sum()
        self.C = self.C - np.outer(gain, gain) / spread

    def learn(self, x, errors, number, forgetting=1.0):
        """One row of the stream."""
        prior = similarity(self.rows, self.rows, self.width)
        self.C = forgetting * self.C + (1.0 - forgetting) * prior
        self.u = np.sqrt(forgetting) * self.u
        self.wait += 1
        full = len(self.rows) == self.capacity
        if (not full or self.wait >= RENEWAL) and self.share(x)[1] > LEAST_NOVELTY:
            if full:
                self.drop(int(np.argmin(self.age)))
            self.add(x, number)
            self.wait = 0
        self.observe(x, errors)
