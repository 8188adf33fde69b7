"""One pass over a stream in which every row is answered in all ways before it is learned.

Scores do not depend on ``decision``, nor on labels that are told of a row before it is learned. So
one model gives every decision, its probabilities, and its answers given a part of the labels.
"""

from dataclasses import dataclass

import numpy as np

from efcml.model.params import DECISIONS

HIDDEN = np.nan  # a label that nobody tells


@dataclass(frozen=True)
class Answered:
    """What was said of every row; M is the number of masks."""

    Y: np.ndarray  # (n, K)
    scores: np.ndarray  # (n, K)
    probabilities: np.ndarray  # (n, K)
    decisions: dict[str, np.ndarray]  # by the name of the decision, (n, K) of bool
    told: np.ndarray  # (M, n, K) of bool: labels that were told
    told_decisions: np.ndarray  # (M, n, K) of bool, given these, by the score
    told_probabilities: np.ndarray  # (M, n, K), given these
    rules: int  # at the end
    share: tuple[float, float]  # by which labels are trusted to tell of each other, first and last


def random_halves(n, K, masks, seed):
    """Return which labels are told of every row: half of them, rounded down, drawn anew by row."""
    order = np.random.default_rng(seed).random((masks, n, K)).argsort(axis=2).argsort(axis=2)
    return order < K // 2


def answer_stream(learner, X, Y, told, teach=None, delay=0):
    """Answer every row without and with the labels that are told of it, then learn it.

    Or then ``teach(t)``, which need not learn row t, but another one or none; rows are answered so
    many rows ahead of the last one whose labels may be known.
    """
    n, K = Y.shape
    scores, probabilities = np.empty((n, K)), np.empty((n, K))
    decisions = {name: np.empty((n, K), dtype=bool) for name in DECISIONS}
    told_decisions, told_probabilities = np.empty(told.shape, dtype=bool), np.empty(told.shape)
    first = learner.labels.together.share
    for t in range(n):
        row = slice(t, t + 1)
        scores[row] = learner.score(X[max(t - delay, 0) : t + 1])[-1]
        for name, number in DECISIONS.items():
            answer = learner.labels.answer(scores[row], number)
            decisions[name][row] = answer.decisions
        probabilities[row] = answer.probabilities  # the same for all three
        known = np.where(told[:, t], Y[t], HIDDEN)
        repeated = np.repeat(scores[row], len(known), axis=0)
        given = learner.labels.answer(repeated, DECISIONS["hamming"], known)
        told_decisions[:, t], told_probabilities[:, t] = given.decisions, given.probabilities
        if teach is None:
            learner.learn(X[row], Y[row])
        else:
            teach(t)
    share = first, learner.labels.together.share
    given = told, told_decisions, told_probabilities
    return Answered(Y, scores, probabilities, decisions, *given, learner.n_rules, share)
