"""Numbers in words: where a rule lies along a feature, what it says, and how sure that is."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from efcml.support.statistics import CUTS, LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from efcml.support.aliases import Floats

NARROW = 0.5  # a rule of at most this width, in standard deviations of the feature, is narrow
PLAIN = 0.9  # share of rows from which on a flag is yes or no without "mostly"
ENOUGH = 0.8  # share of rows that the named values of a group must have
MOST_VALUES = 3
NONE_OF_IT = 0.02  # share below which a rule has none of a value ...
FREQUENT = 0.15  # ... that is frequent elsewhere


class Term(NamedTuple):
    """One condition of a rule: the feature, its level in words, center and width of the rule.

    For flags and groups the value is the share of rows for which the words are true, and the width
    is NaN.
    """

    feature: str
    term: str
    value: float
    sigma: float

    def __str__(self) -> str:
        if math.isnan(self.sigma):
            return f"{self.feature} is {self.term} ({percent(self.value)})"
        return f"{self.feature} is {self.term} ({with_spread(self.value, self.sigma)})"


class Tendency(NamedTuple):
    """What a rule says of a label: its probability, between which values it lies, the usual one."""

    label: str
    answer: float
    usual: float
    low: float
    high: float

    def __str__(self) -> str:
        sure = f"{short(self.low)} to {short(self.high)}"
        return f"{self.label} {short(self.answer)} ({sure}, usual {short(self.usual)})"


class Push(NamedTuple):
    """What a feature adds to the score of a label."""

    feature: str
    effect: float

    def __str__(self) -> str:
        return f"{self.feature} {signed(self.effect)}"


def level(z: float, width: float) -> str:
    """Return the word for a center ``z`` and a width, in standard deviations of the feature.

    Examples
    --------
    >>> level(1.1, 0.8), level(0.0, 0.3), level(-3.0, 0.3)
    ('high', 'narrowly medium', 'very low')
    """
    word = LEVELS[bisect_right(CUTS, z)]
    return f"narrowly {word}" if word == "medium" and width <= NARROW else word


def flag_term(name: str, share: float) -> Term:
    """Return the condition of a column of 0 and 1 that is 1 in a share of the rows.

    Examples
    --------
    >>> str(flag_term("maintained", 0.01)), str(flag_term("maintained", 0.7))
    ('maintained is no (99 %)', 'maintained is mostly yes (70 %)')
    """
    share = min(max(share, 0.0), 1.0)
    word, true = ("yes", share) if share >= 0.5 else ("no", 1.0 - share)
    return Term(name, word if true >= PLAIN else f"mostly {word}", true, math.nan)


def group_term(name: str, values: Sequence[str], shares: Floats, usual: Floats) -> Term:
    """Return the condition of a group, by the share of rows that each value has.

    Examples
    --------
    >>> usual = np.array([0.5, 0.2, 0.2, 0.1])
    >>> str(group_term("machine", "ABCD", np.array([0.1, 0.5, 0.4, 0.0]), usual))
    'machine is B or C (90 %)'
    >>> str(group_term("machine", "ABCD", np.array([0.0, 0.4, 0.3, 0.3]), usual))
    'machine is not A (100 %)'
    """
    shares = np.clip(shares, 0.0, 1.0)
    order = np.argsort(-shares, kind="stable")
    sums = np.cumsum(shares[order])
    needed = 1 + int((sums < ENOUGH).sum())
    missing = int(np.where(shares <= NONE_OF_IT, usual, 0.0).argmax())
    absent = shares[missing] <= NONE_OF_IT and usual[missing] >= FREQUENT
    if needed > min(MOST_VALUES, len(values) - 1) or (needed > 2 and absent):
        if absent:
            return Term(name, f"not {values[missing]}", float(1.0 - shares[missing]), math.nan)
        best = int(order[0])
        return Term(name, f"often {values[best]}", float(shares[best]), math.nan)
    words = " or ".join(values[i] for i in order[:needed])
    return Term(name, words, float(min(sums[needed - 1], 1.0)), math.nan)


def distinctness(z: Floats, width: Floats) -> Floats:
    """Return how much a rule differs from all rows along each feature.

    It is the symmetric Kullback-Leibler divergence between N(z, width^2) and N(0, 1). Only a width
    below 1 counts by itself: a rule that is wider than the rows says nothing about the feature.
    """
    shift = 0.5 * z**2 * (1.0 + width**-2.0)
    narrow = np.minimum(width, 1.0)
    return shift + 0.5 * (narrow**2 + narrow**-2.0) - 1.0


def with_spread(value: float, sigma: float) -> str:
    """Return value and spread with two digits of the spread.

    Examples
    --------
    >>> with_spread(142.37, 11.2), with_spread(-0.0123, 0.00042), with_spread(2.5e9, 3e7)
    ('142 ± 11', '-0.01230 ± 0.00042', '2.5e+09 ± 3e+07')
    """
    digits = 1 - math.floor(math.log10(sigma)) if sigma > 0.0 else 7
    if digits > 6 or max(abs(value), sigma) >= 1e6:
        return f"{value:.4g} ± {sigma:.2g}"
    digits = max(digits, 0)
    return f"{round(value, digits) + 0.0:.{digits}f} ± {sigma:.{digits}f}"


def plain_number(value: float) -> str:
    """Return a value of the data with four digits and no -0."""
    return f"{value + 0.0:.4g}"


def short(value: float) -> str:
    """Return a share or score with two digits and no leading zero.

    Examples
    --------
    >>> short(0.807), short(-0.05), short(1.0), short(-0.001)
    ('.81', '-.05', '1.00', '.00')
    """
    text = f"{round(value, 2) + 0.0:.2f}"  # the sum turns -0 into 0
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def signed(value: float) -> str:
    """Return a number as `short` does, with its sign."""
    text = short(value)
    return text if text.startswith("-") else f"+{text}"


def percent(value: float) -> str:
    """Return a share in percent, such as "23 %" or "0.04 %"."""
    return f"{100.0 * value:.0f} %" if value >= 0.01 or value == 0.0 else f"{100.0 * value:.1g} %"


def count(number: float, thing: str) -> str:
    """Return a number of things, as in "1 row" and "3 rows"."""
    return f"{number:.0f} {thing}{'' if number == 1 else 's'}"
