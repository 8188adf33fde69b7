"""Two rules become one: exact test, exact pooling of every statistic (how_it_works.md 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.kernels.rule_update import correct_rule
from efcml.model.definite import factor, invert, invert_factor, log_det, squared_length, whole
from efcml.model.fields import FIELDS, MERGED

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats


@dataclass(frozen=True)
class MergeTest:
    """What a merge is judged by."""

    overlap: float  # least exp(-D_B / width)
    log_volume: float  # how much larger than both together the merged rule may be, in logs
    width: float  # tau_q, the bandwidth of the space the test is made in
    product_space: bool  # joint space, else input space


@dataclass(frozen=True)
class Pair:
    """Two rules, their pooled Gaussian, and how alike they are."""

    rules: tuple[int, int]
    center: Floats
    factor: Floats  # of the pooled covariance; its leading part is that of the input space
    overlap: float
    log_blow_up: float  # 1/2 log|S_m| - log(V_1 + V_2)


def pooled_gaussian(
    rules: RuleBase, a: int, b: int, start_variance: Floats
) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Return center and covariance of the union of what two rules have seen, S_0 counted once."""
    arrays = rules.arrays
    k_a, k_b = arrays.support[a], arrays.support[b]
    n = k_a + k_b
    e = arrays.center[a] - arrays.center[b]
    twice = min(arrays.prior_share[a], arrays.prior_share[b])
    S_a, S_b = invert(arrays.joint_precision[a]), invert(arrays.joint_precision[b])
    scatter = k_a * S_a + k_b * S_b + k_a * k_b / n * np.multiply.outer(e, e)
    scatter.flat[:: len(scatter) + 1] -= twice * start_variance
    center = (k_a * arrays.center[a] + k_b * arrays.center[b]) / n
    return center, scatter / n, (S_a, S_b)


def compare(rules: RuleBase, a: int, b: int, start_variance: Floats, test: MergeTest) -> Pair:
    """Measure overlap and volume blow-up of two rules; O(q^3)."""
    center, covariance, parts = pooled_gaussian(rules, a, b, start_variance)
    n = len(center) if test.product_space else rules.n_features
    space = 0 if test.product_space else 1
    e = (rules.arrays.center[a] - rules.arrays.center[b])[:n]
    mean = factor(0.5 * (parts[0] + parts[1])[:n, :n])
    half_log_dets = 0.5 * rules.arrays.log_det[[a, b], space]
    gap = squared_length(mean, e) / 8.0
    distance = gap + 0.5 * (log_det(mean) - half_log_dets.sum())
    pooled = factor(covariance)
    merged = 0.5 * log_det(pooled[:n, :n])
    blow_up = merged - np.logaddexp(*half_log_dets)
    overlap = np.exp(-max(distance, 0.0) / test.width)
    return Pair((a, b), center, pooled, float(overlap), float(blow_up))


def may_merge(pair: Pair, test: MergeTest) -> bool:
    """Tell whether two rules are alike enough to be one."""
    return pair.overlap >= test.overlap and pair.log_blow_up <= test.log_volume


def printed_weights(rules: RuleBase, strong: int, weak: int, overlap: float) -> Floats:
    """Return the paper's average of two consequents, W_1 + a rho (W_2 - W_1)."""
    W_1, W_2 = rules.W[strong], rules.W[weak]
    share = rules.support[weak] / (rules.support[strong] + rules.support[weak])
    minus = -np.ones((len(W_1), 1))
    n_1, n_2 = np.hstack([W_1[:, :-1], minus]), np.hstack([W_2[:, :-1], minus])
    cosine = (n_1 * n_2).sum(1) / np.sqrt((n_1**2).sum(1) * (n_2**2).sum(1))
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    similarity = (1.0 - angle / np.pi).reshape(rules.n_pairs, -1).min(axis=1)
    alike = np.repeat(similarity >= overlap, rules.n_labels)
    return np.where(alike[:, None], W_1 + share * (W_2 - W_1), W_1)


def pool_labels(arrays: Any, a: int, b: int) -> tuple[Floats, Floats, Floats]:
    """Return weight, mean and co-moments of two rules' labels taken together."""
    w_a, w_b = arrays.label_weight[a], arrays.label_weight[b]
    m_a, m_b = arrays.label_mean[a], arrays.label_mean[b]
    weight = w_a + w_b
    divisor = np.where(weight > 0.0, weight, 1.0)
    mean = (w_a * m_a + w_b * m_b) / divisor
    gap = m_a - m_b
    # label_mean[c, k] is the mean of k over rows that knew c too: the gap of c within the pair
    # (c, k) stands at [k, c].
    between = gap.T * gap if len(gap) > 1 else gap.T @ gap
    share = w_a * w_b / divisor
    return weight, mean, arrays.label_cov[a] + arrays.label_cov[b] + share * between


def merge(rules: RuleBase, pair: Pair, *, max_support: float, paper_weights: bool = False) -> int:
    """Replace both rules of a pair by their union, at the smaller index; return that index.

    The consequents are the minimiser of the pooled least squares, D is zero there; the caller goes
    on with a proximal step. With ``paper_weights`` they are the printed average instead.
    """
    a, b = sorted(pair.rules)
    arrays = rules.arrays
    strong, weak = (a, b) if arrays.support[a] >= arrays.support[b] else (b, a)
    printed = printed_weights(rules, strong, weak, pair.overlap) if paper_weights else None
    p = rules.n_features
    n = arrays.support[a] + arrays.support[b]
    weights = arrays.weight[[a, b]]
    if not weights.any():
        weights = arrays.support[[a, b]]
    share = weights / weights.sum()
    support = min(n, max_support)
    arrays.center[a] = pair.center
    joint, marginal = pair.factor, pair.factor[:p, :p]
    arrays.joint_precision[a] = invert_factor(joint)
    arrays.input_precision[a] = invert_factor(marginal)
    arrays.log_det[a] = log_det(joint), log_det(marginal)
    arrays.prior_share[a] = max(arrays.prior_share[a], arrays.prior_share[b]) * support / n
    arrays.support[a] = support
    arrays.updates[a] += arrays.updates[b] + 1
    arrays.W_prior[a] = share[0] * arrays.W_prior[a] + share[1] * arrays.W_prior[b]
    labels = pool_labels(arrays, a, b)
    arrays.label_weight[a], arrays.label_mean[a], arrays.label_cov[a] = labels
    for field in FIELDS:
        if join := MERGED[field.merged]:
            array = getattr(arrays, field.name)
            array[a] = join(array[a], array[b])
    arrays.penalty_slack[a] = arrays.weight[a]  # the pooled labels ask for a new penalty
    arrays.penalty[a] = arrays.penalty_top[a] = 0.0
    arrays.uid[a] = arrays.uid[strong]
    tested = np.maximum(arrays.tested[a], arrays.tested[b])
    arrays.tested[a] = arrays.tested[:, a] = tested
    solve_weights(rules, a, printed)
    rules.swap_remove(b)
    return a


def solve_weights(rules: RuleBase, rule: int, W: Floats | None = None) -> None:
    """Set P and W of a rule from G, B, Delta and W_prior; D follows (0 at the minimiser)."""
    arrays = rules.arrays
    for group in range(rules.n_groups):
        labels = rules.labels_of(group)
        Delta = arrays.Delta[rule, group]
        H = arrays.G[rule, group].copy()
        H.flat[:: len(H) + 1] += Delta
        B = np.tile(arrays.B[rule, labels], (rules.n_pairs, 1))
        target = B + Delta * arrays.W_prior[rule, labels]
        arrays.P[rule, group] = P = invert(H)
        if W is None:
            arrays.W[rule, labels] = target @ P
            arrays.D[rule, labels] = 0.0
        else:
            arrays.W[rule, labels] = W[labels]
            arrays.D[rule, labels] = W[labels] @ whole(H) - target
        arrays.unchecked[rule, group] = 0
    arrays.stale[rule] = 0


def polish(rules: RuleBase, rule: int, row_number: int, settings: Any) -> None:
    """Let a rule that comes out of a merge take its proximal steps; all labels take part."""
    if not settings.corrects:
        return
    row, known = np.ones(rules.n_features + 1), np.ones(rules.n_labels, dtype=np.bool_)
    correct_rule(rule, row_number, row, known, rules.arrays, settings, rules.scratch)
