"""OneVsRestEFC and ChainEFC: one single-label learner per label, on the engine of EFC-ML."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import index
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.utils.validation import check_random_state

from efcml.estimators.classifier import MultiLabelFace
from efcml.model.labels import Answer, plain_answer
from efcml.model.learner import Learner
from efcml.model.params import Params, has_own_functions
from efcml.model.trace import Trace, learn_in_blocks
from efcml.rivals import LEAST_SQUARES
from efcml.support.aliases import Floats, Ints
from efcml.support.declared import other, with_parameters
from efcml.support.guard import Guarded, changed_otherwise, one_at_a_time, whole_or_not_at_all

LABEL_STEP = 10**9  # rule u of label c has the uid c * LABEL_STEP + u in events


class PerLabelLearner(Guarded):
    """One learner per label, each with its own rules; in a chain it sees the labels before it.

    It has the interface of `efcml.model.learner.Learner` and trusts its arrays as that does. A
    block of rows goes through one label's learner after the other, so the loop over rows stays
    inside the kernels. A chain learns from the true values of the labels before, which are missing
    where they are unknown, and answers from its own hard decisions.
    """

    def __init__(
        self,
        params: Params,
        n_features: int,
        n_labels: int,
        order: "Ints | None" = None,
    ) -> None:
        if params.decision != "hamming":
            raise ValueError(
                f"decision={params.decision!r} needs a model that learns all labels together; "
                "models with one learner per label decide each alone."
            )
        params = replace(params, projection=None)  # each rule base has all features
        self.params, self.n_features, self.n_labels = params, n_features, n_labels
        self.calls_others = has_own_functions(params)
        self.chained = order is not None
        self.order = np.arange(n_labels) if order is None else order  # label of each learner
        self.models, given = [], params.relevance
        for i in range(n_labels):
            more, own = self.chained * i, params
            if more and isinstance(given, tuple):  # labels that come before are features, too
                own = replace(params, relevance=given[:n_features] + (1,) * more)
            self.models.append(Learner(own, n_features + more, 1, layered=False))

    @property
    def fitted(self) -> bool:
        """Whether every label has rules; before, label frequencies answer for the others."""
        return all(model.fitted for model in self.models)

    @property
    def warming_up(self) -> bool:
        """Whether any label still waits for its first rows."""
        return any(model.warming_up for model in self.models)

    @property
    def n_rules(self) -> int:
        """Number of rules now, over all labels."""
        return sum(model.n_rules for model in self.models)

    @one_at_a_time
    def fit(self, X: "Floats", Y: "Floats", weights: "Floats | None" = None) -> Self:
        """Learn an initial batch; a label that is never known stays in its warm-up."""
        for model, label in zip(self.models, self.order, strict=True):
            y = Y[:, [label]]
            if not np.isnan(y).all():
                model.fit(X, y, weights)
            X = np.hstack([X, y]) if self.chained else X
        changed_otherwise(self)
        return self

    @one_at_a_time
    def learn(
        self,
        X: "Floats",
        Y: "Floats",
        trace: Trace | None = None,
        weights: "Floats | None" = None,
    ) -> Self:
        """Learn rows in order; any split into calls gives the same state.

        After an error the learner is as it was before the call.
        """
        whole_or_not_at_all(self, len(Y), "_learn", X, Y, weights, trace=trace)
        for model in self.models:
            model.warn_of_divergence()
        return self

    def _learn(
        self, X: "Floats", Y: "Floats", weights: "Floats | None", trace: Trace | None = None
    ) -> None:
        learn = partial(self._learn_block, weighted=weights is not None)
        given = np.ones(len(Y)) if weights is None else weights
        learn_in_blocks(learn, X, Y, trace, 0, given)

    def _learn_block(
        self, X: "Floats", Y: "Floats", trace: Trace | None, weights: "Floats", *, weighted: bool
    ) -> None:
        """Learn rows, label by label, and note what is said of them or of those of the trace.

        In a chain both are widened: what is learned by the labels before, missing where they are
        unknown, and what is answered by the chain's decisions.
        """
        seen, parts = X if trace is None or trace.rows is None else trace.rows, []
        for model, label in zip(self.models, self.order, strict=True):
            y, part = Y[:, [label]], None
            if trace is not None:
                part = Trace.for_rows(len(X), 1)
                part.rows = None if seen is X else seen
                part.ahead, part.delay = trace.ahead, trace.delay
                parts.append(part)
            own = model.in_units(weights) if weighted else weights
            model.learn_at_once(X, y, own, 0 if trace is None else trace.delay, False, part)
            if trace is not None and part is not None:
                trace.scores[:, label] = part.scores[:, 0]
                step = int(label) * LABEL_STEP
                trace.events += [(row, kind, step + uid) for row, kind, uid in part.events]
                seen = np.hstack([seen, decide(part.scores)]) if self.chained else seen
            X = np.hstack([X, y]) if self.chained else X
        if trace is not None:
            trace.rules[:] = sum(part.rules for part in parts)
            trace.events.sort(key=lambda event: event[0])

    @one_at_a_time
    def score(self, X: "Floats", ahead: "Ints | int" = 0) -> "Floats":
        """Return the (n, K) continuous outputs of rows, each so many rows after the next one."""
        scores = np.empty((len(X), self.n_labels))
        for model, label in zip(self.models, self.order, strict=True):
            answer = model.score(X, ahead)
            scores[:, label] = answer[:, 0]
            if self.chained:
                X = np.hstack([X, decide(answer)])
        return scores

    def answer(self, X: "Floats", known: "Floats | None" = None, ahead: "Ints | int" = 0) -> Answer:
        """Return scores, and decisions and probabilities that follow from them alone."""
        return plain_answer(self.score(X, ahead), known)

    def add_labels(self, count: int) -> NoReturn:
        """Refuse: the rows so far are gone, and a new label's rules would need them."""
        raise NotImplementedError(
            "models with one learner per label cannot take in late labels: fit again with all."
        )

    @one_at_a_time
    def copy(self, into: Self | None = None) -> Self:
        """Return an independent learner in the same state, in the arrays of an older copy."""
        other = object.__new__(type(self))
        spare = [None] * len(self.models) if into is None else into.models
        models = [model.copy(old) for model, old in zip(self.models, spare, strict=True)]
        vars(other).update(vars(self), models=models)
        return other

    @classmethod
    def join(cls, models: list[Learner], order: list[int] | None) -> Self:
        """Return a learner of those of all labels, as they come from a file, or refuse them."""
        n = len(models)
        chain = None if order is None else read_order(order, n, None)
        learner = cls(models[0].params, models[0].n_features, n, chain)
        for model, new in zip(models, learner.models, strict=True):
            if (model.n_features, model.n_labels) != (new.n_features, 1):
                raise ValueError(f"the model of a label must have {new.n_features} features")
        learner.models = models
        return learner


