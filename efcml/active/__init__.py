"""Online active learning: which labels of a stream are worth asking for, within a budget."""

from .active_learner import ActiveLearner, Question

__all__ = ["ActiveLearner", "Question"]
