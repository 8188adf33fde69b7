"""OneVsRestEFC and ChainEFC: one single-label learner per label, on the engine of EFC-ML."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_random_state

from efcml.estimators.classifier import SEED, UNUSED_SEED, MultiLabelFace
from efcml.explain import ColumnKinds, RuleList, name_all, read_rules
from efcml.explain.background import names_of_labels
from efcml.model.learner import Learner
from efcml.model.params import Parameters, Params
from efcml.model.trace import Trace, learn_in_blocks
from efcml.rivals.model_list import LEAST_SQUARES
from efcml.support.declared import other, with_parameters
from efcml.support.guard import Guarded, one_at_a_time
from efcml.support.states import nest, take

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, Floats, Ints, Shapes, State

LABEL_STEP = 10**9  # rule u of label c has the uid c * LABEL_STEP + u in events


class PerLabelLearner(Guarded):
    """One learner per label, each with its own rules; in a chain it sees the labels before it.

    It has the interface of `efcml.model.learner.Learner` and trusts its arrays as that does. A
    block of rows goes through one label's learner after the other, so the loop over rows stays
    inside the kernels. A chain learns from the true values of the labels before and answers from
    its own hard decisions; where a true value is unknown, the decision before it learns that row
    stands in.
    """

    def __init__(
        self,
        params: Params,
        n_features: int,
        n_labels: int,
        *,
        chained: bool = False,
        order: "Ints | None" = None,
    ) -> None:
        if params.decision != "hamming":
            raise ValueError(
                f"decision={params.decision!r} needs a model that learns all labels together; "
                "models with one learner per label decide each alone."
            )
        self.params, self.n_features, self.n_labels = params, n_features, n_labels
        self.chained = chained
        self.order = np.arange(n_labels) if order is None else order  # label of each learner
        self.models = self._new_models()

    def _new_models(self) -> list[Learner]:
        models, given = [], self.params.relevance
        for i in range(self.n_labels):
            more, params = self.chained * i, self.params
            if more and isinstance(given, tuple):  # labels that come before are features, too
                params = replace(params, relevance=given[: self.n_features] + (1,) * more)
            models.append(Learner(params, self.n_features + more, 1, layered=False))
        return models

    @property
    def fitted(self) -> bool:
        """Whether every label has rules; before, label frequencies answer for the others."""
        return all(model.fitted for model in self.models)

    @property
    def n_rules(self) -> int:
        """Number of rules now, over all labels."""
        return sum(model.n_rules for model in self.models)

    @property
    def rows_seen(self) -> int:
        """Rows learned so far, by the label that has seen most."""
        return max(model.rows_seen for model in self.models)

    # -- learning and answers ---------------------------------------------------------------

    @one_at_a_time
    def fit(self, X: "Floats", Y: "Floats", weights: "Floats | None" = None) -> Self:
        """Learn an initial batch; a label that is never known stays in its warm-up."""
        self.models = self._new_models()
        true = own = X
        for model, label in zip(self.models, self.order, strict=True):
            y = Y[:, [label]]
            if not np.isnan(y).all():
                model.fit(true, y, weights)
            if self.chained:
                decided = decide(model.score(own))
                own, true = np.hstack([own, decided]), np.hstack([true, fill_in(y, decided)])
        return self

    @one_at_a_time
    def learn(
        self,
        X: "Floats",
        Y: "Floats",
        trace: Trace | None = None,
        weights: "Floats | None" = None,
    ) -> Self:
        """Learn rows in order; any split into calls gives the same state."""
        learn_in_blocks(self._learn_block, X, Y, trace, 0, weights)
        return self

    def _learn_block(
        self, X: "Floats", Y: "Floats", trace: Trace | None, *weights: "Floats"
    ) -> None:
        # Rows that are to be scored, in a chain widened by its own decisions: those that are
        # learned, if decisions must stand in for labels; and last, those of the trace.
        unknown = self.chained and np.isnan(Y[:, self.order[:-1]]).any()
        tables = [X] if unknown else []
        if trace is not None and not (unknown and trace.rows is None):
            tables.append(X if trace.rows is None else trace.rows)
        true, traces, late = X, [], (0, 0) if trace is None else (trace.ahead, trace.delay)
        for model, label in zip(self.models, self.order, strict=True):
            y = Y[:, [label]]
            watched = learn_watched(model, true, y, tables, late, *weights)
            traces += watched[-1:]
            if self.chained:
                decided = [decide(part.scores) for part in watched]
                tables = [np.hstack(pair) for pair in zip(tables, decided, strict=True)]
                true = np.hstack([true, fill_in(y, decided[0]) if unknown else y])
        if trace is not None:
            self._join(traces, trace)

    def _join(self, parts: Sequence[Trace], trace: Trace) -> None:
        """Put the traces of all labels into one."""
        trace.rules[:] = sum(part.rules for part in parts)
        counts = [part.clipped[: self.n_features] for part in parts if part.clipped is not None]
        if counts:  # each has a scale of its own; a mean, so that blocks add up to the whole
            trace.add_clipped(np.mean(counts, axis=0))
        events = []
        for label, part in zip(self.order.tolist(), parts, strict=True):
            trace.scores[:, label] = part.scores[:, 0]
            events += [(row, kind, label * LABEL_STEP + uid) for row, kind, uid in part.events]
        trace.events += sorted(events, key=lambda event: event[0])

    @one_at_a_time
    def score(self, X: "Floats") -> "Floats":
        """Return the (n, K) continuous outputs."""
        scores = np.empty((len(X), self.n_labels))
        for model, label in zip(self.models, self.order, strict=True):
            answer = model.score(X)
            scores[:, label] = answer[:, 0]
            if self.chained:
                X = np.hstack([X, decide(answer)])
        return scores

    @one_at_a_time
    def add_labels(self, count: int) -> NoReturn:
        """Refuse: the rows so far are gone, and a new label's rules would need them."""
        raise NotImplementedError(
            "models with one learner per label cannot take in late labels: fit again with all."
        )

    # -- state ------------------------------------------------------------------------------

    @one_at_a_time
    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.models = [model.copy() for model in self.models]
        return other

    @one_at_a_time
    def state(self) -> "State":
        """Return facts and arrays for saving."""
        states = [model.state() for model in self.models]
        facts: Facts = {"n_features": self.n_features, "chained": self.chained}
        facts |= {"order": self.order.tolist(), "models": [own for own, _ in states]}
        return facts, nest(**{str(i): arrays for i, (_, arrays) in enumerate(states)})

    @staticmethod
    def state_shapes(facts: "Facts") -> "Shapes":
        """Return type and shape of every array of a state with these facts, or refuse them."""
        take(facts, "the learner", n_features=int, chained=bool, order=list, models=list)
        order, n = facts["order"], len(facts["models"])
        if n == 0 or {*map(type, order)} != {int} or sorted(order) != list(range(n)):
            raise ValueError(f"the order of {n} labels must name each once")
        return nest(**{str(i): Learner.state_shapes(own) for i, own in enumerate(facts["models"])})

    @staticmethod
    def check_state(facts: "Facts", arrays: "Arrays") -> None:
        """Refuse values that no state has; facts and arrays have passed :meth:`state_shapes`."""
        for own, part in zip(facts["models"], parts_of(facts, arrays), strict=True):
            Learner.check_state(own, part)

    @classmethod
    def from_state(cls, facts: "Facts", arrays: "Arrays") -> Self:
        """Build a learner from what :meth:`state` returned."""
        states = zip(facts["models"], parts_of(facts, arrays), strict=True)
        models = [Learner.from_state(*state) for state in states]
        sizes, order = (facts["n_features"], len(models)), np.array(facts["order"])
        learner = cls(models[0].params, *sizes, chained=facts["chained"], order=order)
        for model, new in zip(models, learner.models, strict=True):
            if (model.n_features, model.n_labels) != (new.n_features, 1):
                raise ValueError(f"the model of a label must have {new.n_features} features")
        learner.models = models
        return learner


