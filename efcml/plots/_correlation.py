"""Which labels come together, and which exclude each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.heatmap import SIGNED, cell_axes, draw_cells
from efcml.plots.names import names_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.support.aliases import Floats, Ints

CELL = 0.42, 0.36  # inches, in a figure of its own


def draw_label_correlation(
    correlation: ArrayLike, label_names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the correlation of every pair of labels once, similar labels next to each other.

    Parameters
    ----------
    correlation : array of shape (K, K)
        Symmetric. NaN, as for a label that never changes, is drawn as a cross.
    label_names : sequence of str, optional
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_label_correlation([[1.0, -0.5], [-0.5, 1.0]], ["day", "night"])
    >>> [text.get_text() for text in ax.texts]
    ['−0.50']
    """
    correlation = as_array(correlation, None, None, name="correlation")
    labels = len(correlation)
    as_array(correlation, labels, labels, name="correlation")
    label_names = names_for(label_names, labels, "label")
    pairs = max(labels - 1, 0)
    order = order_labels(correlation)
    # Row i holds the pairs of label i + 1 with all labels before it.
    values = np.clip(correlation[np.ix_(order[1:], order[:-1])], -1.0, 1.0)
    values[~np.tri(pairs, dtype=bool)] = np.inf
    ax = cell_axes(pairs, pairs, CELL) if ax is None else ax
    style.name_axes(ax, "", "")
    return draw_cells(
        ax,
        values,
        [label_names[i] for i in order[1:]],
        [label_names[i] for i in order[:-1]],
        colors=SIGNED,
        limits=(-1.0, 1.0),
        words="correlation",
    )


def order_labels(correlation: Floats) -> Ints:
    """Return the labels, those that behave alike side by side and those without any value last."""
    others = np.where(np.eye(len(correlation), dtype=bool), np.nan, correlation)
    known = ~np.isnan(others).all(axis=1)
    first, last = np.flatnonzero(known), np.flatnonzero(~known)
    alike = order_alike(np.nan_to_num(correlation[np.ix_(first, first)]))
    return np.concatenate([first[alike], last])


def order_alike(correlation: Floats) -> Ints:
    """Return the labels in an order that puts those with similar correlations side by side.

    Every label is a point in the plane of the two largest principal axes; the points are taken
    round the clock, starting after the widest gap (Friendly, The American Statistician 56, 2002).

    Examples
    --------
    >>> order_alike(np.kron(np.ones((2, 2)), [[1, -0.9], [-0.9, 1]])).tolist()
    [0, 2, 1, 3]
    """
    if len(correlation) < 3:
        return np.arange(len(correlation))
    _, axes = np.linalg.eigh((correlation + correlation.T) / 2)
    axes = axes * np.where(axes[0] < 0, -1.0, 1.0)  # their signs are arbitrary
    angles = np.round(np.arctan2(axes[:, -2], axes[:, -1]), 6)
    order = np.argsort(angles, kind="stable")
    gaps = np.diff(angles[order], append=angles[order[0]] + 2 * np.pi)
    order = np.roll(order, -1 - int(gaps.argmax()))
    return order if order[0] < order[-1] else order[::-1]
