"""Parts of a page. What comes from outside is escaped here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from efcml.support.markup import escape


def exact(value: Any) -> str:
    """Return a value as JSON writes it, to be compared with a summary."""
    return json.dumps(value, default=lambda number: number.item())


def cell(value: Any, shown: object) -> str:
    """Return a cell of a table: short for readers, the exact value for scripts."""
    return f'<td data-value="{escape(exact(value))}">{escape(shown)}</td>'


def table(
    name: str, caption: str, header: Sequence[str], lines: Iterable[tuple[str, str, str]]
) -> str:
    """Return a table.

    Parameters
    ----------
    name : str
        Its id.
    caption : str
    header : list of str
    lines : list of (str, str, str)
        For scripts, the key of the line; for readers, its name; and its further cells as HTML.
    """
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in header)
    rows = "\n".join(
        f'<tr data-key="{escape(key)}"><th scope="row">{escape(title)}</th>{cells}</tr>'
        for key, title, cells in lines
    )
    # A wide table moves inside its own frame; the frame can be reached with the keyboard.
    return (
        f'<div class="wide" role="region" aria-labelledby="{name}-caption" tabindex="0">\n'
        f'<table id="{name}">\n<caption id="{name}-caption">{escape(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def paragraphs(sentences: Iterable[str]) -> str:
    """Return one paragraph per sentence."""
    return "\n".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
