"""Measures of multi-label predictions: over all rows, by row, and along a stream.

A label that is NaN in Y is unknown: it counts neither as right nor as wrong, and takes no part in
the ranking of its row. docs/measures.md lists definitions and conventions.

>>> from efcml import measures
>>> Y, scores = [[1, 0, 0], [0, 1, 1]], [[0.9, 0.6, 0.1], [0.2, 0.8, 0.7]]
>>> measures.trend(Y, scores, "ap")
array([1., 1.])
"""

from . import measures
from .measures import *

__all__ = measures.__all__
