"""Small pieces of HTML: escaped; tables for notebooks, readable on light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

LINE = "1px solid rgba(128,128,128,.35)"
CELL = "padding:.25em .7em;vertical-align:top;text-align:{};border:0;border-bottom:" + LINE
BAR = "rgba(0,114,178,.3)"


class Safe(str):
    """HTML that is written as it is; any other value is escaped."""


def escape(value: object) -> Safe:
    """Return a value as HTML, safe in a page and inside an attribute.

    Examples
    --------
    >>> escape('a < "b"')
    'a &lt; &quot;b&quot;'
    """
    return value if isinstance(value, Safe) else Safe(html.escape(str(value)))


def lines(*values: object) -> Safe:
    """Return values below each other."""
    return Safe("<br>".join(escape(value) for value in values))


def join(word: str, values: Iterable[object]) -> Safe:
    """Return values with a word between them; a line breaks only there."""
    return Safe(
        escape(word).join(f'<span style="display:inline-block">{escape(v)}</span>' for v in values)
    )


def faint(value: object) -> Safe:
    """Return a value that is read second."""
    return Safe(f'<span style="opacity:.7">{escape(value)}</span>')


def bar(share: float, value: object) -> Safe:
    """Return a value in front of a bar of this share of its width."""
    percent = f"{100.0 * min(max(share, 0.0), 1.0):.0f}%"
    style = f"background:linear-gradient(90deg,{BAR} {percent},transparent {percent})"
    return Safe(f'<span style="display:block;min-width:4em;{style}">{escape(value)}</span>')


def table(
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: object = "",
    right: Collection[int] = (),
) -> Safe:
    """Return a table; the columns ``right`` are aligned to the right.

    Colours of text and ground are those of the page.
    """
    sides = ["right" if column in right else "left" for column in range(len(head))]

    def line(tag: str, values: Sequence[object], more: str = "") -> str:
        cells = zip(sides, values, strict=True)
        return "".join(
            f'<{tag}{more} style="{CELL.format(side)}">{escape(value)}</{tag}>'
            for side, value in cells
        )

    titles = line("th", head, ' scope="col"')
    body = "".join(f'<tr style="background:none">{line("td", row)}</tr>' for row in rows)
    return Safe(
        '<table style="border-collapse:collapse;border:0;font-size:90%;margin:.5em 0">'
        f'<caption style="text-align:left;padding:.3em .7em">{escape(caption)}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )
