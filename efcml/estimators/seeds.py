"""Random states as people bring them."""

from numbers import Integral

import numpy as np


def read_random_state(value):
    """Return a ``RandomState`` as scikit-learn makes it of a seed, a ``RandomState`` or None."""
    if isinstance(value, Integral):
        return np.random.RandomState(value)
    from sklearn.utils.validation import check_random_state

    return check_random_state(value)
