"""All measures by name, with what a row adds to each of them.

Every measure is a sum of points divided by a sum of points possible. What a row adds to both sums
is its tally. Sums over a window, or faded sums, therefore give every measure over the recent past.
The calibration error alone makes something else of its sums; `value_of` of a measure says what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from efcml.support.probability import squash

from . import decisions, probabilities, ranking
from .label_checks import check_pair, divide

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Array, Floats

THRESHOLD = 0.5  # for raw scores; whoever has decisions gives these, with ready=True


def value_of(totals: Floats) -> Floats:
    """Return points gained divided by points possible, of sums of shape (..., 2, L).

    Ratios of several labels are averaged over the labels that have one.
    """
    ratios = divide(totals[..., 0, :], totals[..., 1, :])
    defined = ~np.isnan(ratios)
    return divide(np.where(defined, ratios, 0.0).sum(axis=-1), defined.sum(axis=-1))


@dataclass(frozen=True)
class Measure:
    """A measure by name. Call it with Y and raw scores.

    Labels are decided by ``scores >= 0.5``, and probabilities are scores whose ends are bent into
    [0, 1]. A model that has decisions or probabilities of its own gives what the measure takes,
    with ``ready=True``.

    Attributes
    ----------
    name, title : str
        Short name for code and name for readers.
    meaning : str
        One sentence.
    better : str
        "up" or "down".
    takes : str
        "labels", "scores" or "probabilities": what `function` and `row_function` take besides Y.
    function : callable
        ``function(Y, predicted)`` gives one number.
    row_function : callable or None
        ``row_function(Y, predicted)`` gives one number per row; None if the measure is no average
        over rows.
    counts : callable or None
        ``counts(Y, predicted)`` gives the points of every row and the points possible; None if they
        are the value of the row and 1.
    value_of : callable
        ``value_of(totals)`` gives the measure of sums of tallies, of shape (..., 2, L).
    definition, empty, scikit_learn, difference : str
        For docs/measures.md: the definition, what becomes of rows without true labels, the function
        of scikit-learn and how it differs.
    """

    name: str
    title: str
    meaning: str
    better: str
    takes: str
    function: Callable[[ArrayLike, ArrayLike], float]
    row_function: Callable[[ArrayLike, ArrayLike], Floats] | None
    counts: Callable[[Floats, Floats], tuple[Array, Array]] | None = None
    value_of: Callable[[Floats], Floats] = value_of
    definition: str = ""
    empty: str = ""
    scikit_learn: str = ""
    difference: str = ""

    def __call__(self, Y: ArrayLike, predicted: ArrayLike, *, ready: bool = False) -> float:
        """Return the measure over all rows, from raw scores, or from what the measure takes."""
        return self.function(*self._inputs(Y, predicted, ready))

    def rows(self, Y: ArrayLike, predicted: ArrayLike, *, ready: bool = False) -> Floats:
        """Return the measure of every row, from raw scores; NaN where a row has none."""
        if self.row_function is None:
            raise ValueError(f"{self.name} is no average over rows: use trend with a window")
        return self.row_function(*self._inputs(Y, predicted, ready))

    def tallies(self, Y: ArrayLike, predicted: ArrayLike, *, ready: bool = False) -> Floats:
        """Return what every row adds to both sums, of shape (n, 2, L).

        L is 1, for macro F1 the number of labels, for the calibration error that of its bins.
        """
        Y, predicted = self._inputs(Y, predicted, ready)
        if self.counts is not None:
            both = self.counts(Y, predicted)
        else:
            assert self.row_function is not None, "a measure has one of both"
            rows = self.row_function(Y, predicted)
            both = np.nan_to_num(rows, nan=0.0), ~np.isnan(rows)
        gained, possible = (part.reshape(len(Y), -1) for part in both)
        return np.stack((gained, possible), axis=1, dtype=np.float64)

    def _inputs(self, Y: ArrayLike, predicted: ArrayLike, ready: bool) -> tuple[Floats, Floats]:
        if ready:
            return check_pair(Y, predicted, self.takes)
        Y, scores = check_pair(Y, predicted, "scores")
        if self.takes == "labels":
            return Y, (scores >= THRESHOLD).astype(np.float64)
        return Y, squash(scores) if self.takes == "probabilities" else scores


def _all_hits(Y: Floats, labels: Floats) -> tuple[Array, Array]:
    hits, sizes = (count.sum(axis=1) for count in decisions.count_hits(Y, labels))
    return 2 * hits, sizes


def _hits_by_label(Y: Floats, labels: Floats) -> tuple[Array, Array]:
    hits, sizes = decisions.count_hits(Y, labels)
    return 2 * hits, sizes


_ALL = (
    Measure(
        "pa",
        "partial accuracy",
        "Share of right label decisions: 1 - Hamming loss.",
        "up",
        "labels",
        decisions.partial_accuracy,
        decisions.partial_accuracy_rows,
        decisions.count_right,
        definition="right decisions / known labels, over all rows together",
        empty="count like others",
        scikit_learn="`1 - hamming_loss`",
        difference="none",
    ),
    Measure(
        "ap",
        "average precision",
        "Share of true labels down to each true one, ranked by score.",
        "up",
        "scores",
        ranking.average_precision,
        ranking.average_precision_rows,
        definition="mean of: mean over `j` in `T` of (true labels with score >= `s_j`) / "
        "(all labels with score >= `s_j`)",
        empty="left out",
        scikit_learn="`label_ranking_average_precision_score`",
        difference="counts rows without labels as 1: it gives `(m ap + n - m) / n`",
    ),
    Measure(
        "subset_accuracy",
        "subset accuracy",
        "Share of rows with every label right.",
        "up",
        "labels",
        decisions.subset_accuracy,
        decisions.subset_accuracy_rows,
        definition="share of rows with `P = T`",
        empty="count like others",
        scikit_learn="`accuracy_score`",
        difference="none",
    ),
    Measure(
        "example_f1",
        "example-based F1",
        "F1 of the labels of a row, averaged over rows.",
        "up",
        "labels",
        decisions.example_f1,
        decisions.example_f1_rows,
        definition="mean of 2 |T and P| / (|T| + |P|)",
        empty="1 if nothing is predicted, else 0",
        scikit_learn='`f1_score(average="samples", zero_division=1)`',
        difference="none; the default 0 is lower by the share of rows with nothing true and "
        "nothing predicted",
    ),
    Measure(
        "micro_f1",
        "micro F1",
        "F1 of all label decisions together.",
        "up",
        "labels",
        decisions.micro_f1,
        None,
        _all_hits,
        definition="2 sum |T and P| / sum (|T| + |P|), sums over all rows",
        empty="add their wrong predictions",
        scikit_learn='`f1_score(average="micro", zero_division=np.nan)`',
        difference="none",
    ),
    Measure(
        "macro_f1",
        "macro F1",
        "F1 of the rows of a label, averaged over labels.",
        "up",
        "labels",
        decisions.macro_f1,
        None,
        _hits_by_label,
        definition="mean over the labels of: F1 of the label over all rows",
        empty="add their wrong predictions",
        scikit_learn='`f1_score(average="macro", zero_division=np.nan)`',
        difference="none; the default 0 gives `macro_f1` times (labels that count) / K",
    ),
    Measure(
        "ranking_loss",
        "ranking loss",
        "Share of pairs of a true and a false label out of order.",
        "down",
        "scores",
        ranking.ranking_loss,
        ranking.ranking_loss_rows,
        definition="mean of: share of pairs (`j` in `T`, `i` in `F`) with `s_i >= s_j`",
        empty="left out; also rows without false labels",
        scikit_learn="`label_ranking_loss`",
        difference="counts rows without a pair as 0: it gives `ranking_loss m / n`",
    ),
    Measure(
        "one_error",
        "one-error",
        "Share of rows whose highest score is of a false label.",
        "down",
        "scores",
        ranking.one_error,
        ranking.one_error_rows,
        definition="share of rows with `s_i >= s_j` for some `i` in `F` and all `j` in `T`",
        empty="left out",
        scikit_learn="none",
        difference="",
    ),
    Measure(
        "coverage",
        "coverage",
        "Labels to take, highest first, until all true ones are there.",
        "down",
        "scores",
        ranking.coverage,
        ranking.coverage_rows,
        definition="mean of: number of labels with score >= the lowest score in `T`",
        empty="left out",
        scikit_learn="`coverage_error`",
        difference="counts rows without labels as 0: it gives `coverage m / n`",
    ),
    Measure(
        "log_loss",
        "log loss",
        "Minus the logarithm of the probability that the truth had.",
        "down",
        "probabilities",
        probabilities.log_loss,
        probabilities.log_loss_rows,
        probabilities.count_log_loss,
        definition="- sum of log `p_j` over `j` in `T` and log (1 - `p_i`) over `i` in `F`, "
        "over all rows together, / known labels",
        empty="count like others",
        scikit_learn="`log_loss`, of all labels in one column",
        difference="none",
    ),
    Measure(
        "brier_score",
        "Brier score",
        "Squared difference of probability and truth.",
        "down",
        "probabilities",
        probabilities.brier_score,
        probabilities.brier_score_rows,
        probabilities.count_squares,
        definition="sum of (1 - `p_j`)^2 over `j` in `T` and `p_i`^2 over `i` in `F`, "
        "over all rows together, / known labels",
        empty="count like others",
        scikit_learn="`brier_score_loss`, of all labels in one column",
        difference="none",
    ),
    Measure(
        "calibration_error",
        "calibration error",
        "Distance of probabilities from the shares of true labels, in ten bins.",
        "down",
        "probabilities",
        probabilities.calibration_error,
        None,
        probabilities.gaps_by_bin,
        probabilities.error_of_bins,
        definition="sum over ten bins of |sum of `p` - true labels| / known labels, over all rows "
        "together",
        empty="count like others",
        scikit_learn="none; `calibration_curve` has its bins",
        difference="",
    ),
)

MEASURES = {measure.name: measure for measure in _ALL}


def find(name: str) -> Measure:
    """Return the measure of that name."""
    if name not in MEASURES:
        raise ValueError(f"there is no measure {name!r}: choose from {', '.join(MEASURES)}")
    return MEASURES[name]


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
