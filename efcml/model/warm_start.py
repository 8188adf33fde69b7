"""Answers before there are rules: label frequencies, and more and more what similar rows had.

The rows that a learner holds for its fit are few, so nothing is decided about them for good. With
every row all is made anew: scale, and six memories of the newest rows, each a Gaussian process over
the similarity that the cases have. What lasts is the evidence: what the
memories and the frequencies got wrong at rows before these were held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from efcml.kernels.cases import FAR
from efcml.kernels.linalg import factor
from efcml.kernels.linalg import solve as solve_factored
from efcml.model.scaler import Scaler
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


class Recollection:
    """The six memories of some rows."""

    def __init__(self, held: Held, clip: float) -> None:
        rows, labels = (np.array(part) for part in zip(*held[-NEWEST:], strict=True))
        self.means = column_means(rows)
        rows = np.where(np.isnan(rows), self.means, rows)
        self.scaler = Scaler.from_rows(rows, clip)
        self.places = self._place(rows)
        labels = np.where(np.isnan(labels), label_means(labels), labels)
        targets = np.column_stack([np.ones(len(rows)), labels])
        alike = similarities(squared_distances(self.places))
        ages = np.arange(len(rows), dtype=np.float64)[::-1]
        self.levels, self.weights = zip(
            *(
                solve(alike[memory.width], memory.noise / memory.kept**ages, targets)
                for memory in MEMORIES
            ),
            strict=True,
        )

    def _place(self, rows: Floats) -> Floats:
        """Return rows where distances are measured: scaled, and nowhere far out."""
        return np.clip(np.nan_to_num(self.scaler.transform(rows)), -FAR, FAR)

    def answers(self, x: Floats) -> Floats:
        """Return what every memory says of one row, (memories, labels)."""
        place = self._place(np.where(np.isnan(x), self.means, x)[None])
        distances = ((self.places - place) ** 2).sum(axis=1) / max(len(x), 1)
        alike = similarities(distances)
        return np.array(
            [
                level + alike[memory.width] @ weights
                for memory, level, weights in zip(MEMORIES, self.levels, self.weights, strict=True)
            ]
        )


class WarmStart:
    """How the rows that a learner holds answer, and how far they are trusted."""

    def __init__(self, clip: float) -> None:
        self.clip = clip
        self.evidence: Floats = np.zeros(EVIDENCE)  # is replaced, never written to
        self._made: tuple[Held, int, Recollection] | None = None

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

    def _recollect(self, held: Held) -> Recollection:
        """Return the memories of the rows, made anew if these are others than the last time."""
        if self._made is None or self._made[0] is not held or self._made[1] != len(held):
            self._made = held, len(held), Recollection(held, self.clip)
        return self._made[2]

    def answer(self, held: Held, frequencies: Floats, X: Floats) -> Floats:
        """Return the scores of rows (n, K); row by row, so that the bits are those of each."""
        scores = np.tile(frequencies, (len(X), 1))
        share = self.share
        if len(held) < FIRST or share == 0.0:
            return scores
        made, trust = self._recollect(held), self._trust
        for score, x in zip(scores, X, strict=True):
            score += share * (trust @ made.answers(x) - frequencies)
        return scores

    def note(self, held: Held, frequencies: Floats, x: Floats, y: Floats) -> None:
        """Take in what was wrong about a row that is about to be held."""
        if len(held) < FIRST:
            return
        known = ~np.isnan(y)
        answers = self._recollect(held).answers(x)[:, known]
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


def column_means(rows: Floats) -> Floats:
    """Return the mean of each feature over the rows that have it; 0 where none has."""
    known = ~np.isnan(rows)
    count = np.maximum(known.sum(axis=0), 1)
    return (np.where(known, rows, 0.0) / count).sum(axis=0)


def squared_distances(places: Floats) -> Floats:
    """Return the squared distances between rows, averaged over the features."""
    lengths = (places**2).sum(axis=1)
    squares = lengths[:, None] + lengths - 2.0 * places @ places.T
    return np.maximum(squares, 0.0) / max(places.shape[1], 1)


def similarities(distances: Floats) -> dict[float, Floats]:
    """Return how alike rows at some squared distances are, by the width of the memory."""
    wide = np.exp(-0.5 * distances)
    squared = wide * wide
    return {1.0: wide, 0.25: squared * squared}  # an exponential costs more than two products


def solve(alike: Floats, noises: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Return level and weights (rows, labels) of a Gaussian process around an unknown level.

    The first column of the targets is 1. A label has the level to which its rows point by
    generalised least squares, so the weights of a label sum to 0.
    """
    covariance = alike.copy()
    covariance.flat[:: len(alike) + 1] += noises
    solved = solve_factored(factor(covariance), targets)
    ones, rest = solved[:, :1], solved[:, 1:]
    level = rest.sum(axis=0) / ones.sum()
    return level, rest - ones * level
