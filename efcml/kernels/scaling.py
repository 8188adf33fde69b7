"""Rows in the scale of a model."""

import numpy as np

from efcml._jit import driver

FARTHEST = 2.0  # deviations up to which rows reach, if a feature grows evenly


@driver
def scale_rows(X, mean, scale, spread, ignored, clip, wildest, Z):
    """Write scaled rows, within ``clip``; NaN where a value is missing, or taken for a mistake.

    Features that are ``ignored``, because they only grow, count as 0 outside of their first range.
    """
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            z = (X[t, j] - mean[j]) / scale[j]
            if ignored[j] and abs(z) > FARTHEST:
                z = 0.0
            wild = spread[j] and abs(z) > wildest
            Z[t, j] = np.nan if wild or np.isnan(z) else min(clip, max(-clip, z))
