"""Find out whether some values of parameters are clearly better than the default."""

from efcml.tuning.search import PAPER_GRID, SHORT_GRID, TuningResult, tune

__all__ = ["PAPER_GRID", "SHORT_GRID", "TuningResult", "tune"]
