"""Compile every kernel once, so that what follows can be timed or started in many processes."""

from dataclasses import replace

import numpy as np

from efcml.kernels.querying import QUANTILE, STATE_SIZE, TRACE
from efcml.model.arguments import Ask
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.trace import Trace
from efcml.support.aliases import Floats


def warmup(*, asks: bool = True, rare: bool = True) -> None:
    """Run all kernels on a few rows; later calls in this or other processes find them compiled.

    Call it once before starting many processes: they then share the compiled files instead of
    all writing them at the same time.

    Parameters
    ----------
    asks : bool
        Whether also those that only active learners need.
    rare : bool
        Whether also those that only missing features or labels and decisions other than the usual
        ones need; otherwise they are compiled when they are first needed.

    Examples
    --------
    >>> import efcml
    >>> efcml.warmup()
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    Y = (X > 0.0).astype(float)
    params = Params(vigilance=0.05, beta=0.1, prior=1.0, max_rules=3)
    learner = Learner(params, 2, 2).fit(X[:12], Y[:12])
    learner.learn(X[12:], Y[12:], trace=Trace.for_rows(12, 2))
    learner._reshape(0, -1, True, [], 0)  # asks whether rules are too large or idle
    learner._may_hold(0, 0)  # and how many rows they hold
    learner._take_in(0, True, [], 0)  # which looks for the nearest rule
    if learner.following is not None:  # what ends a doubt about the scale
        learner.following.settle(np.zeros(2, dtype=np.bool_), None)
    learner.answer(X, np.full(Y.shape, np.nan))
    if rare:
        _run_rare_kernels(params, X, Y)
    learner.cases.similar_to(X[0])  # what explanations need
    if not asks:
        return
    ask = Ask(0.5, False, 100.0, 0.01, QUANTILE, True, True, TRACE, False, False)
    state, scores, wanted = np.zeros(STATE_SIZE), np.zeros((24, 2)), np.zeros(2, dtype=np.bool_)
    learner.find_question(X, np.zeros(24), 0, ask, state, scores, wanted)


def _run_rare_kernels(params: Params, X: Floats, Y: Floats) -> None:
    """Learn rows of which features and labels are missing; decide in every way."""
    X, Y = X.copy(), Y.copy()
    X[::3, 0] = X[1::3, 1] = Y[::4, 0] = np.nan
    for decision in ("f1", "subset"):
        learner = Learner(replace(params, decision=decision), 2, 2).fit(X[:12], Y[:12])
        learner.learn(X[12:], Y[12:], trace=Trace.for_rows(12, 2))
        learner.answer(X, Y)
