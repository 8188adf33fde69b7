"""One piece of a search: one vigilance on one fold, for every pair (alpha, beta).

The rest of the rows is fitted, the fold is a stream, test-then-train. Antecedents, activations,
P, G, B and the correlation do not depend on alpha and beta, so one pass carries all pairs along, as
planes of their own (`efcml.model.learner.Learner` with ``pairs``). Under ``forgetting="auto"`` what
is forgotten does depend on them, a little: there all go by the pair with the least penalties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from efcml import measures
from efcml.model.learner import Learner
from efcml.model.trace import Trace
from efcml.support.folds import contiguous_folds, without

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from efcml.model.params import Params
    from efcml.support.aliases import Facts, Floats
    from efcml.tuning.grid import Grid

    Pairs: TypeAlias = Sequence[tuple[float, float]]  # of alpha and beta


@dataclass(frozen=True)
class Task:
    """What a worker needs to know besides the rows."""

    vigilance: float
    fold: int
    start: int  # rows start:stop are held out
    stop: int

    @property
    def key(self) -> tuple[float, int]:
        """What tells the tasks of one search apart."""
        return self.vigilance, self.fold


def make_tasks(grid: Grid, n_rows: int, folds: int) -> list[Task]:
    """Return the tasks of a search over contiguous folds, the longest first.

    A low vigilance gives many rules; started first, it does not keep one worker busy at the end.
    """
    return [
        Task(vigilance, number, fold.start, fold.stop)
        for vigilance in sorted(grid.vigilance)
        for number, fold in enumerate(contiguous_folds(n_rows, folds))
    ]


def run_task(
    task: Task, params: Params, pairs: Pairs, X: Floats | Sequence[Floats], Y: Floats
) -> Facts:
    """Return the record of one task, or raise an error that names the task.

    A list of tables has the rows as each fold sees them, behind the steps of a pipeline.
    """
    try:
        rows = X if isinstance(X, np.ndarray) else X[task.fold]
        return score_task(task, params, pairs, rows, Y)
    except Exception as error:
        raise RuntimeError(
            f"vigilance {task.vigilance:g} failed on fold {task.fold} (rows {task.start} to"
            f" {task.stop - 1} held out): {type(error).__name__}: {error}"
        ) from error


def score_task(task: Task, params: Params, pairs: Pairs, X: Floats, Y: Floats) -> Facts:
    """Return the record of one task: for every pair, sums over the held-out rows.

    ``right`` of ``known`` decisions, ``ap`` summed over ``ranked`` rows, the number of ``rules`` at
    the end, and whether a rule ``diverged``.
    """
    params = replace(params, vigilance=task.vigilance)
    held_out = slice(task.start, task.stop)
    rest = without(X, held_out), without(Y, held_out)
    X_new, Y_new = X[held_out].copy(), Y[held_out].copy()
    passes = run_passes(params, pairs, *rest, X_new, Y_new)
    known = ~np.isnan(Y_new)
    right, ap, ranked = [], [], 0
    for scores in passes.scores:
        # From .5 on, whatever `decision` asks for: pairs that share a pass have no decisions of
        # their own, and a choice among scores should not depend on how they are decided later.
        right.append(int(((scores >= 0.5) == Y_new)[known].sum()))
        rows = measures.average_precision_rows(Y_new, scores)
        ranked = int((~np.isnan(rows)).sum())
        ap.append(float(np.nansum(rows)))
    return {
        "vigilance": task.vigilance,
        "fold": task.fold,
        "right": right,
        "ap": ap,
        "rules": passes.rules,
        "diverged": passes.diverged,
        "known": int(known.sum()),
        "ranked": ranked,
    }


@dataclass(frozen=True)
class Passes:
    """What all pairs gave on one fold."""

    scores: Floats  # (pairs, n, K), of every row before it is learned
    rules: list[int]  # at the end, by pair
    diverged: list[int]  # 1 where the divergence guard stopped a rule, by pair


def run_passes(
    params: Params, pairs: Pairs, X: Floats, Y: Floats, X_new: Floats, Y_new: Floats
) -> Passes:
    """Fit rows, then stream the new ones, for every pair: in one pass if rules are the same."""
    if can_share_a_pass(params, Y, Y_new):
        ascending = sorted(pairs)  # the first one is that with the least penalties
        learner, scores = run_pass(params, ascending, X, Y, X_new, Y_new)
        if not learner.warned:
            parts = dict(zip(ascending, np.split(scores, len(pairs), axis=1), strict=True))
            scores = np.stack([parts[pair] for pair in pairs])
            return Passes(scores, [learner.n_rules] * len(pairs), [0] * len(pairs))
    found, rules, diverged = [], [], []
    for alpha, beta in pairs:
        own = replace(params, alpha=alpha, beta=beta)
        learner, own_scores = run_pass(own, None, X, Y, X_new, Y_new)
        found.append(own_scores)
        rules.append(learner.n_rules)
        diverged.append(int(learner.warned))
    return Passes(np.stack(found), rules, diverged)


def can_share_a_pass(params: Params, *tables: Floats) -> bool:
    """Tell whether all pairs see the same rules.

    Where a row knows only some of its labels, the winner's expectation, hence W, moves the rules.
    The guard against divergence stops a rule for all of its planes at once; it trips under the
    printed formulas. Where it trips otherwise, the pass is repeated for every pair.
    """
    convex = params.correlation != "paper" and params.lipschitz == "exact"
    unknown = [np.isnan(Y) for Y in tables]
    return convex and not any((some.any(axis=1) & ~some.all(axis=1)).any() for some in unknown)


def run_pass(
    params: Params, pairs: Pairs | None, X: Floats, Y: Floats, X_new: Floats, Y_new: Floats
) -> tuple[Learner, Floats]:
    """Fit rows, then stream the new ones; return the learner and the scores of the new rows."""
    learner = QuietLearner(params, X.shape[1], Y.shape[1], pairs=pairs).fit(X, Y)
    trace = Trace.for_rows(len(X_new), Y.shape[1] * learner.n_pairs)
    learner.learn(X_new, Y_new, trace=trace)
    return learner, trace.scores


class QuietLearner(Learner):
    """A learner that notes a divergence in ``warned``; the search warns once, at its end."""

    def _warn_of_divergence(self) -> None:
        self.warned = self.warned or bool(self.rules.stopped.any())
