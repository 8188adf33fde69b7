"""Recursive fuzzily weighted least squares and label moments of one rule (how_it_works.md 4).

A *group* is a set of labels that share one inverse Hessian: all labels while every row was fully
labelled, one label each from the first partly labelled row on.
"""

import numpy as np

from efcml._jit import kernel_fast, kernel_inline
from efcml.kernels.linalg import dot
from efcml.kernels.waiting import multiply_P


@kernel_inline
def absorb_row(rule, group, activation, keep, cons, work):
    """Let a label group learn ``work.row``: its inverse Hessian now, its Hessian when it is read.

    Writes ``P_old r`` into ``work.gain`` and returns the factor ``Psi / (l + Psi r'P r)`` that
    turns it into the gain of RFWLS. ``keep`` is l = lambda^Psi. The row must have a slot
    (kernels/waiting.py).
    """
    row, gain, waiting = work.row, work.gain, work.waiting
    multiply_P(cons.P, rule, group, row, gain, waiting)
    factor = activation / (keep + activation * dot(row, gain))
    root = np.sqrt(factor)
    for i in range(row.shape[0]):
        waiting.shrink[rule, group, i] = root * gain[i]
        cons.Delta[rule, group, i] *= keep
    waiting.scale[rule, group] = 1.0 / keep
    slot = waiting.count[0] - 1
    waiting.weight[rule, group, slot] = activation
    waiting.keep[rule, group, slot] = keep
    return factor


@kernel_fast
def learn_labels(W, B, D, row, heights, y, gain, factor, activation, keep, first, last):
    """Move the planes of the labels ``first:last`` towards ``y`` and add the row to B.

    ``heights`` are the planes at the row. W and D may carry several planes of every label, one for
    each pair (alpha, beta). ``D``, the least-squares gradient, is only scaled: RFWLS leaves it
    unchanged.
    """
    d = row.shape[0]
    for c in range(first, last):
        for k in range(c, W.shape[0], y.shape[0]):
            plane = W[k]
            move = factor * (y[c] - heights[k])
            for i in range(d):
                plane[i] += move * gain[i]
            if keep != 1.0:
                for i in range(d):
                    D[k, i] *= keep
        if keep != 1.0:
            for i in range(d):
                B[c, i] *= keep
        if y[c] != 0.0:
            push = activation * y[c]
            for i in range(d):
                B[c, i] += push * row[i]


@kernel_inline
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


@kernel_inline
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


@kernel_inline
def inverse_error(P, G, Delta, row, gain, back):
    """Return ``|P (G + Delta) r - r| / |r|``, how far P has left the inverse along ``row``."""
    np.dot(G, row, gain)
    for i in range(row.shape[0]):
        gain[i] += Delta[i] * row[i]
    np.dot(P, gain, back)
    off = 0.0
    for i in range(row.shape[0]):
        off += (back[i] - row[i]) ** 2
    return np.sqrt(off / dot(row, row))
