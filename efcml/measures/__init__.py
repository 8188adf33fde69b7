"""Measures of multi-label predictions: over all rows, by row, and along a stream.

Each is declared once, by what every row adds to two sums: points, divided by points possible; the
calibration error alone makes something else of its sums. A label that is NaN in Y is unknown: it
counts neither as right nor as wrong, and takes no part in the ranking of its row. docs/measures.md
lists definitions and conventions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from efcml.support.aliases import Array, Bools, Floats, Ints
from efcml.support.checks import check_whole
from efcml.support.masks import densify, fill_mask, refuse_mask
from efcml.support.statistics import squash

__all__ = ["MEASURES", "THRESHOLD", "Measure", "average_precision", "brier_score"]
__all__ += ["calibration_error", "coverage", "example_f1", "find", "log_loss", "macro_f1"]
__all__ += ["micro_f1", "one_error", "partial_accuracy", "ranking_loss", "reliability"]
__all__ += ["subset_accuracy", "summary", "trend"]

Counts: TypeAlias = tuple[Array, Array]  # points of every row, and points possible
Function: TypeAlias = Callable[[ArrayLike, ArrayLike], float]
Counting: TypeAlias = Callable[[Floats, Floats], Counts | Array]
ValueOf: TypeAlias = Callable[[Floats], Floats]

THRESHOLD = 0.5  # for raw scores; whoever has decisions gives these, with ready=True
BINS = 10  # of equal width, for the calibration error and its picture
COUNT = "count like others"  # rows without true labels
SMALLEST = float(np.finfo(np.float64).eps)  # a probability of 0 would cost infinitely much


def divide(total: Array, count: Array) -> Floats:
    """Divide, with NaN where the count is 0."""
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)


def value_of(totals: Floats) -> Floats:
    """Return points / points possible, of sums of shape (..., 2, L): the mean of L ratios."""
    ratios = divide(totals[..., 0, :], totals[..., 1, :])
    defined = ~np.isnan(ratios)
    return divide(np.where(defined, ratios, 0.0).sum(axis=-1), defined.sum(axis=-1))


def error_of_bins(totals: Floats) -> Floats:
    """Return the calibration error of sums of gaps and counts by bin, of shape (..., 2, BINS)."""
    return divide(np.abs(totals[..., 0, :]).sum(axis=-1), totals[..., 1, :].sum(axis=-1))


@dataclass(frozen=True)
class Measure:
    """A measure by name. Call it with Y and raw scores.

    Labels are decided by ``scores >= 0.5``, and probabilities are scores whose ends are bent into
    [0, 1]. A model that has decisions or probabilities of its own gives what the measure takes,
    with ``ready=True``. ``counts(Y, predicted)`` gives the points of every row and the points
    possible, of shape (n,) or (n, L); or, for a mean over rows, one value per row, NaN where it
    has none. ``value_of(totals)`` gives the measure of sums of counts, of shape (..., 2, L).
    """

    name: str
    title: str  # for readers
    meaning: str  # its definition in one sentence
    better: str  # "up" or "down"
    takes: str  # "labels", "scores" or "probabilities": what `counts` takes besides Y
    counts: Counting
    value_of: ValueOf = value_of
    empty: str = ""  # what becomes of rows without true labels
    unit: str = "points"  # of differences; points are hundredths

    @property
    def scale(self) -> float:
        """How many units a difference of 1 has."""
        return 100.0 if self.unit == "points" else 1.0

    def __call__(self, Y: ArrayLike, predicted: ArrayLike, *, ready: bool = False) -> float:
        """Return the measure over all rows; NaN if no row has it."""
        return float(self.value_of(self.tallies(Y, predicted, ready=ready).sum(axis=0)))

    def rows(self, Y: ArrayLike, predicted: ArrayLike, *, ready: bool = False) -> Floats:
        """Return the measure of every row by itself; NaN where a row has none."""
        return self.value_of(self.tallies(Y, predicted, ready=ready))

    def tallies(self, Y: ArrayLike, predicted: ArrayLike, *, ready: bool = False) -> Floats:
        """Return what every row adds to both sums, of shape (n, 2, L)."""
        Y, predicted = check_pair(Y, predicted, self.takes if ready else "scores")
        if not ready and self.takes == "labels":
            predicted = (predicted >= THRESHOLD).astype(np.float64)
        if not ready and self.takes == "probabilities":
            predicted = squash(predicted)
        both = self.counts(Y, predicted)
        if not isinstance(both, tuple):  # values of rows
            both = np.where(np.isnan(both), 0.0, both), ~np.isnan(both)
        return np.stack([part.reshape(len(Y), -1) for part in both], axis=1, dtype=np.float64)


MEASURES: dict[str, Measure] = {}


def find(name: str) -> Measure:
    """Return the measure of that name."""
    if name not in MEASURES:
        raise ValueError(f"there is no measure {name!r}: choose from {', '.join(MEASURES)}")
    return MEASURES[name]


def summary(Y: ArrayLike, scores: ArrayLike) -> dict[str, float]:
    """Return all measures of raw scores by their names in `MEASURES`; NaN where not defined.

    Examples
    --------
    >>> numbers = summary([[1, 0], [1, 1]], [[0.9, 0.2], [0.4, 0.7]])
    >>> numbers["pa"], numbers["coverage"]
    (0.75, 1.5)
    """
    return {name: measure(Y, scores) for name, measure in MEASURES.items()}


def check_pair(Y: ArrayLike, predicted: ArrayLike, what: str) -> tuple[Floats, Floats]:
    """Return Y and predictions as floats; `what` is "labels", "scores" or "probabilities"."""
    Y = np.asarray(fill_mask(densify(Y)), dtype=np.float64)
    predicted = np.asarray(refuse_mask(densify(predicted), what), dtype=np.float64)
    if Y.ndim != 2 or Y.shape != predicted.shape or Y.size == 0:
        raise ValueError(
            f"Y has shape {Y.shape} and {what} {predicted.shape}: give two tables of equal shape, "
            "at least one row and one label"
        )
    _refuse(Y, (Y == 0) | (Y == 1) | np.isnan(Y), "Y", "labels are 0, 1, or NaN where unknown")
    right, advice = ~np.isnan(predicted), "give a number for every label"
    if what == "labels":
        right, advice = np.isin(predicted, (0, 1)), "give decisions 0 or 1, such as scores >= 0.5"
    elif what == "probabilities":
        right, advice = (predicted >= 0) & (predicted <= 1), "give a number from 0 to 1"
    _refuse(predicted, right, what, advice)
    return Y, predicted


def _refuse(table: Floats, right: Bools, what: str, advice: str) -> None:
    if not right.all():
        row, column = np.argwhere(~right)[0]
        raise ValueError(f"{what}[{row}, {column}] is {table[row, column]:g}: {advice}")


# -- the measures: functions of Y and what they take, tables of shape (n, K) -----------------


def declare(
    name: str, title: str, better: str, takes: str, empty: str = COUNT, **more: Any
) -> Callable[[Counting], Function]:
    """List a measure in `MEASURES`, and make its function of its counts and their docstring."""

    def make(counts: Counting) -> Function:
        doc = counts.__doc__ or ""
        found = Measure(name, title, doc, better, takes, counts, empty=empty, **more)
        MEASURES[name] = found

        def function(Y: ArrayLike, predicted: ArrayLike) -> float:
            return found(Y, predicted, ready=True)

        function.__name__ = function.__qualname__ = counts.__name__
        function.__doc__ = doc
        return function

    return make


@declare("pa", "partial accuracy", "up", "labels")
def partial_accuracy(Y: Floats, labels: Floats) -> Counts:
    """Share of known labels that are decided right: 1 - Hamming loss."""
    return (Y == labels).sum(axis=1), count_known(Y)


@declare("ap", "average precision", "up", "scores", "left out")
def average_precision(Y: Floats, scores: Floats) -> Array:
    """Mean over the true labels of (true labels / all labels) scored at least as high, by row."""
    true = Y == 1
    shares = rank_among(true, scores) / rank_among(~np.isnan(Y), scores)
    return divide(shares.sum(axis=1, where=true), true.sum(axis=1))


@declare("subset_accuracy", "subset accuracy", "up", "labels")
def subset_accuracy(Y: Floats, labels: Floats) -> Array:
    """Share of rows with every known label right."""
    known = count_known(Y)
    return np.where(known > 0, (Y == labels).sum(axis=1) == known, np.nan)


@declare("example_f1", "example-based F1", "up", "labels", "1 if nothing is predicted, else 0")
def example_f1(Y: Floats, labels: Floats) -> Array:
    """F1 of the labels of a row, 2 hits / (true + predicted labels), by row."""
    points, sizes = (count.sum(axis=1) for count in count_hits(Y, labels))
    return np.where(count_known(Y) > 0, np.where(sizes > 0, divide(points, sizes), 1.0), np.nan)


@declare("micro_f1", "micro F1", "up", "labels", "add their wrong predictions")
def micro_f1(Y: Floats, labels: Floats) -> Counts:
    """F1 of all decisions together: 2 hits / (true + predicted labels)."""
    points, sizes = count_hits(Y, labels)
    return points.sum(axis=1), sizes.sum(axis=1)


@declare("macro_f1", "macro F1", "up", "labels", "add their wrong predictions")
def macro_f1(Y: Floats, labels: Floats) -> Counts:
    """F1 of the rows of a label, averaged over the labels that are ever true or predicted."""
    return count_hits(Y, labels)


@declare("ranking_loss", "ranking loss", "down", "scores", "left out, also without false labels")
def ranking_loss(Y: Floats, scores: Floats) -> Array:
    """Share of pairs of a true and a false label, the latter scored at least as high, by row."""
    true, false = Y == 1, Y == 0
    wrong = rank_among(true | false, scores) - rank_among(true, scores)
    return divide(wrong.sum(axis=1, where=true), true.sum(axis=1) * false.sum(axis=1))


@declare("one_error", "one-error", "down", "scores", "left out")
def one_error(Y: Floats, scores: Floats) -> Array:
    """Share of rows in which a false label is scored at least as high as every true one."""
    true, false = Y == 1, Y == 0
    best, worse = (scores.max(axis=1, where=part, initial=-np.inf) for part in (true, false))
    return np.where(true.any(axis=1), false.any(axis=1) & (worse >= best), np.nan)


@declare("coverage", "coverage", "down", "scores", "left out", unit="labels")
def coverage(Y: Floats, scores: Floats) -> Array:
    """Labels to take, highest score first, until all true ones are there, by row."""
    lowest = scores.min(axis=1, where=Y == 1, initial=np.inf, keepdims=True)
    taken = ((scores >= lowest) & ~np.isnan(Y)).sum(axis=1)
    return np.where((Y == 1).any(axis=1), taken, np.nan)


@declare("log_loss", "log loss", "down", "probabilities", unit="nats")
def log_loss(Y: Floats, probabilities: Floats) -> Counts:
    """Minus the logarithm of the probability that the truth had, mean over known labels."""
    inside = np.clip(probabilities, SMALLEST, 1.0 - SMALLEST)
    losses = np.where(Y == 1, -np.log(inside), -np.log1p(-inside))
    return np.where(np.isnan(Y), 0.0, losses).sum(axis=1), count_known(Y)


@declare("brier_score", "Brier score", "down", "probabilities")
def brier_score(Y: Floats, probabilities: Floats) -> Counts:
    """Squared difference of probability and truth, mean over known labels."""
    return np.nansum((probabilities - Y) ** 2, axis=1), count_known(Y)


@declare("calibration_error", "calibration error", "down", "probabilities", value_of=error_of_bins)
def calibration_error(Y: Floats, probabilities: Floats) -> Counts:
    """Gap of mean probability and share of true labels in ten bins, weighed by labels (ECE)."""
    bins, known = bin_of(probabilities), ~np.isnan(Y)
    inside = [(bins == one) & known for one in range(BINS)]
    gaps = [(probabilities - Y).sum(axis=1, where=part) for part in inside]
    return np.stack(gaps, axis=1), np.stack([part.sum(axis=1) for part in inside], axis=1)


def reliability(Y: ArrayLike, probabilities: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return what was said and what happened in the ten bins of `calibration_error`.

    Mean probability, share of true labels, and number of labels in every bin; NaN where a bin is
    empty. `efcml.plots.draw_reliability` draws it.

    Examples
    --------
    >>> said, happened, counts = reliability([[1, 0], [1, 0]], [[0.75, 0.75], [0.75, 0.0]])
    >>> float(said[7]), round(float(happened[7]), 2), float(counts[7])
    (0.75, 0.67, 3.0)
    """
    Y, probabilities = check_pair(Y, probabilities, "probabilities")
    known = ~np.isnan(Y)
    bins = bin_of(probabilities)[known]
    counts, sums, true = (
        np.bincount(bins, weights, BINS) for weights in (None, probabilities[known], Y[known])
    )
    return divide(sums, counts), divide(true, counts), counts.astype(np.float64)


