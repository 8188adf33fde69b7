"""One rule becomes two, exactly: to merge them gives it back (how_it_works.md 3, "Split").

A rule is a Gaussian, cut at its mean along ``t = v'x``. With ``g`` the covariance of z and t, and
``sigma`` the deviation of t, its halves have the means ``c -+ s``, ``s = sqrt(2/pi) g / sigma``,
and the covariance ``S - s s'``. The sums that the planes learn from hold weighted moments, which
are cut in the same way: both halves say what the whole plane said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.model.definite import factor, invert, invert_factor, log_det, whole
from efcml.model.fields import FIELDS

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats

BETWEEN = 2.0 / np.pi  # share of the variance of t that lies between the halves
SIDES = (-1.0, 1.0)  # of the cut on which the two halves lie
LEAST_COVARIANCE = 1e-12  # below, features and labels do not vary together


def cut_direction(S: Floats, n_features: int, by: str) -> Floats:
    """Return v, across which a rule with the joint covariance S is cut.

    "labels": the direction whose covariance with the labels is largest. "axis", and if labels and
    features do not vary together: the direction in which the features vary most.
    """
    inputs, cross = S[:n_features, :n_features], S[:n_features, n_features:]
    if by == "labels" and np.abs(cross).max() > LEAST_COVARIANCE:
        v = np.linalg.svd(cross, full_matrices=False)[0][:, 0]
    else:
        v = np.linalg.eigh(inputs)[1][:, -1]
    return v * np.sign(v[np.abs(v).argmax()])  # LAPACK leaves the sign open


def split(rules: RuleBase, rule: int, row_number: int, start_variance: Floats, by: str) -> int:
    """Cut a rule in two; return the index of the second half, a new rule.

    The planes are left to the caller: their sums G and B are halved, W and P are not derived yet.
    """
    S = whole(invert(rules.arrays.joint_precision[rule]))
    v = cut_direction(S, rules.n_features, by)
    other = rules.append()
    for field in FIELDS:
        array = getattr(rules.arrays, field.name)
        if field.split == "both":
            array[other] = array[rule]
        elif field.split == "halves":
            array[other] = array[rule] = 0.5 * array[rule]
    halves = rule, other
    cut_labels(rules, halves, cut_sums(rules, halves, v))
    cut_gaussian(rules, halves, S, v, start_variance)
    arrays = rules.arrays
    arrays.born[other] = row_number
    arrays.penalty_slack[list(halves)] = arrays.weight[rule]  # other labels, another penalty
    for half in halves:  # as if just tested: nothing is known yet that could bring them together
        joint = rules.updates + rules.updates[half] + 2
        arrays.tested[half, : rules.n_rules] = arrays.tested[: rules.n_rules, half] = joint
    return other


def cut_gaussian(
    rules: RuleBase, halves: tuple[int, int], S: Floats, v: Floats, start_variance: Floats
) -> None:
    """Give both halves their centers, precisions and counts; S_0 counts in each, as in any rule.

    The rows that they decided of late are taken to lie around their centers.
    """
    arrays, p = rules.arrays, rules.n_features
    rule, other = halves
    g = S[:, :p] @ v
    shift = np.sqrt(BETWEEN / (v @ g[:p])) * g
    half = S - np.multiply.outer(shift, shift)
    half.flat[:: len(half) + 1] += (
        0.5 * arrays.prior_share[rule] / arrays.support[rule] * start_variance
    )
    joint = factor(half)
    marginal = joint[:p, :p]
    arrays.updates[other] = (arrays.updates[rule] - 1) // 2
    arrays.updates[rule] -= arrays.updates[other] + 1
    sums, ones = 0.5 * arrays.decided_sum[rule], 0.5 * arrays.decided_ones[rule]
    for r, side in zip(halves, SIDES, strict=True):
        arrays.center[r] += side * shift
        arrays.decided_sum[r] = sums + side * arrays.decided[r] * shift[:p]
        arrays.decided_ones[r] = ones + side * arrays.decided_known[r] * shift[p:]
        arrays.joint_precision[r] = invert_factor(joint)
        arrays.input_precision[r] = invert_factor(marginal)
        arrays.log_det[r] = log_det(joint), log_det(marginal)


def cut_sums(rules: RuleBase, halves: tuple[int, int], v: Floats) -> Floats:
    """Cut G and B, which have been halved, and return how far the mean of each label moves."""
    arrays, shifts = rules.arrays, np.zeros(rules.n_labels)
    G, B = rules.G[halves[0]], arrays.B[halves[0]].copy()
    for group in range(rules.n_groups):
        labels = rules.labels_of(group)
        H, w = G[group], G[group, -1, -1]
        if w <= 0.0:
            continue
        row, label = H[-1] / w, B[labels, -1] / w  # weighted means of r and y
        g = (H / w - np.multiply.outer(row, row))[:, :-1] @ v
        h = (B[labels] / w - np.multiply.outer(label, row))[:, :-1] @ v
        scale = np.sqrt(BETWEEN / max(v @ g[:-1], LEAST_COVARIANCE))
        g, h = scale * g, scale * h
        shifts[labels] = h
        for r, side in zip(halves, SIDES, strict=True):
            # Second moments: - s s' within, and + (m -+ s)(m -+ s)' instead of m m'.
            arrays.G[r, group] = H + side * w * symmetric_product(g, row)
            moved = np.multiply.outer(h, row) + np.multiply.outer(label, g)
            arrays.B[r, labels] = B[labels] + side * w * moved
    return shifts


def symmetric_product(a: Floats, b: Floats) -> Floats:
    """Return a b' + b a'."""
    product = np.multiply.outer(a, b)
    return product + product.T


def cut_labels(rules: RuleBase, halves: tuple[int, int], shifts: Floats) -> None:
    """Cut the label moments, whose weights have been halved."""
    arrays = rules.arrays
    weight = arrays.label_weight[halves[0]]
    pairs = weight if rules.n_groups > 1 else weight[0, 0]
    within = arrays.label_cov[halves[0]] - pairs * np.multiply.outer(shifts, shifts)
    for r, side in zip(halves, SIDES, strict=True):
        arrays.label_cov[r] = within
        arrays.label_mean[r] += side * shifts
