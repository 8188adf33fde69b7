"""Rows in the scale of a model."""

import numpy as np

from efcml._jit import driver


@driver
def scale_rows(X, mean, scale, spread, ignored, clip, wildest, Z):
    """Write scaled rows, within ``clip``; NaN where a value is missing, or taken for a mistake.

    Of ``ignored`` features, which only grow, what lies outside counts as 0.
    """
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            z = (X[t, j] - mean[j]) / scale[j]
            if ignored[j] and abs(z) > clip:
                z = 0.0
            wild = spread[j] and abs(z) > wildest
            Z[t, j] = np.nan if wild or np.isnan(z) else min(clip, max(-clip, z))
