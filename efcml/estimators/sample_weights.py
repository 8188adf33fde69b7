"""Weights of rows, checked; what has no weight is a row without labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.support.checks import MOST_WEIGHT
from efcml.support.masks import refuse_mask

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


def refuse_keywords(refused: dict[str, Any]) -> None:
    """Refuse what an estimator does not take, by name."""
    for name in refused:
        why = ": every row counts alike" if name == "sample_weight" else ""
        raise TypeError(f"{name} is not supported{why}.")


def weigh_rows(Y: Floats, sample_weight: Any) -> Floats:
    """Return one weight for each row; labels of rows of weight 0 become unknown.

    A single number is the weight of all rows.
    """
    try:
        given = np.asarray(refuse_mask(sample_weight, "sample_weight"), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold numbers, one for each row of X.") from None
    if given.ndim not in (0, 1) or (given.ndim == 1 and given.shape != Y.shape[:1]):
        raise ValueError(
            f"sample_weight must hold one number for each of {len(Y)} rows; got shape "
            f"{given.shape}."
        )
    weights = np.array(np.broadcast_to(given, Y.shape[:1]))
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("sample_weight must be finite and not below 0: leave rows out by 0.")
    if (weights > MOST_WEIGHT).any():
        raise ValueError(
            f"sample_weight is above {MOST_WEIGHT:g}: divide all weights by the same number."
        )
    Y[weights == 0.0] = np.nan
    weights[weights == 0.0] = 1.0  # nobody asks
    return weights
