"""Recursive fuzzily weighted least squares and label moments of all rules (how_it_works.md 4).

A *group* is a set of labels that share one inverse Hessian: all labels while every row was fully
labelled, one label each from the first partly labelled row on. Every kernel goes through all rules:
``scratch.weights`` is how much each learns from the row (0: nothing), ``scratch.keeps`` what
forgetting leaves it.
"""

import numpy as np

from efcml._jit import kernel, kernel_fast, kernel_rare
from efcml.kernels.linalg import dot
from efcml.kernels.triangle import multiply
from efcml.kernels.waiting import multiply_P

MOST_SHRINK = 1e7  # of P along a row in one update; it loses as many digits


@kernel
def weigh_rules(activation, n_rules, newborn, settings, scratch):
    """Write how much each rule learns and keeps: nothing and all, if it is new or hardly fires.

    The weight of a row multiplies Psi.
    """
    for rule in range(n_rules):
        scratch.weights[rule], scratch.keeps[rule] = 0.0, 1.0
        if rule != newborn and activation[rule] >= settings.activation_floor:
            scratch.weights[rule] = scratch.amount[0] * activation[rule]
            scratch.keeps[rule] = scratch.factors[rule] ** scratch.weights[rule]


@kernel
def shrink_inverses(n_rules, prior_slope, rules, scratch):
    """Let every label group learn the row: what P loses is noted and carried out when it is read.

    ``shrink`` then is ``w = root P r`` with ``root^2 = Psi / (l + Psi r'P r)``, so that P becomes
    ``(P - w w') / l`` and the gain of RFWLS is ``root w``. ``l`` is lambda^Psi.
    """
    gain, Delta, groups = scratch.gain, rules.Delta, rules.P.shape[1]
    for rule in range(n_rules):
        weight, keep = scratch.weights[rule], scratch.keeps[rule]
        if weight == 0.0:
            continue
        row = scratch.own[rule] if scratch.gaps[0] > 0 else scratch.row
        for group in range(groups):
            if groups > 1 and not scratch.known[group]:
                continue
            multiply_P(rule, group, row, rules.P, scratch, gain)
            factor = weight / (keep + weight * dot(row, gain))
            root = np.sqrt(factor)
            for i in range(row.shape[0]):
                scratch.shrink[rule, group, i] = root * gain[i]
            scratch.roots[rule, group] = root
            scratch.scale[rule, group] = 1.0 / keep
            if keep != 1.0:
                for i in range(row.shape[0]):
                    Delta[rule, group, i] *= keep
            if Delta[rule, group, 0] < 0.5 * prior_slope or weight > MOST_SHRINK * keep * factor:
                rules.stale[rule] = 1


@kernel_fast
def forget_sums(n_rules, rules, scratch):
    """Scale B and D of the known labels by what each rule keeps.

    B and D, of which D may have several rows for every label, are sums over the rows so far.
    """
    B, D, known, keeps = rules.B, rules.D, scratch.known, scratch.keeps
    K = known.shape[0]
    for rule in range(n_rules):
        for k in range(D.shape[1]):
            if known[k % K]:
                for i in range(D.shape[2]):
                    D[rule, k, i] *= keeps[rule]
        for c in range(K):
            if known[c]:
                for i in range(B.shape[2]):
                    B[rule, c, i] *= keeps[rule]


@kernel_fast
def learn_planes(n_rules, y, rules, scratch):
    """Move the planes of the known labels towards ``y`` and add the row to B.

    ``scratch.heights`` are the planes at the row. W may carry several planes of every label, one
    for each pair (alpha, beta). D, the gradient of least squares, stays as it is.
    """
    heights, shrink, roots = scratch.heights, scratch.shrink, scratch.roots
    W, B, known = rules.W, rules.B, scratch.known
    d, K, groups = scratch.row.shape[0], y.shape[0], roots.shape[1]
    for rule in range(n_rules):
        weight = scratch.weights[rule]
        if weight == 0.0:
            continue
        row = scratch.own[rule] if scratch.gaps[0] > 0 else scratch.row
        for c in range(K):
            if not known[c]:
                continue
            group = c if groups > 1 else 0
            for k in range(c, W.shape[1], K):
                move = roots[rule, group] * (y[c] - heights[rule, k])
                for i in range(d):
                    W[rule, k, i] += move * shrink[rule, group, i]
            if y[c] != 0.0:
                push = weight * y[c]
                for i in range(d):
                    B[rule, c, i] += push * row[i]


@kernel
def learn_moments(n_rules, y, rules, scratch):
    """Update the label moments of every rule."""
    shared = rules.label_weight.shape[1] == 1
    for rule in range(n_rules):
        weight, keep = scratch.weights[rule], scratch.keeps[rule]
        if weight > 0.0:
            total, mean = rules.label_weight[rule], rules.label_mean[rule]
            cov = rules.label_cov[rule]
            if shared:
                absorb_labels(y, weight, keep, total, mean, cov, scratch.old)
            else:
                absorb_label_pairs(y, scratch.known, weight, keep, total, mean, cov)


@kernel
def absorb_labels(y, activation, keep, label_weight, label_mean, label_cov, old):
    """Update weighted mean and co-moments of fully known labels (shared form).

    Old mean in one factor, new mean in the other. ``old`` is a workspace of K.
    """
    K = y.shape[0]
    total = keep * label_weight[0, 0] + activation
    for c in range(K):
        label_weight[0, c] = total
        old[c] = y[c] - label_mean[0, c]
        label_mean[0, c] += activation / total * old[c]
    for c in range(K):
        for k in range(c, K):
            co = keep * label_cov[c, k] + activation * old[c] * (y[k] - label_mean[0, k])
            label_cov[c, k] = co
            label_cov[k, c] = co


@kernel_rare()
def absorb_label_pairs(y, known, activation, keep, label_weight, label_mean, label_cov):
    """Update the co-moments of every pair of labels that are both known (pair form).

    ``label_mean[c, k]`` is the mean of label k over the rows that also knew label c.
    """
    K = y.shape[0]
    for c in range(K):
        for k in range(c, K):
            if known[c] and known[k]:
                total = keep * label_weight[c, k] + activation
                old_c = y[c] - label_mean[k, c]
                label_mean[k, c] += activation / total * old_c
                if k != c:
                    label_mean[c, k] += activation / total * (y[k] - label_mean[c, k])
                co = keep * label_cov[c, k] + activation * old_c * (y[k] - label_mean[c, k])
                label_weight[c, k] = total
                label_weight[k, c] = total
                label_cov[c, k] = co
                label_cov[k, c] = co


@kernel
def inverse_error(P, G, Delta, row, image, back):
    """Return ``|P (G + Delta) r - r| / |r|``, how far P has left the inverse along ``row``."""
    multiply(G, row, image)
    for i in range(row.shape[0]):
        image[i] += Delta[i] * row[i]
    multiply(P, image, back)
    off = 0.0
    for i in range(row.shape[0]):
        off += (back[i] - row[i]) ** 2
    return np.sqrt(off / dot(row, row))
