"""Scaled rows, and whether they still look as scaled rows should.

Per feature, exponentially weighted means of the scaled value, of its square and of its squared step
from row to row, and how much of late did not fit the scale. Small steps tell that rows follow each
other slowly: then the mean of the last rows wanders, which is no change of scale. Once something is
off, rows are held until there are enough of them to say what the scale should be. Rows without any
known label are not looked at: they change nothing in a model.
"""

import numpy as np

from efcml._jit import driver, kernel

IN_DOUBT, N_HELD, NOTED = (
    0,
    1,
    2,
)  # entries of `count`: whether rows are held, how many; rows before
MEMORY = 100.0  # rows, about
FARTHEST = 1.5  # deviations that the mean may be away
WIDEST, NARROWEST = 3.0, 0.125  # deviations, where 1 is what it was
UNFIT = 8.0  # what does not fit of late, see `note_row`, if it is too much
LEAK, STILL = 0.25, 0.5  # what a good value takes off, and one that hardly differs from the last
NEAR = 0.05  # deviations from the last value that are hardly a difference
SLOW_ROWS = 0.5  # autocorrelation of rows that are no sample of a distribution
WANDERS = 6.0  # deviations of the mean of slow rows that are nothing new: nor was it sure before
MOST_WANDERING = 0.95
PAUSE = 100  # rows between two doubts, at least
MUTED = 1000  # rows in which a feature that was off for nothing raises no doubt
STIRRING = 1e-14  # scaled value of a feature at rest that is more than rounding


@driver
def scale_rows(X, mean, scale, spread, ignored, clip, wildest, Z):
    """Write scaled rows, within ``clip``; NaN where a value is missing, or is told to be wild."""
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            z = 0.0 if ignored[j] else (X[t, j] - mean[j]) / scale[j]
            wild = spread[j] and abs(z) > wildest
            Z[t, j] = np.nan if wild or np.isnan(z) else min(clip, max(-clip, z))


def wandering(variance, step, memory):
    """Return the share of its variance 1 by which the mean of so many last scaled rows wanders.

    With ``a = 2/(memory + 1)`` and the autocorrelation c of rows: ``a/(2 - a) (1 + c (1 - a))/(1 -
    c (1 - a))``. Rows tell c by their steps, ``1 - step/(2 variance)``. If they follow each other
    slowly they show only a part of their variance, and c is that with all of it.
    """
    a, c = 2.0 / (memory + 1.0), 0.0
    if variance > 0.0:
        c = max(0.0, 1.0 - step / (2.0 * variance))
    if c > SLOW_ROWS:
        c = max(c, 1.0 - 0.5 * step)
    c *= 1.0 - a
    return min(MOST_WANDERING, a / (2.0 - a) * (1.0 + c) / (1.0 - c))


wandering_here = kernel(wandering)


@kernel
def is_off(level, square, step, unfit, asleep):
    """Tell whether the scale of a feature does not fit; one that never varied has none yet."""
    if asleep or unfit >= UNFIT:
        return unfit >= UNFIT
    variance = square - level * level
    wanders = wandering_here(variance, step, 2.0 * MEMORY - 1.0)
    far = abs(level) > max(FARTHEST, WANDERS * np.sqrt(wanders))
    narrow = variance < NARROWEST * NARROWEST * (1.0 - wanders)
    return far or variance > WIDEST * WIDEST or narrow


@kernel
def note_row(row, x, clip, level, square, step, previous, unfit, asleep, lively, muted):
    """Take in a row, as it came and scaled; return whether the scale of any feature does not fit.

    Features that are muted have been off before, and nothing could be done. Wild values, which
    scaled are missing, say only that they do not fit, as clipped ones do, and any value that is not
    the usual one of a feature that has never varied. ``lively`` features hardly ever had the same
    value twice, or nearly so.
    """
    off = False
    for j in range(x.shape[0]):
        if np.isnan(row[j]):
            continue  # what is missing says nothing
        if np.isnan(x[j]):
            unfit[j] += 1.0
        else:
            misfit = STILL if lively[j] and abs(x[j] - previous[j]) < NEAR else -LEAK
            if abs(x[j]) >= (STIRRING if asleep[j] else clip):
                misfit = 1.0
            level[j] += (x[j] - level[j]) / MEMORY
            square[j] += (x[j] * x[j] - square[j]) / MEMORY
            step[j] += ((x[j] - previous[j]) ** 2 - step[j]) / MEMORY
            unfit[j] = max(0.0, unfit[j] + misfit)
            previous[j] = x[j]
        if muted[j] > 0:
            muted[j] -= 1
        elif is_off(level[j], square[j], step[j], unfit[j], asleep[j]):
            off = True
    return off


@driver
def watch_rows(X, scaled, Y, row_weights, clip, watch):
    """Take in rows; return how many, and whether doubt begins or enough rows are held.

    ``scaled`` are the rows X in the scale of now. In doubt, rows are held; else they are noted.
    Where doubt begins, all features are muted that are off, until some of them begin anew.
    """
    level, square, step, previous, unfit, asleep, lively, muted = watch[:8]
    rows, labels, weights, count = watch[8:]
    for t in range(X.shape[0]):
        n_known = 0
        for c in range(Y.shape[1]):
            n_known += not np.isnan(Y[t, c])
        if n_known == 0:
            continue
        if count[IN_DOUBT] != 0:
            slot = min(count[N_HELD], rows.shape[0] - 1)
            weights[slot] = row_weights[t]
            for j in range(X.shape[1]):
                rows[slot, j] = X[t, j]
            for c in range(Y.shape[1]):
                labels[slot, c] = Y[t, c]
            count[N_HELD] = slot + 1
            if slot + 1 == rows.shape[0]:
                return t + 1, True
        else:
            count[NOTED] += 1
            off = note_row(
                X[t], scaled[t], clip, level, square, step, previous, unfit, asleep, lively, muted
            )
            if off and count[NOTED] >= PAUSE:
                count[IN_DOUBT] = 1
                for j in range(X.shape[1]):
                    if is_off(level[j], square[j], step[j], unfit[j], asleep[j]):
                        muted[j] = MUTED
                return t + 1, True
    return X.shape[0], False
