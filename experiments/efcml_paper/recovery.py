"""What a budget of labels recovers of the gap between learning nothing and learning everything."""

import numpy as np
from scipy.stats import t as student

from efcml.studies.intervals import LEVEL
from efcml_paper.scale import SETS

MEASURES = ("pa", "ap")


def recovered(findings, experiment, name, start=""):
    """Return mean and half width, by measure, of (line - static) / (full - static) over orders.

    Both differences are averaged over the sets first: a set with hardly a gap would otherwise
    decide. ``start`` follows the names of the lines. None if a line is not recorded on all sets.
    """
    names = (name, "static", "full update")
    found = [mean_over_sets(findings, experiment, key + start) for key in names]
    if any(values is None for values in found):
        return None
    line, static, full = found
    with np.errstate(divide="ignore", invalid="ignore"):  # there may be no gap
        shares = (line - static) / (full - static)
    return [half_width(share) for share in shares]


def lead(findings, experiment, budget, start=""):
    """Return mean and half width, by measure, of active minus random in points, over orders."""
    found = [
        mean_over_sets(findings, experiment, f"{way} {budget:.0%}{start}")
        for way in ("active", "random")
    ]
    if any(values is None for values in found):
        return None
    return [half_width(100.0 * points) for points in found[0] - found[1]]


def mean_over_sets(findings, experiment, name):
    """Return both measures of a line in every order, (2, orders), mean over the small sets."""
    lines = [findings.line(experiment, dataset, name) for dataset in SETS]
    if None in lines:
        return None
    return np.mean([[findings.numbers(line, m) for m in MEASURES] for line in lines], axis=0)


def half_width(values):
    """Return the mean and the half width of its 95 % interval (Student's t).

    Examples
    --------
    >>> mean, half = half_width([1.0, 2.0, 3.0])
    >>> float(mean), round(float(half), 2)
    (2.0, 2.48)
    """
    n = len(values)
    half = np.nan
    if n > 1:
        half = student.ppf(0.5 + LEVEL / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n)
    return np.mean(values), half