def parts_of(facts: "Facts", arrays: "Arrays") -> "list[Arrays]":
    """Return the arrays of every label's learner."""
    parts: list[Arrays] = [{} for _ in facts["models"]]  # one pass: there may be many labels
    for name, array in arrays.items():
        number, _, rest = name.partition("/")
        parts[int(number)][rest] = array
    return parts


def decide(scores: "Floats") -> "Floats":
    """Return hard labels; from .5 on, as each label of a chain is decided alone."""
    return (scores >= 0.5).astype(float)


def fill_in(y: "Floats", decided: "Floats") -> "Floats":
    """Return labels with decisions in the place of those that are unknown."""
    return np.where(np.isnan(y), decided, y)


def learn_watched(
    model: Learner,
    X: "Floats",
    y: "Floats",
    tables: "Sequence[Floats]",
    late: tuple[int, int],
    *weights: "Floats",
) -> list[Trace]:
    """Learn rows and return one trace per table of rows to be scored.

    A learner scores one row per row that it learns. For all tables but the last, whose rows may be
    ahead, a copy does it. ``late``: how far ahead they are, and the delay of labels.
    """
    traces = [Trace.for_rows(len(X), 1) for _ in tables]
    for trace, table in zip(traces, tables, strict=True):
        trace.rows, trace.delay = None if table is X else table, late[1]
    for trace in traces[:-1]:
        model.copy().learn(X, y, trace, *weights)
    if traces:
        traces[-1].ahead = late[0]
    model.learn(X, y, traces[-1] if traces else None, *weights)
    return traces


