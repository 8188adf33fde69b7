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

from . import decisions, probabilities, ranking
from .decisions import *
from .incremental import Fading, Running, Sliding
from .measure_list import MEASURES, Measure, summary
from .probabilities import *
from .ranking import *
from .trends import running_mean, trend

__all__ = ["MEASURES", "Fading", "Measure", "Running", "Sliding"]
__all__ += ["running_mean", "summary", "trend"]
__all__ += decisions.__all__
__all__ += probabilities.__all__
__all__ += ranking.__all__
