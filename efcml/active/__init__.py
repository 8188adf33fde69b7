"""Online active learning: which labels of a stream are worth asking for, within a budget."""

from .active_learner import CRITERIA, ActiveLearner, Criterion, Question

__all__ = ["CRITERIA", "ActiveLearner", "Criterion", "Question"]
