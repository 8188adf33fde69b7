"""Rows in the scale of a model."""

import numpy as np

from efcml._jit import driver


FARTHEST = 2.0  # deviations up to which rows reach, if a feature grows evenly


@driver
def scale_rows(X, mean, scale, spread, ignored, clip, wildest, Z):
    """Write scaled rows, within ``clip``; NaN where a value is missing, or taken for a mistake.

    Of ``ignored`` features, which only grow, what lies outside of the rows that gave the scale counts as 0.
    """
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            z = (X[t, j] - mean[j]) / scale[j]
            if ignored[j] and abs(z) > FARTHEST:
                z = 0.0
            wild = spread[j] and abs(z) > wildest
            Z[t, j] = np.nan if wild or np.isnan(z) else min(clip, max(-clip, z))
