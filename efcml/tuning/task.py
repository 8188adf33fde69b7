"""One piece of a search: one vigilance on one fold, for every pair (alpha, beta).

The rest of the rows is fitted, the fold is a stream, test-then-train. Antecedents, activations,
P, G, B and the correlation do not depend on alpha and beta, so one pass carries all pairs along, as
planes of their own (`efcml.learner.Learner` with ``pairs``).
"""

from dataclasses import dataclass, replace

import numpy as np

from efcml import measures
from efcml.learner import Learner, Trace


@dataclass(frozen=True)
class Task:
    """What a worker needs to know besides the rows."""

    vigilance: float
    fold: int
    start: int  # rows start:stop are held out
    stop: int

    @property
    def key(self):
        """What tells the tasks of one search apart."""
        return self.vigilance, self.fold


def make_tasks(grid, n_rows, folds):
    """Return the tasks of a search over contiguous folds, the longest first.

    A low vigilance gives many rules; started first, it does not keep one worker busy at the end.
    """
    edges = np.linspace(0, n_rows, folds + 1).astype(int)
    return [
        Task(vigilance, fold, int(edges[fold]), int(edges[fold + 1]))
        for vigilance in sorted(grid.vigilance)
        for fold in range(folds)
    ]


def run_task(task, params, pairs, X, Y):
    """Return the record of one task: for every pair, sums over the held-out rows.

    ``right`` of ``known`` decisions, ``ap`` summed over ``ranked`` rows, and the number of rules at
    the end.
    """
    params = replace(params, vigilance=task.vigilance)
    held_out = np.zeros(len(X), dtype=bool)
    held_out[task.start : task.stop] = True
    parts = X[~held_out], Y[~held_out], X[held_out], Y[held_out]
    if can_share_a_pass(params, Y):
        scores, n_rules = run_pass(params, pairs, *parts)
    else:
        runs = [run_pass(replace(params, alpha=a, beta=b), None, *parts) for a, b in pairs]
        scores = np.concatenate([run[0] for run in runs], axis=1)
        n_rules = [run[1][0] for run in runs]
    Y_new, K = parts[3], Y.shape[1]
    right, ap, ranked = [], [], 0
    for index in range(len(pairs)):
        own = scores[:, index * K : (index + 1) * K]
        right.append(int(((own >= 0.5) == Y_new)[~np.isnan(Y_new)].sum()))
        rows = measures.average_precision_rows(Y_new, own)
        ranked = int((~np.isnan(rows)).sum())
        ap.append(float(np.nansum(rows)))
    return {
        "vigilance": task.vigilance, "fold": task.fold, "right": right, "ap": ap,
        "rules": n_rules, "known": int((~np.isnan(Y_new)).sum()), "ranked": ranked,
    }  # fmt: skip


def can_share_a_pass(params, Y):
    """Tell whether all pairs see the same rules.

    With unknown labels the winner's expectation, hence W, moves the rules. And the guard of the
    printed formulas stops a rule for all of its planes at once.
    """
    convex = params.correlation != "paper" and params.lipschitz == "exact"
    return convex and not np.isnan(Y).any()


def run_pass(params, pairs, X, Y, X_new, Y_new):
    """Fit rows, then stream the new ones; return their scores and the number of rules per pair."""
    learner = Learner(params, X.shape[1], Y.shape[1], pairs=pairs).fit(X, Y)
    trace = Trace.for_rows(len(X_new), Y.shape[1] * learner.n_pairs)
    learner.learn(np.ascontiguousarray(X_new), Y_new, trace=trace)
    return trace.scores, [learner.n_rules] * learner.n_pairs
