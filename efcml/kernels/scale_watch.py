"""Whether scaled rows still look as scaled rows should (how_it_works.md 2, "Scale").

Per feature, an exponentially weighted mean and square of the scaled value, and how much of late did
not fit the scale. Once something is off, rows are held until there are enough of them to
say what the scale should be. ``follow`` holds all that (`FOLLOW_FIELDS` of efcml/model/fields.py).
Rows without any known label are not looked at: they change nothing in a model.
"""

import numpy as np

from efcml._jit import kernel, kernel_part

DOUBT, HELD, CALM = 0, 1, 2  # entries of `count`: whether rows are held, how many, rows before
MEMORY = 100.0  # rows, about
FARTHEST = 1.5  # deviations that the mean may be away
WIDEST, NARROWEST = 3.0, 0.125  # deviations, where 1 is what it was
UNFIT = 8.0  # what does not fit of late, see `weigh_misfit`, if it is too much
LEAK, STILL = 0.25, 0.5  # what a good value takes off, and one that hardly differs from the last
NEAR = 0.05  # deviations from the last value that are hardly a difference
PAUSE = 100  # rows between two doubts, at least
STIRRING = 1e-14  # scaled value of a feature at rest that is more than rounding


@kernel_part
def is_off(level, square, unfit, asleep):
    """Tell whether the scale of a feature does not fit; one that never varied has none yet."""
    if asleep or unfit >= UNFIT:
        return unfit >= UNFIT
    variance = square - level * level
    narrow = variance < NARROWEST * NARROWEST
    return abs(level) > FARTHEST or variance > WIDEST * WIDEST or narrow


@kernel_part
def weigh_misfit(x, previous, clip, asleep, lively):
    """Return what a scaled value adds to what does not fit.

    Clipped values do not; nor does any value that is not the usual one of a feature that has never
    varied. ``lively`` features hardly ever had the same value twice, or nearly so.
    """
    if abs(x) >= (STIRRING if asleep else clip):
        return 1.0
    return STILL if lively and abs(x - previous) < NEAR else -LEAK


@kernel
def note_row(x, clip, follow):
    """Take in one scaled row; return whether the scale of any feature does not fit.

    Features that are muted have been off before, and nothing could be done.
    """
    level, square, unfit, asleep = follow.level, follow.square, follow.unfit, follow.asleep
    off = False
    for j in range(x.shape[0]):
        if np.isnan(x[j]):
            continue  # what is missing says nothing
        misfit = weigh_misfit(x[j], follow.previous[j], clip, asleep[j], follow.lively[j])
        level[j] += (x[j] - level[j]) / MEMORY
        square[j] += (x[j] * x[j] - square[j]) / MEMORY
        unfit[j] = max(0.0, unfit[j] + misfit)
        follow.previous[j] = x[j]
        if follow.muted[j] > 0:
            follow.muted[j] -= 1
        elif is_off(level[j], square[j], unfit[j], asleep[j]):
            off = True
    return off


@kernel
def hold_row(x, y, weight, follow):
    """Hold a row, in the units of the data, and its labels; return whether that was the last."""
    slot = follow.count[HELD]
    follow.weights[slot] = weight
    for j in range(x.shape[0]):
        follow.rows[slot, j] = x[j]
    for c in range(y.shape[0]):
        follow.labels[slot, c] = y[c]
    follow.count[HELD] = slot + 1
    return slot + 1 == follow.rows.shape[0]


@kernel
def has_label(y):
    """Tell whether any label is known."""
    for c in range(y.shape[0]):
        if not np.isnan(y[c]):
            return True
    return False


@kernel
def watch_until_event(X, scaled, Y, amounts, clip, follow):
    """Take in rows; return how many, and whether doubt begins or enough rows are held.

    ``scaled`` are the rows X in the scale of now. In doubt, rows are held; else they are noted.
    Without ``amounts`` all rows have the weight 1.
    """
    count = follow.count
    doubt = count[DOUBT] != 0
    for t in range(X.shape[0]):
        if not has_label(Y[t]):
            continue
        if doubt:
            weight = amounts[t] if t < amounts.shape[0] else 1.0
            if hold_row(X[t], Y[t], weight, follow):
                return t + 1, True
        else:
            count[CALM] += 1
            if note_row(scaled[t], clip, follow) and count[CALM] >= PAUSE:
                count[DOUBT] = 1
                return t + 1, True
    return X.shape[0], False
