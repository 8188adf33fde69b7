"""What users are warned of: values beyond the scale, and planes that ran away."""

import warnings

import numpy as np

from efcml.kernels.rows import MOST_WEIGHT

MOST_CLIPPED = 0.01  # share of all values
LEAST_ROWS = 100  # fewer say little about a stream


class ClippingWarning(RuntimeWarning):
    """Many values were clipped: they lie far outside of what the scale was made for."""


class DivergenceWarning(RuntimeWarning):
    """A rule's consequents ran away under a printed formula; the guard stopped its steps."""


def warn_of_clipping(clipped, rows, names=None):
    """Warn if too many values of some rows were clipped (p,); return whether it did.

    ``clipped`` is None for models that do not count. ``names`` are those of the features.
    """
    if clipped is None or rows < LEAST_ROWS or clipped.sum() <= MOST_CLIPPED * rows * len(clipped):
        return False
    worst = int(np.argmax(clipped))
    name = worst if names is None else repr(names[worst])
    if names is not None and len(names) != len(clipped):
        name = "directions"  # of a projection
    warnings.warn(
        f"{clipped.sum() / (rows * len(clipped)):.1%} of the values of {rows} rows were clipped, "
        f"most of them ({clipped[worst] / rows:.1%}) of feature {name}: see whether its unit has "
        "changed; scaling='follow', the default, lets the scale change with it once 40 labelled "
        "rows agree. A larger clip lets far values count.",
        ClippingWarning,
        stacklevel=4,
    )
    return True


def warn_of_divergence(uid, row, params):
    """Warn that a rule was stopped, naming it and the cause."""
    causes = []
    if params.correlation == "paper":
        causes.append("correlation='paper' is not convex")
    if params.lipschitz == "paper":
        causes.append("lipschitz='paper' steps too far")
    warnings.warn(
        f"rule {uid} passed max |W| = {MOST_WEIGHT:g} at row {row} "
        f"({' and '.join(causes) or 'steps too large'}); it and any further such rule go on "
        "without proximal steps.",
        DivergenceWarning,
        stacklevel=4,
    )
