"""The slow and obvious active learner, from the formulas of docs/active.md.

It works on a NaiveLearner and shares nothing with the kernels. Instability is measured by an actual
update of P.
"""

import numpy as np

from naive import learner as naive

ORDER = ("novelty", "ambiguity", "instability", "random", "all")


def is_novel(learner, x):
    """Birth test of the nearest rule in the input space."""
    m2 = learner.input_distances(x)
    size = np.array([learner.log_size(rule, learner.p) for rule in learner.rules])
    nearest = int(np.argmin(m2 + size if learner.density else m2))
    limit = naive.radius(learner.vigilance, learner.p, learner.rules[nearest].support)
    return bool(np.sqrt(m2[nearest]) > limit)


def instability(P, r, psi, kind):
    """Relative drop of tr P over the slopes, or of det P, by one update without forgetting."""
    d = len(r)
    blank = np.zeros((d, 1))
    P_new = naive.rfwls(P, np.zeros((d, d)), blank, blank, np.zeros(d), blank, r, [0.0], psi, 1.0)[
        0
    ]
    if kind == "determinant":
        return 1.0 - np.linalg.det(P_new) / np.linalg.det(P)
    before, after = np.trace(P[:-1, :-1]), np.trace(P_new[:-1, :-1])
    return (before - after) / before


def largest_instability(learner, x, kind):
    """Over the active rules; where labels have their own P, the one of the least known label."""
    found = [
        instability(least_known(rule.P, rule.label_weight), naive.extend(x), psi, kind)
        for rule, psi in zip(learner.rules, learner.activations(x), strict=True)
        if psi >= learner.activation_floor
    ]
    return max(found, default=0.0)


def least_known(P, label_weight):
    """P of the label whose rows, weighted by activation, are fewest."""
    return P[0] if len(P) == 1 else P[int(np.argmin(np.diagonal(label_weight)))]


class NaiveActive:
    """Decides row by row; `row` learns nothing and returns ``(reasons, labels)``."""

    def __init__(
        self,
        budget,
        unit,
        criteria,
        instability="trace",
        adaptation="quantile",
        step=0.01,
        window=100,
    ):
        self.budget, self.by_label, self.criteria = budget, unit == "labels", criteria
        self.kind, self.adaptation, self.step, self.window = instability, adaptation, step, window
        self.rows, self.spent, self.recent = 0, 0, 0.0
        self.t2, self.t3 = 0.6, 0.075

    def row(self, learner, x, draw):
        """Decide about one row and count it."""
        K = learner.K
        size = K if self.by_label else 1
        self.rows += 1
        scores = learner.score(x)
        ambiguous = [c for c in range(K) if 1.0 - self.t2 < scores[c] < self.t2]
        allowed = [
            n for n in range(1, size + 1) if (self.spent + n) / (size * self.rows) <= self.budget
        ]
        if self.budget < 1.0 and self.recent / self.window >= self.budget:
            allowed = []
        reasons, labels = (), []
        if allowed:
            saved = self.budget * self.rows - self.spent / size
            reasons = self.reasons(learner, x, draw, ambiguous, saved)
            if reasons:
                labels = ambiguous if reasons == ("ambiguity",) else list(range(K))
                labels = sorted(labels, key=lambda c: abs(scores[c] - 0.5))
                labels = sorted(labels[: allowed[-1]]) if self.by_label else list(range(K))
            share = len(ambiguous) / K if self.by_label else float(len(ambiguous) > 0)
            self.adapt(saved, share, reasons)
        asked = len(labels) if self.by_label else int(bool(labels))
        self.spent += asked
        self.recent = self.recent * (self.window - 1) / self.window + asked / size
        return (reasons, labels) if labels else ((), [])

    def reasons(self, learner, x, draw, ambiguous, saved):
        """The criteria in use that fire."""
        fires = {
            "novelty": lambda: is_novel(learner, x),
            "ambiguity": lambda: bool(ambiguous),
            "instability": lambda: largest_instability(learner, x, self.kind) > self.t3,
            "random": lambda: draw < self.budget + saved / 10.0,
            "all": lambda: True,
        }
        return tuple(word for word in ORDER if word in self.criteria and fires[word]())

    def adapt(self, saved, ambiguous_share, reasons):
        """Move the thresholds of the criteria in use."""
        s = self.step
        b2 = b3 = self.budget
        b3 = np.clip(b3 + (saved - 1.0) / self.window, b3, 1.0)
        b2 = min(b3, b2 + b2 * (1 - b2) ** 2 / 2)
        t2, t3 = self.t2, self.t3
        if self.adaptation == "quantile":
            t2 = t2 - s * (ambiguous_share - b2)
            t3 = t3 * np.exp(10.0 * s * (1.0 - b3 if "instability" in reasons else -b3))
        elif self.adaptation == "multiplicative":
            t2, t3 = (t2 * (1 - s), t3 * (1 + s)) if reasons else (t2 * (1 + s), t3 * (1 - s))
        if "ambiguity" in self.criteria:
            self.t2 = float(np.clip(t2, 0.5, 1.0))
        if "instability" in self.criteria:
            self.t3 = float(np.clip(t3, 1e-9, 1.0))


def random_numbers(seed, first, n):
    """splitmix64 with whole numbers of Python."""
    mask = 2**64 - 1

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    start = mix(seed)
    golden = 0x9E3779B97F4A7C15
    return [
        (mix((start + golden * (row + 1)) & mask) >> 11) / 2**53 for row in range(first, first + n)
    ]
