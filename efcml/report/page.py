"""Pages in one file: tables and pictures, and templates that make HTML of them."""

import base64
import math
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from efcml import __version__
from efcml.explain.words import templates
from efcml.plots.style import write_figure
from efcml.support.aliases import PathLike
from efcml.support.files import replacing

FORMATS = {"queried_share": ".1%", "frequency": ".1%", "ms_per_sample": ".3g", "seconds": ".3g"}
MEASURED = ("pa", "ap", "macro_f1", "subset_accuracy", "log_loss", "calibration_error")
FORMATS |= dict.fromkeys((*MEASURED, "f1"), ".4f")


class Table(NamedTuple):
    """A table of words; the first one of a line is its name."""

    name: str
    caption: str
    head: Sequence[str]
    lines: Sequence[Sequence[Any]]


class Picture(NamedTuple):
    """An image within the page."""

    name: str
    source: str


def write_page(path: PathLike, title: str, template: str, **values: Any) -> Path:
    """Write a self-contained page; the file is complete or not there."""
    environment = templates("report")
    environment.filters["shown"] = shown
    page = environment.get_template(template)
    text = page.render(title=title, version=__version__, **values).lstrip()
    with replacing(path) as file:  # names of files can hold what UTF-8 cannot
        file.write(text.encode("utf-8", "backslashreplace"))
    return Path(path)


def shown(value: Any, key: str = "") -> str:
    """Return a value as readers see it; numbers are rounded by what they are."""
    value = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "none"
    if isinstance(value, int | float):
        return format(value, FORMATS.get(key, ".6g" if isinstance(value, float) else ""))
    return str(value)


def picture(figure: Figure | Path, name: str) -> Picture:
    """Return a figure, or an SVG file that was made of one, as an image within a page.

    A picture is a document of its own. So names within it cannot collide with those of others, and
    nothing in it can run or be loaded.
    """
    if isinstance(figure, Path):
        drawing = figure.read_bytes()
    else:
        file = BytesIO()
        write_figure(figure, file, "svg")
        drawing = file.getvalue()
    return Picture(name, f"data:image/svg+xml;base64,{base64.b64encode(drawing).decode()}")
