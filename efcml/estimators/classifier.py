"""EFCMLClassifier, and what all estimators share: they check and name what a learner gets."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, check_random_state

from efcml import explain as reading
from efcml.estimators import targets
from efcml.explain import ColumnKinds, Explanation, Group, RuleList, Trust, find_flags, name_all
from efcml.explain.background import names_of_labels
from efcml.model.params import Parameters, Params
from efcml.support.aliases import Array, Bools, Floats, Names, TableLike
from efcml.support.checks import check_whole
from efcml.support.declared import other, printed, with_parameters
from efcml.support.guard import interrupts_held, one_at_a_time
from efcml.support.statistics import UNUSED, squash

if TYPE_CHECKING:
    from efcml.model.labels import Answer
    from efcml.model.learner import Learner


@with_parameters
class MultiLabelFace(ClassifierMixin, BaseEstimator, Parameters):
    """A scikit-learn estimator in front of a learner, which trusts its arrays.

    The learner of `_new_learner` has ``fit``, ``learn``, ``answer``, ``copy`` and ``n_rules``.
    """

    random_state: Any = other("int, RandomState instance or None", default=None)
    """Seed of the order of a chain, if that is random. Nothing else is drawn at random."""

    takes_sparse = False  # whether X may be a sparse matrix

    def _new_learner(self, n_features: int, n_labels: int) -> Any:
        """Return an empty learner that has read the parameters."""
        from efcml.model.learner import Learner  # not above: numba takes a second

        return Learner(self._params(n_features), n_features, n_labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True  # a missing feature
        tags.input_tags.sparse = self.takes_sparse
        return tags

    def _params(self, n_features: int | None = None) -> Params:
        """Return the parameters, checked, also for so many features."""
        check_random_state(self.random_state)
        params = Params(**{name: getattr(self, name) for name in Params.names()})
        if n_features is not None:
            params.check_width(n_features)
        return params

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

    @property
    def classes_(self) -> "Array":
        """Label indices 0..K-1; for 1-D targets the two class labels."""
        return np.arange(self.learner_.n_labels) if self._pair is None else self._pair

    @property
    def n_rules_(self) -> int:
        """Number of rules now; 0 before the first fit."""
        return self._learned.n_rules

    # -- learning ---------------------------------------------------------------------------

    @one_at_a_time
    def fit(self, X: "TableLike", y: "TableLike", sample_weight: "ArrayLike | None" = None) -> Self:
        """Learn an initial batch from nothing.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            Finite features, or NaN where one is missing.
        y : array-like of shape (n, K), or (n,) for one binary label
            0 or 1; NaN is an unknown label (2-D only). May be sparse.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; 1 if not given. It multiplies the activation in all planes
            and the share of a row in the Gaussian that it moves, and counts in remembered rows and
            in all that errors teach. A weight of 2 is near to the row twice, not equal: scale, the
            choice of a prior and births take all rows alike. A row of weight 0 is left out.
        """
        with self._unchanged_if_refused():
            rows, Y = self._begin(X, y)
            weights = targets.read_weights(Y, sample_weight)
            if np.isnan(Y).all():
                raise ValueError(
                    "y has no known label: at least one must be 0 or 1, not NaN, in a row of weight"
                    " above zero."
                )
            self.learner_ = self._new_learner(rows.shape[1], Y.shape[1]).fit(rows, Y, weights)
        return self

    @one_at_a_time
    def partial_fit(
        self,
        X: "TableLike",
        y: "TableLike",
        classes: "ArrayLike | None" = None,
        sample_weight: "ArrayLike | None" = None,
    ) -> Self:
        """Learn rows of a stream in order; any split into calls gives the same state.

        Without ``fit`` before, the first ``warmup_rows`` labelled rows are held and answer, by
        label frequencies and by what similar rows had. They are fitted after 50 rows, and once more
        when all are there. Parameters are read at the first call only.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array-like, optional
            For a 1-D ``y`` the two class labels, needed at the first call if ``y`` does not show
            both and is not 0/1. For a 2-D ``y`` its length must be the number of labels.
        sample_weight : array-like of shape (n,), optional
            As in `fit`; a row of weight 0 counts as one without labels. Not in the warm-up.
        """
        begins = not hasattr(self, "learner_") or self.learner_.warming_up
        if sample_weight is not None and begins:
            raise ValueError(
                "sample_weight needs more rows: call fit first, or learn warmup_rows rows."
            )
        new = None if hasattr(self, "learner_") else dict(self.__dict__)
        learner, X, Y = self.begin_stream(X, y, classes)
        try:
            learner.learn(X, Y, None, targets.read_weights(Y, sample_weight))
        except BaseException:
            self.__dict__ = self.__dict__ if new is None else new
            raise
        return self

    @one_at_a_time
    def begin_stream(
        self,
        X: "TableLike",
        y: "TableLike",
        classes: "ArrayLike | None" = None,
        *,
        learn: bool = True,
    ) -> "tuple[Any, Floats, Floats]":
        """Check rows once and return ``(learner, X, Y)``, ready for the learner's own loop.

        A new classifier is made ready to learn, unless ``learn`` is false: then it is refused.
        """
        fresh = learn and not hasattr(self, "learner_")
        with self._unchanged_if_refused():
            if fresh:
                rows, Y = self._begin(X, y, classes)
                self.learner_ = self._new_learner(rows.shape[1], Y.shape[1])
            else:
                rows = self.check_features(X)
                Y = self._read_target(y, rows.shape[0], classes)[0]
        return self.learner_, rows, Y

    @one_at_a_time
    def check_features(self, X: "TableLike") -> "Floats":
        """Return rows without labels, checked as in `predict`, as floats for the learner."""
        _ = self._learned
        return targets.check_table(self, X, reset=False)

    @one_at_a_time
    def check_labels(self, y: "TableLike", n_rows: int) -> "Floats":
        """Return the labels of so many rows, checked as in `partial_fit`, as floats (n, K)."""
        _ = self._learned
        return self._read_target(y, n_rows)[0]

    def _begin(self, X: "TableLike", y: "TableLike", classes: Any = None) -> "tuple[Any, Floats]":
        """Return the first rows and labels, checked, and note classes and names."""
        rows = targets.check_table(self, X, reset=True)
        Y, self._pair = self._read_target(y, rows.shape[0], classes, reset=True)
        for name in ("label_names_", "table_"):
            self.__dict__.pop(name, None)
        if (names := targets.column_names(y)) is not None:
            self.label_names_ = names
        return rows, Y

    def _read_target(
        self, y: Any, n_rows: int, classes: Any = None, *, reset: bool = False
    ) -> "tuple[Floats, Array | None]":
        """Return the labels as floats (n, K), and the classes of a single binary target."""
        names, y = targets.column_names(y), targets.as_array(y)
        flat = y.ndim == 1 or (y.shape[1:] == (1,) and not reset and self._binary)
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
        known = None if reset else self.classes_
        if flat:
            return targets.read_binary(y, known, classes)
        return targets.read_labels(y, known, classes), None

    # -- answers ----------------------------------------------------------------------------

    @one_at_a_time
    def answer(
        self, X: "TableLike", known: "TableLike | None" = None, ahead: "ArrayLike | None" = None
    ) -> "Answer":
        """Return scores, decisions and probabilities at once, (n, K) each; see `predict`.

        A 1-D target keeps the bent score as its probability, because its likelier class must be
        the one that is predicted.
        """
        rows = self.check_features(X)
        given = self._check_known(known, rows.shape[0]), targets.read_ahead(ahead, rows.shape[0])
        answer = self.learner_.answer(rows, *given)
        return answer._replace(probabilities=squash(answer.scores)) if self._binary else answer

    def _check_known(self, known: "TableLike | None", n_rows: int) -> "Floats | None":
        """Return labels that are known already, checked as in `predict`, as floats (n, K)."""
        if known is None:
            return None
        if self._binary or not getattr(self.learner_, "layered", False):
            what = f"{type(self).__name__} has not"
            what = "a 1-D y has no other label" if self._binary else what
            raise ValueError(f"known needs a model that has learned labels together: {what}.")
        try:
            return self._read_target(known, n_rows)[0]
        except ValueError as error:
            raise ValueError(re.sub(r"\by\b", "known", str(error), count=1)) from None

    @one_at_a_time
    def decision_function(
        self, X: "TableLike", known: "TableLike | None" = None, ahead: "ArrayLike | None" = None
    ) -> "Floats":
        """Return continuous score minus 0.5, never clipped: (n, K), or (n,) for 1-D targets.

        Parameters are as in `predict`; known labels come back as -0.5 or 0.5.
        """
        decision = self.answer(X, known, ahead).scores - 0.5
        return decision[:, 0] if self._binary else decision

    @one_at_a_time
    def predict(
        self, X: "TableLike", known: "TableLike | None" = None, ahead: "ArrayLike | None" = None
    ) -> "Array":
        """Return 0/1 labels (n, K), or class labels (n,) for 1-D targets.

        They are what ``decision_function`` is at least 0 for, unless ``decision`` asks for others.
        Every row is answered as the next one of the stream, whatever comes with it.

        Parameters
        ----------
        X : array-like of shape (n, p)
        known : array-like of shape (n, K), optional
            Labels that are known already, NaN where they are not; these stay, and tell the others.
        ahead : int or array-like of shape (n,), optional
            How many rows after the next one each row comes, for a forecast: ``np.arange(n)`` if
            the rows follow each other. What the last labels tell fades with it.
        """
        positive = self.answer(X, known, ahead).decisions == 1.0
        if self._binary:
            return self.classes_[positive[:, 0] * (len(self.classes_) - 1)]
        return positive.astype(int)

    @one_at_a_time
    def predict_proba(
        self, X: "TableLike", known: "TableLike | None" = None, ahead: "ArrayLike | None" = None
    ) -> "Floats":
        """Return probabilities: (n, K), or (n, 2) with rows that sum to 1 for 1-D targets.

        They are learned from what came true of the scores so far, and rise with the score. Models
        that do not learn that, all during a warm-up, and those of a 1-D target, whose likelier
        class must be the one that is predicted, bend the ends of the scores into [0, 1] instead:
        between 0.05 and 0.95 it is the score itself. Parameters are as in `predict`.
        """
        chances = self.answer(X, known, ahead).probabilities
        if not self._binary:
            return chances
        if len(self.classes_) == 1:
            return np.ones(chances.shape)
        return np.hstack([1.0 - chances, chances])

    @one_at_a_time
    def score(
        self, X: "TableLike", y: "TableLike", sample_weight: "ArrayLike | None" = None
    ) -> float:
        """Return partial accuracy, the share of right label decisions (1 - Hamming loss).

        Unknown labels do not count, nor do rows of weight 0. scikit-learn's own score would be
        subset accuracy. For 1-D targets both are the accuracy.
        """
        decisions = self.answer(X).decisions
        Y = self._read_target(y, len(decisions))[0]
        weights = targets.read_weights(Y, sample_weight)
        known = ~np.isnan(Y)
        if not known.any():
            raise ValueError("y has no known label to score: every entry is NaN.")
        each = np.ones(len(Y)) if weights is None else weights
        right = decisions[known] == Y[known]
        return float(np.average(right, weights=np.broadcast_to(each[:, None], Y.shape)[known]))

    # -- names --------------------------------------------------------------------------------

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
        given = (
            ("label_names_", label_names, self._learned.n_labels),
            ("feature_names_in_", feature_names, self.n_features_in_),
        )
        with self._unchanged_if_refused():
            for attribute, names, count in given:
                if names is not None and not len(names) == count == len({*map(str, names)}):
                    kind = attribute.partition("_")[0]
                    raise ValueError(f"{kind}_names must be {count} different names.")
                if names is not None:
                    setattr(self, attribute, np.array([*map(str, names)], dtype=object))
        return self

    def _column_kinds(self) -> ColumnKinds:
        """Return names and kinds of the columns of the learner."""
        return column_kinds(self._learned, getattr(self, "feature_names_in_", None))

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


def column_kinds(learner: Any, given: Any) -> ColumnKinds:
    """Return names and kinds of the columns of a learner; ``given`` are the names, if there are."""
    names = name_all(given, "x", learner.n_features)
    flags, together = flags_of(learner), dict[str, list[int]]()
    for j in np.flatnonzero(flags).tolist():
        group, sign, _ = names[j].partition("=")
        together.setdefault(group if sign else names[j], []).append(j)
    groups = [
        Group(group, tuple(columns), tuple(names[j] for j in columns))
        for group, columns in together.items()
        if len(columns) > 1
    ]
    if unused := [j for j, name in enumerate(names) if name.startswith(UNUSED)]:
        groups.append(Group(UNUSED, tuple(unused), tuple(names[j] for j in unused), "rest"))
    return ColumnKinds(names, flags, tuple(groups))


@one_at_a_time
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


@with_parameters
class EFCMLClassifier(MultiLabelFace):
    """Evolving multi-label fuzzy classifier: one compact rule base, learned in a single pass.

    Rules are Gaussian clusters in the space of features and labels. They are born, updated and
    merged as samples arrive. Every rule has a hyper-plane per label; a prediction blends the planes
    of the rules that fire.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        Label indices 0..K-1; for 1-D targets the two class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    label_names_ : ndarray of str
        Columns of a label DataFrame, only then.
    rules_ : RuleList
        The rules as a person reads them; see `docs/reading.md`.
    feature_relevance_ : ndarray of shape (p,)
        What each feature tells of the labels, 1 where it begins to be more than chance; 0 for
        features that rules are not formed over.
    learner_ : Learner
        The learner behind the face, for streams that need no checks.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, datasets
    >>> ds = datasets.load("drifting-clusters")
    >>> clf = EFCMLClassifier().fit(ds.X[:100], ds.Y[:100])
    >>> clf.predict(ds.X[100:102]).shape
    (2, 5)
    >>> clf = clf.partial_fit(ds.X[100:140], ds.Y[100:140])
    """

    takes_sparse = True

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return a classifier with every formula as printed; keywords override single parameters.

        A rule whose weights run away (the printed step length and penalty do that) stops its
        proximal steps, with one warning.
        """
        return cls(**(printed(cls) | changes))

    # -- reading ----------------------------------------------------------------------------

    @property
    def rules_(self) -> RuleList:
        """The rules now, by what they decide, to be read or printed: a `RuleList`."""
        return reading.read_rules(self._learned, None, names_of_labels(self), self._column_kinds())

    @property
    def feature_relevance_(self) -> "Floats":
        """What each feature tells of the labels at the last look (p,); 0 where it does not matter.

        It is measured against features with shuffled rows: at 1 it begins to be more than chance,
        and it grows with the explained variance. Before the first look, and with
        ``relevance="off"``, all are 1. `efcml.plots.draw_relevance` draws it;
        ``clf.learner_.relevance.course`` has all looks along the stream.
        """
        return self._learned.feature_relevance

    def activations(self, X: "TableLike") -> "Floats":
        """Return how much each rule has to say about each row: (n, rules), rows sum to 1.

        The answer of the rules is the sum of their planes by these shares. Rules are in the order
        of `rules_`. Before there are rules this is refused.
        """
        return reading.read_activations(*self._to_read(X))

    def effective_rules(self, X: "TableLike") -> "Floats":
        """Return how many rules share each answer (n,): exp of the entropy of `activations`.

        1 if one rule decides alone, and the number of rules if all have the same say.
        """
        return reading.count_effective(self.activations(X))

    def trust(self, X: "TableLike") -> Trust:
        """Return how far the rules, as they are read, decide as the model does: a `Trust`.

        `rules_` prints the same for the rows that the model remembers. Those it has learned; rows
        that it has not seen tell more.
        """
        return reading.read_trust(*self._to_read(X), self._column_kinds())

    def _to_read(self, X: "TableLike") -> "tuple[Learner, Floats]":
        """Return the learner and checked rows; refuse a model that has no rules yet."""
        X = self.check_features(X)
        if not self.learner_.fitted:
            raise ValueError(reading.rules.NO_RULES)
        return self.learner_, X

    def explain(self, x: "TableLike", known: "TableLike | None" = None) -> Explanation:
        """Return why the model says what it says of one row: an `Explanation`.

        Parameters
        ----------
        x : array-like of shape (p,) or (1, p), Series, or DataFrame of one row
            The names of a Series or DataFrame must be those of the model; other rows need none.
        known : array-like of shape (K,) or (1, K), optional
            Labels that are known already, NaN where they are not, as in `predict`. The explanation
            then has what each of them adds to the others.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            row = self.check_features(targets.one_row(x, "x"))
        given = self._check_known(None if known is None else targets.one_row(known, "known"), 1)
        names, columns = names_of_labels(self), self._column_kinds()
        return reading.explain_row(self.learner_, row, None, names, columns, given)
