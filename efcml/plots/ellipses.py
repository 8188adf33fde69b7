"""Rules over two features, as ellipses on the samples they cover."""

import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.colors import ListedColormap

from efcml.plots import style

PRESENT, ABSENT = "#D55E00", "#0072B2"
REGION = ListedColormap(["#eef4fa", "#fbdcc4"])  # predicted absent, predicted present


def draw_ellipses(centers, covariances, *, ax=None, used=None, points=None, present=None,
                  region=None):  # fmt: skip
    """Draw rules as ellipses of one standard deviation.

    Parameters
    ----------
    centers : array of shape (n, 2)
    covariances : array of shape (n, 2, 2)
    ax : Axes, optional
    used : bool array of shape (n,), optional
        Rules that win some of the points, drawn in black; the others are dotted and grey.
    points : array of shape (m, 2), optional
        Samples to draw underneath.
    present : bool array of shape (m,), optional
        Which samples have the label that is shown: filled dots, the others are rings.
    region : (xs, ys, predicted), optional
        Background: 1 where the label is predicted and 0 where not, NaN where nothing is drawn, on
        the grid of ``xs`` and ``ys``.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_ellipses([[0, 0]], [[[4, 0], [0, 1]]])
    >>> ax.get_aspect()
    1.0
    """
    ax = style.clear_frame(style.new_axes(4.5, 4.5) if ax is None else ax)
    ax.grid(False)
    centers, covariances = np.asarray(centers, dtype=float), np.asarray(covariances, dtype=float)
    if region is not None:
        ax.pcolormesh(*region, cmap=REGION, vmin=0, vmax=1, rasterized=True, zorder=0)
        ax.scatter([], [], marker="s", s=60, color=REGION(1), label="label predicted")
    if points is not None:
        points = np.asarray(points, dtype=float)
        present = np.zeros(len(points), bool) if present is None else np.asarray(present, bool)
        rings = {"facecolors": "none", "edgecolors": ABSENT, "linewidths": 0.8}
        ax.scatter(*points[~present].T, s=10, label="label absent", **rings)
        ax.scatter(*points[present].T, s=9, color=PRESENT, linewidths=0, label="label present")
    used = np.ones(len(centers), bool) if used is None else np.asarray(used, bool)
    for chosen, name, look in (
        (used, "rule, one standard deviation", {"color": "black", "linestyle": "-"}),
        (~used, "rule that wins none of these rows", {"color": style.GREY, "linestyle": ":"}),
    ):
        if chosen.any():
            _add(ax, centers[chosen], covariances[chosen], **look)
            ax.plot([], [], linewidth=1.4, label=name, **look)
    ax.scatter(*centers[used].T, marker="+", s=22, color="black", linewidths=1)
    ax.set_aspect("equal")
    return ax


def _add(ax, centers, covariances, *, color, linestyle):
    values, vectors = np.linalg.eigh(covariances)
    lengths = 2.0 * np.sqrt(values)
    angles = np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))
    ellipses = EllipseCollection(
        lengths[:, 1], lengths[:, 0], angles, units="xy", offsets=centers,
        offset_transform=ax.transData, facecolors="none", edgecolors=color,
        linestyles=linestyle, linewidths=1.4,
    )  # fmt: skip
    ax.add_collection(ellipses)
    ax.update_datalim(centers - lengths[:, 1:] / 2)
    ax.update_datalim(centers + lengths[:, 1:] / 2)
