"""Answers before there are rules: label frequencies, and more and more what similar rows had.

The rows that a learner holds for its fit are few, so nothing is decided about them for good. With
every row all is made anew: scale, and six memories of the newest rows, each a Gaussian process over
the similarity that the cases have. What lasts is the evidence: what the
memories and the frequencies got wrong at rows before these were held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from efcml.kernels.cases import FAR
from efcml.kernels.linalg import factor, solve
from efcml.model.scaler import Scaler
from efcml.support.guard import one_blas_thread
from efcml.support.statistics import label_means

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

    Held = Sequence[tuple[Floats, Floats]]

FIRST = 8  # rows; what fewer have in common is mostly chance
NEWEST = 200  # rows that are remembered; the work grows with the cube
DOUBT = 2.0  # squared difference from the frequencies, summed over labels, that counts as none


class Memory(NamedTuple):
    """How far a row reaches, how much of its labels is chance, and what a row later is left."""

    width: float
    noise: float
    kept: float


MEMORIES = (
    Memory(0.25, 0.1, 1.0),
    Memory(0.25, 1.0, 1.0),
    Memory(1.0, 0.1, 1.0),
    Memory(1.0, 1.0, 1.0),
    Memory(1.0, 0.1, 0.97),
    Memory(1.0, 1.0, 0.97),
)
EVIDENCE = 2 + len(MEMORIES)  # numbers: gained, moved, and the loss of each memory


def recollect(held: Held, clip: float) -> Callable[[Floats], Floats]:
    """Return what the six memories of rows say of one row (p,), as a function: (memories, labels).

    Each is a Gaussian process around an unknown level. A label has the level to which its rows
    point by generalised least squares, so the weights of a label sum to 0.
    """
    rows, labels = (np.array(part) for part in zip(*held[-NEWEST:], strict=True))
    known = ~np.isnan(rows)
    means = (np.where(known, rows, 0.0) / np.maximum(known.sum(axis=0), 1)).sum(axis=0)
    rows = np.where(known, rows, means)
    scaler = Scaler.from_rows(rows, clip)

    def place(rows: Floats) -> Floats:  # where distances are measured: scaled, nowhere far out
        return np.clip(np.nan_to_num(scaler.transform(rows)), -FAR, FAR)

    places, (n, p) = place(rows), rows.shape
    labels = np.where(np.isnan(labels), label_means(labels), labels)
    targets = np.column_stack([np.ones(n), labels])
    lengths = (places**2).sum(axis=1)
    squares = lengths[:, None] + lengths - 2.0 * places @ places.T
    alike = similarities(np.maximum(squares, 0.0) / max(p, 1))
    ages = np.arange(n, dtype=np.float64)[::-1]
    solved = []  # width, level and weights (rows, labels) of every memory
    for width, noise, kept in MEMORIES:
        covariance = alike[width].copy()
        covariance.flat[:: n + 1] += noise / kept**ages
        solution = solve(factor(covariance), targets)
        ones, rest = solution[:, :1], solution[:, 1:]
        level = rest.sum(axis=0) / ones.sum()
        solved.append((width, level, rest - ones * level))

    def answers(x: Floats) -> Floats:
        away = place(np.where(np.isnan(x), means, x)[None])
        alike = similarities(((places - away) ** 2).sum(axis=1) / max(p, 1))
        return np.array([level + alike[width] @ weights for width, level, weights in solved])

    return answers


def similarities(distances: Floats) -> dict[float, Floats]:
    """Return how alike rows at some squared distances are, by the width of the memory."""
    wide = np.exp(-0.5 * distances)
    squared = wide * wide
    return {1.0: wide, 0.25: squared * squared}  # an exponential costs more than two products


class WarmStart:
    """How the rows that a learner holds answer, and how far they are trusted."""

    def __init__(self, clip: float) -> None:
        self.clip = clip
        self.evidence: Floats = np.zeros(EVIDENCE)  # is replaced, never written to
        self._made: tuple[Held, int, Callable[[Floats], Floats]] | None = None

    @property
    def share(self) -> float:
        """Part of the answer that the memories have; the frequencies have the rest.

        With it the errors so far would have been least, if there had been no doubt.
        """
        gained, moved = self.evidence[:2]
        return float(np.clip(gained / (moved + DOUBT), 0.0, 1.0))

    @property
    def _trust(self) -> Floats:
        """Return the weight of every memory: they fall off with what it got wrong."""
        losses = self.evidence[2:]
        weights = np.exp(losses.min() - losses)
        return weights / weights.sum()

    def _recollect(self, held: Held, x: Floats) -> Floats:
        """Return what all memories say of a row; they are made anew if the rows are others."""
        if self._made is None or self._made[0] is not held or self._made[1] != len(held):
            self._made = held, len(held), recollect(held, self.clip)
        return self._made[2](x)

    @one_blas_thread()
    def answer(self, held: Held, frequencies: Floats, X: Floats) -> Floats:
        """Return the scores of rows (n, K); row by row, so that the bits are those of each."""
        scores = np.tile(frequencies, (len(X), 1))
        share = self.share
        if len(held) < FIRST or share == 0.0:
            return scores
        trust = self._trust
        for score, x in zip(scores, X, strict=True):
            score += share * (trust @ self._recollect(held, x) - frequencies)
        return scores

    def note(self, held: Held, frequencies: Floats, x: Floats, y: Floats) -> None:
        """Take in what was wrong about a row that is about to be held."""
        if len(held) < FIRST:
            return
        known = ~np.isnan(y)
        answers = self._recollect(held, x)[:, known]
        y, frequencies = y[known], frequencies[known]
        moved = self._trust @ answers - frequencies
        losses = ((np.clip(answers, 0.0, 1.0) - y) ** 2).sum(axis=1)
        new = np.array([moved @ (y - frequencies), moved @ moved])
        self.evidence = self.evidence + np.concatenate([new, losses])

    def copy(self) -> WarmStart:
        """Return an independent one with the same evidence; memories are made anew."""
        other = WarmStart(self.clip)
        other.evidence = self.evidence
        return other
