"""Choose vigilance, alpha and beta by cross-validation on an initial part of the data."""

from efcml.tuning.grid import PAPER_GRID, SHORT_GRID, Grid
from efcml.tuning.search import SearchInterrupted, tune
from efcml.tuning.tuning_result import TuningResult

__all__ = ["PAPER_GRID", "SHORT_GRID", "Grid", "SearchInterrupted", "TuningResult", "tune"]
