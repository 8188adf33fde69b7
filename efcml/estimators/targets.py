"""Tables, targets and weights as people bring them, turned into arrays; used by every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from efcml.support.aliases import Array, Floats, Ints
from efcml.support.checks import MOST_WEIGHT
from efcml.support.masks import densify, fill_mask, is_sparse, refuse_mask

MOST_AHEAD = 2**40  # rows; nothing is left of what the last labels tell
OR_ELSE = "turn them into numbers first, or let datasets.from_frame make features of them."


def check_table(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return rows of numbers as floats (n, p), NaN where one is missing.

    The columns are noted, or compared.
    """
    sparse, X = estimator.takes_sparse, fill_mask(X)
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and len(X) > 0
    light = sparse and is_sparse(X) and X.dtype.kind in "biuf" and X.shape[0] > 0
    known = 0 if reset else estimator.n_features_in_
    if plain and not reset and X.shape[1] == known:
        X = np.ascontiguousarray(X, dtype=np.float64)  # scikit-learn would take .2 ms to look
    elif light and not reset and X.shape[1:] == (known,):
        X = csr_array(X, dtype=np.float64)
    else:
        refuse_kinds(X)
        try:
            options: dict[str, Any] = {"dtype": np.float64, "order": "C"}
            options |= {"accept_sparse": "csr"} if sparse else {}
            X = validate_data(estimator, X, reset=reset, ensure_all_finite=False, **options)
        except (ValueError, OverflowError) as error:
            raise ValueError(in_one_line(str(error), X)) from None
    wrong = np.isinf(X.data if is_sparse(X) else X)
    if wrong.any():
        words = "entry {}" if is_sparse(X) else "row {}, column {}"
        at = words.format(*np.argwhere(wrong)[0])
        raise ValueError(f"Input X contains infinity, first at {at}: NaN is a missing value.")
    return X


def in_one_line(reason: str, X: Any) -> str:
    """Return why scikit-learn refuses a table; where it shows the table, in words of our own."""
    if "Reshape your data" in reason:
        shape = f"X must have the shape (rows, features); got {np.shape(X)}"
        return f"{shape}. Reshape your data: a single row is (1, features)."
    if "Complex data not supported" in reason:
        return "Complex data not supported: X must hold real numbers."
    if "could not convert string" in reason:
        return f"X must hold numbers: {reason}: {OR_ELSE}"
    return f"X must hold numbers: {reason}." if "too large" in reason else reason


def refuse_kinds(X: Any) -> None:
    """Refuse dates and times, and categories, which scikit-learn may take for numbers."""
    is_frame = hasattr(X, "columns")
    kinds = X.dtypes if is_frame else [X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype]
    for column, kind in enumerate(kinds):
        if getattr(kind, "kind", "") in ("m", "M") or hasattr(kind, "categories"):
            name = f"column {X.columns[column]!r}" if is_frame else "it"
            what = "categories" if hasattr(kind, "categories") else "dates or times"
            raise ValueError(f"X must hold numbers; {name} holds {what}: {OR_ELSE}")


def one_row(values: Any, name: str) -> Any:
    """Return a table of one row: 1-D data become one, tables of one row stay as they are."""
    if hasattr(values, "to_frame"):  # a pandas Series keeps its names
        return values.to_frame().T
    if not (is_sparse(values) or hasattr(values, "columns")):
        values = np.ma.asarray(values) if np.ma.isMA(values) else np.asarray(values)
    values = values.reshape(1, -1) if values.ndim < 2 else values
    if values.shape[0] != 1:
        raise ValueError(f"{name} must be one row; got {values.shape[0]} rows.")
    return values


def column_names(y: Any) -> Any:
    """Return the names of a DataFrame's columns, or None."""
    return np.array([str(c) for c in y.columns], dtype=object) if hasattr(y, "columns") else None


def as_array(y: Any) -> Array:
    """Return targets of any supported kind as an array, not yet checked."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None.")
    y = densify(y)
    if hasattr(y, "iloc"):  # pandas: types with NA become floats with NaN
        try:
            y = check_array(y, dtype=None, ensure_all_finite=False, ensure_2d=False)
        except ValueError as error:  # complex numbers are shown in many lines
            raise ValueError(str(error).partition("\n")[0]) from None
    return np.asarray(fill_mask(y))


def read_labels(y: Array, known: Any = None, classes: Any = None) -> Floats:
    """Return a 2-D label array as fresh floats."""
    try:
        if y.dtype.kind not in "biuf" and any(isinstance(value, str | bytes) for value in y.flat):
            raise TypeError("strings are not read as numbers")
        casting: Any = "same_kind" if y.dtype.kind == "c" else "unsafe"
        Y = y.astype(np.float64, order="C", casting=casting)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("y must hold 0, 1 or NaN (unknown); got other objects.") from None
    good = (Y == 0.0) | (Y == 1.0) | np.isnan(Y)
    if not good.all():
        raise ValueError(f"y must hold 0, 1 or NaN (unknown); got {Y[~good][0]:g}.")
    for given in (known, classes):
        if given is not None and (count := len(np.atleast_1d(given))) != Y.shape[1]:
            raise ValueError(f"y has {Y.shape[1]} labels, but {count} are expected.")
    return Y


def read_binary(y: Array, known: Array | None, classes: Any) -> tuple[Floats, Array]:
    """Return a 1-D binary target as one float column, and its class labels."""
    y = y.reshape(-1)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; a 1-D y must be complete.")
    if y.dtype.kind == "O" and not all(isinstance(value, str) for value in y):
        raise ValueError("Unknown label type: a 1-D y must hold numbers only or strings only.")
    check_classification_targets(y)
    if classes is not None and known is not None and set(np.unique(classes)) != set(known):
        raise ValueError(f"classes must be {known.tolist()}, as in the first call.")
    if known is None:
        known = np.unique(y if classes is None else classes)
        if len(known) > 2:
            why = "The type of the target is multiclass; give a 2-D array of 0 and 1"
            raise ValueError(f"Only binary classification is supported. {why}.")
        if classes is None and len(known) == 1 and known[0] in (0, 1):
            known = np.array([0, 1], dtype=known.dtype)
    if not np.isin(y, known).all():
        raise ValueError(f"y has other labels than {known.tolist()}: give all classes at first.")
    return np.array(y == known[-1], dtype=np.float64).reshape(-1, 1), known


def read_weights(Y: Floats, sample_weight: Any) -> Floats | None:
    """Return one weight for each row, or None; labels of rows of weight 0 become unknown.

    A single number is the weight of all rows.
    """
    if sample_weight is None:
        return None
    given = refuse_mask(sample_weight, "sample_weight")
    try:
        weights = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), Y.shape[:1]))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"sample_weight must hold a number for each of {len(Y)} rows.") from None
    if not ((weights >= 0.0) & (weights <= MOST_WEIGHT)).all():
        raise ValueError(
            f"sample_weight must be finite, and from 0 (a row that is left out) to {MOST_WEIGHT:g}."
        )
    Y[weights == 0.0] = np.nan
    return np.where(weights == 0.0, 1.0, weights)  # nobody asks


def read_ahead(ahead: Any, n_rows: int) -> Ints:
    """Return how many rows after the next one each row comes."""
    if ahead is None:
        return np.zeros(n_rows, dtype=np.int64)
    given = np.asarray(ahead)
    if given.dtype.kind not in "iu" or given.shape not in ((), (n_rows,)) or (given < 0).any():
        raise ValueError(f"ahead must be a whole number >= 0, or one for each of {n_rows} rows.")
    return np.full(n_rows, np.minimum(given, MOST_AHEAD), dtype=np.int64)
