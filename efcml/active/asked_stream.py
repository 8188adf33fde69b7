"""Whole streams under an active learner: Python sees only the rows that are asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from efcml.active.draws import draws_for
from efcml.active.finding import find_question
from efcml.active.options import reasons_of
from efcml.evaluation.blocks import in_blocks
from efcml.model.trace import Trace

if TYPE_CHECKING:
    from efcml.active.active_learner import ActiveLearner
    from efcml.evaluation.blocks import AfterBlock
    from efcml.model.learner import Learner
    from efcml.support.aliases import Bools, Floats


def run_stream(
    active: ActiveLearner,
    learner: Learner,
    X: Floats,
    Y: Floats,
    trace: Trace,
    queried: Bools,
    *,
    after_block: AfterBlock,
) -> None:
    """Score all rows and learn what is asked; note what happens, and what was asked.

    If something breaks off, learner and active learner are left as after the last whole block.
    """

    def run(block: slice) -> float:
        before = active.remember()
        try:
            return run_block(active, learner, X, Y, block, trace, queried)
        except BaseException:
            active.put_back(before)
            raise

    in_blocks(len(X), run, trace, after_block, learner=learner)


def run_block(
    active: ActiveLearner,
    learner: Learner,
    X: Floats,
    Y: Floats,
    block: slice,
    trace: Trace,
    queried: Bools,
) -> float:
    """Run the rows of one block and return the seconds."""
    begin = time.perf_counter()
    rows = learner.scaler.transform(X[block])
    draws = draws_for(active.seed, active.rows, len(rows))
    n, row, wanted = len(rows), 0, np.zeros(Y.shape[1], dtype=np.bool_)
    while row < n:
        count, bits, scores = find_question(
            learner, rows[row:], draws[row:], active.steering, active.state, wanted
        )
        at = block.start + row
        trace.rules[at : at + count] = learner.n_rules
        trace.take_answer(learner.answer_scores(scores), slice(at, at + len(scores)))
        learner.pass_rows(count)
        row, at = row + count, at + count
        if row == n:
            break
        queried[at] = wanted if queried.ndim == 2 else wanted.any()
        scaler = learner.scaler
        learn_row(learner, X, Y, at, wanted, trace)
        if learner.scaler is not scaler:  # it follows the stream
            rows[row + 1 :] = learner.scaler.transform(X[at + 1 : block.stop])
        active.note(active.rows - 1, wanted, reasons_of(bits), active.state)
        row += 1
    trace.add_clipped(learner.scaler.count_clipped(rows))
    return time.perf_counter() - begin


def learn_row(learner: Learner, X: Floats, Y: Floats, at: int, wanted: Bools, trace: Trace) -> None:
    """Learn the wanted labels of one row; the row has been scored already."""
    part = Trace.for_rows(1, Y.shape[1])
    answer = np.where(wanted, Y[at], np.nan)
    learner.learn(X[at : at + 1], answer[None], trace=part)
    trace.rules[at] = learner.n_rules
    part.clipped = None  # it was counted when it was scored
    trace.take_events(part, at)
