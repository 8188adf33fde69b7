"""Numbers in words: where a rule lies along a feature, and what sets it apart."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

# In standard deviations of a feature. The inner cuts split a normal feature into thirds (31, 38
# and 31 %), the outer ones take the last 7 % off on either side.
CUTS = (-1.5, -0.5, 0.5, 1.5)
LEVELS = ("very low", "low", "medium", "high", "very high")
NARROW = 0.5  # a rule of at most this width, in standard deviations of the feature, is narrow


class Term(NamedTuple):
    """One condition of a rule: the feature, its level in words, center and width of the rule."""

    feature: str
    term: str
    value: float
    sigma: float

    def __str__(self) -> str:
        return f"{self.feature} is {self.term} ({with_spread(self.value, self.sigma)})"


class Tendency(NamedTuple):
    """What a rule answers at its center, and how often the label occurs in all rules together."""

    label: str
    answer: float
    usual: float

    def __str__(self) -> str:
        return f"{self.label} {short(self.answer)} (usual {short(self.usual)})"


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


def distinctness(z: Floats, width: Floats) -> Floats:
    """Return how much a rule differs from all rows along each feature.

    It is the symmetric Kullback-Leibler divergence between N(z, width^2) and N(0, 1). Only a width
    below 1 counts by itself: a rule that is wider than the rows says nothing about the feature.

    Examples
    --------
    >>> distinctness(np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 2.0]))
    array([0., 1., 0.])
    """
    shift = 0.5 * z**2 * (1.0 + width**-2.0)
    narrow = np.minimum(width, 1.0)
    return shift + 0.5 * (narrow**2 + narrow**-2.0) - 1.0


def with_spread(value: float, sigma: float) -> str:
    """Return value and spread with two digits of the spread.

    Examples
    --------
    >>> with_spread(142.37, 11.2), with_spread(-0.0123, 0.00042)
    ('142 ± 11', '-0.01230 ± 0.00042')
    >>> with_spread(2.5e9, 3e7)
    '2.5e+09 ± 3e+07'
    """
    digits = 1 - math.floor(math.log10(sigma)) if sigma > 0.0 else 7
    if digits > 6 or max(abs(value), sigma) >= 1e6:
        return f"{value:.4g} ± {sigma:.2g}"
    digits = max(digits, 0)
    return f"{value:.{digits}f} ± {sigma:.{digits}f}"


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
    """Return a number as `short` does, with its sign.

    Examples
    --------
    >>> signed(0.12), signed(-0.4)
    ('+.12', '-.40')
    """
    text = short(value)
    return text if text.startswith("-") else f"+{text}"


def percent(value: float) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> percent(0.234), percent(0.0004)
    ('23 %', '0.04 %')
    """
    return f"{100.0 * value:.0f} %" if value >= 0.01 or value == 0.0 else f"{100.0 * value:.1g} %"


def count(number: float, thing: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "row"), count(3.0, "row")
    ('1 row', '3 rows')
    """
    return f"{number:.0f} {thing}{'' if number == 1 else 's'}"
