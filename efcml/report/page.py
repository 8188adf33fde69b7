"""Pages in one file: parts of a page, and the template that makes HTML of them."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, PackageLoader

from efcml import __version__
from efcml.plots.style import UNDATED, styled
from efcml.support.files import replacing, without_nan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.support.aliases import PathLike

PIXELS_PER_INCH = 96  # of style sheets


class Cell(NamedTuple):
    """A value, exact for scripts, and as readers see it."""

    value: Any
    words: str


class Table(NamedTuple):
    """A table; a line has a key for scripts, its name, and values or `Cell` for the columns."""

    name: str
    caption: str
    head: Sequence[str]
    lines: Mapping[str, Sequence[Any]]
    numbers: bool = False  # all columns but the first, to be aligned on the right


class Picture(NamedTuple):
    """An image within the page."""

    name: str
    caption: str
    alternative: str  # what those hear who cannot see it
    source: str
    width: int
    height: int


class Cards(NamedTuple):
    """The main numbers, large: title, value, and what stands below it."""

    cards: Sequence[tuple[str, str, str]]


class Text(NamedTuple):
    """Words that are no plain paragraph."""

    text: str
    tag: str = "pre"
    look: str = ""


class Html(NamedTuple):
    """HTML of our own, escaped already, with a title above it."""

    html: str
    title: str = ""


class Section(NamedTuple):
    """A part of a page with its heading; parts are any of the above, or words of a paragraph."""

    name: str
    title: str
    parts: Sequence[Any]


def write_page(path: PathLike, title: str, sections: Sequence[Section]) -> Path:
    """Write a self-contained page; the file is complete or not there."""
    environment = Environment(
        loader=PackageLoader("efcml", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"exact": exact, "shown": shown}
    kept = [section for section in sections if section.parts]
    page = environment.get_template("page.html")
    text = page.render(title=title, sections=kept, version=__version__).lstrip()
    with replacing(path) as file:  # names of files can hold what UTF-8 cannot
        file.write(text.encode("utf-8", "backslashreplace"))
    return Path(path)


def exact(cell: Any) -> str:
    """Return a value as JSON, to be compared with a summary; null for what JSON does not have.

    Examples
    --------
    >>> exact(Cell(0.5, "a half")), exact(math.nan)
    ('0.5', 'null')
    """
    value = cell.value if isinstance(cell, Cell) else cell
    return json.dumps(without_nan(value), default=str)


def shown(cell: Any) -> str:
    """Return a value as readers see it.

    Examples
    --------
    >>> shown(Cell(0.5, "a half")), shown(1 / 3), shown(True), shown(None)
    ('a half', '0.333333', 'yes', 'none')
    """
    if isinstance(cell, Cell):
        return cell.words
    value = cell.item() if hasattr(cell, "item") and getattr(cell, "size", 1) == 1 else cell
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@styled
def picture(figure: Figure | Path, name: str, caption: str, alternative: str = "") -> Picture:
    """Return a figure, or an SVG file that was made of one, as an image within a page.

    A picture is a document of its own. So names within it cannot collide with those of others, and
    nothing in it can run or be loaded.
    """
    if isinstance(figure, Path):
        drawing = figure.read_bytes()
    else:
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata=UNDATED["svg"])
        drawing = file.getvalue()
    head = drawing[: drawing.find(b">", drawing.find(b"<svg"))].decode()
    points = (float(head.partition(f' {side}="')[2].partition("pt")[0]) for side in SIDES)
    width, height = (round(length * PIXELS_PER_INCH / 72) for length in points)
    source = f"data:image/svg+xml;base64,{base64.b64encode(drawing).decode()}"
    return Picture(name, caption, alternative or caption, source, width, height)


SIDES = ("width", "height")
