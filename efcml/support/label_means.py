"""How often each label is there."""

import numpy as np


def label_means(Y):
    """Return the share of each label among the rows that know it; 0 where none does."""
    known = ~np.isnan(Y)
    count = known.sum(axis=0)
    return np.where(known, Y, 0.0).sum(axis=0) / np.maximum(count, 1)
