"""Slow and obvious twins of `efcml.measures`, with loops over rows and labels; and test inputs."""

from math import isnan, log, nan

import numpy as np
from hypothesis import strategies as st


@st.composite
def labels_and_scores(draw, unknown=False, least_labels=1):
    """Few score levels, so that ties are the rule; 0.5 is one of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, K = draw(st.integers(1, 12)), draw(st.integers(least_labels, 7))
    levels = draw(st.integers(1, 6))
    Y = (rng.random((n, K)) < draw(st.floats(0, 1))).astype(float)
    if unknown:
        Y[rng.random((n, K)) < draw(st.floats(0, 1))] = np.nan
    return Y, 0.5 + (rng.integers(levels, size=(n, K)) - levels // 2) / 2


def known(y, scores):
    """Pairs of truth and score of the labels that are known, as plain Python floats."""
    pairs = [(float(truth), float(score)) for truth, score in zip(y, scores, strict=True)]
    return [pair for pair in pairs if not isnan(pair[0])]


def true_and_false(y, scores):
    """Scores of the true labels and scores of the false ones."""
    pairs = known(y, scores)
    return [s for truth, s in pairs if truth == 1], [s for truth, s in pairs if truth == 0]


def average_precision(y, scores):
    true, false = true_and_false(y, scores)
    if not true:
        return nan
    total = 0.0
    for score in true:
        hits = sum(other >= score for other in true)
        total += hits / (hits + sum(other >= score for other in false))
    return total / len(true)


def ranking_loss(y, scores):
    true, false = true_and_false(y, scores)
    if not true or not false:
        return nan
    return sum(b >= a for a in true for b in false) / (len(true) * len(false))


def one_error(y, scores):
    true, false = true_and_false(y, scores)
    if not true:
        return nan
    return float(bool(false) and max(false) >= max(true))


def coverage(y, scores):
    true, false = true_and_false(y, scores)
    if not true:
        return nan
    return float(sum(score >= min(true) for score in true + false))


def subset_accuracy(y, scores):
    pairs = known(y, scores)
    if not pairs:
        return nan
    return float(all((score >= 0.5) == truth for truth, score in pairs))


def example_f1(y, scores):
    pairs = known(y, scores)
    if not pairs:
        return nan
    hits, size = hits_and_size(pairs)
    return 2 * hits / size if size else 1.0


def hits_and_size(pairs):
    """True and predicted labels: how many are both, and how many there are of each, added up."""
    hits = size = 0
    for truth, score in pairs:
        hits += truth == 1 and score >= 0.5
        size += (truth == 1) + (score >= 0.5)
    return hits, size


def probability(score):
    """The score itself in the middle, bent towards 0 and 1 from .05 of them on."""
    if score > 0.95:
        return 1 - 0.05 / (1 + (score - 0.95) / 0.05)
    return 0.05 / (1 + (0.05 - score) / 0.05) if score < 0.05 else score


def surprise(truth, score):
    """Minus the logarithm of what the truth was given; at most that of the rounding of floats."""
    p = min(max(probability(score), 2**-52), 1 - 2**-52)
    return -log(p if truth else 1 - p)


POOLED = {  # what every known label adds
    "pa": lambda truth, score: (score >= 0.5) == truth,
    "log_loss": surprise,
    "brier_score": lambda truth, score: (probability(score) - truth) ** 2,
}

BY_ROW = {
    "ap": average_precision,
    "subset_accuracy": subset_accuracy,
    "example_f1": example_f1,
    "ranking_loss": ranking_loss,
    "one_error": one_error,
    "coverage": coverage,
}


def value(name, Y, scores):
    """The measure over all rows, by its definition."""
    rows = list(zip(Y, scores, strict=True))
    if name in BY_ROW:
        values = [BY_ROW[name](y, s) for y, s in rows]
        return ratio((x, 1) for x in values if not isnan(x))
    pairs = [(truth, s) for y, row in rows for truth, s in known(y, row)]
    if name in POOLED:
        return ratio((POOLED[name](truth, s), 1) for truth, s in pairs)
    if name == "calibration_error":  # over ten bins, probabilities against true labels
        gaps = [0.0] * 10
        for truth, score in pairs:
            gaps[min(int(10 * probability(score)), 9)] += probability(score) - truth
        return ratio([(sum(map(abs, gaps)), len(pairs))])
    if name == "micro_f1":
        return f1([known(y, s) for y, s in rows])
    assert name == "macro_f1"
    columns = range(len(Y[0]))
    values = [f1([known(y[j : j + 1], s[j : j + 1]) for y, s in rows]) for j in columns]
    return ratio((x, 1) for x in values if not isnan(x))


def f1(groups):
    counts = [hits_and_size(pairs) for pairs in groups]
    return ratio((2 * hits, size) for hits, size in counts)


def ratio(parts):
    parts = list(parts)
    below = sum(part[1] for part in parts)
    return sum(part[0] for part in parts) / below if below > 0 else nan
