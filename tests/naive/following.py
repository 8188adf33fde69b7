"""The slow, obvious twin of a learner that follows its stream (how_it_works.md 8).

The brief memory is a second naive learner, which has the Gaussians of the first and goes through
the same births, merges and splits, without proximal steps.
"""

import numpy as np

from naive.cases import NaiveCases
from naive.learner import NaiveLearner, extend

BRIEF, WINDOW, HELD = 0.97, 0.98, 5.0
RECENT, RECENT_WINDOW, RECENT_HELD = 0.9, 0.99, 1.0
MOST_RECENT, RECENT_WIDTH, RECENT_NOISE = 25, 1.0, 0.3
DRIFTS, CALM = 0.5, 0.25
GAUSSIAN = "center joint_precision input_precision log_det support".split()
GAUSSIAN += "updates prior_share last_won decided decided_sum decided_known decided_ones".split()


def share_of(trial, held):
    """Least squares of the errors on the differences, held to 0; within 0 and 1."""
    gain, spread, error, weight = trial
    if weight == 0.0 or spread + error == 0.0:
        return 0.0
    return float(np.clip(gain / (spread + held * error / weight), 0.0, 1.0))


def count(trial, errors, differences, known, weight, kept):
    """Return the sums of a trial with one more row."""
    e, d = errors[known], differences[known]
    return kept * trial + weight * np.array([e @ d, d @ d, e @ e, 1.0])


class NaiveFollower(NaiveLearner):
    """A naive learner under ``forgetting="auto"``."""

    def __init__(self, **values):
        super().__init__(**(values | {"forgetting": 1.0}))
        self.short = NaiveLearner(**(values | {"forgetting": BRIEF, "correlation": "none"}))
        room = MOST_RECENT if self.cases.capacity else 0
        self.recent = NaiveCases(self.p, self.K, room, RECENT_WIDTH, RECENT_NOISE)
        self.recent_trial = np.zeros(4)
        self.drifts = []  # (row, uid)

    def share(self, rule):
        """How much the brief memory of a rule is trusted."""
        return share_of(rule.trial, HELD)

    def factor(self, rule):
        """What a row leaves of the long memory of the rule that learns it alone."""
        return BRIEF ** self.share(rule) ** 2

    def planes(self):
        return [
            (1.0 - m) * long.W + m * brief.W
            for long, brief in zip(self.rules, self.short.rules, strict=True)
            for m in [self.share(long)]
        ]

    def remembered(self, x):
        return self.cases.recall(x) + self.recent_share() * self.recent.recall(x)

    def recent_share(self):
        """How much the recent cases are trusted."""
        return share_of(self.recent_trial, RECENT_HELD)

    def learn_row(self, x, y):
        """Learn one row, in the order of how_it_works.md 8."""
        super().learn_row(x, y)
        self.short.row = self.row

    def cap(self, rule):
        factor = self.factor(rule)  # without a floor a resting feature would lose its variance
        capped = self.variance_floor >= 1e-9 and factor < 1.0
        return 1.0 / (1.0 - factor) if capped else np.inf

    def learn_all(self, x, y, known, psi, newborn):
        factors = [self.factor(rule) for rule in self.rules]
        if self.cases.capacity:
            self.learn_cases(x, y, known, psi, factors)
        for i, (rule, row) in enumerate(zip(self.rules, self.rows_of(x), strict=True)):
            if rule is not newborn and psi[i] >= self.activation_floor:
                self.learn_both(i, row, y, known, psi[i], factors[i])

    def learn_cases(self, x, y, known, psi, factors):
        """What the rules get wrong, and what the cases leave of it."""
        said, x = psi @ self.answers(x), self.seen(x)
        left = y - said - self.cases.recall(x)
        facts = left, self.recent.recall(x), known, self.amount, RECENT_WINDOW
        self.recent_trial = count(self.recent_trial, *facts)
        self.recent.learn(x, left, self.row, RECENT)
        kept = np.prod([f**p for f, p in zip(factors, psi, strict=True)]) ** (1.0 / len(psi))
        self.cases.learn(x, y - said, self.row, kept)

    def learn_both(self, i, x, y, known, psi, factor):
        """Compare the two memories of a rule, then let both learn."""
        rule, brief, r = self.rules[i], self.short.rules[i], extend(x)
        psi = self.amount * psi  # the weight of the row
        error, difference = y - r @ rule.W, r @ brief.W - r @ rule.W
        rule.trial = count(rule.trial, error, difference, known, psi, WINDOW**psi)
        m = self.share(rule)
        if rule.drifting > 3:  # rows to wait after a split
            rule.drifting -= 1
        elif rule.drifting == 0 and m > DRIFTS:
            self.drifts.append((self.row, rule.uid))
            rule.drifting = 1
        elif m < CALM:
            rule.drifting = 0
        self.short.learn_consequent(brief, r, y, known, psi)
        self.short.hold_prior(brief)
        self.forgetting = factor
        self.learn_consequent(rule, r, y, known, psi)
        self.forgetting = 1.0
        self.hold_prior(rule)

    # -- whatever happens to the rules happens to both memories --------------------------------

    def bring_gaussians(self):
        """Give the brief memory the Gaussians that the rules have."""
        for rule, brief in zip(self.rules, self.short.rules, strict=True):
            for name in GAUSSIAN:
                setattr(brief, name, getattr(rule, name))

    def switch_to_groups(self):
        super().switch_to_groups()
        self.short.switch_to_groups()

    def give_birth(self, z, nearest):
        self.bring_gaussians()
        self.short.give_birth(z, nearest)
        return super().give_birth(z, nearest)

    def merge(self, low, high, overlap):
        self.bring_gaussians()
        self.short.merge(low, high, overlap)
        super().merge(low, high, overlap)

    def split(self, index):
        self.bring_gaussians()
        self.short.split(index)
        super().split(index)

    def renew_shared_planes(self):
        self.short.renew_shared_planes()
        super().renew_shared_planes()