def decide(scores: "Floats") -> "Floats":
    """Return hard labels; from .5 on, as each label of a chain is decided alone."""
    return (scores >= 0.5).astype(float)


@with_parameters
class OneVsRestEFC(MultiLabelFace):
    """One evolving fuzzy classifier per label; each knows nothing of the other labels.

    The planes are least squares alone (``correlation="none"``), as in the paper's comparison. It
    gives exactly what K classifiers with one label each would give. `n_rules_` counts the rules
    of all labels. In the events of `prequential`, rule u of label c has the uid
    ``c * 10**9 + u``. Without ``fit`` before, every label holds its own first ``warmup_rows`` rows
    in which it is known. The rules of so many rule bases are not read.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from efcml import OneVsRestEFC, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=100, n_initial=60)
    >>> clf = OneVsRestEFC(prior=1.0).fit(*ds.initial)
    >>> prequential(clf, *ds.stream).scores.shape
    (40, 5)
    """

    correlation: str = LEAST_SQUARES["correlation"]
    alpha: float = LEAST_SQUARES["alpha"]
    beta: float = LEAST_SQUARES["beta"]

    def _new_learner(self, n_features: int, n_labels: int) -> PerLabelLearner:
        return PerLabelLearner(self._params(n_features), n_features, n_labels)


@with_parameters
class ChainEFC(OneVsRestEFC):
    """A chain of evolving fuzzy classifiers: each label also sees the labels before it.

    The model of a label learns from the true labels before it and answers from the chain's own
    hard decisions. A label before that is unknown is a missing feature. All else is as in
    `OneVsRestEFC`; ``learner_.order`` is the order.

    Parameters
    ----------
    {parameters}
    """

    order: Any = other('None, sequence of int or "random"', default=None)
    """Labels in the order of the chain. None is the order of the columns."""

    def _new_learner(self, n_features: int, n_labels: int) -> PerLabelLearner:
        order = read_order(self.order, n_labels, self.random_state)
        return PerLabelLearner(self._params(n_features), n_features, n_labels, order)


def read_order(order: Any, n_labels: int, random_state: Any) -> "Ints":
    """Return the order of a chain as an array of label indices."""
    if order is None:
        return np.arange(n_labels)
    if isinstance(order, str) and order == "random":
        return check_random_state(random_state).permutation(n_labels)
    with suppress(TypeError):
        found = np.array([*map(index, order)])
        if sorted(found) == [*range(n_labels)]:
            return found
    raise ValueError(
        f"order must be None, 'random' or the labels 0..{n_labels - 1}, each once; got {order!r}."
    )
