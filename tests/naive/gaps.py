"""Slow twin of learners whose rows lack features (how_it_works.md 11), from covariances.

A Gaussian marginalises by leaving out rows and columns of its covariance, and expects of the rest
``S_mo S_oo^-1 (x_o - c_o)``. No precision is used.
"""

import numpy as np

from naive.following import NaiveFollower
from naive.learner import NaiveLearner, extend, log_determinant, radius


def marginal(z, center, S):
    """Squared distance over what is there, log-determinant there, and z with the rest expected."""
    there = ~np.isnan(z)
    S_oo, e = S[np.ix_(there, there)], (z - center)[there]
    if not there.any():
        return 0.0, 0.0, center.copy()
    filled = z.copy()
    solved = np.linalg.solve(S_oo, e)
    filled[~there] = center[~there] + S[np.ix_(~there, there)] @ solved
    return float(e @ solved), log_determinant(S_oo), filled


def left_open(z, S):
    """Covariance of what is missing in z given the rest, zero elsewhere."""
    m, there = np.isnan(z), ~np.isnan(z)
    found, inner = np.zeros_like(S), S[np.ix_(m, m)]
    if there.any():
        cross = S[np.ix_(m, there)]
        inner = inner - cross @ np.linalg.solve(S[np.ix_(there, there)], cross.T)
    found[np.ix_(m, m)] = inner
    return found


class Gapped:
    """What rows with gaps change; before a class of naive learners."""

    def view(self, x):
        """Distances, log-determinants and rows filled in, of every rule."""
        p = self.p
        seen = [marginal(x, rule.center[:p], rule.input_covariance()) for rule in self.rules]
        m2, size, own = zip(*seen, strict=True)
        return np.array(m2), np.array(size), np.array(own)

    def activations(self, x):
        m2, size, _ = self.view(x)
        exponent = -(m2 + size if self.density else m2) / (2.0 * self.tau)
        psi = np.exp(exponent - exponent.max())
        return psi / psi.sum()

    def together(self, x):
        """The row as all rules together fill it in."""
        return np.where(np.isnan(x), self.activations(x) @ self.view(x)[2], x)

    def planes(self):
        """The planes with which each rule answers."""
        return [rule.W for rule in self.rules]

    def said(self, own):
        """What each rule says at its own row."""
        return [extend(row) @ W for row, W in zip(own, self.planes(), strict=True)]

    def remembered(self, x):
        """What all cases say of a row without gaps."""
        return self.cases.recall(x)

    def add_up(self, x):
        if not self.rules:
            return np.zeros(self.K)
        answers = self.said(self.view(x)[2])
        return self.activations(x) @ np.array(answers) + self.remembered(self.together(x))

    def find_winner(self, x, y, known):
        if not self.rules:
            return None, False
        m2, size, _ = self.view(x)
        dim = (~np.isnan(x)).sum()
        if known.all() and self.product_space:
            z, dim = np.append(x, y), dim + self.K
            seen = [marginal(z, rule.center, rule.joint_covariance()) for rule in self.rules]
            m2, size = (np.array(part) for part in list(zip(*seen, strict=True))[:2])
        winner = int(np.argmin(m2 + size if self.density else m2))
        limit = radius(self.vigilance, dim, self.rules[winner].support)
        return winner, bool(np.sqrt(m2[winner]) <= limit)

    def move(self, rule, z):
        """Take a joint row with gaps into the Gaussian of its winner."""
        p, k, S, w = self.p, rule.support, rule.joint_covariance(), self.amount
        a, e = w / (k + w), marginal(z, rule.center, S)[2] - rule.center
        S = (1.0 - a) * (S + a * np.outer(e, e)) + a * left_open(z, S)
        rule.center = rule.center + a * e
        rule.support = min(k + w, self.k_max)
        rule.prior_share *= rule.support / (k + w)
        rule.updates += 1
        rule.last_won = self.row
        j = rule.updates % self.q
        if not np.isnan(z[j]):
            S[j, j] += w * self.variance_floor * self.q * self.S_0[j] / rule.support
        rule.joint_precision, rule.input_precision = np.linalg.inv(S), np.linalg.inv(S[:p, :p])
        rule.log_det = np.array([log_determinant(S), log_determinant(S[:p, :p])])

    def cap(self, rule):
        """Most support of a rule that is about to learn."""
        return self.k_max

    def learn_row(self, x, y):
        """Learn one row; NaN in x is a missing feature."""
        if not np.isnan(x).any():
            return super().learn_row(x, y)
        known = ~np.isnan(y)
        self.learn_sequel(x, y, known)
        if not known.any():
            return None
        if not known.all():
            self.switch_to_groups()
        winner, fits = self.find_winner(x, y, known)
        own = self.view(x)[2] if self.rules else []
        newborn, seen = None, None if not self.rules else self.together(x)
        guess = np.full(self.K, 0.5)
        if winner is not None:
            guess = np.clip(self.said(own)[winner], 0.0, 1.0)
        labels = np.where(known, y, guess)
        if fits:
            most, self.k_max = self.k_max, self.cap(self.rules[winner])
            self.move(self.rules[winner], np.append(x, labels))
            self.k_max = most
        else:
            start = np.nan_to_num(x) if winner is None else own[winner]
            newborn = self.give_birth(np.append(start, labels), winner)
            own, seen = self.view(x)[2], self.together(x)
        if newborn is None or self.birth_learning:
            self.learn_all(x, seen, own, y, known, newborn)
        happened = None if newborn or not self.merging else self.try_merge(winner)
        if happened is None:
            self.keep_even(None if newborn else winner)
        if self.shared is not None and self.row + 1 >= self.renewal:
            self.renew_shared_planes()
        self.row += 1
        return None

    def learn_all(self, x, seen, own, y, known, newborn):
        """Cases and planes; each rule learns its own row."""
        psi = self.activations(x)
        if self.cases.capacity > 0:
            errors = y - psi @ np.array(self.said(own))
            self.cases.learn(seen, errors, self.row, self.forgetting ** (1.0 / len(self.rules)))
        for rule, weight, row in zip(self.rules, psi, own, strict=True):
            if rule is not newborn and weight >= self.activation_floor:
                self.learn_consequent(rule, extend(row), y, known, self.amount * weight)
                self.hold_prior(rule)
        self.count_decided(self.rules[np.argmax(psi)], own[np.argmax(psi)], y, known)


