"""What all estimators share: they check, name and convert, and hand arrays to a learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from efcml.estimators.answering import answer_checked
from efcml.estimators.features import check_table
from efcml.estimators.known_columns import (
    find_groups,
    is_warming_up,
    kinds_of_columns,
    rows_to_fit,
)
from efcml.estimators.light import LightBase, take_bases
from efcml.estimators.sample_weights import refuse_keywords, weigh_rows
from efcml.estimators.targets import (
    as_array,
    column_names,
    is_flat,
    read_binary,
    read_known,
    read_labels,
)
from efcml.explain import ColumnKinds, find_flags
from efcml.support.checks import check_whole
from efcml.support.guard import one_at_a_time
from efcml.support.interrupts import interrupts_held

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.model.labels import Answer
    from efcml.support.aliases import Array, Bools, Floats, Names, TableLike


@take_bases
class MultiLabelFace(LightBase):
    """A scikit-learn estimator in front of a learner, which trusts its arrays.

    A subclass has an ``__init__`` and a method ``_new_learner(n_features, n_labels)``, which reads
    the parameters and returns an empty learner. A learner has ``fit``, ``learn``, ``score``,
    ``copy`` and ``n_rules``, as `efcml.model.learner.Learner` does.
    """

    learner_: Any
    n_features_in_: int
    label_names_: Array
    _binary: bool  # whether y was 1-D
    _pair: Any  # then its classes, else None
    _encoding: Any  # of the categories of a data frame, only then
    _flags: Bools  # columns of the learner that held 0 and 1 alone in the rows that were fitted
    _groups: Mapping[
        str, tuple[int, ...]
    ]  # columns of the learner that were said to belong together
    _new_learner: Callable[[int, int], Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    @property
    def classes_(self) -> Array:
        """Label indices 0..K-1; for 1-D targets the two class labels."""
        return self._pair if self._binary else np.arange(self.learner_.n_labels)

    # -- learning ---------------------------------------------------------------------------

    @one_at_a_time
    def fit(self, X: TableLike, y: TableLike, **refused: Any) -> Self:
        """Learn an initial batch from nothing.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Features; finite, but `EFCMLClassifier`, `OneVsRestEFC` and `ChainEFC` take NaN for a
            missing value.
        y : array-like of shape (n, K), or (n,) for one binary label
            0 or 1; NaN is an unknown label (2-D only). May be sparse.
        **refused
            Anything else, such as sample_weight, is refused.
        """
        refuse_keywords(refused)
        return self._fit(X, y)

    def _fit(self, X: TableLike, y: TableLike, sample_weight: Any = None) -> Self:
        with self._no_trace_of_errors():
            X, Y, classes, flat = self._check_rows(X, y, reset=True)
            weights = () if sample_weight is None else (weigh_rows(Y, sample_weight),)
            if np.isnan(Y).all():
                weighed = ", in a row of weight above zero" if weights else ""
                raise ValueError(
                    f"y has no known label: at least one must be 0 or 1, not NaN{weighed}."
                )
            learner = self._new_learner(X.shape[1], Y.shape[1]).fit(X, Y, *weights)
            self._remember(y, classes, flat, learner)
            self._flags = find_flags(X[~np.isnan(Y).all(axis=1)])
        return self

    @one_at_a_time
    def partial_fit(
        self, X: TableLike, y: TableLike, classes: ArrayLike | None = None, **refused: Any
    ) -> Self:
        """Learn rows of a stream in order; any split into calls gives the same state.

        Without ``fit`` before, the first ``warmup_rows`` labelled rows are held. Label
        frequencies answer, and more and more what similar rows had, as far as that is better; then
        they are fitted. Parameters are read at the first call only.

        Parameters
        ----------
        X, y, **refused
            As in `fit`.
        classes : array-like, optional
            For a 1-D ``y`` the two class labels, needed at the first call if ``y`` does not show
            both and is not 0/1. For a 2-D ``y`` its length must be the number of labels.
        """
        refuse_keywords(refused)
        learner, X, Y = self.begin_stream(X, y, classes)
        learner.learn(X, Y)
        return self

    @one_at_a_time
    def begin_stream(
        self, X: TableLike, y: TableLike, classes: ArrayLike | None = None, *, learn: bool = True
    ) -> tuple[Any, Floats, Floats]:
        """Check rows once and return ``(learner, X, Y)``, ready for the learner's own loop.

        A new classifier is made ready to learn, unless ``learn`` is false: then it is refused.
        """
        if not learn:
            self._check_fitted()
        fresh = not hasattr(self, "learner_")
        with self._no_trace_of_errors():
            X, Y, found, flat = self._check_rows(X, y, reset=fresh, classes=classes)
            if fresh:
                learner = self._new_learner(X.shape[1], Y.shape[1])
                self._remember(y, found, flat, learner)
        if learn and is_warming_up(self.learner_):
            self._flags = self._flags & find_flags(X[rows_to_fit(self.learner_, Y)])
        return self.learner_, X, Y

    @one_at_a_time
    def check_features(self, X: TableLike) -> Floats:
        """Return rows without labels, checked as in `predict`, as floats for the learner."""
        self._check_fitted()
        return check_table(self, X, reset=False)

    @one_at_a_time
    def check_labels(self, y: TableLike, n_rows: int) -> Floats:
        """Return the labels of so many rows, checked as in `partial_fit`, as floats (n, K)."""
        self._check_fitted()
        y, flat = self._check_target(y, n_rows, reset=False)
        return (read_binary if flat else read_labels)(y, self.classes_, None)[0]

    @one_at_a_time
    def name_columns(
        self,
        feature_names: Names = None,
        label_names: Names = None,
        groups: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """Name the columns of a model that was fitted with arrays, as data frames would have done.

        Parameters
        ----------
        feature_names, label_names : sequence of str, optional
            One for each feature and each label, no name twice. Data frames must have these names
            from then on; arrays are taken as before.
        groups : mapping of str to sequence of str, optional
            Names of columns of 0 and 1 that are the values of one thing, by its name, such as
            ``{"machine": ["on_lathe", "on_mill"]}``. Columns that share the beginning of their
            names, as ``machine_A`` and ``machine_B``, are found without it.

        Returns
        -------
        self

        Examples
        --------
        >>> from efcml import EFCMLClassifier
        >>> clf = EFCMLClassifier().fit([[1.0], [2.0]], [[0, 1], [1, 1]])
        >>> clf.name_columns(["tempo"], ["happy", "calm"]).label_names_.tolist()
        ['happy', 'calm']
        """
        self._check_fitted()
        counts = {"feature": self.n_features_in_, "label": self.learner_.n_labels}
        pairs = {"feature": feature_names, "label": label_names}.items()
        given = {kind: [str(name) for name in names] for kind, names in pairs if names is not None}
        for kind, names in given.items():
            if len(names) != counts[kind] or len(set(names)) != len(names):
                raise ValueError(f"{kind}_names must be {counts[kind]} different names.")
        with self._no_trace_of_errors():
            for kind, names in given.items():
                attribute = {"feature": "feature_names_in_", "label": "label_names_"}[kind]
                setattr(self, attribute, np.array(names, dtype=object))
            if "feature" in given:
                self._named_later = True
            if groups is not None:
                self._groups = find_groups(groups, self._column_kinds())
        return self

    def _column_kinds(self) -> ColumnKinds:
        return kinds_of_columns(self)

    @one_at_a_time
    def add_labels(self, labels: int | Sequence[str]) -> Self:
        """Take in labels that appear late; every row so far counts as not having them.

        Parameters
        ----------
        labels : int, or sequence of str
            How many; or their names, if the model knows the names of its labels. They follow the
            labels that are there.

        Returns
        -------
        self

        Examples
        --------
        >>> from efcml import EFCMLClassifier
        >>> clf = EFCMLClassifier().fit([[1.0], [2.0]], [[0, 1], [1, 1]])
        >>> clf.add_labels(1).partial_fit([[1.5]], [[0, 1, 1]]).predict([[9.0]]).shape
        (1, 3)
        """
        self._check_fitted()
        if self._binary:
            raise ValueError("a model of a 1-D y has one label; fit a 2-D y to have more.")
        names, given = getattr(self, "label_names_", None), cast(Any, labels)
        if names is None:
            check_whole("labels, for a model without names of labels,", labels, least=1)
        else:
            new = list(given) if np.ndim(labels) == 1 else []
            words = all(isinstance(name, str) for name in new)
            if not new or not words or len({*names, *new}) < len(names) + len(new):
                raise ValueError(f"labels must be a list of new names, each once; got {labels!r}.")
        with interrupts_held():
            self.learner_.add_labels(int(given) if names is None else len(new))
            if names is not None:
                self.label_names_ = np.array([*names, *new], dtype=object)
        return self

    @contextmanager
    def _no_trace_of_errors(self) -> Iterator[None]:
        """Put all attributes back if the block raises: a refused call changes nothing."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _remember(self, y: TableLike, classes: Array, flat: bool, learner: Any) -> None:
        self._binary = flat
        self._pair = classes if flat else None
        self.learner_ = learner
        self._flags, self._groups = np.ones(learner.n_features, dtype=bool), {}
        vars(self).pop("label_names_", None)
        if hasattr(y, "columns"):
            self.label_names_ = column_names(y)

    def _check_fitted(self) -> None:
        if not hasattr(self, "learner_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "learner_")

    def _check_target(self, y: Any, n_rows: int, *, reset: bool) -> tuple[Array, bool]:
        """Return y as an array, and whether it is a single binary target."""
        names = column_names(y)
        y = as_array(y)
        column = y.ndim == 2 and y.shape[1] == 1
        flat = self._binary if column and not reset else is_flat(y)
        if not reset and flat != self._binary:
            shape = "1-D" if self._binary else f"2-D with {len(self.classes_)} labels"
            raise ValueError(f"y must be {shape}, as in the first call; got shape {y.shape}.")
        if y.ndim not in (1, 2) or 0 in y.shape[1:]:
            raise ValueError(f"y must have the shape (rows, labels) or (rows,); got {y.shape}.")
        if len(y) != n_rows:
            raise ValueError(f"X and y have inconsistent numbers of rows: {n_rows} and {len(y)}.")
        expected = names if reset else getattr(self, "label_names_", names)
        if names is not None and not np.array_equal(names, expected):
            raise ValueError(f"y must have the columns {list(expected)}, in this order.")
        return y, flat

    def _check_rows(
        self, X: Any, y: Any, *, reset: bool, classes: Any = None
    ) -> tuple[Floats, Floats, Array, bool]:
        """Return features, labels as floats, the classes, and whether the target is flat."""
        X = check_table(self, X, reset=reset)
        y, flat = self._check_target(y, len(X), reset=reset)
        known = None if reset else self.classes_
        Y, found = (read_binary if flat else read_labels)(y, known, classes)
        return X, Y, found, flat

    # -- answers ----------------------------------------------------------------------------

    @one_at_a_time
    def decision_function(self, X: TableLike, known: TableLike | None = None) -> Floats:
        """Return continuous score minus 0.5, never clipped: (n, K), or (n,) for 1-D targets.

        Parameters
        ----------
        X : array-like of shape (n, p)
        known : array-like of shape (n, K), optional
            Labels that are known already, NaN where they are not: scores of the others are those
            given these. Known labels themselves come back as -0.5 or 0.5.
        """
        if known is not None:
            return self._answer(X, known).scores - 0.5
        self._check_fitted()
        decision = self.learner_.score(check_table(self, X, reset=False)) - 0.5
        return decision[:, 0] if self._binary else decision

    def _answer(self, X: TableLike, known: TableLike | None) -> Answer:
        """Return scores, decisions and probabilities (n, K), given known labels."""
        self._check_fitted()
        rows = check_table(self, X, reset=False)
        labels = None if known is None else self._check_known(known, len(rows))
        return answer_checked(self.learner_, rows, labels, flat=self._binary)

    def _check_known(self, known: TableLike, n_rows: int) -> Floats:
        """Return labels that are known already as floats, or say what is wrong with them."""
        if self._binary or not getattr(self.learner_, "layered", False):
            what = (
                "a 1-D y has no other label" if self._binary else f"{type(self).__name__} has not"
            )
            raise ValueError(f"known needs a model that has learned labels together: {what}.")
        shape = n_rows, len(self.classes_)
        return read_known(known, shape, getattr(self, "label_names_", None))

    @one_at_a_time
    def predict(self, X: TableLike, known: TableLike | None = None) -> Array:
        """Return 0/1 labels (n, K), or class labels (n,) for 1-D targets.

        They are what ``decision_function`` is at least 0 for, unless ``decision`` asks for others.

        Parameters
        ----------
        X : array-like of shape (n, p)
        known : array-like of shape (n, K), optional
            Labels that are known already, NaN where they are not; these stay, and tell the others.
        """
        positive = self._answer(X, known).decisions == 1.0
        if self._binary:
            return self.classes_[positive[:, 0] * (len(self.classes_) - 1)]
        return positive.astype(int)

    @one_at_a_time
    def predict_proba(self, X: TableLike, known: TableLike | None = None) -> Floats:
        """Return probabilities: (n, K), or (n, 2) with rows that sum to 1 for 1-D targets.

        They are learned from what came true of the scores so far, and rise with the score. Models
        that do not learn that, all during a warm-up, and those of a 1-D target, whose likelier
        class must be the one that is predicted, bend the ends of the scores into [0, 1] instead:
        between 0.05 and 0.95 it is the score itself.

        Parameters
        ----------
        X : array-like of shape (n, p)
        known : array-like of shape (n, K), optional
            Labels that are known already, NaN where they are not; these are 0 or 1.
        """
        found = self._answer(X, known).probabilities
        if not self._binary:
            return found
        probability = found[:, 0]
        if len(self.classes_) == 1:
            return np.ones((len(probability), 1))
        return np.column_stack([1.0 - probability, probability])

    @one_at_a_time
    def score(self, X: TableLike, y: TableLike, sample_weight: ArrayLike | None = None) -> float:
        """Return partial accuracy, the share of right label decisions (1 - Hamming loss).

        Unknown labels do not count. scikit-learn's own score would be subset accuracy. For 1-D
        targets both are the accuracy.
        """
        labels = self.predict(X)
        y, flat = self._check_target(y, len(labels), reset=False)
        y = y.reshape(-1) if flat else read_labels(y, self.classes_, None)[0]
        known = np.ones(labels.shape) if flat else 1.0 - np.isnan(y)
        if sample_weight is not None:
            if np.shape(sample_weight) != labels.shape[:1]:
                raise ValueError("sample_weight must hold one number per row of X.")
            known = (known.T * np.asarray(sample_weight, dtype=float)).T
        if not known.any():
            raise ValueError("y has no known label to score: every entry is NaN or weighs 0.")
        return float(np.average(labels == y, weights=known))
