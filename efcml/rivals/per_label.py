"""One single-label learner per label, on the engine of EFC-ML: alone, or as a chain.

Both classes have the interface of `efcml.model.learner.Learner` and trust their arrays as it does.
A block of rows is run through one label's learner after the other, so the loop over rows stays
inside the kernels. An interrupt takes effect between blocks, so all have seen the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from efcml.model.learner import Learner
from efcml.model.trace import Trace, learn_in_blocks
from efcml.support.facts import take
from efcml.support.guard import Guarded, one_at_a_time
from efcml.support.states import nest, pick_numbered

if TYPE_CHECKING:
    from efcml.model.params import Params
    from efcml.support.aliases import Arrays, Facts, Floats, Ints, Shapes, State

LABEL_STEP = 10**9  # rule u of label c has the uid c * LABEL_STEP + u in events


def split_uid(uid: int) -> tuple[int, int]:
    """Return label and rule that the uid of an event stands for.

    Examples
    --------
    >>> split_uid(3_000_000_017)
    (3, 17)
    """
    return divmod(uid, LABEL_STEP)


class OneVsRestLearner(Guarded):
    """K learners that know nothing of each other; each has its own rules in [x, y_c]."""

    def __init__(self, params: Params, n_features: int, n_labels: int) -> None:
        if params.decision != "hamming":
            raise ValueError(
                f"decision={params.decision!r} needs a model that learns all labels together; "
                "models with one learner per label decide each alone."
            )
        self.params = params
        self.n_features = n_features
        self.n_labels = n_labels
        self.order = np.arange(n_labels)  # label of each learner
        self.models = self._new_models()

    def _new_models(self) -> list[Learner]:
        return [Learner(self.params, self.n_features, 1, layered=False) for _ in self.order]

    # -- what all learners say --------------------------------------------------------------

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

    @one_at_a_time
    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.models = [model.copy() for model in self.models]
        return other

    @one_at_a_time
    def state(self) -> State:
        """Return facts and arrays for saving."""
        states = [model.state() for model in self.models]
        models = [facts for facts, _ in states]
        shared = {  # what all say alike is said once, as their parameters
            name: value
            for name, value in models[0].items()
            if all(name in facts and facts[name] == value for facts in models)
        }
        own = [{k: v for k, v in facts.items() if k not in shared} for facts in models]
        facts = {"n_features": self.n_features, "order": self.order.tolist()}
        facts |= {"shared": shared, "models": own}
        return facts, nest(**{str(i): arrays for i, (_, arrays) in enumerate(states)})

    @staticmethod
    def state_shapes(facts: Facts) -> Shapes:
        """Return type and shape of every array of a state with these facts, or refuse them."""
        parts = {str(i): Learner.state_shapes(part) for i, part in enumerate(parts_of(facts))}
        return nest(**parts)

    @staticmethod
    def check_state(facts: Facts, arrays: Arrays) -> None:
        """Refuse values that no state has; facts and arrays have passed :meth:`state_shapes`."""
        parts = parts_of(facts)
        for part, own in zip(parts, pick_numbered(arrays, len(parts)), strict=True):
            Learner.check_state(part, own)

    @classmethod
    def from_state(cls, facts: Facts, arrays: Arrays) -> Self:
        """Build a learner from what :meth:`state` returned."""
        parts = parts_of(facts)
        states = zip(parts, pick_numbered(arrays, len(parts)), strict=True)
        models = [Learner.from_state(*state) for state in states]
        learner = cls(models[0].params, facts["n_features"], len(models))
        for model, new in zip(models, learner.models, strict=True):
            if (model.n_features, model.n_labels) != (new.n_features, 1):
                raise ValueError(f"the model of a label must have {new.n_features} features")
        learner.order, learner.models = np.array(facts["order"]), models
        return learner

    @one_at_a_time
    def add_labels(self, count: int) -> NoReturn:
        """Refuse: the rows so far are gone, and a new label's rules would need them."""
        raise NotImplementedError(
            "models with one learner per label cannot take in late labels: fit again with all."
        )

    # -- learning and answers ---------------------------------------------------------------

    @one_at_a_time
    def fit(self, X: Floats, Y: Floats) -> Self:
        """Learn an initial batch; a label that is never known stays in its warm-up."""
        self.models = self._new_models()
        for model, label in zip(self.models, self.order, strict=True):
            fit_known(model, X, Y[:, [label]])
        return self

    @one_at_a_time
    def learn(self, X: Floats, Y: Floats, trace: Trace | None = None) -> Self:
        """Learn rows in order; any split into calls gives the same state."""
        learn_in_blocks(self._learn_block, X, Y, trace)
        return self

    def _learn_block(self, X: Floats, Y: Floats, trace: Trace | None) -> None:
        parts: list[Any] = []
        for model, label in zip(self.models, self.order, strict=True):
            part = None if trace is None else watch(len(X), trace.rows, trace.ahead)
            model.learn(X, Y[:, [label]], part)
            parts.append(part)
        if trace is not None:
            self._join(parts, trace)

    @one_at_a_time
    def score(self, X: Floats) -> Floats:
        """Return the (n, K) continuous outputs."""
        return np.hstack([model.score(X) for model in self.models])

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


