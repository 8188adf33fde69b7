"""Compile every kernel once, so that what follows can be timed or started in many processes."""

from dataclasses import replace

import numpy as np

from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.temporal import TemporalStage


def warmup(*, rare: bool = True) -> None:
    """Run all kernels on a few rows; later calls in this or other processes find them compiled.

    Call it once before starting many processes: they then share the compiled files instead of
    all writing them at the same time.

    Parameters
    ----------
    rare : bool
        Whether also those that only missing features or labels and decisions other than the usual
        ones need; otherwise they are compiled when they are first needed.

    Examples
    --------
    >>> import efcml
    >>> efcml.warmup()
    """
    X = np.random.default_rng(0).normal(size=(24, 2))
    Y = (X > 0.0).astype(float)
    params = Params(vigilance=0.05, beta=0.1, prior=1.0, max_rules=3)
    learner = Learner(params, 2, 2).fit(X[:12], Y[:12]).learn(X[12:], Y[12:])
    scores = learner.answer(X).scores
    learner.stage(TemporalStage).addends(scores[0])  # what explanations need
    if learner.watch is not None:  # what ends a doubt about the scale
        learner.watch.settle(np.zeros(2, dtype=np.bool_), None)
    if rare:
        gaps, unknown = X.copy(), Y.copy()
        gaps[::3, 0] = gaps[1::3, 1] = unknown[::4, 0] = np.nan
        for decision in ("f1", "subset"):
            other = Learner(replace(params, decision=decision), 2, 2)
            other.fit(gaps[:12], unknown[:12]).learn(gaps[12:], unknown[12:]).answer(gaps, unknown)