def count_known(Y: Floats) -> Ints:
    """Return the number of known labels of every row."""
    return (~np.isnan(Y)).sum(axis=1)


def count_hits(Y: Floats, labels: Floats) -> Counts:
    """Return two tables: 2 where true and predicted, else 0; and true plus predicted."""
    true, predicted = Y == 1, (labels == 1) & ~np.isnan(Y)
    return 2 * (true & predicted).astype(np.int8), np.add(true, predicted, dtype=np.int8)


def bin_of(probabilities: Floats) -> Ints:
    """Return the number of the bin of every probability; 1 is in the last one."""
    return np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)


def rank_among(labels: Bools, scores: Floats) -> Floats:
    """Return how many of these labels of its row are scored at least as high as each of them."""
    from scipy.stats import rankdata  # not above: it takes a second to load

    finite = np.nan_to_num(-scores)  # below the infinity of labels that do not count
    return rankdata(np.where(labels, finite, np.inf), method="max", axis=1)


# -- along a stream: one value per row --------------------------------------------------------


def trend(
    Y: ArrayLike,
    scores: ArrayLike,
    measure: str = "pa",
    window: int | None = None,
    *,
    ready: bool = False,
) -> Floats:
    """Return a measure up to each row: over all rows so far, or over the last ``window``.

    It is NaN where no such row has the measure. ``ready`` says that ``scores`` are what the measure
    takes, such as a model's own decisions.

    Examples
    --------
    >>> trend([[1], [1], [0], [0]], [[0.0], [0.9], [0.2], [0.1]], window=2)
    array([0. , 0.5, 1. , 1. ])
    """
    found = find(measure)
    tallies = found.tallies(Y, scores, ready=ready)
    if window is None:
        return found.value_of(np.cumsum(tallies, axis=0))
    check_whole("window", window, least=1)
    blank = np.zeros((min(window, len(tallies)), *tallies.shape[1:]))
    sums = np.cumsum(np.concatenate([blank, tallies]), axis=0)
    return found.value_of(sums[len(blank) :] - sums[: -len(blank)])
