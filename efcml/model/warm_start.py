"""Answers before there are rules: label frequencies, and more and more what similar rows had.

The rows that a learner holds for its fit are few, so nothing is decided about them for good. With
every row all is made anew: scale, and a memory of the newest rows, which is a Gaussian process over
the similarity that the cases have, trusted as far as it tells each of them by the others.
"""

from collections.abc import Sequence

import numpy as np

from efcml.kernels.cases import FAR
from efcml.kernels.linalg import add_diagonal, invert
from efcml.model.scaler import Scaler
from efcml.support.aliases import Floats
from efcml.support.guard import one_blas_thread
from efcml.support.statistics import label_means, similarity

FIRST = 8  # rows; what fewer have in common is mostly chance
NEWEST = 200  # rows that are remembered; the work grows with the cube
WIDTH, NOISE = 0.5, 0.2  # how far a row reaches, and how much of its labels is taken for chance
DOUBT = 2.0  # squared difference from the frequencies, summed over labels, that counts as none


class WarmStart:
    """How held rows answer, and how far they are trusted.

    The memory is a Gaussian process around an unknown level. A label has the level to which its
    rows point by generalised least squares, so the weights of a label sum to 0.

    ``share`` is the part of the answer that the memory has; the frequencies have the rest. With it
    the errors would be least if each row were told by the others, if there were no doubt.
    """

    @one_blas_thread()
    def __init__(self, held: Sequence[tuple[Floats, Floats]], clip: float) -> None:
        self.share = 0.0
        if len(held) < FIRST:
            return
        rows, labels = (np.array(part) for part in zip(*held[-NEWEST:], strict=True))
        self.means = label_means(rows)
        rows = np.where(np.isnan(rows), self.means, rows)
        self.scaler = Scaler.from_rows(rows, clip)
        self.places = self._place(rows)
        known, usual = ~np.isnan(labels), label_means(labels)
        labels = np.where(known, labels, usual)
        alike = similarity(self.places, self.places, WIDTH)
        inverse = invert(add_diagonal(alike, NOISE))
        pull = inverse.sum(axis=0)
        self.level = pull @ labels / pull.sum()
        self.weights = inverse @ (labels - self.level)
        told = labels - self.weights / (np.diag(inverse) - pull**2 / pull.sum())[:, None]
        others = known.sum(axis=0) - 1.0
        frequencies = usual + (usual - labels) / np.maximum(others, 1.0)  # of the other rows
        moved = np.where(known, told - frequencies, 0.0)
        gained = (moved * (labels - frequencies)).sum()
        self.share = float(np.clip(gained / ((moved**2).sum() + DOUBT), 0.0, 1.0))

    def _place(self, rows: Floats) -> Floats:
        """Return where distances are measured: scaled, nowhere far out."""
        return np.clip(np.nan_to_num(self.scaler.transform(rows)), -FAR, FAR)

    @one_blas_thread()
    def answer(self, frequencies: Floats, X: Floats) -> Floats:
        """Return the scores of rows (n, K); row by row, so that the bits are those of each."""
        scores = np.tile(frequencies, (len(X), 1))
        if self.share > 0.0:
            for score, x in zip(scores, X, strict=True):
                place = self._place(np.where(np.isnan(x), self.means, x)[None])
                said = self.level + similarity(place, self.places, WIDTH)[0] @ self.weights
                score += self.share * (said - frequencies)
        return scores
