"""A pass over a stream: what is run, and what is known of the rows that are done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.evaluation.blocks import run_learner
from efcml.evaluation.foreign import Stream, find_adapter, run_foreign
from efcml.evaluation.prequential_result import PrequentialResult
from efcml.model.trace import Trace
from efcml.model.warm import warmup
from efcml.support.probability import squash
from efcml.support.steps import last_step

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats


@dataclass(frozen=True)
class StreamPass:
    """A model and the rows that it is to go through."""

    model: Any
    Y: Floats
    trace: Trace
    queried: Bools
    go: Callable[..., None]  # go(after_block=...) runs all rows

    def result(self, rows: int | None = None) -> PrequentialResult:
        """Return what happened, up to some row."""
        trace, done = self.trace.part(slice(rows)), slice(rows)
        decisions, probabilities = trace.complete()
        if getattr(self.model, "_binary", False):  # as predict_proba has them
            probabilities = squash(trace.scores)
        return PrequentialResult(
            Y=self.Y[done],
            scores=trace.scores,
            rules=trace.rules,
            queried=self.queried[done],
            events=tuple(self.trace.events),
            seconds=self.trace.seconds,
            clipped=self.trace.clipped,
            decisions=decisions,
            probabilities=probabilities,
        )


def begin_pass(
    model: Any, X: Any, Y: Any, active: Any = None, *, learn: bool = True, delay: int = 0
) -> StreamPass:
    """Check model and rows, compile what they need, and return the pass over them."""
    options: dict[str, Any] = {"learn": learn, "delay": delay}
    if active is not None:
        check_asking(model, active, options)
        learner, X, Y = model.begin_stream(X, Y, learn=False)
        by_label = getattr(active, "unit", None) == "labels"  # then rows are partly labelled
        compile_before(learner, X, Y, asks=True, rare=by_label)
        trace = Trace.for_rows(*Y.shape)
        queried = np.zeros(Y.shape if by_label else len(Y), dtype=np.bool_)
        return StreamPass(
            model, Y, trace, queried, partial(active.run_stream, model, X, Y, trace, queried)
        )
    if hasattr(model, "begin_stream"):
        learner, X, Y = model.begin_stream(X, Y, learn=learn)
        compile_before(learner, X, Y)
        trace = Trace.for_rows(*Y.shape)
        go = partial(run_learner, learner, X, Y, trace, **options)
    else:
        kind = find_adapter(model, learn=learn)
        stream = Stream.read(X, Y, any_kind=hasattr(model, "steps"))
        adapter, Y = kind(model, stream), stream.Y
        compile_before(getattr(last_step(model), "learner", None), Y)  # RiverEFCML has one
        trace = Trace.for_rows(*Y.shape)
        go = partial(run_foreign, adapter, Y, trace, **options)
    return StreamPass(model, Y, trace, np.full(len(Y), learn), go)


def check_asking(model: Any, active: Any, options: dict[str, Any]) -> None:
    """Refuse what an active learner cannot do."""
    if not hasattr(active, "run_stream"):
        raise TypeError(f"active must be an ActiveLearner; got {type(active).__name__}.")
    if options != {"learn": True, "delay": 0}:
        raise ValueError("active needs learn=True and delay=0; for late answers use ask and tell.")
    if not hasattr(model, "begin_stream"):
        raise TypeError(f"active needs an EFCMLClassifier; got {type(model).__name__}.")


def compile_before(learner: Any, *arrays: Any, asks: bool = False, rare: bool = False) -> None:
    """Compile what a stream of these arrays needs: it must not count as time per sample."""
    if hasattr(learner, "params"):  # of the rule engine; other learners have no kernels
        with np.errstate(all="ignore"):  # a sum makes no array; where it is NaN, too much is done
            rare = rare or any(np.isnan(np.sum(array)) for array in arrays)
        compile_once(asks, rare or learner.params.decision != "hamming")


@cache
def compile_once(asks: bool, rare: bool) -> None:
    """Compile the kernels of streams; nothing the second time."""
    warmup(asks=asks, rare=rare)
