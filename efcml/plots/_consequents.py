"""What a rule concludes: its slopes as a table of features and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.heatmap import SIGNED, cell_axes, draw_cells, feature_words, strongest
from efcml.plots.names import names_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


def draw_consequents(
    slopes: ArrayLike,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    most: int = 20,
) -> Axes:
    """Draw the slopes of a rule: orange raises the score of a label, blue lowers it.

    Parameters
    ----------
    slopes : array of shape (K, p)
        One row per label. Use slopes per standard deviation if the units of features differ.
    feature_names, label_names : sequence of str, optional
    ax : Axes, optional
    most : int
        So many features are drawn: those with the largest absolute slopes over all labels.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_consequents([[0.1, -0.2, 0.0]], ["size", "age", "other"], ["sold"], most=2)
    >>> [ax.yaxis.get_major_formatter()(i) for i in (0, 1)]
    ['age', 'size']
    >>> ax.get_ylabel()
    'strongest 2 of 3 features'
    """
    slopes = as_array(slopes, None, None, name="slopes")
    labels, features = slopes.shape
    feature_names = names_for(feature_names, features, "feature")
    label_names = names_for(label_names, labels, "label")
    kept = strongest(np.abs(np.nan_to_num(slopes)).sum(axis=0), most)
    ax = cell_axes(len(kept), labels) if ax is None else ax
    style.name_axes(ax, "", feature_words(len(kept), features))
    top = np.abs(np.nan_to_num(slopes)).max(initial=0.0) or 1.0
    return draw_cells(
        ax,
        slopes[:, kept].T,
        [feature_names[i] for i in kept],
        label_names,
        colors=SIGNED,
        limits=(-top, top),
        words="slope",
    )
