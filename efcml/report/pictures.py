"""Figures as parts of a page, written into it."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import matplotlib

from efcml.support.markup import escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches. With the first, letters keep their size at 390 pixels; the others make them smaller, for
# panels that would be narrow beside long names.
PHONE_WIDTHS = 4.0, 4.6, 5.2
PANEL_SHARE = 0.45  # of the width of the figure, that a panel should have
PIXELS_PER_INCH = 96  # of style sheets
DOTS_PER_INCH = 100  # of what is not drawn as shapes; more would double the size of the page
PHONE = "(max-width: 600px)"


def embed_figure(figure: Figure, alternative: str) -> str:
    """Return a figure as an image inside the page, with a narrower drawing of it for phones.

    Every drawing is a document of its own. So names within it cannot collide with those of others,
    and nothing in it can run or be loaded.

    Parameters
    ----------
    figure : Figure
        It is left as it was.
    alternative : str
        What those hear who cannot see it.
    """
    narrow = draw_for_phones(figure)
    image = f'<img src="{to_address(figure)}" {sizes(figure)} alt="{escape(alternative)}">'
    return f"<picture>{narrow}{image}</picture>"


def draw_for_phones(figure: Figure) -> str:
    """Return the narrower drawing; nothing if the usual one serves better when it shrinks."""
    width, height = figure.get_size_inches()
    if width <= max(height, PHONE_WIDTHS[0]):
        return ""
    found = ""
    for narrow in (one for one in PHONE_WIDTHS if one < width):
        with resized(figure, narrow, height), warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            try:
                found = f'<source media="{PHONE}" {sizes(figure)} srcset="{to_address(figure)}">'
            except UserWarning:  # long names leave no room for the picture
                continue
            if max((ax.get_position().width for ax in figure.axes), default=1.0) >= PANEL_SHARE:
                break
    return found


@contextmanager
def resized(figure: Figure, width: float, height: float) -> Iterator[None]:
    """Give a figure another size for a while."""
    before = figure.get_size_inches().copy()
    figure.set_size_inches(width, height)
    try:
        yield
    finally:
        figure.set_size_inches(*before)


def sizes(figure: Figure) -> str:
    """Return the size as attributes, so that the page does not jump while it loads."""
    width, height = (round(PIXELS_PER_INCH * side) for side in figure.get_size_inches())
    return f'width="{width}" height="{height}"'


def to_address(figure: Figure) -> str:
    """Return a drawing as a data address."""
    drawing = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "efcml", "svg.fonttype": "path"}):
        figure.savefig(drawing, format="svg", dpi=DOTS_PER_INCH, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.getvalue()).decode()
