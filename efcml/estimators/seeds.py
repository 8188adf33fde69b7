"""Random states as people bring them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def read_random_state(value: Any) -> np.random.RandomState:
    """Return a ``RandomState`` as scikit-learn makes it of a seed, a ``RandomState`` or None."""
    if isinstance(value, Integral):
        return np.random.RandomState(value)  # type: ignore[arg-type]
    from sklearn.utils.validation import check_random_state

    return check_random_state(value)
