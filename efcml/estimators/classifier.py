"""EFCMLClassifier: the scikit-learn face of the learner. Its parameters are in model/params.py."""

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from efcml.estimators.engine_face import EngineFace
from efcml.estimators.known_columns import is_warming_up
from efcml.estimators.sample_weights import refuse_keywords, weigh_rows
from efcml.estimators.targets import one_row
from efcml.explain import (
    Explanation,
    RuleList,
    Trust,
    count_effective,
    explain_row,
    read_activations,
    read_rules,
    read_trust,
)
from efcml.model.params import Parameters
from efcml.support.declared import other, printed, with_parameters
from efcml.support.guard import one_at_a_time

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats, TableLike

RULES_SHOWN = 10  # below the parameters, in a notebook
SEED = "int, RandomState instance or None"
UNUSED_SEED = (
    SEED,
    "Accepted for the sake of tools that set it. The method draws no random numbers.",
)


@with_parameters
class EFCMLClassifier(EngineFace, Parameters):
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

    random_state: Any = other(*UNUSED_SEED, default=None)

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return a classifier with every formula as printed; keywords override single parameters.

        A rule whose weights run away (the printed step length and penalty do that) stops its
        proximal steps, with one warning.
        """
        return cls(**(printed(cls) | changes))

    def _new_learner(self, n_features: int, n_labels: int) -> "Learner":
        from efcml.model.learner import Learner  # not above: it loads numba

        return Learner(self._params(), n_features, n_labels)

    # -- learning ---------------------------------------------------------------------------

    @one_at_a_time
    def fit(
        self,
        X: "TableLike",
        y: "TableLike",
        sample_weight: "ArrayLike | None" = None,
        **refused: Any,
    ) -> Self:
        """Learn an initial batch from nothing.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Finite features, or NaN where one is missing.
        y : array-like of shape (n, K), or (n,) for one binary label
            0 or 1; NaN is an unknown label (2-D only). May be sparse.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; 1 if not given. It multiplies the activation in all planes
            and the share of a row in the Gaussian that it moves, and counts in remembered rows and
            caution, so that 2 is almost as if the row came twice. A row of weight 0 is left out.
            Scale, the choice of a prior, what last rows say of the next, and what errors teach of
            labels together, probabilities and thresholds take the other rows alike.
        **refused
            Anything else is refused.
        """
        refuse_keywords(refused)
        return self._fit(X, y, sample_weight)

    @one_at_a_time
    def partial_fit(
        self,
        X: "TableLike",
        y: "TableLike",
        classes: "ArrayLike | None" = None,
        sample_weight: "ArrayLike | None" = None,
        **refused: Any,
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
        sample_weight : array-like of shape (n,), optional
            As in `fit`; a row of weight 0 counts as one without labels. There must be rules.
        """
        if sample_weight is None:
            return super().partial_fit(X, y, classes, **refused)
        refuse_keywords(refused)
        if not hasattr(self, "learner_") or is_warming_up(self.learner_):
            raise ValueError(
                "sample_weight needs rules: call fit first, or learn warmup_rows rows."
            )
        learner, X, Y = self.begin_stream(X, y, classes)
        weights = weigh_rows(Y, sample_weight)
        learner.learn(X, Y, None, weights)
        return self

    # -- reading ----------------------------------------------------------------------------

    @property
    def rules_(self) -> RuleList:
        """The rules now, by what they decide, to be read or printed: a `RuleList`."""
        _, labels = self.column_names()
        return read_rules(self.learner_, None, labels, self._column_kinds())

    def activations(self, X: "TableLike") -> "Floats":
        """Return how much each rule has to say about each row: (n, rules), rows sum to 1.

        The answer of the rules is the sum of their planes by these shares. Rules are in the order
        of `rules_`. Before there are rules this is refused.

        Parameters
        ----------
        X : array-like of shape (n, p)
            As in `predict`.

        Examples
        --------
        >>> from efcml import EFCMLClassifier, datasets
        >>> ds = datasets.load("drifting-clusters", n=200, n_initial=150)
        >>> clf = EFCMLClassifier(prior=1.0).fit(*ds.initial)
        >>> clf.activations(ds.X[:3]).sum(axis=1).round(6).tolist()
        [1.0, 1.0, 1.0]
        """
        return read_activations(*self._to_read(X))

    def effective_rules(self, X: "TableLike") -> "Floats":
        """Return how many rules share each answer (n,): exp of the entropy of `activations`.

        1 if one rule decides alone, and the number of rules if all have the same say.
        """
        return count_effective(self.activations(X))

    def trust(self, X: "TableLike") -> Trust:
        """Return how far the rules, as they are read, decide as the model does: a `Trust`.

        `rules_` prints the same for the rows that the model remembers. Those it has learned; rows
        that it has not seen tell more.
        """
        return read_trust(*self._to_read(X), self._column_kinds())

    def _to_read(self, X: "TableLike") -> "tuple[Learner, Floats]":
        """Return the learner and checked rows; refuse a model that has no rules yet."""
        X = self.check_features(X)
        if not self.learner_.fitted:
            raise ValueError(
                "there are no rules yet: they come when warmup_rows rows are learned, or with fit."
            )
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
        x = one_row(x, "x")
        checker = self
        if not hasattr(x, "columns") and hasattr(self, "feature_names_in_"):
            checker = copy(self)  # without names: scikit-learn would warn that the row has none
            del checker.feature_names_in_
        x = checker.check_features(x)
        given = None if known is None else self._check_known(one_row(known, "known"), 1)
        _, labels = self.column_names()
        return explain_row(self.learner_, x, None, labels, self._column_kinds(), given)

    def _rules_html(self) -> str:
        return self.rules_.to_html(RULES_SHOWN) if hasattr(self, "learner_") else ""

    # scikit-learn shows its estimators with one or the other, depending on the program.
    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._rules_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._rules_html()
        return bundle
