"""Slow twin of learners whose rows lack features (how_it_works.md 11), from covariances.

A Gaussian marginalises by leaving out rows and columns of its covariance, and expects of the rest
``S_mo S_oo^-1 (x_o - c_o)``. No precision is used.
"""

import numpy as np

from naive.following import NaiveFollower
from naive.learner import NaiveLearner, log_determinant, radius


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

    def rows_of(self, x):
        return self.view(x)[2] if self.kept is None else self.kept[0]

    def seen(self, x):
        """The row as all rules together fill it in."""
        if self.kept is not None:
            return self.kept[1]
        return np.where(np.isnan(x), self.activations(x) @ self.view(x)[2], x)

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

    def update_antecedent(self, rule, z):
        """Take a joint row with gaps into the Gaussian of its winner."""
        if not np.isnan(z).any():
            super().update_antecedent(rule, z)
            return
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

    kept = None  # how rules, and all together, saw the row before one of them moved

    def keep(self, x):
        self.kept = None
        if self.rules:
            self.kept = self.rows_of(x), self.seen(x)

    def learn_row(self, x, y):
        """Learn one row; NaN in x is a missing feature."""
        self.keep(x)
        super().learn_row(x, y)
        self.kept = None

    def give_birth(self, z, nearest):
        x = z[: self.p].copy()
        z[: self.p] = np.nan_to_num(x) if nearest is None else self.rows_of(x)[nearest]
        self.kept = None
        newborn = super().give_birth(z, nearest)
        self.keep(x)
        return newborn


class NaiveGapped(Gapped, NaiveLearner):
    """A naive learner whose rows may lack features."""


class NaiveGappedFollower(Gapped, NaiveFollower):
    """The same under ``forgetting="auto"``."""
