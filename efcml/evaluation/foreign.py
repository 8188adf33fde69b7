"""Streams through models from elsewhere, row by row in Python."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.evaluation.adapters import ANSWERS, PartialFitModel, RiverModel
from efcml.support.masks import refuse_mask

if TYPE_CHECKING:
    from efcml.evaluation.blocks import AfterBlock
    from efcml.model.trace import Trace
    from efcml.support.aliases import Floats


@dataclass(frozen=True)
class Stream:
    """Checked rows, in the forms that models ask for."""

    X: Any  # array of floats, or a DataFrame; of objects where any kind is taken
    Y: Floats  # (n, K) of 0, 1 and NaN
    flat: bool  # labels were given 1-D
    feature_names: list[Any]
    label_names: list[Any]

    @classmethod
    def read(cls, X: Any, Y: Any, *, any_kind: bool = False) -> Self:
        """Check features and labels; one line says what is wrong.

        With ``any_kind`` features are left to the model, as a pipeline whose steps read them.
        """
        from efcml.estimators.targets import as_array, column_names, read_labels

        y = as_array(Y)
        if y.ndim not in (1, 2) or 0 in y.shape[1:]:
            raise ValueError(f"Y must have the shape (rows, labels) or (rows,); got {y.shape}.")
        labels, _ = read_labels(y.reshape(len(y), -1), None, None)
        table = read_objects(X) if any_kind else read_features(X)
        if len(table) != len(labels):
            numbers = f"{len(table)} and {len(labels)}"
            raise ValueError(f"X and Y have inconsistent numbers of rows: {numbers}.")
        names = list(X.columns) if hasattr(X, "columns") else list(range(table.shape[1]))
        label_names = column_names(Y)
        label_names = list(range(labels.shape[1])) if label_names is None else list(Y.columns)
        return cls(table, labels, y.ndim == 1, names, label_names)

    def features(self, rows: slice) -> Any:
        """Return some rows as scikit-learn wants them."""
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def row(self, t: int) -> dict[Any, Any]:
        """Return one row as a dictionary."""
        rows = self.features(slice(t, t + 1))
        values = rows.to_numpy() if hasattr(rows, "iloc") else rows
        return dict(zip(self.feature_names, values[0].tolist(), strict=True))


def read_features(X: Any) -> Any:
    """Return a DataFrame as it is, anything else as floats; missing values are refused."""
    from efcml.estimators.targets import refuse_complex, refuse_text

    if hasattr(X, "toarray"):
        raise TypeError("X is sparse; dense features are needed: use X.toarray().")
    if hasattr(X, "iloc"):
        missing = X.isna().to_numpy()
    else:
        table = refuse_complex(np.asarray(refuse_mask(X, "X")), "X")
        if table.dtype.kind in "OSU":
            refuse_text(table)
        X = np.array(table, dtype=np.float64)
        missing = ~np.isfinite(X)
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"X must have the shape (rows, features); got {X.shape}.")
    if missing.any():
        at = "row {}, column {}".format(*np.argwhere(missing)[0])
        raise ValueError(f"Input X contains NaN or infinity, first at {at}: fill it in.")
    return X


def read_objects(X: Any) -> Any:
    """Return features of any kind as an array of objects, None where one is missing."""
    table = np.array(X, dtype=object)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"X must have the shape (rows, features); got {table.shape}.")
    missing = X.isna().to_numpy() if hasattr(X, "isna") else table != table  # noqa: PLR0124
    table[missing.astype(bool)] = None
    return table


def find_adapter(model: Any, *, learn: bool) -> type[RiverModel] | type[PartialFitModel]:
    """Return the class of the adapter for a model, by its methods."""
    if hasattr(model, "predict_one") and (hasattr(model, "learn_one") or not learn):
        return RiverModel
    answers = any(hasattr(model, name) for name in ANSWERS)
    if answers and (hasattr(model, "partial_fit") or not learn):
        return PartialFitModel
    wanted = "begin_stream, partial_fit or learn_one" if learn else "predict or predict_one"
    raise TypeError(f"prequential needs a model with {wanted}; got {type(model).__name__}.")


def run_foreign(
    adapter: RiverModel | PartialFitModel,
    Y: Floats,
    trace: Trace,
    *,
    learn: bool,
    delay: int,
    after_block: AfterBlock,
) -> None:
    """Score and learn all rows, and note in the trace what happens; every row is a block."""
    begin = time.perf_counter()
    if not learn:
        trace.scores[:] = refuse_nan(adapter.score_all(), adapter.model)
        trace.seconds = time.perf_counter() - begin
        after_block(len(Y))
        return
    for t in range(len(Y)):
        trace.scores[t] = refuse_nan(adapter.score(t), adapter.model)
        if t >= delay:
            adapter.learn(t - delay)
        after_block(1)
    for t in range(max(len(Y) - delay, 0), len(Y)):
        adapter.learn(t)
    trace.seconds = time.perf_counter() - begin


def refuse_nan(scores: Floats, model: Any) -> Floats:
    """Return scores that are numbers."""
    if np.isnan(scores).any():
        raise ValueError(f"{type(model).__name__} answered NaN: its scores cannot be ranked.")
    return scores
