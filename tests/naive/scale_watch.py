"""The slow, obvious twin of what watches a scale: every number from all rows so far."""

import numpy as np

MEMORY, PAUSE, HELD = 100, 100, 40


def recent_mean(values, start):
    """Exponentially weighted mean of all values, from what stood there before any of them."""
    keep = (1.0 - 1.0 / MEMORY) ** np.arange(len(values), -1, -1)
    weights = np.append(1.0, np.full(len(values), 1.0 / MEMORY)) * keep
    return float(weights @ np.append(start, values))


def misfit(values, clip, asleep, lively):
    """What of late did not fit, by going through all values."""
    total = previous = 0.0
    for x in values:
        if asleep:
            change = 1.0 if abs(x) >= 1e-14 else -0.25
        elif abs(x) >= clip:
            change = 1.0
        else:
            change = 0.5 if lively and abs(x - previous) < 0.05 else -0.25
        total, previous = max(0.0, total + change), x
    return total


def is_off(values, clip, asleep, lively):
    """Whether the scale does not fit a feature with these scaled values so far."""
    if misfit(values, clip, asleep, lively) >= 8.0:
        return True
    mean = recent_mean(values, 0.0)
    variance = recent_mean(np.square(values), 1.0) - mean**2
    return not asleep and (abs(mean) > 1.5 or variance > 9.0 or variance < 1.0 / 64.0)


def first_doubt(scaled, Y, clip, asleep, lively):
    """The row after which rows are held, or None; PAUSE does not count before the first doubt."""
    seen = []
    for t, x in enumerate(scaled):
        if np.isnan(Y[t]).all():
            continue
        seen.append(x)
        columns = np.array(seen).T
        if any(is_off(c, clip, asleep[j], lively[j]) for j, c in enumerate(columns)):
            return t
    return None