class NaiveGapped(Gapped, NaiveLearner):
    """A naive learner whose rows may lack features."""


class NaiveGappedFollower(Gapped, NaiveFollower):
    """The same under ``forgetting="auto"``."""

    def learn_row(self, x, y):
        super().learn_row(x, y)
        self.short.row = self.row

    def planes(self):
        return [
            (1.0 - m) * long.W + m * brief.W
            for long, brief in zip(self.rules, self.short.rules, strict=True)
            for m in [self.share(long)]
        ]

    def remembered(self, x):
        trust = self.recent_share()
        return self.cases.recall(x) + trust * self.recent.recall(x)

    def cap(self, rule):
        factor = self.factor(rule)
        capped = self.variance_floor >= 1e-9 and factor < 1.0
        return 1.0 / (1.0 - factor) if capped else np.inf

    def learn_all(self, x, seen, own, y, known, newborn):
        psi = self.activations(x)
        factors = [self.factor(rule) for rule in self.rules]
        if self.cases.capacity:
            self.learn_gapped_cases(seen, own, y, known, psi, factors)
        for i, rule in enumerate(self.rules):
            if rule is not newborn and psi[i] >= self.activation_floor:
                self.learn_both(i, own[i], y, known, psi[i], factors[i])
        self.count_decided(self.rules[np.argmax(psi)], own[np.argmax(psi)], y, known)

    def learn_gapped_cases(self, seen, own, y, known, psi, factors):
        """As `learn_cases`, but rules answer at their own rows."""
        usual, self.answers = self.answers, lambda _: self.said(own)
        self.learn_cases(seen, y, known, psi, factors)
        self.answers = usual
