"""Online active learning: which labels of a stream are worth asking for, within a budget."""

from typing import TYPE_CHECKING

from efcml.support.imports import lazy_names

if TYPE_CHECKING:
    from efcml.active.active_learner import ActiveLearner
    from efcml.active.questions import Question

__all__ = ["ActiveLearner", "Question"]

_HOMES = {
    "ActiveLearner": "efcml.active.active_learner",
    "Question": "efcml.active.questions",
}

# Not at once: the command line reads the criteria, and the rest loads numba.
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
