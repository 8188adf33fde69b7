"""Checks of what measures are given, and the divisions that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.support.dense import densify
from efcml.support.masks import fill_mask, refuse_mask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Array, Bools, Floats

# Fading sums below this are too small to divide exactly; they count as nothing.
FADED = 1e-300


def check_pair(Y: ArrayLike, predicted: ArrayLike, what: str) -> tuple[Floats, Floats]:
    """Return Y and predictions as floats; `what` is "labels", "scores" or "probabilities"."""
    Y = np.asarray(fill_mask(densify(Y)), dtype=np.float64)
    predicted = np.asarray(refuse_mask(densify(predicted), what), dtype=np.float64)
    if Y.ndim != 2 or Y.shape != predicted.shape:
        raise ValueError(
            f"Y has shape {Y.shape} and {what} {predicted.shape}: give two tables of equal shape"
        )
    if Y.size == 0:
        raise ValueError(f"Y has shape {Y.shape}: give at least one row and one label")
    _refuse(Y, ~((Y == 0) | (Y == 1) | np.isnan(Y)), "Y", "labels are 0, 1, or NaN where unknown")
    if what == "labels":
        wrong = ~((predicted == 0) | (predicted == 1))
        _refuse(predicted, wrong, what, "give decisions 0 or 1, such as scores >= 0.5")
    elif what == "probabilities":
        wrong = ~((predicted >= 0) & (predicted <= 1))
        _refuse(predicted, wrong, what, "give a number from 0 to 1 for every label")
    else:
        _refuse(predicted, np.isnan(predicted), what, "give a number for every label")
    return Y, predicted


def check_window(window: int) -> int:
    """Return the number of rows of a window as an int."""
    whole = isinstance(window, int | np.integer) and not isinstance(window, bool)
    if not whole or window < 1:
        raise ValueError(f"window is {window!r}: give a number of rows, at least 1")
    return int(window)


def check_factor(factor: float) -> float:
    """Return a fading factor as a float."""
    number = isinstance(factor, int | float | np.number) and not isinstance(factor, bool)
    if not number or not 0 < factor <= 1:
        raise ValueError(f"the fading factor is {factor!r}: give a number in (0, 1], such as 0.99")
    return float(factor)


def divide(total: Array, count: Array) -> Floats:
    """Divide, with NaN where the count is 0."""
    result = np.full(total.shape, np.nan)
    return np.divide(total, count, out=result, where=count > FADED)


def mean_of_defined(values: Floats) -> float:
    """Return the mean of the values that are not NaN, or NaN if there are none."""
    defined = ~np.isnan(values)
    return float(values[defined].mean()) if defined.any() else float("nan")


def _refuse(table: Floats, wrong: Bools, what: str, advice: str) -> None:
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(f"{what}[{row}, {column}] is {table[row, column]:g}: {advice}")
