"""All measures by name, with what a row adds to each of them.

Every measure is a sum of points divided by a sum of points possible. What a row adds to both sums
is its tally. Sums over a window, or faded sums, therefore give every measure over the recent past.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import decisions, ranking
from .label_checks import check_pair, divide

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Array, Floats

THRESHOLD = 0.5


@dataclass(frozen=True)
class Measure:
    """A measure by name. Call it with Y and raw scores; labels are decided by ``scores >= 0.5``.

    Attributes
    ----------
    name, title : str
        Short name for code and name for readers.
    meaning : str
        One sentence.
    better : str
        "up" or "down".
    takes : str
        "labels" or "scores": what `function` and `row_function` take besides Y.
    function : callable
        ``function(Y, predicted)`` gives one number.
    row_function : callable or None
        ``row_function(Y, predicted)`` gives one number per row; None if the measure is no average
        over rows.
    """

    name: str
    title: str
    meaning: str
    better: str
    takes: str
    function: Callable[[ArrayLike, ArrayLike], float]
    row_function: Callable[[ArrayLike, ArrayLike], Floats] | None
    counts: Callable[[Floats, Floats], tuple[Array, Array]] | None = None

    def __call__(self, Y: ArrayLike, scores: ArrayLike) -> float:
        """Return the measure over all rows, from raw scores."""
        return self.function(*self._inputs(Y, scores))

    def rows(self, Y: ArrayLike, scores: ArrayLike) -> Floats:
        """Return the measure of every row, from raw scores; NaN where a row has none."""
        if self.row_function is None:
            raise ValueError(f"{self.name} is no average over rows: use trend with a window")
        return self.row_function(*self._inputs(Y, scores))

    def tallies(self, Y: ArrayLike, scores: ArrayLike) -> Floats:
        """Return what every row adds to both sums, of shape (n, 2, 1); (n, 2, K) for macro F1."""
        Y, predicted = self._inputs(Y, scores)
        if self.counts is not None:
            both = self.counts(Y, predicted)
        else:
            assert self.row_function is not None, "a measure has one of both"
            rows = self.row_function(Y, predicted)
            both = np.nan_to_num(rows, nan=0.0), ~np.isnan(rows)
        gained, possible = (part.reshape(len(Y), -1) for part in both)
        return np.stack((gained, possible), axis=1, dtype=np.float64)

    def _inputs(self, Y: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats]:
        Y, scores = check_pair(Y, scores, "scores")
        return Y, (scores >= THRESHOLD).astype(np.float64) if self.takes == "labels" else scores


def _all_hits(Y: Floats, labels: Floats) -> tuple[Array, Array]:
    hits, sizes = (count.sum(axis=1) for count in decisions.count_hits(Y, labels))
    return 2 * hits, sizes


def _hits_by_label(Y: Floats, labels: Floats) -> tuple[Array, Array]:
    hits, sizes = decisions.count_hits(Y, labels)
    return 2 * hits, sizes


_ALL = (
    Measure(
        "pa", "partial accuracy", "Share of right label decisions: 1 - Hamming loss.",
        "up", "labels", decisions.partial_accuracy, decisions.partial_accuracy_rows,
        decisions.count_right,
    ),
    Measure(
        "ap", "average precision", "Share of true labels down to each true one, ranked by score.",
        "up", "scores", ranking.average_precision, ranking.average_precision_rows,
    ),
    Measure(
        "subset_accuracy", "subset accuracy", "Share of rows with every label right.",
        "up", "labels", decisions.subset_accuracy, decisions.subset_accuracy_rows,
    ),
    Measure(
        "example_f1", "example-based F1", "F1 of the labels of a row, averaged over rows.",
        "up", "labels", decisions.example_f1, decisions.example_f1_rows,
    ),
    Measure(
        "micro_f1", "micro F1", "F1 of all label decisions together.",
        "up", "labels", decisions.micro_f1, None, _all_hits,
    ),
    Measure(
        "macro_f1", "macro F1", "F1 of the rows of a label, averaged over labels.",
        "up", "labels", decisions.macro_f1, None, _hits_by_label,
    ),
    Measure(
        "ranking_loss", "ranking loss", "Share of pairs of a true and a false label out of order.",
        "down", "scores", ranking.ranking_loss, ranking.ranking_loss_rows,
    ),
    Measure(
        "one_error", "one-error", "Share of rows whose highest score is of a false label.",
        "down", "scores", ranking.one_error, ranking.one_error_rows,
    ),
    Measure(
        "coverage", "coverage", "Labels to take, highest first, until all true ones are there.",
        "down", "scores", ranking.coverage, ranking.coverage_rows,
    ),
)  # fmt: skip

MEASURES = {measure.name: measure for measure in _ALL}


def find(name: str) -> Measure:
    """Return the measure of that name."""
    if name not in MEASURES:
        raise ValueError(f"there is no measure {name!r}: choose from {', '.join(MEASURES)}")
    return MEASURES[name]


def value_of(totals: Floats) -> Floats:
    """Return points gained divided by points possible, of sums of shape (..., 2, L).

    Ratios of several labels are averaged over the labels that have one.
    """
    ratios = divide(totals[..., 0, :], totals[..., 1, :])
    defined = ~np.isnan(ratios)
    return divide(np.where(defined, ratios, 0.0).sum(axis=-1), defined.sum(axis=-1))


def summary(Y: ArrayLike, scores: ArrayLike) -> dict[str, float]:
    """Return all measures as a dict from name to number.

    Parameters
    ----------
    Y : array of shape (n, K)
        True labels 0 or 1, NaN where unknown.
    scores : array of shape (n, K)
        Raw scores; labels are decided by ``scores >= 0.5``.

    Returns
    -------
    dict
        One number per name in `MEASURES`; NaN where a measure is not defined.

    Examples
    --------
    >>> numbers = summary([[1, 0], [1, 1]], [[0.9, 0.2], [0.4, 0.7]])
    >>> numbers["pa"], numbers["coverage"]
    (0.75, 1.5)
    """
    return {name: measure(Y, scores) for name, measure in MEASURES.items()}
