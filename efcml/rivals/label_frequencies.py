"""Running label frequencies: the line that every model has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.estimators.base import MultiLabelFace
from efcml.support.guard import Guarded, one_at_a_time
from efcml.support.interrupts import interrupts_held

if TYPE_CHECKING:
    from efcml.model.trace import Trace
    from efcml.support.aliases import Floats


class FrequencyLearner(Guarded):
    """Answers with the share of ones of each label so far; 0 before a label is known."""

    n_rules = 0
    fitted = True

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.n_features = n_features
        self.n_labels = n_labels
        self.rows_seen = 0
        self.ones = np.zeros(n_labels)
        self.known = np.zeros(n_labels)

    @one_at_a_time
    def fit(self, X: Floats, Y: Floats) -> Self:
        """Count an initial batch from nothing."""
        self.rows_seen, self.ones, self.known = 0, np.zeros(self.n_labels), np.zeros(self.n_labels)
        return self.learn(X, Y)

    @one_at_a_time
    @interrupts_held()
    def learn(self, X: Floats, Y: Floats, trace: Trace | None = None) -> Self:
        """Count rows in order."""
        known = ~np.isnan(Y)
        ones = np.vstack([self.ones, np.where(known, Y, 0.0)]).cumsum(axis=0)
        count = np.vstack([self.known, known]).cumsum(axis=0)
        if trace is not None:
            trace.scores[:] = ones[:-1] / np.maximum(count[:-1], 1.0)
            trace.rules[:] = 0
        self.ones, self.known = ones[-1], count[-1]
        self.rows_seen += int(known.any(axis=1).sum())
        return self

    @one_at_a_time
    def score(self, X: Floats) -> Floats:
        """Return the frequencies, once per row."""
        return np.tile(self.ones / np.maximum(self.known, 1.0), (len(X), 1))

    @one_at_a_time
    def add_labels(self, count: int) -> None:
        """Take in labels that appear late; every row so far counts as not having them."""
        self.n_labels += count
        self.ones = np.append(self.ones, np.zeros(count))
        self.known = np.append(self.known, np.full(count, float(self.rows_seen)))

    @one_at_a_time
    def copy(self) -> FrequencyLearner:
        """Return an independent learner in the same state."""
        other = FrequencyLearner(self.n_features, self.n_labels)
        vars(other).update(vars(self))  # arrays are replaced, never written to
        return other


class LabelFrequencies(MultiLabelFace):
    """Predict every label by its running frequency, whatever the features are.

    Examples
    --------
    >>> from efcml.rivals import LabelFrequencies
    >>> clf = LabelFrequencies().fit([[0.0], [1.0]], [[1, 0], [0, 0]])
    >>> clf.predict([[5.0]])
    array([[1, 0]])
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _new_learner(self, n_features: int, n_labels: int) -> FrequencyLearner:
        return FrequencyLearner(n_features, n_labels)
