"""Where rules lie, over two features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike

from efcml.plots.style import GREY, clear_frame, names_for, styled

CORNERS = 64  # of an ellipse


@styled
def draw_ellipses(
    centers: ArrayLike,
    covariances: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    used: ArrayLike | None = None,
) -> Axes:
    """Draw rules as ellipses of one standard deviation, in a square panel.

    The panel is square whatever the ranges of the two features. Where both have the same unit,
    ``ax.set_aspect("equal")`` makes distances comparable.

    Parameters
    ----------
    centers, covariances : arrays of shape (n, 2) and (n, 2, 2)
    used : bool array of shape (n,), optional
        Rules that decide some of the rows in question, drawn in black; the others are dotted and
        grey. Take them from ``clf.activations(rows).argmax(axis=1)``.
    """
    centers, covariances = np.asarray(centers, float), np.asarray(covariances, float)
    used = np.ones(len(centers), dtype=bool) if used is None else np.asarray(used, dtype=bool)
    ax = clear_frame(ax, 4.5, 4.5, grid=None)
    turns = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    looks = (
        (used, "rule, one standard deviation", "black", "-"),
        (~used, "rule that decides none of these rows", GREY, ":"),
    )
    for chosen, name, color, dash in looks:
        if chosen.any():
            roots = np.linalg.cholesky(covariances[chosen])
            corners: Any = centers[chosen][:, None] + circle @ roots.swapaxes(1, 2)
            look: Any = {"edgecolors": color, "linestyles": dash, "linewidths": 1.4}
            ax.add_collection(PolyCollection(corners, facecolors="none", **look))
            ax.plot([], [], color=color, linestyle=dash, linewidth=1.4, label=name)
    ax.scatter(centers[used, 0], centers[used, 1], marker="+", s=22, color="black", linewidths=1)
    ax.set_box_aspect(1)
    names = names_for(feature_names, 2, "x")
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax
