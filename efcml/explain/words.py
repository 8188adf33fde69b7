"""Numbers in words, and what is read of a model, once as plain text and as HTML."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from efcml.support.aliases import Floats
from efcml.support.statistics import CUTS, LEVELS

if TYPE_CHECKING:
    from jinja2 import Environment

NARROW = 0.5  # a rule of at most this width, in standard deviations of the feature, is narrow
PLAIN = 0.9  # share of rows from which on a flag is yes or no without "mostly"
ENOUGH = 0.8  # share of rows that the named values of a group must have
MOST_VALUES = 3
NONE_OF_IT, FREQUENT = 0.05, 0.15  # share below which a rule has none of what is frequent elsewhere


def level(z: float, width: float) -> str:
    """Return the word for a center ``z`` and a width, in standard deviations of the feature."""
    word = LEVELS[bisect_right(CUTS, z)]
    return f"narrowly {word}" if word == "medium" and width <= NARROW else word


def flag_words(share: float) -> str:
    """Return what is said of a column of 0 and 1 that is 1 in a share of the rows."""
    word, true = ("yes", share) if share >= 0.5 else ("no", 1.0 - share)
    return f"{word if true >= PLAIN else f'mostly {word}'} ({percent(true)})"


def group_words(values: Sequence[str], shares: Floats, usual: Floats) -> str:
    """Return what is said of a group, by the share of rows that each value has."""
    order = np.argsort(-shares, kind="stable")
    needed = 1 + int((np.cumsum(shares[order]) < ENOUGH).sum())
    missing = int(np.where(shares <= NONE_OF_IT, usual, 0.0).argmax())
    if needed > 2 and shares[missing] <= NONE_OF_IT and usual[missing] >= FREQUENT:
        return f"not {values[missing]} ({percent(1.0 - shares[missing])})"
    few = needed <= min(MOST_VALUES, len(values) - 1)
    named = order[: needed if few else 1]
    words = " or ".join(values[i] for i in named)
    return f"{'' if few else 'often '}{words} ({percent(min(shares[named].sum(), 1.0))})"


def several_words(values: Sequence[str], shares: Floats, usual: Floats) -> str:
    """Return what is said of values of which a row may have several: those least as usual."""
    gaps, words = np.abs(shares - usual), []
    for i in np.argsort(-gaps, kind="stable")[:MOST_VALUES]:
        if 2.0 * gaps[i] >= gaps.max():
            no = shares[i] < min(usual[i], 0.5)
            often = "not " if no else "" if shares[i] >= 0.5 else "often "
            words.append(f"{often}{values[i]} ({percent(1.0 - shares[i] if no else shares[i])})")
    return " and ".join(words)


def with_spread(value: float, sigma: float) -> str:
    """Return value and spread with two digits of the spread."""
    digits = 1 - math.floor(math.log10(sigma)) if sigma > 0.0 else 7
    if digits > 6 or max(abs(value), sigma) >= 1e6:
        return f"{value:.4g} ± {sigma:.2g}"
    digits = max(digits, 0)
    return f"{round(value, digits) + 0.0:.{digits}f} ± {sigma:.{digits}f}"


def short(value: float) -> str:
    """Return a share or score with two digits and no leading zero."""
    text = f"{round(value, 2) + 0.0:.2f}"  # the sum turns -0 into 0
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def signed(value: float) -> str:
    """Return a number as `short` does, with its sign."""
    text = short(value)
    return text if text.startswith("-") else f"+{text}"


def percent(value: float) -> str:
    """Return a share in percent, such as "23 %" or "0.04 %"; 100 % only if nothing is missing."""
    if 0.995 < value < 1.0 - 1e-9:  # but for rounding
        return "99.9 %"
    return f"{100.0 * value:.0f} %" if value >= 0.01 or value == 0.0 else f"{100.0 * value:.1g} %"


def count(number: float, thing: str) -> str:
    """Return a number of things, as in "1 row" and "3 rows"."""
    return f"{number:.0f} {thing}{'' if number == 1 else 's'}"


class Bar(str):
    """Words in front of a bar of this share of their width."""

    share: float

    def __new__(cls, words: str, share: float) -> Bar:
        """Return words; a share outside of 0 and 1 is the nearest of them."""
        bar = super().__new__(cls, words)
        bar.share = min(max(share, 0.0), 1.0)
        return bar


class Block(NamedTuple):
    """A title, and lines with the depth by which they are indented."""

    title: str
    lines: Sequence[tuple[int, str]] = ()


class Table(NamedTuple):
    """A table of words, and what else is to be said of it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def as_text(parts: Sequence[Block | Table]) -> str:
    """Return parts as plain text, with a blank line between them."""
    return "\n\n".join("\n".join(_lines(part)) for part in parts)


def _lines(part: Block | Table) -> list[str]:
    """Return the lines of one part."""
    if isinstance(part, Block):
        return [part.title] * bool(part.title) + ["  " * n + words for n, words in part.lines]
    rows = [part.head, *part.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return lines + [part.note] * bool(part.note)


def as_html(parts: Sequence[Block | Table]) -> str:
    """Return parts as HTML; whatever names are in them is escaped."""
    return templates("explain").get_template("document.html.j2").render(parts=parts)


@cache
def templates(folder: str) -> Environment:
    """Return the templates of a folder of the package."""
    from jinja2 import Environment, PackageLoader  # not above: only notebooks and pages need them

    pages = PackageLoader("efcml", folder)
    return Environment(loader=pages, autoescape=True, trim_blocks=True, lstrip_blocks=True)
