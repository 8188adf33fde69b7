"""Test-then-train: every row is predicted, scored, then learned, in one pass."""

from efcml.evaluation.result import PrequentialResult
from efcml.evaluation.run import prequential

__all__ = ["PrequentialResult", "prequential"]
