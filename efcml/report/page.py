"""Pages in one file: tables and pictures, and templates that make HTML of them."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, PackageLoader

from efcml import __version__
from efcml.plots.style import as_bytes
from efcml.support.files import replacing, without_nan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.support.aliases import PathLike

PIXELS_PER_POINT = 96 / 72  # of style sheets
FORMATS = {"queried_share": ".1%", "frequency": ".1%", "ms_per_sample": ".3g", "seconds": ".3g"}
MEASURED = ("pa", "ap", "macro_f1", "subset_accuracy", "log_loss", "calibration_error")
FORMATS |= dict.fromkeys((*MEASURED, "constant_pa", "f1"), ".4f")


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


class Section(NamedTuple):
    """A part of a page with its heading; parts are tables, pictures, or words of a paragraph."""

    name: str
    title: str
    parts: Sequence[Any]


def write_page(
    path: PathLike,
    title: str,
    sections: Sequence[Section] = (),
    template: str = "page.html.j2",
    **values: Any,
) -> Path:
    """Write a self-contained page; the file is complete or not there.

    Templates that extend the usual one have ``values`` for what stands in place of sections.
    """
    environment = Environment(
        loader=PackageLoader("efcml", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"exact": exact, "shown": shown}
    page = environment.get_template(template)
    text = page.render(title=title, sections=sections, version=__version__, **values).lstrip()
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


def shown(cell: Any, key: str = "") -> str:
    """Return a value as readers see it; numbers are rounded by what they are.

    Examples
    --------
    >>> shown(Cell(0.5, "a half")), shown(1 / 3), shown(True), shown(None)
    ('a half', '0.333333', 'yes', 'none')
    >>> shown(0.80449, "pa"), shown(0.1, "queried_share"), shown(float("nan"), "pa")
    ('0.8045', '10.0%', 'none')
    """
    if isinstance(cell, Cell):
        return cell.words
    value = cell.item() if hasattr(cell, "item") and getattr(cell, "size", 1) == 1 else cell
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "none"
    usual = ".6g" if isinstance(value, float) else ""
    return format(value, FORMATS.get(key, usual) if isinstance(value, int | float) else usual)


def picture(figure: Figure | Path, name: str, caption: str = "", alternative: str = "") -> Picture:
    """Return a figure, or an SVG file that was made of one, as an image within a page.

    A picture is a document of its own. So names within it cannot collide with those of others, and
    nothing in it can run or be loaded.
    """
    drawing = figure.read_bytes() if isinstance(figure, Path) else as_bytes(figure, "svg")
    sides = re.search(rb'<svg[^>]* width="([\d.]+)pt" height="([\d.]+)pt"', drawing)
    found = sides.groups() if sides else (0.0, 0.0)
    width, height = (round(float(side) * PIXELS_PER_POINT) for side in found)
    source = f"data:image/svg+xml;base64,{base64.b64encode(drawing).decode()}"
    return Picture(name, caption, alternative or caption, source, width, height)
