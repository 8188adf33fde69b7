"""Aligned tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def format_table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return lines of columns; numbers to the right, text to the left.

    Examples
    --------
    >>> for line in format_table(["set", "rows"], [["emotions", "593"], ["yeast", "2417"]]):
    ...     print(line)
    set       rows
    emotions   593
    yeast     2417
    """
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [all(_is_number(row[i]) for row in cells[1:]) for i in range(len(header))]
    lines = []
    for row in cells:
        parts = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return lines


def _is_number(text: str) -> bool:
    """Tell whether a cell counts as a number: also "-", and counts with strokes between them."""
    try:
        for part in text.split("/"):
            float(part)
    except ValueError:
        return text in ("", "-")
    return True
