"""A rule base and its cases in other units of the features (how_it_works.md 2, "Scale").

Scaled rows become ``a x + b``, so ``r = [x, 1]`` becomes ``T r``. What rules and cases hold are
sums and functions of such rows: they can be worked out as they would be had the rows come in the
new units. Only the prior, which belongs to units, is a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular

from efcml.kernels.cases import CHANGES, SIZE
from efcml.model.definite import factor, invert, log_det, whole

if TYPE_CHECKING:
    from efcml.model.casebase import CaseBase
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Bools, Floats, Ints

SAME_KERNEL = 1e-9  # similarities that differ by less are the same ones, rounded
LEAST_APART = 0.05  # novelty of cases that are kept when others come nearer


@dataclass(frozen=True)
class ChangeOfUnits:
    """Scaled features ``x`` are ``a x + b`` in the new units.

    ``a = 0`` says that nothing is known of a feature: its values so far count as 0, and rules have
    the variance there that they are born with.
    """

    a: Floats  # (p,), at least 0
    b: Floats  # (p,), 0 where a is

    def rows(self, X: Floats) -> Floats:
        """Return scaled rows in the new units."""
        return self.a * X + self.b

    def planes(self, W: Floats) -> Floats:
        """Return planes (..., d), which are the same functions of the rows."""
        known = self.a > 0.0
        slopes = np.where(known, W[..., :-1], 0.0) / np.where(known, self.a, 1.0)
        return np.concatenate([slopes, W[..., -1:] - slopes @ self.b[:, None]], axis=-1)

    @property
    def matrix(self) -> Floats:
        """T, with ``r' = T r``."""
        T = np.diag(np.append(self.a, 1.0))
        T[:-1, -1] = self.b
        return T

    def start_variance(self, S_0: Floats) -> Floats:
        """Return the variance of newborn rules in the new units."""
        p = len(self.a)
        stretched = np.where(self.a > 0.0, self.a**2, 1.0) * S_0[:p]
        return np.concatenate([stretched, S_0[p:]])


def re_express(rules: RuleBase, S_0: Floats, change: ChangeOfUnits) -> RuleBase:
    """Return a copy of rules in the new units, in which newborn ones have the variance S_0.

    Raises LinAlgError if rounding leaves nothing of a matrix.
    """
    rules = rules.copy()
    for rule in range(rules.n_rules):
        move_gaussian(rules.arrays, rule, S_0, change)
        move_planes(rules, rule, change)
    return rules


def re_express_cases(cases: CaseBase, change: ChangeOfUnits) -> CaseBase:
    """Return a copy of cases in the new units; raises LinAlgError as `re_express` does."""
    cases = cases.copy()
    move_cases(cases.arrays, change)
    return cases


def renew_start_variance(rules: RuleBase, S_0: Floats, wanted: Floats) -> Floats:
    """Let rules be born with another variance from now on, and return it.

    A merge takes off what two rules have of S_0. They have no more of it than before, so of a
    larger one they have a smaller share.
    """
    rules.arrays.prior_share[: rules.n_rules] *= np.minimum(1.0, S_0 / wanted).min()
    return wanted


def move_gaussian(arrays: Any, rule: int, S_0: Floats, change: ChangeOfUnits) -> None:
    """Re-express the Gaussian of one rule; labels keep their units."""
    p, known = len(change.a), change.a > 0.0
    arrays.center[rule, :p] = change.rows(arrays.center[rule, :p])
    decided = arrays.decided_sum[rule]
    arrays.decided_sum[rule] = change.a * decided + change.b * arrays.decided[rule]
    a = np.ones(arrays.center.shape[1])
    a[:p][known] = change.a[known]
    arrays.joint_precision[rule] /= np.outer(a, a)
    arrays.input_precision[rule] /= np.outer(a[:p], a[:p])
    arrays.log_det[rule] += 2.0 * np.log(a).sum()
    if not known.all():
        forget_features(arrays, rule, ~known, S_0)
    for precision in (arrays.joint_precision, arrays.input_precision):
        factor(precision[rule])  # raises if rounding has made it indefinite


