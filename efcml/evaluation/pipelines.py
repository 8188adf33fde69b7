"""Rows through the steps of a scikit-learn pipeline, on their way to the model at its end.

A step knows nothing of the steps after it, so each one can take the whole stream before the next.
One that learns does so row by row, whatever blocks the stream comes in (docs/decisions/0028).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from efcml.evaluation.adapters import is_not_fitted
from efcml.support.progress import progress_bar
from efcml.support.steps import list_steps


def split_pipeline(pipeline: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one, and the model that is the last one."""
    steps = list_steps(pipeline)
    if not steps or pipeline.steps[-1][1] is None or isinstance(pipeline.steps[-1][1], str):
        raise TypeError("the pipeline ends in no model: give it a classifier as its last step.")
    return steps[:-1], steps[-1]


def learns(step: Any) -> bool:
    """Tell whether a step follows a stream; one that is frozen only lends the method."""
    return hasattr(type(step), "partial_fit") and hasattr(step, "partial_fit")


def pass_steps(steps: Sequence[Any], X: Any, *, learn: bool, progress: bool | None = False) -> Any:
    """Return what the steps make of rows; with ``learn`` they learn each after it has passed."""
    try:
        for step in steps:
            X = follow(step, X, progress) if learn and learns(step) else step.transform(X)
    except Exception as error:
        if not is_not_fitted(error):
            raise
        message = "the steps of the pipeline are not fitted: call pipeline.fit(*ds.initial) first."
        raise type(error)(message) from None
    return X


def follow(step: Any, X: Any, progress: bool | None) -> Any:
    """Return rows, each one transformed by what the step has learned before it."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    passed = []
    with progress_bar(n, type(step).__name__, show=progress) as bar:
        for t in range(n):
            row = X.iloc[t : t + 1] if hasattr(X, "iloc") else X[t : t + 1]
            passed.append(step.transform(row))
            step.partial_fit(row)
            bar.update(1)
    return stack(passed)


def stack(rows: list[Any]) -> Any:
    """Return tables, such as single rows, as one table of their kind."""
    if hasattr(rows[0], "iloc"):
        import pandas

        return pandas.concat(rows)
    if hasattr(rows[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(rows, format="csr")
    return np.concatenate(rows)


@contextmanager
def steps_put_back_if_it_fails(steps: Sequence[Any]) -> Iterator[None]:
    """Put steps that learn back into an earlier state if the block raises."""
    before = [(step, deepcopy(vars(step))) for step in steps if learns(step)]
    try:
        yield
    except BaseException:
        for step, state in before:
            vars(step).clear()
            vars(step).update(state)
        raise
