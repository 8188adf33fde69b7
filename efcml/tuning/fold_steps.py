"""Searches over the end of a pipeline: what its earlier steps make of the rows of every fold.

They are fitted on the rows that a fold leaves, and the fold passes them as a stream does. This
depends neither on vigilance nor on alpha and beta, so it is done once for each fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.support.folds import contiguous_folds, without
from efcml.support.steps import is_pipeline, last_step, list_steps
from efcml.support.table_rows import take_rows
from efcml.tuning.inputs import SEARCHED, check_folds, check_rows

if TYPE_CHECKING:
    from efcml.model.params import Params
    from efcml.support.aliases import Floats


def own_params(pipeline: Any) -> dict[str, Any]:
    """Return what is set of the classifier at the end of a pipeline, besides what is searched."""
    from efcml.estimators.classifier import EFCMLClassifier

    last = last_step(pipeline) if is_pipeline(pipeline) else None
    if not isinstance(last, EFCMLClassifier):
        raise TypeError("pipeline must be a scikit-learn Pipeline that ends in an EFCMLClassifier.")
    usual = EFCMLClassifier().get_params()
    found = last.get_params().items()
    return {name: value for name, value in found if name not in SEARCHED and value != usual[name]}


def check_pipeline_rows(
    pipeline: Any, X: Any, Y: Any, folds: int, given: dict[str, Any]
) -> tuple[Params, list[Floats], Floats]:
    """Return parameters, the rows as each fold sees them, and labels: see `check_rows`."""
    from efcml.estimators.targets import as_array

    labels = as_array(Y)
    check_folds(folds, check_rows(np.zeros((len(labels), 1)), Y, given)[2])
    steps, tables = list_steps(pipeline)[:-1], []
    for fold in contiguous_folds(len(labels), folds):
        params, table, checked = check_rows(pass_fold(steps, X, labels, fold), Y, given)
        tables.append(table)
    return params, tables, checked


def pass_fold(steps: Sequence[Any], X: Any, labels: Any, fold: slice) -> Any:
    """Return all rows, in their order, transformed by steps that were fitted without a fold."""
    from efcml.evaluation.pipelines import pass_steps, stack

    rows = np.arange(len(labels))
    kept, steps = take_rows(X, without(rows, fold)), deepcopy(steps)
    for step in steps:
        kept = step.fit(kept, without(labels, fold)).transform(kept)
    new = pass_steps(steps, take_rows(X, rows[fold]), learn=True)
    before = rows[: fold.start]
    after = np.arange(fold.start, len(labels) - (fold.stop - fold.start))
    return stack([take_rows(kept, before), new, take_rows(kept, after)])
