"""prequential: one pass of test-then-train over a stream, for models of any kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.evaluation.adapters import ANSWERS, ForeignPass, last_step, pass_steps
from efcml.evaluation.blocks import in_blocks
from efcml.evaluation.prequential_result import PrequentialResult
from efcml.model.compiling import warmup
from efcml.model.trace import Trace
from efcml.support.checks import check_whole
from efcml.support.progress import progress_bar
from efcml.support.statistics import squash

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.active import ActiveLearner
    from efcml.model.labels import Answer
    from efcml.support.aliases import Bools, Floats

compile_once = cache(warmup)


def prequential(
    model: Any,
    X: ArrayLike | DataFrame,
    Y: ArrayLike | DataFrame,
    active: ActiveLearner | None = None,
    learn: bool = True,
    *,
    delay: int = 0,
    progress: bool | None = None,
) -> PrequentialResult:
    """Run a model over the rows given, test-then-train, and return what happened.

    Every row is scored, then learned; the model is changed, as after ``partial_fit``. Known are

    - the estimators of efcml (``begin_stream``), whose loop over rows runs inside the kernels;
    - fitted scikit-learn models with ``partial_fit`` and the first that is there of
      ``decision_function``, ``predict_proba`` and ``predict``. Where 0 is the threshold
      (``decision_function``), 0.5 is added. Rows that lack a label are not learned;
    - a fitted scikit-learn ``Pipeline`` that ends in one of these. The steps before stay as they
      were fitted.

    If a run is interrupted, the model is left as it was after some whole block of rows.

    Parameters
    ----------
    model : object
        Fitted on an initial part, or new.
    X, Y : array-like of shape (n, p) and (n, K)
        The stream; Y is 0, 1, or NaN where unknown, and may be sparse.
    active : ActiveLearner, optional
        Decides which labels are asked and learned; without one, all are. Needs an EFCMLClassifier
        that is fitted on an initial part. Its spending and thresholds go on from earlier use.
    learn : bool
        False predicts only: a model that is fitted and not changed.
    delay : int
        Labels arrive this many rows late; in the end all rows are learned.
    progress : bool, optional
        Whether to show a progress bar. None shows it on a terminal and in a notebook.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=150, n_initial=100)
    >>> prequential(EFCMLClassifier().fit(*ds.initial), *ds.stream).scores.shape
    (50, 5)
    """
    last = last_step(model)
    check_options(last, active, bool(learn), delay)
    if np.shape(X)[:1] == (0,):
        raise ValueError("the stream has no rows: X is empty.")
    begin = time.perf_counter()
    X = pass_steps(model, X)
    spent = time.perf_counter() - begin
    run = begin_pass(last, X, Y, active, learn=bool(learn), delay=int(delay))
    run.trace.seconds += spent
    with progress_bar(len(run.Y), "prequential", show=progress) as bar:
        run.go(after_block=bar.update)
    return run.result()


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
            decisions=decisions,
            probabilities=probabilities,
        )


def begin_pass(
    model: Any, X: Any, Y: Any, active: Any = None, *, learn: bool = True, delay: int = 0
) -> StreamPass:
    """Check model and rows, compile what they need, and return the pass over them."""
    ours, by_label = hasattr(model, "begin_stream"), getattr(active, "unit", None) == "labels"
    if ours:
        learner, X, Y = model.begin_stream(X, Y, learn=learn and active is None)
        if hasattr(learner, "params"):  # of the rule engine; other learners have no kernels
            with np.errstate(all="ignore"):  # a sum makes no array; if it is NaN, too much is done
                gaps = np.isnan(np.sum(X) + np.sum(Y))
            # Compiling must not count as time per sample.
            compile_once(rare=bool(by_label or gaps or learner.params.decision != "hamming"))
    else:
        foreign = ForeignPass(model, X, Y)
        Y = foreign.Y
    trace, queried = Trace.for_rows(*Y.shape), np.full(len(Y), learn)
    loop = partial(in_blocks, len(Y), trace=trace)
    if active is not None:  # of single labels rows are partly labelled
        queried = np.zeros(Y.shape if by_label else len(Y), dtype=np.bool_)
        go = partial(active.run_stream, model, X, Y, trace, queried)
    elif not ours:
        go = partial(loop, partial(foreign.run, trace, learn, delay), few=True)
    elif learn:
        run = partial(learn_block, learner, X, Y, trace, delay)
        go = partial(loop, run, border=max(len(Y) - delay, 0))
    else:
        go = partial(loop, partial(answer_block, learner, X, trace))
    return StreamPass(model, Y, trace, queried, go)


def learn_block(learner: Any, X: Floats, Y: Floats, trace: Trace, delay: int, block: slice) -> None:
    """Learn a block; before each row, score the one that comes ``delay`` rows later.

    For the last rows nothing is left to score: no block may cross this border.
    """
    if delay and not block.start:
        trace.take_answer(answer_ahead(learner, X, slice(0, delay)), slice(delay))
    part, ahead = trace.part(block), slice(block.start + delay, block.stop + delay)
    if delay:
        there = ahead.stop <= X.shape[0]
        part = trace.part(ahead) if there else Trace.for_rows(len(part.rules), Y.shape[1])
        part = replace(part, rules=trace.rules[block], ahead=delay, delay=delay)
        part.rows = X[ahead] if there else None
    learner.learn(X[block], Y[block], trace=part)
    trace.take_events(part, block.start)


def answer_block(learner: Any, X: Floats, trace: Trace, block: slice) -> None:
    """Note what a learner says of rows that it never learns."""
    trace.take_answer(answer_ahead(learner, X, block), block)
    trace.rules[block] = learner.n_rules


def answer_ahead(learner: Any, X: Floats, block: slice) -> Answer:
    """Return what a learner says of rows by their places in the stream that follows."""
    rows = X[block]
    return learner.answer(rows, ahead=block.start + np.arange(rows.shape[0]))


def check_options(model: Any, active: Any, learn: bool, delay: int) -> None:
    """Refuse what no pass can do; ``model`` is the last step of a pipeline."""
    check_whole("delay", delay, least=0)
    if isinstance(model, type):
        raise TypeError(f"prequential needs a model; got the class {model.__name__}.")
    if active is not None:
        if not hasattr(active, "run_stream"):
            raise TypeError(f"active must be an ActiveLearner; got {type(active).__name__}.")
        if delay or not learn:
            words = "for late answers use ask and tell"
            raise ValueError(f"active needs learn=True and delay=0; {words}.")
        if not hasattr(model, "begin_stream"):
            raise TypeError(f"active needs an EFCMLClassifier; got {type(model).__name__}.")
    if not hasattr(model, "begin_stream"):
        answers = any(hasattr(model, name) for name in ANSWERS)
        if not answers or (learn and not hasattr(model, "partial_fit")):
            wanted = "begin_stream or partial_fit" if learn else "predict"
            raise TypeError(f"prequential needs a model with {wanted}; got {type(model).__name__}.")
