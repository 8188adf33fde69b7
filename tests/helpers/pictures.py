"""What tests of pictures measure: words, their boxes, pixels."""

from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def words(ax):
    return [text.get_text() for text in ax.texts]


def tick_words(axis):
    """Return the names at the ticks that are drawn."""
    axis.axes.figure.draw_without_rendering()
    return [text.get_text() for text in axis.get_ticklabels() if text.get_text()]


def boxes(texts):
    """Return the boxes of the drawn words; lines that lead to them are left out."""
    texts[0].figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in texts]


def overlaps(texts):
    return [(one, other) for one, other in combinations(boxes(texts), 2) if one.overlaps(other)]


def inside(texts):
    figure = texts[0].figure.bbox
    return all(
        figure.x0 <= box.x0 and box.x1 <= figure.x1 and figure.y0 <= box.y0 and box.y1 <= figure.y1
        for box in boxes(texts)
    )


def pixels(figure):
    """Return the rendered figure as an array of shape (height, width, 3)."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def color_at(ax, x, y):
    """Return the colour of one pixel, given in units of the axes."""
    image = pixels(ax.figure)
    column, row = ax.transData.transform((x, y))
    return tuple(int(part) for part in image[int(len(image) - row), int(column)])
