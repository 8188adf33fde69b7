"""Tables of features as people bring them, turned into floats.

NaN stands for a missing value, in models that know what to do with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.estimators.encoding import Encoding, find_encoding
from efcml.estimators.targets import refuse_complex, refuse_text
from efcml.support.dense import is_sparse
from efcml.support.masks import fill_mask, refuse_mask

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Floats


def check_table(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return the rows as floats, and note their number of features, or compare it.

    Categories of a data frame become columns of 0 and 1. Numbers in arrays and lists are checked
    here. All else is left to scikit-learn.
    """
    encoding: Encoding | None = getattr(estimator, "_encoding", None)
    if reset:
        encoding = find_encoding(X)
        for fact in ("_encoding", "_named_later"):
            vars(estimator).pop(fact, None)
        vars(estimator).update({} if encoding is None else {"_encoding": encoding})
    if encoding is None:
        return check_numbers(estimator, X, reset=reset)
    return encoding.spread(check_numbers(estimator, encoding.put_codes(X), reset=reset))


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
