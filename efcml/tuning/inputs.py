"""Checks of what a search is given: everything is refused before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.support.checks import check_whole
from efcml.tuning.grid import Grid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.model.params import Params
    from efcml.support.aliases import Floats

SEARCHED = ("vigilance", "alpha", "beta")


def check_rows(
    X: ArrayLike | DataFrame, Y: ArrayLike | DataFrame, given: Mapping[str, Any]
) -> tuple[Params, Floats, Floats]:
    """Return parameters and rows as the classifier takes them: its checks, its messages."""
    from efcml.estimators.classifier import (
        EFCMLClassifier,  # not on workers: it takes a second to load
    )

    allowed = EFCMLClassifier().get_params()
    for name in given:
        if name not in allowed or name in SEARCHED:
            raise ValueError(
                f"params has {name!r}: give parameters of EFCMLClassifier other than vigilance,"
                " alpha and beta, which are searched."
            )
    learner, X, Y = EFCMLClassifier(**given).begin_stream(X, Y)
    return learner.params, X, Y


def check_folds(folds: int, Y: Floats) -> None:
    """Refuse a number of folds that leaves nothing to learn from."""
    check_whole("folds", folds, least=2)
    if folds > len(Y):
        raise ValueError(f"folds is {folds} for {len(Y)} rows: choose fewer folds.")
    labelled = np.flatnonzero(~np.isnan(Y).all(axis=1))
    if not len(labelled):
        raise ValueError("Y has no known label: at least one must be 0 or 1, not NaN.")
    edges = np.array([fold * len(Y) // folds for fold in range(folds + 1)])
    used = np.searchsorted(edges, labelled, side="right")
    if used[0] == used[-1]:
        raise ValueError(
            f"all rows with labels are in fold {used[0] - 1}, nothing is left to fit when it is"
            " held out: give more labels or choose more folds."
        )


def check_grid(grid: object) -> None:
    """Refuse what is no grid."""
    if not isinstance(grid, Grid):
        raise ValueError(
            f"grid is a {type(grid).__name__}: give Grid(vigilance=..., alpha=..., beta=...)."
        )
