"""Test-then-train: every row is predicted, scored, then learned, in one pass."""

from efcml.evaluation.prequential_result import PrequentialResult
from efcml.evaluation.stream_pass import prequential

__all__ = ["PrequentialResult", "prequential"]
