"""Answers before there are rules: label frequencies, and more and more what similar rows had.

The rows that a learner holds for its fit are few, so nothing is decided about them for good. With
every row all is made anew: scale, and a memory of the newest rows, which is a Gaussian process over
the similarity that the cases have. What lasts is the evidence: what the memory and the frequencies
got wrong at rows before these were held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

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
WIDTH, NOISE = 0.5, 0.2  # how far a row reaches, and how much of its labels is taken for chance
DOUBT = 2.0  # squared difference from the frequencies, summed over labels, that counts as none


def recollect(held: Held, clip: float) -> Callable[[Floats], Floats]:
    """Return what the memory of rows says of one row (p,), as a function: (K,).

    It is a Gaussian process around an unknown level. A label has the level to which its rows point
    by generalised least squares, so the weights of a label sum to 0.
    """
    rows, labels = (np.array(part) for part in zip(*held[-NEWEST:], strict=True))
    known = ~np.isnan(rows)
    means = (np.where(known, rows, 0.0) / np.maximum(known.sum(axis=0), 1)).sum(axis=0)
    rows = np.where(known, rows, means)
    scaler = Scaler.from_rows(rows, clip)

    def place(rows: Floats) -> Floats:  # where distances are measured: scaled, nowhere far out
        return np.clip(np.nan_to_num(scaler.transform(rows)), -FAR, FAR)

    def alike(squares: Floats) -> Floats:
        return np.exp(-0.5 / (WIDTH * max(rows.shape[1], 1)) * squares)

    places = place(rows)
    labels = np.where(np.isnan(labels), label_means(labels), labels)
    lengths = (places**2).sum(axis=1)
    squares = lengths[:, None] + lengths - 2.0 * places @ places.T
    covariance = alike(np.maximum(squares, 0.0))
    covariance.flat[:: len(rows) + 1] += NOISE
    solution = solve(factor(covariance), np.column_stack([np.ones(len(rows)), labels]))
    ones, rest = solution[:, :1], solution[:, 1:]
    level = rest.sum(axis=0) / ones.sum()
    weights = rest - ones * level

    def answer(x: Floats) -> Floats:
        away = place(np.where(np.isnan(x), means, x)[None])
        return level + alike(((places - away) ** 2).sum(axis=1)) @ weights

    return answer


class WarmStart:
    """How the rows that a learner holds answer, and how far they are trusted."""

    def __init__(self, clip: float) -> None:
        self.clip = clip
        self.evidence: Floats = np.zeros(2)  # gained and moved; is replaced, never written to
        self._made: tuple[Held, int, Callable[[Floats], Floats]] | None = None

    @property
    def share(self) -> float:
        """Part of the answer that the memory has; the frequencies have the rest.

        With it the errors so far would have been least, if there had been no doubt.
        """
        gained, moved = self.evidence
        return float(np.clip(gained / (moved + DOUBT), 0.0, 1.0))

    def _recollect(self, held: Held, x: Floats) -> Floats:
        """Return what the memory says of a row; it is made anew if the rows are others."""
        if self._made is None or self._made[0] is not held or self._made[1] != len(held):
            self._made = held, len(held), recollect(held, self.clip)
        return self._made[2](x)

    @one_blas_thread()
    def answer(self, held: Held, frequencies: Floats, X: Floats) -> Floats:
        """Return the scores of rows (n, K); row by row, so that the bits are those of each."""
        scores = np.tile(frequencies, (len(X), 1))
        share = self.share
        if len(held) >= FIRST and share > 0.0:
            for score, x in zip(scores, X, strict=True):
                score += share * (self._recollect(held, x) - frequencies)
        return scores

    def note(self, held: Held, frequencies: Floats, x: Floats, y: Floats) -> None:
        """Take in what was wrong about a row that is about to be held."""
        if len(held) >= FIRST:
            moved = np.where(np.isnan(y), 0.0, self._recollect(held, x) - frequencies)
            errors = np.nan_to_num(y - frequencies)
            self.evidence = self.evidence + [moved @ errors, moved @ moved]

    def copy(self) -> WarmStart:
        """Return an independent one with the same evidence; the memory is made anew."""
        other = WarmStart(self.clip)
        other.evidence = self.evidence
        return other
