"""Compile every kernel once, so that what follows can be timed or started in many processes."""

from dataclasses import replace

import numpy as np

from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.temporal import TemporalStage
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
    scores = learner.answer(X).scores
    learner.stage(TemporalStage).addends(scores[0])  # what explanations need
    if learner.watch is not None:  # what ends a doubt about the scale
        learner.watch.settle(np.zeros(2, dtype=np.bool_), None)
    if rare:
        _run_rare_kernels(params, X, Y)
    if asks:
        from efcml.active import ActiveLearner  # not above: others do without

        ActiveLearner(0.5).ask(learner, X[0])


def _run_rare_kernels(params: Params, X: Floats, Y: Floats) -> None:
    """Learn rows of which features and labels are missing; decide in every way."""
    X, Y = X.copy(), Y.copy()
    X[::3, 0] = X[1::3, 1] = Y[::4, 0] = np.nan
    for decision in ("f1", "subset"):
        learner = Learner(replace(params, decision=decision), 2, 2).fit(X[:12], Y[:12])
        learner.learn(X[12:], Y[12:], trace=Trace.for_rows(12, 2))
        learner.answer(X, Y)
