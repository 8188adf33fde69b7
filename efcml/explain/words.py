"""Numbers in words, and what is read of a model, once as plain text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment

NONE_OF_IT = 0.05  # share of a value in the rows of a rule below which it tells nothing


def number_words(bounds: Sequence[tuple[bool, float]]) -> str:
    """Return what is said of a number with a lower bound (true), an upper one, or both."""
    plain = [(low, repr(bound + 0.0).removesuffix(".0")) for low, bound in sorted(bounds)[::-1]]
    return " and ".join(f"{'above' if low else 'up to'} {bound}" for low, bound in plain)


def values_words(yes: Sequence[str], no: Sequence[str]) -> str:
    """Return which values a group must have, and which not."""
    parts, some = [*yes], len(no) > 1
    if no:
        parts.append(f"neither {', '.join(no[:-1])} nor {no[-1]}" if some else f"not {no[0]}")
    return " and ".join(parts)


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
