"""All kernels, run once on a few rows: so they are compiled, and kept on disk."""

from dataclasses import replace

import numpy as np

from efcml.model.cases import CaseStage
from efcml.model.labels import LabelLayer
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler
from efcml.model.temporal import TemporalStage
from efcml.support.aliases import Floats

FEW_RULES = Params(vigilance=0.05, beta=0.1, prior=1.0, max_rules=3)


def few_rows() -> tuple[Floats, Floats]:
    """Return features and labels."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    return X, (X > 0.0).astype(float)


def run_rules() -> None:
    """Run the kernels of the rules, which take as long to compile as all others."""
    (X, Y), ones = few_rows(), np.ones(24)
    rules = RuleBase(FEW_RULES, 2, 2)
    rules.begin(X[:12], None, Y[:12], ones[:12])
    rules.follow(X[12:], None, Y[12:], ones[12:], ones[12:])


def run_others() -> None:
    """Run the kernels of the scale and of the stages after the rules."""
    (X, Y), ones = few_rows(), np.ones(24)
    scaler = Scaler.from_rows(X, 6.0)
    rows, scores = scaler.transform(X), 0.8 * Y + 0.1
    for stage in (CaseStage(2, 2, 5), TemporalStage(2, 2), LabelLayer(2, "hamming")):
        stage.begin(rows, scores, Y, ones)
        stage.follow(rows, scores, Y, ones, ones)
        stage.answer(rows, scores)
        stage.pass_rows(1)


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
    (X, Y), params = few_rows(), FEW_RULES
    learner = Learner(params, 2, 2).fit(X[:12], Y[:12]).learn(X[12:], Y[12:])
    scores = learner.answer(X).scores
    learner.stage(TemporalStage).addends(scores[0])  # what explanations need
    if rare:
        gaps, unknown = X.copy(), Y.copy()
        gaps[::3, 0] = gaps[1::3, 1] = unknown[::4, 0] = np.nan
        for decision in ("f1", "subset"):
            other = Learner(replace(params, decision=decision), 2, 2)
            other.fit(gaps[:12], unknown[:12]).learn(gaps[12:], unknown[12:]).answer(gaps, unknown)