class ChainLearner(OneVsRestLearner):
    """A chain: the learner of a label also sees the labels before it.

    It learns from their true values and answers from the chain's own hard decisions. Where a true
    value is unknown, the decision of the chain before it learns that row stands in.
    """

    def __init__(
        self, params: Params, n_features: int, n_labels: int, order: Ints | None = None
    ) -> None:
        super().__init__(params, n_features, n_labels)
        if order is not None:
            self.order = np.array(order)

    def _new_models(self) -> list[Learner]:
        sizes = range(self.n_features, self.n_features + self.n_labels)
        return [Learner(self.params, size, 1, layered=False) for size in sizes]

    @one_at_a_time
    def fit(self, X: Floats, Y: Floats) -> Self:
        """Learn an initial batch; the fitted chain stands in for labels that are unknown."""
        self.models = self._new_models()
        true, own = X, X
        for model, label in zip(self.models, self.order, strict=True):
            y = Y[:, [label]]
            fit_known(model, true, y)
            decided = decide(model.score(own))
            own = np.hstack([own, decided])
            true = np.hstack([true, np.where(np.isnan(y), decided, y)])
        return self

    def _learn_block(self, X: Floats, Y: Floats, trace: Trace | None) -> None:
        unknown = np.isnan(Y[:, self.order[:-1]]).any()
        # Rows that are to be scored, each table widened by the chain's own decisions: those that
        # are learned, if decisions must stand in for labels; and last, those of the trace.
        tables = [X] if unknown else []
        if trace is not None and not (unknown and trace.rows is None):
            tables.append(X if trace.rows is None else trace.rows)
        true, parts = X, []
        for model, label in zip(self.models, self.order, strict=True):
            y = Y[:, [label]]
            watched = learn_watched(model, true, y, tables, 0 if trace is None else trace.ahead)
            decided = [decide(part.scores) for part in watched]
            tables = [np.hstack(pair) for pair in zip(tables, decided, strict=True)]
            true = np.hstack([true, np.where(np.isnan(y), decided[0], y) if unknown else y])
            parts += watched[-1:]
        if trace is not None:
            self._join(parts, trace)

    @one_at_a_time
    def score(self, X: Floats) -> Floats:
        """Return the (n, K) continuous outputs; each label sees the decisions before it."""
        scores = np.empty((len(X), self.n_labels))
        for model, label in zip(self.models, self.order, strict=True):
            answer = model.score(X)
            scores[:, label] = answer[:, 0]
            X = np.hstack([X, decide(answer)])
        return scores


def parts_of(facts: Facts) -> list[Facts]:
    """Return the facts of every label's learner; refuse an order that does not name each once."""
    take(facts, "the learner", n_features=int, order=list, shared=dict, models=list)
    order, n = facts["order"], len(facts["models"])
    if n == 0 or {*map(type, order)} != {int} or sorted(order) != list(range(n)):
        raise ValueError(f"the order of {n} labels must name each once")
    return [facts["shared"] | part for part in facts["models"]]


def decide(scores: Floats) -> Floats:
    """Return hard labels; from .5 on, as each label of a chain is decided alone."""
    return (scores >= 0.5).astype(float)


def watch(n: int, rows: Floats | None, ahead: int) -> Trace:
    """Return an empty trace of one label."""
    trace = Trace.for_rows(n, 1)
    trace.rows, trace.ahead = rows, ahead
    return trace


def fit_known(model: Learner, X: Floats, y: Floats) -> None:
    """Fit one label unless it is never known."""
    if not np.isnan(y).all():
        model.fit(X, y)


def learn_watched(
    model: Learner, X: Floats, y: Floats, tables: Sequence[Floats], ahead: int
) -> list[Trace]:
    """Learn rows and return one trace per table of rows to be scored.

    A learner scores one row per row that it learns. For all tables but the last, whose rows may be
    ``ahead``, a copy does it.
    """
    traces = [watch(len(X), None if table is X else table, 0) for table in tables]
    for trace in traces[-1:]:
        trace.ahead = ahead
    for trace in traces[:-1]:
        model.copy().learn(X, y, trace)
    model.learn(X, y, traces[-1] if traces else None)
    return traces
