"""Pipelines of scikit-learn: their steps, told apart by what they have, and rows through them.

A step knows nothing of the steps after it, so each one can take the whole stream before the next.
One that learns does so row by row, whatever blocks the stream comes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from efcml.support.progress import progress_bar


def is_pipeline(model: Any) -> bool:
    """Tell whether a model is a pipeline of scikit-learn, or looks like one."""
    return hasattr(model, "steps") and hasattr(model, "named_steps")


def last_step(model: Any) -> Any:
    """Return the model at the end of a pipeline, also of river; any other model as it is."""
    steps = getattr(model, "steps", None)
    if not steps or isinstance(model, type):
        return model
    return last_step([*steps.values()][-1] if hasattr(steps, "values") else steps[-1][1])


def list_steps(pipeline: Any) -> list[Any]:
    """Return all steps of a pipeline, those of inner pipelines among them."""
    found: list[Any] = []
    for _, step in pipeline.steps:
        found += list_steps(step) if is_pipeline(step) else [step]
    return [step for step in found if step is not None and not isinstance(step, str)]


def split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one, and the model; all that is no pipeline is a model."""
    if not is_pipeline(model):
        return [], model
    if not model.steps or model.steps[-1][1] in (None, "passthrough"):
        raise TypeError("the pipeline ends in no model: give it a classifier as its last step.")
    steps = list_steps(model)
    return steps[:-1], steps[-1]


def take_rows(X: Any, rows: Any) -> Any:
    """Return rows of a table by a slice, their numbers or a mask; of a list by their numbers.

    Examples
    --------
    >>> take_rows([[1.0], [2.0], [3.0]], [2, 0])
    [[3.0], [1.0]]
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def learns(step: Any) -> bool:
    """Tell whether a step follows a stream; one that is frozen only lends the method."""
    return hasattr(type(step), "partial_fit") and hasattr(step, "partial_fit")


def pass_steps(steps: Sequence[Any], X: Any, *, learn: bool, progress: bool | None = False) -> Any:
    """Return what the steps make of rows; with ``learn`` they learn each after it has passed."""
    for step in steps:
        X = follow(step, X, progress) if learn and learns(step) else step.transform(X)
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
    if hasattr(passed[0], "iloc"):
        import pandas as pd

        return pd.concat(passed)
    if hasattr(passed[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(passed, format="csr")
    return np.concatenate(passed)


@contextmanager
def put_back_if_it_fails(steps: Sequence[Any]) -> Iterator[None]:
    """Put steps that learn back into an earlier state if the block raises."""
    before = [(step, deepcopy(vars(step))) for step in steps if learns(step)]
    try:
        yield
    except BaseException:
        for step, state in before:
            vars(step).clear()
            vars(step).update(state)
        raise
