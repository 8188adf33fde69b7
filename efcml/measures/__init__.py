"""Measures of multi-label predictions: on average, by row, over a stream, and row by row.

A label that is NaN in Y is unknown: it counts neither as right nor as wrong, and takes no part in
the ranking of its row. docs/measures.md lists definitions and conventions.

>>> from efcml import measures
>>> Y, scores = [[1, 0, 0], [0, 1, 1]], [[0.9, 0.6, 0.1], [0.2, 0.8, 0.7]]
>>> round(measures.summary(Y, scores)["micro_f1"], 3)
0.857
>>> measures.trend(Y, scores, "ap")
array([1., 1.])
"""

from .decisions import (
    example_f1,
    example_f1_rows,
    macro_f1,
    micro_f1,
    partial_accuracy,
    partial_accuracy_rows,
    subset_accuracy,
    subset_accuracy_rows,
)
from .incremental import Fading, Running, Sliding
from .measure_list import MEASURES, Measure, summary
from .ranking import (
    average_precision,
    average_precision_rows,
    coverage,
    coverage_rows,
    one_error,
    one_error_rows,
    ranking_loss,
    ranking_loss_rows,
)
from .trends import running_mean, trend

__all__ = [
    "MEASURES",
    "Fading",
    "Measure",
    "Running",
    "Sliding",
    "average_precision",
    "average_precision_rows",
    "coverage",
    "coverage_rows",
    "example_f1",
    "example_f1_rows",
    "macro_f1",
    "micro_f1",
    "one_error",
    "one_error_rows",
    "partial_accuracy",
    "partial_accuracy_rows",
    "ranking_loss",
    "ranking_loss_rows",
    "running_mean",
    "subset_accuracy",
    "subset_accuracy_rows",
    "summary",
    "trend",
]
