"""Which features matter for which label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.heatmap import AMOUNT, cell_axes, draw_cells, feature_words, strongest
from efcml.plots.names import names_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


def draw_importance(
    importance: ArrayLike,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    most: int = 15,
) -> Axes:
    """Draw how much every feature matters for every label: the darker, the more.

    Parameters
    ----------
    importance : array of shape (p, K)
        Not negative.
    feature_names, label_names : sequence of str, optional
    ax : Axes, optional
    most : int
        So many features are drawn: those with the largest sums over all labels.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_importance([[0.1], [0.4]], ["size", "age"], ["sold"])
    >>> [ax.yaxis.get_major_formatter()(i) for i in (0, 1)]
    ['age', 'size']
    """
    importance = as_array(importance, None, None, name="importance")
    if (importance < 0).any():
        raise ValueError("importance must not be negative; use draw_consequents for signed values.")
    features, labels = importance.shape
    feature_names = names_for(feature_names, features, "feature")
    label_names = names_for(label_names, labels, "label")
    kept = strongest(np.nan_to_num(importance).sum(axis=1), most)
    ax = cell_axes(len(kept), labels) if ax is None else ax
    style.name_axes(ax, "", feature_words(len(kept), features))
    top = np.nan_to_num(importance).max(initial=0.0) or 1.0
    return draw_cells(
        ax,
        importance[kept],
        [feature_names[i] for i in kept],
        label_names,
        colors=AMOUNT,
        limits=(0.0, top),
        words="importance",
    )
