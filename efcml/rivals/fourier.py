"""Random Fourier features of a Gaussian kernel (Rahimi and Recht 2007), beside the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

MOST_ROWS = 500  # for the median distance


@dataclass(frozen=True)
class FourierMap:
    """Appends sqrt(2) cos(F x + b) to a row; each of them has about unit mean square."""

    frequencies: Floats  # (count, p)
    phases: Floats  # (count,)

    @classmethod
    def draw(cls, X: Floats, count: int, random: np.random.Generator) -> Self:
        """Draw frequencies for a kernel as wide as the median distance between rows."""
        frequencies = random.normal(size=(count, X.shape[1])) / median_distance(X)
        return cls(frequencies, random.uniform(0.0, 2.0 * np.pi, size=count))

    def __call__(self, x: Floats) -> Floats:
        """Return the widened row."""
        return np.concatenate([x, np.sqrt(2.0) * np.cos(self.frequencies @ x + self.phases)])


def median_distance(X: Floats) -> float:
    """Return the median distance between evenly spaced rows; 1 if there is none."""
    X = X[np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(int)]
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * X @ X.T
    pairs = distances[np.triu_indices(len(X), 1)]
    middle = np.sqrt(max(np.median(pairs), 0.0)) if len(pairs) else 0.0
    return middle if middle > 1e-6 else 1.0
