"""Online active learning: which labels of a stream are worth asking for, within a budget."""

from efcml.active.active_learner import ActiveLearner
from efcml.active.question import Query, Question

__all__ = ["ActiveLearner", "Query", "Question"]
