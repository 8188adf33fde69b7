"""The next row of a stream that is worth a question.

Nothing is learned between two questions, so a few rows at a time are scored ahead. Every row is
looked at by itself: chunks change no bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels.querying import look_at_rows, scan_rows

if TYPE_CHECKING:
    from efcml.kernels.querying import Ask
    from efcml.model.learner import Learner
    from efcml.support.aliases import Bools, Floats

CHUNK = 16  # rows; those after a question are scored again


def find_question(
    learner: Learner, rows: Floats, draws: Floats, ask: Ask, state: Floats, wanted: Bools
) -> tuple[int, int, Floats]:
    """Return which of the next rows, scaled, is worth a question, the reasons, and all scores.

    The row is counted; without any, it is the number of rows. ``draws`` are random numbers in
    [0, 1). Only ``state`` and ``wanted``, the labels to ask, are written.
    """
    done, bits = 0, 0
    scores = np.empty((len(rows), learner.n_labels))
    while done < len(rows) and not bits:
        part = slice(done, min(done + CHUNK, len(rows)))
        filled = learner.fill(rows[part])
        scores[part] = learner.score_scaled(filled, ahead=done)
        told = look(learner, filled, ask)
        row, bits = scan_rows(scores[part], *told, draws[part], ask, state, wanted)
        done += row
    return done, bits, scores[: done + 1]


def look(learner: Learner, rows: Floats, ask: Ask) -> tuple[Bools, Floats]:
    """Return which rows no rule covers, by the birth test of the rules, and the instability."""
    rules, n = learner.rules, len(rows)
    likeliest, distance, instability = np.empty(n, np.int64), np.empty(n), np.empty(n)
    floor, settings = rules.settings.activation_floor, rules.settings
    out = likeliest, distance, instability
    look_at_rows(rows, rules.n_rules, ask.instability, floor, rules.arrays, settings, *out)
    novel = np.zeros(n, np.bool_)
    if ask.novelty:
        pairs = zip(distance.tolist(), rules.support[likeliest].tolist(), strict=True)
        p, radius = float(rows.shape[1]), settings.vigilance
        novel[:] = [rules.birth_test(far, p, support, radius) for far, support in pairs]
    return novel, instability
