"""Targets and single rows as people bring them, turned into arrays; used by every estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.support.dense import densify
from efcml.support.masks import fill_mask

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Floats


def refuse_complex(array: Array, name: str) -> Array:
    """Return the array unless it holds complex numbers."""
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    return array


def refuse_text(X: Any) -> None:
    """Refuse a table whose first entry that is no number can be named."""
    table = X.to_numpy(dtype=object) if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
    for (row, column), value in np.ndenumerate(table):
        if isinstance(value, str | bytes) and not is_number(value):
            name = f" ({X.columns[column]})" if hasattr(X, "columns") else ""
            raise ValueError(
                f"X must hold numbers; row {row}, column {column}{name} is {value!r}: encode text "
                "as numbers first, or make it a category of pandas."
            ) from None


def is_number(text: str | bytes) -> bool:
    """Tell whether a text can be read as a number, as arrays of texts are."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def column_names(y: Any) -> Any:
    """Return the names of a DataFrame's columns, or None."""
    return np.array([str(c) for c in y.columns], dtype=object) if hasattr(y, "columns") else None


def as_array(y: Any) -> Array:
    """Return targets of any supported kind as an array, not yet checked."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None.")
    y = densify(y)
    if hasattr(y, "iloc"):  # pandas: types with NA become floats with NaN
        from sklearn.utils.validation import check_array

        y = check_array(y, dtype=None, ensure_all_finite=False, ensure_2d=False)
    return refuse_complex(np.asarray(fill_mask(y)), "y")


def is_flat(y: Array) -> bool:
    """Tell whether y is a single binary target: 1-D, or one column of other values than 0/1."""
    if y.ndim != 2 or y.shape[1] != 1:
        return y.ndim == 1
    return y.dtype.kind not in "biuf" or not (np.isnan(y) | np.isin(y, (0, 1))).all()


def read_labels(y: Array, known: Array | None, classes: Any) -> tuple[Floats, Array]:
    """Return a 2-D label array as fresh floats, and the label indices."""
    try:
        if y.dtype.kind not in "biuf" and any(isinstance(value, str | bytes) for value in y.flat):
            raise TypeError("strings are not read as numbers")
        Y = np.array(y, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError("y must hold 0, 1 or NaN (unknown); got other objects.") from None
    strange = Y[~(np.isnan(Y) | (Y == 0.0) | (Y == 1.0))]
    if strange.size:
        raise ValueError(f"y must hold 0, 1 or NaN (unknown); got {strange[0]:g}.")
    for count in [len(np.atleast_1d(given)) for given in (known, classes) if given is not None]:
        if count != Y.shape[1]:
            raise ValueError(f"y has {Y.shape[1]} labels, but {count} are expected.")
    return Y, np.arange(Y.shape[1])


def is_pair(y: Array) -> bool:
    """Tell whether an array clearly holds at most two classes: whole numbers or strings."""
    if y.dtype.kind not in "biufU" or (y.dtype.kind == "f" and (y != np.floor(y)).any()):
        return False
    return len(np.unique(y)) <= 2


def read_binary(y: Array, known: Array | None, classes: Any) -> tuple[Floats, Array]:
    """Return a 1-D binary target as one float column, and its class labels."""
    y = y.reshape(-1)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; a 1-D y must be complete.")
    if y.dtype.kind == "O" and not all(isinstance(value, str) for value in y):
        raise ValueError("Unknown label type: a 1-D y must hold numbers only or strings only.")
    if not is_pair(y):
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
    if classes is not None and known is not None and set(np.unique(classes)) != set(known):
        raise ValueError(f"classes must be {known.tolist()}, as in the first call.")
    if known is None:
        known = np.unique(y if classes is None else classes)
        if len(known) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass; "
                "give several labels as a 2-D array of 0 and 1."
            )
        if classes is None and len(known) == 1 and known[0] in (0, 1):
            known = np.array([0, 1], dtype=known.dtype)
    if not np.isin(y, known).all():
        raise ValueError(f"y has other labels than {known.tolist()}: give all classes at first.")
    return np.array(y == known[-1], dtype=np.float64).reshape(-1, 1), known


def one_row(values: Any, name: str) -> Any:
    """Return a table of one row: 1-D data become one, tables of one row stay as they are."""
    if hasattr(values, "to_frame"):  # a pandas Series keeps its names
        return values.to_frame().T
    if not hasattr(values, "columns"):
        values = np.ma.asarray(values) if np.ma.isMA(values) else np.asarray(values)
        values = values.reshape(1, -1) if values.ndim < 2 else values
    if len(values) != 1:
        raise ValueError(f"{name} must be one row; got {len(values)} rows.")
    return values


def read_known(known: Any, shape: tuple[int, int], label_names: Any) -> Floats:
    """Return labels that are known already as floats, or say what is wrong with them."""
    names, table = column_names(known), as_array(known)
    if table.shape != shape:
        raise ValueError(
            f"known must have the shape {shape}, a row for every row of X and a column for "
            f"every label, NaN where it is not known; got {table.shape}."
        )
    if names is not None and label_names is not None and not np.array_equal(names, label_names):
        raise ValueError(f"known must have the columns {list(label_names)}, in this order.")
    try:
        return read_labels(table, None, None)[0]
    except ValueError as error:
        raise ValueError(str(error).replace("y must", "known must", 1)) from None
