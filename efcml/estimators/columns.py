"""Names and kinds of the columns of features and labels, and labels that come late."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from efcml.explain import ColumnKinds, Group, find_flags, name_all
from efcml.support.checks import check_whole
from efcml.support.guard import interrupts_held, one_at_a_time

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Bools, Names


class NamedColumns:
    """What an estimator knows of its columns."""

    __dict__: dict[str, Any]
    n_features_in_: int
    label_names_: "Array"
    learner_: Any
    _pair: Any  # the classes of a 1-D y, else None

    @property
    def _learned(self) -> Any:
        """The learner; before there is one, scikit-learn's error, which takes time to look."""
        if "learner_" not in self.__dict__:
            check_is_fitted(self, "learner_")
        return self.learner_

    @property
    def _binary(self) -> bool:
        """Whether y was 1-D."""
        return self._pair is not None

    @contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """Put all attributes back if the block raises: a refused call changes nothing."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    @one_at_a_time
    def name_columns(
        self,
        feature_names: "Names" = None,
        label_names: "Names" = None,
    ) -> Self:
        """Name the columns of a model that was fitted with arrays, as data frames would have done.

        Parameters
        ----------
        feature_names, label_names : sequence of str, optional
            One for each feature and each label, no name twice. Data frames must have these names
            from then on; arrays are taken as before. Columns of 0 and 1 that are called
            ``machine=A`` and ``machine=B`` are read as one thing.
        """
        n_labels = self._learned.n_labels
        with self._unchanged_if_refused():
            self._name("feature_names_in_", feature_names, self.n_features_in_)
            self._name("label_names_", label_names, n_labels)
        return self

    def _name(self, attribute: str, names: "Names", count: int) -> None:
        if names is not None:
            if len(names) != count or len({*map(str, names)}) != count:
                kind = attribute.partition("_")[0]
                raise ValueError(f"{kind}_names must be {count} different names.")
            setattr(self, attribute, np.array([*map(str, names)], dtype=object))

    def _column_kinds(self) -> ColumnKinds:
        """Return names and kinds of the columns of the learner."""
        names = name_all(getattr(self, "feature_names_in_", None), "x", self.n_features_in_)
        flags, together = flags_of(self._learned), dict[str, list[int]]()
        for j in np.flatnonzero(flags).tolist():
            group, sign, _ = names[j].partition("=")
            together.setdefault(group if sign else names[j], []).append(j)
        groups = [
            Group(group, tuple(columns), tuple(names[j] for j in columns))
            for group, columns in together.items()
            if len(columns) > 1
        ]
        return ColumnKinds(names, flags, tuple(groups))

    @one_at_a_time
    def add_labels(self, labels: int | Sequence[str]) -> Self:
        """Take in labels that appear late; every row so far counts as not having them.

        Parameters
        ----------
        labels : int, or sequence of str
            How many; or their names, if the model knows the names of its labels. They follow the
            labels that are there.
        """
        learner, names = self._learned, getattr(self, "label_names_", None)
        if self._binary:
            raise ValueError("a model of a 1-D y has one label; fit a 2-D y to have more.")
        new: list[Any] = [] if np.ndim(labels) == 0 else list(labels)  # type: ignore[arg-type]
        if names is None:
            check_whole("labels, for a model without names of labels,", labels, least=1)
        elif not new or len({*names, *new}) < len(names) + len(new) or {*map(type, new)} != {str}:
            raise ValueError(f"labels must be a list of new names, each once; got {labels!r}.")
        with interrupts_held():
            learner.add_labels(len(new) or labels)
            if names is not None:
                self.label_names_ = np.array([*names, *new], dtype=object)
        return self


def flags_of(learner: Any) -> "Bools":
    """Return which features held 0 and 1 alone in the rows that a learner remembers."""
    models, p = getattr(learner, "models", [learner]), learner.n_features
    model = next((model for model in models if model.fitted), models[0])
    if model.directions:  # looked for where single features are read
        return np.zeros(p, dtype=bool)
    if not model.fitted:
        return find_flags(np.array([x[:p] for x, _ in model.held]).reshape(-1, p))
    rows = model.latest[0]
    zero, one = model.scaler.transform(np.tile([[0.0], [1.0]], model.n_features))
    zeros, ones = np.isclose(rows, zero), np.isclose(rows, one)
    mean, scale = model.scaler.mean, model.scaler.scale
    both = zeros.any(axis=0) & ones.any(axis=0)  # a number may be 1 for long
    both |= np.isclose(scale**2, mean * (1.0 - mean))  # in the initial rows
    either = (zeros | ones | np.isnan(rows)).all(axis=0)
    return (either & both & (zero != one))[:p]  # ignored features are always 0
