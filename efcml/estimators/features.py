"""Tables of features as people bring them, turned into floats.

NaN stands for a missing value, in models that know what to do with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.estimators.targets import refuse_complex, refuse_text
from efcml.support.dense import is_sparse
from efcml.support.masks import fill_mask, refuse_mask

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Floats
    from efcml.tables import TableEncoder


def check_table(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return the rows as floats, and note their number of features, or compare it.

    Categories of a data frame become columns of 0 and 1. Numbers in arrays and lists are checked
    here. All else is left to scikit-learn.
    """
    encoding: TableEncoder | None = getattr(estimator, "_encoding", None)
    if reset:
        encoding = find_encoding(X)
        for fact in ("_encoding", "_named_later"):
            vars(estimator).pop(fact, None)
        vars(estimator).update({} if encoding is None else {"_encoding": encoding})
    if encoding is None:
        return check_numbers(estimator, X, reset=reset)
    return spread(encoding, X, check_numbers(estimator, without_words(encoding, X), reset=reset))


def find_encoding(X: Any) -> TableEncoder | None:
    """Return how the categories of a data frame are encoded; None if it has none."""
    kinds = getattr(X, "dtypes", None) if hasattr(X, "isetitem") else None
    if kinds is None or not any(hasattr(kind, "categories") for kind in kinds):
        return None
    from efcml.tables.encoder import TableEncoder

    return TableEncoder.learn_categories(X)


def without_words(encoding: TableEncoder, X: Any) -> Any:
    """Return a table with 0 in all columns that are categories, to check the others."""
    is_frame = hasattr(X, "isetitem")
    X = X.copy() if is_frame else np.array(X, dtype=object)
    for place, column in enumerate(encoding.columns):
        if column.values and X.ndim == 2 and place < X.shape[1]:
            if is_frame:
                X.isetitem(place, 0.0)
            else:
                X[:, place] = 0.0
    return X


def spread(encoding: TableEncoder, X: Any, checked: Floats) -> Floats:
    """Return rows as the learner takes them: a column for each value of a category."""
    import pandas

    from efcml.tables.fields import Fields

    frame = X if hasattr(X, "iloc") else pandas.DataFrame(np.array(X, dtype=object))
    parts = [
        column.encode(Fields(frame.iloc[:, place])) if column.values else checked[:, [place]]
        for place, column in enumerate(encoding.columns)
    ]
    return np.ascontiguousarray(np.hstack(parts))


def check_numbers(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return rows of numbers as floats; see `check_table`."""
    array: Any = None
    gaps = getattr(estimator, "takes_gaps", False)
    X = fill_mask(X) if gaps else X
    if not (is_sparse(X) or hasattr(X, "columns")):
        array = refuse_complex(np.asarray(refuse_mask(X, "X")), "X")
        if array.ndim < 2:
            raise ValueError("X must be 2-D. Reshape your data: X.reshape(1, -1) for one row.")
    if type(X) in (np.ndarray, list, tuple) and is_usual(estimator, array, reset=reset):
        X = np.asarray(array, dtype=np.float64, order="C")
        if reset:
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
    else:
        X = read_table(estimator, X, reset=reset)
    if not np.isfinite(X).all():
        refuse_values(X, gaps=gaps)
    return X


def refuse_values(X: Floats, *, gaps: bool) -> None:
    """Refuse infinite values, and NaN unless there may be gaps."""
    wrong = np.argwhere(np.isinf(X) if gaps else ~np.isfinite(X))
    if len(wrong):
        at = "row {}, column {}".format(*wrong[0])
        if gaps:
            raise ValueError(f"Input X contains infinity, first at {at}: NaN is a missing value.")
        raise ValueError(f"Input X contains NaN or infinity, first at {at}: fill it in.")


def is_usual(estimator: Any, array: Array, *, reset: bool) -> bool:
    """Tell whether scikit-learn would neither refuse an array nor warn of it."""
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        return False
    if reset:
        return True
    named = hasattr(estimator, "feature_names_in_") and not hasattr(estimator, "_named_later")
    return not named and array.shape[1] == estimator.n_features_in_


def refuse_dates(X: Any) -> None:
    """Refuse dates and times, which would be taken for whole numbers of some unit."""
    kinds = X.dtypes if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    for column, kind in enumerate(kinds):
        if getattr(kind, "kind", "") in ("m", "M"):
            name = f"column {X.columns[column]!r}" if hasattr(X, "columns") else "it"
            raise ValueError(
                f"X must hold numbers; {name} holds dates or times: turn them into numbers first, "
                "or let datasets.from_frame make features of them."
            )


def read_table(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return what scikit-learn makes of a table."""
    refuse_dates(X)
    from sklearn.utils.validation import validate_data

    try:
        return validate_data(
            estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False
        )
    except ValueError as error:
        if "could not convert string" in str(error):
            refuse_text(X)
        raise
