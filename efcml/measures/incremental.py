"""Measures that are updated row by row: over all rows, over a window, or fading.

Each holds two sums, points gained and points possible, as `measure_list` explains. A window counts
rows of the stream, and fading goes by rows of the stream, whether or not a row has the measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from .label_checks import check_factor, check_window
from .measure_list import find

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats


class Running:
    """A measure over all rows so far.

    Parameters
    ----------
    name : str
        One of `MEASURES`.

    Examples
    --------
    >>> accuracy = Running("pa")
    >>> accuracy.value
    nan
    >>> accuracy.update([1, 0], [0.8, 0.7]).value
    0.5
    >>> accuracy.update_many([[1, 0]], [[0.8, 0.2]]).value
    0.75
    """

    def __init__(self, name: str) -> None:
        self._measure = find(name)
        self._n_labels: int | None = None
        self._n_rows = 0
        self._total = np.zeros((2, 1))

    @property
    def name(self) -> str:
        """Name of the measure."""
        return self._measure.name

    @property
    def n_rows(self) -> int:
        """Number of rows seen."""
        return self._n_rows

    @property
    def value(self) -> float:
        """The measure now; NaN until a row has given it a value."""
        return float(self._measure.value_of(self._total))

    def update(self, y: ArrayLike, scores: ArrayLike) -> Self:
        """Take one row: true labels (NaN where unknown) and raw scores, both of shape (K,)."""
        y, scores = np.asarray(y, dtype=np.float64), np.asarray(scores, dtype=np.float64)
        if y.ndim != 1 or y.shape != scores.shape:
            raise ValueError(
                f"y has shape {y.shape} and scores {scores.shape}: give one row of labels and one "
                "of scores, or use update_many"
            )
        return self.update_many(y[None], scores[None])

    def update_many(self, Y: ArrayLike, scores: ArrayLike) -> Self:
        """Take several rows, in the order of the stream; the same as one `update` for each."""
        tallies = self._measure.tallies(Y, scores)
        n_labels = np.shape(Y)[1]
        if self._n_labels not in (None, n_labels):
            raise ValueError(
                f"rows have {n_labels} labels and had {self._n_labels} before: "
                f"begin a new {type(self).__name__}"
            )
        self._n_labels = n_labels
        self._n_rows += len(tallies)
        for tally in tallies:
            self._add(tally)
        return self

    def _add(self, tally: Floats) -> None:
        self._total = self._total + tally

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings()}): {self.value:.4g} at row {self._n_rows}"

    def _settings(self) -> str:
        return repr(self.name)


class Fading(Running):
    """A measure that fades out the past: a row that is t rows old weighs ``factor ** t``.

    Both sums fade, as in Gama's prequential error: ``S = x + factor * S``, ``N = n + factor * N``.
    A mean of about the last ``1 / (1 - factor)`` rows results.

    Parameters
    ----------
    name : str
        One of `MEASURES`.
    factor : float
        In (0, 1]; 1 forgets nothing.

    Examples
    --------
    >>> Fading("pa", 0.5).update_many([[1], [1]], [[0.0], [1.0]])
    Fading('pa', factor=0.5): 0.6667 at row 2
    """

    def __init__(self, name: str, factor: float) -> None:
        super().__init__(name)
        self._factor = check_factor(factor)

    def _add(self, tally: Floats) -> None:
        self._total = tally + self._factor * self._total

    def _settings(self) -> str:
        return f"{self.name!r}, factor={self._factor:g}"


class Sliding(Running):
    """A measure over the last rows.

    Sums are made of tails of the last full window and of a head that grows, so nothing is ever
    subtracted and no rounding errors pile up. Memory is bounded by two windows of tallies.

    Parameters
    ----------
    name : str
        One of `MEASURES`.
    window : int
        Number of rows. Before there are so many, all rows so far are taken.

    Examples
    --------
    >>> Sliding("pa", 2).update_many([[1], [1], [1]], [[0.0], [0.0], [1.0]])
    Sliding('pa', window=2): 0.5 at row 3
    """

    def __init__(self, name: str, window: int) -> None:
        super().__init__(name)
        self._window = check_window(window)
        self._tails: Floats | None = None
        self._head: list[Floats] = []
        self._head_total = np.zeros((2, 1))

    def _add(self, tally: Floats) -> None:
        if len(self._head) == self._window:
            self._tails = np.cumsum(self._head[::-1], axis=0)[::-1]
            self._head = []
            self._head_total = np.zeros((2, 1))
        self._head.append(tally.copy())
        self._head_total = self._head_total + tally
        self._total = self._head_total
        if self._tails is not None and len(self._head) < self._window:
            self._total = self._total + self._tails[len(self._head)]

    def _settings(self) -> str:
        return f"{self.name!r}, window={self._window}"
