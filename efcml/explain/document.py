"""What is read of a model, once for terminals and for notebooks: blocks of lines, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Template


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
    """Return parts as plain text, with a blank line between them.

    Examples
    --------
    >>> print(as_text([Block("rule 1", [(1, "IF a")]), Table(["x", "y"], [["10", "2"]])]))
    rule 1
      IF a
    <BLANKLINE>
    x   y
    10  2
    """
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
    return _template().render(parts=parts)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader  # not above: only notebooks and pages need them

    pages = PackageLoader("efcml", "explain")
    environment = Environment(loader=pages, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("document.html")