@with_parameters
class PerLabelFace(MultiLabelFace, Parameters):
    """A face whose learner has one rule base per label; least squares alone unless told."""

    correlation: str = LEAST_SQUARES["correlation"]
    alpha: float = LEAST_SQUARES["alpha"]
    beta: float = LEAST_SQUARES["beta"]

    @property
    def rules_(self) -> dict[str, RuleList]:
        """The rules now, a `RuleList` for the name of each label.

        In a chain, the labels before a label are features of its rules.
        """
        check_is_fitted(self, "learner_")
        learner = self.learner_
        labels = name_all(names_of_labels(self), "label", learner.n_labels)
        columns = self._column_kinds()
        inputs = columns.names + tuple(labels[c] for c in learner.order)
        flags = np.append(columns.flags, np.ones(learner.n_labels, dtype=bool))
        lists = {}
        for model, c in zip(learner.models, learner.order, strict=True):
            p = model.n_features
            seen = ColumnKinds(inputs[:p], flags[:p], columns.groups)
            lists[labels[c]] = read_rules(model, None, [labels[c]], seen)
        return lists


@with_parameters
class OneVsRestEFC(PerLabelFace):
    """One evolving fuzzy classifier per label; each knows nothing of the other labels.

    The planes are least squares alone (``correlation="none"``), as in the paper's comparison. It
    gives exactly what K classifiers with one label each would give. `n_rules_` counts the rules
    of all labels. In the events of `prequential`, rule u of label c has the uid
    ``c * 10**9 + u``. Without ``fit`` before, every label holds its own first ``warmup_rows`` rows
    in which it is known. Attributes are those of `EFCMLClassifier`.

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

    random_state: Any = other(*UNUSED_SEED, default=None)

    def _new_learner(self, n_features: int, n_labels: int) -> PerLabelLearner:
        return PerLabelLearner(self._params(), n_features, n_labels)


@with_parameters
class ChainEFC(PerLabelFace):
    """A chain of evolving fuzzy classifiers: each label also sees the labels before it.

    The model of a label learns from the true labels before it and answers from the chain's own
    hard decisions. Where a label before is unknown, the chain's decision before it learns the row
    stands in. All else is as in `OneVsRestEFC`; ``learner_.order`` is the order.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> from efcml import ChainEFC, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=100, n_initial=60)
    >>> clf = ChainEFC(order=[4, 3, 2, 1, 0], prior=1.0).fit(*ds.initial)
    >>> prequential(clf, *ds.stream).scores.shape
    (40, 5)
    """

    order: Any = other(
        'None, sequence of int or "random"',
        "Labels in the order of the chain. None is the order of the columns.",
        default=None,
    )
    random_state: Any = other(SEED, 'For ``order="random"``.', default=None)

    def _new_learner(self, n_features: int, n_labels: int) -> PerLabelLearner:
        params = self._params()
        order = read_order(self.order, n_labels, self.random_state)
        return PerLabelLearner(params, n_features, n_labels, chained=True, order=order)


def read_order(order: Any, n_labels: int, random_state: Any) -> "Ints":
    """Return the order of a chain as an array of label indices."""
    if order is None:
        return np.arange(n_labels)
    if isinstance(order, str) and order == "random":
        return check_random_state(random_state).permutation(n_labels)
    whole = not isinstance(order, str) and np.ndim(order) == 1
    whole = whole and all(isinstance(label, Integral) for label in order)
    if not whole or sorted(order) != list(range(n_labels)):
        raise ValueError(
            f"order must be None, 'random' or the labels 0..{n_labels - 1}, each once; "
            f"got {order!r}."
        )
    return np.array(order)
