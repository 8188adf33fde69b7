"""Faces of the rule engine: estimators that take its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from efcml.estimators.base import MultiLabelFace
from efcml.estimators.seeds import read_random_state
from efcml.explain.background import names_of_labels
from efcml.model.params import Params


class EngineFace(MultiLabelFace):
    """A face whose parameters are those of the rule engine."""

    random_state: Any
    takes_gaps = True  # NaN in X is a missing feature

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _params(self) -> Params:
        if self.random_state is not None:
            read_random_state(self.random_state)
        params = Params(**{name: getattr(self, name) for name in Params.names()})
        params.check_together()
        return params

    @property
    def n_rules_(self) -> int:
        """Number of rules now; 0 while warm-up rows are held."""
        self._check_fitted()
        return self.learner_.n_rules

    def column_names(self) -> tuple[Any, Sequence[str] | None]:
        """Return the names of features and of labels, None where there are none.

        A 1-D target is called by its second class.
        """
        self._check_fitted()
        return getattr(self, "feature_names_in_", None), names_of_labels(self)