def forget_features(arrays: Any, rule: int, unknown: Bools, S_0: Floats) -> None:
    """Give a rule the variance S_0, and no covariance, along features of which nothing is known."""
    p = len(unknown)
    S, at = invert(arrays.joint_precision[rule]), np.flatnonzero(unknown)
    S[at], S[:, at] = 0.0, 0.0
    S[at, at] = S_0[at]
    arrays.joint_precision[rule] = invert(S)
    arrays.input_precision[rule] = invert(S[:p, :p])
    arrays.log_det[rule] = log_det(factor(S)), log_det(factor(S[:p, :p]))


def move_planes(rules: RuleBase, rule: int, change: ChangeOfUnits) -> None:
    """Re-express the planes of one rule and the sums that they come from.

    Delta stays what it is, but in the new units, so P and the bounds of the curvature are derived
    anew. W stays the same function. It is no longer quite the minimiser, because its prior is
    another one: D says by how much, and proximal steps follow it.
    """
    arrays, T = rules.arrays, change.matrix
    arrays.W[rule] = change.planes(arrays.W[rule])
    arrays.W_prior[rule] = change.planes(arrays.W_prior[rule])
    arrays.B[rule] = arrays.B[rule] @ T.T
    B = np.tile(arrays.B[rule], (rules.n_pairs, 1))
    for group in range(rules.n_groups):
        G = T @ whole(arrays.G[rule, group]) @ T.T
        G = 0.5 * (G + G.T)
        Delta = arrays.Delta[rule, group]
        H = G + np.diag(Delta)
        arrays.G[rule, group], arrays.P[rule, group] = G, invert(H)
        labels = rules.planes_of(group)
        W, W_prior = arrays.W[rule, labels], arrays.W_prior[rule, labels]
        arrays.D[rule, labels] = W @ G - B[labels] + Delta * (W - W_prior)
        values, vectors = np.linalg.eigh(H)
        arrays.curvature[rule, group] = values[-1]
        arrays.curvature_direction[rule, group] = vectors[:, -1]
        arrays.unchecked[rule, group] = 0
    arrays.stale[rule] = 0


def move_cases(cases: Any, change: ChangeOfUnits) -> None:
    """Move the rows of the cases; what they say at these rows stays.

    A shift alone changes no similarity. Else the weights are those that give the same values
    ``u = K a``, with the same covariance. Cases that have come too near to newer ones go: their
    values could not be kept without weights that run away.
    """
    n = int(cases.count[SIZE])
    if n == 0:
        return
    rows = change.rows(cases.rows[:n])
    old, new = whole(cases.kernel[:n, :n]), similarities(rows, cases.width)
    cases.rows[:n] = rows
    if np.abs(new - old).max() < SAME_KERNEL:
        return
    kept = find_apart(new, cases.age[:n])
    values = (old @ cases.weights[:n])[kept]
    spread = (old @ whole(cases.covariance[:n, :n]) @ old)[np.ix_(kept, kept)]
    ages = cases.age[kept].copy()
    inverse = invert(new[np.ix_(kept, kept)])
    for array in (cases.rows, cases.kernel, cases.inverse, cases.weights, cases.covariance):
        array[:n] = 0.0
    cases.age[:n] = 0
    m = len(kept)
    cases.rows[:m], cases.age[:m], cases.weights[:m] = rows[kept], ages, inverse @ values
    for array, matrix in (
        (cases.kernel, new[np.ix_(kept, kept)]),
        (cases.inverse, inverse),
        (cases.covariance, inverse @ spread @ inverse),
    ):
        array[:m, :m] = np.tril(matrix)
    cases.count[SIZE], cases.count[CHANGES] = m, 0


def similarities(rows: Floats, width: float) -> Floats:
    """Return how similar rows are to each other, as kernels/cases.py measures it."""
    squares = np.array([((rows - row) ** 2).sum(axis=1) for row in rows])
    return np.exp(-0.5 / (rows.shape[1] * width) * squares)


def find_apart(K: Floats, age: Ints) -> Ints:
    """Return which cases are new beside those that are newer, in the order of their slots."""
    kept: list[int] = []
    L = np.zeros(K.shape)  # Cholesky factor of the similarities of those that are kept
    for case in np.argsort(-age, kind="stable").tolist():
        n = len(kept)
        line = solve_triangular(L[:n, :n], K[kept, case], lower=True, check_finite=False)
        novelty = 1.0 - line @ line
        if novelty > LEAST_APART:
            L[n, :n], L[n, n] = line, np.sqrt(novelty)
            kept.append(case)
    return np.array(sorted(kept), dtype=np.int64)
