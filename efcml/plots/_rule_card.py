"""One rule on a card: when it holds, and what it says of each label."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.plots import style
from efcml.plots.arrays import as_array
from efcml.plots.names import names_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

LINE = 0.17  # inches of a line of words
BAND = 0.27  # inches of a label
LETTERS = 84  # of a line
SAID, USUAL = "#D55E00", "#666666"


def draw_rule_card(
    title: str,
    conditions: Sequence[str],
    label_names: Sequence[str] | None,
    answers: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    usual: ArrayLike,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw a rule: its conditions in words, and shares of labels in its rows with intervals.

    Parameters
    ----------
    title : str
    conditions : sequence of str
        One line each; they hold together.
    label_names : sequence of str, or None
    answers, low, high, usual : arrays of shape (K,)
        Shares of the labels in the rule, between which values they lie, and the usual shares.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = draw_rule_card("rule 1", ["wet is yes (98 %)"], ["slip"], [0.8], [0.7], [0.9], [0.2])
    >>> ax.get_xlabel()
    'share of rows with the label'
    """
    answers = as_array(answers, None, name="answers")
    n = len(answers)
    low, high, usual = (
        as_array(values, n or None, name=name)
        for values, name in ((low, "low"), (high, "high"), (usual, "usual"))
    )
    labels = names_for(label_names, n, "label")
    words = _write(title, conditions)
    if ax is None:
        ax = style.own_axes(6.4, 1.1 + LINE * words.count("\n") + BAND * max(n, 2))
    style.clear_frame(ax)
    ax.grid(visible=True, axis="x", color=style.PALE, linewidth=0.7)
    ax.grid(visible=False, axis="y")
    ax.set_title(words, loc="left", fontsize=style.SMALL + 0.5, linespacing=1.35)
    y = np.arange(n)[::-1]
    ax.hlines(y, low, high, color=SAID, linewidth=2.2, alpha=0.6)
    ax.scatter(answers, y, s=30, color=SAID, zorder=3, label="in its rows, and how sure")
    ax.scatter(usual, y, s=70, marker="|", color=USUAL, zorder=2, label="usual")
    ax.axvline(0.5, color=style.GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_yticks(y, labels)
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.7, max(n, 1) - 0.3))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=style.SMALL)
    return style.name_axes(ax, "share of rows with the label", "")


def _write(title: str, conditions: Sequence[str]) -> str:
    """Return title and conditions as lines, without signs that matplotlib would read."""
    lines = [title]
    for i, condition in enumerate(conditions):
        first = ("IF " if i == 0 else "AND ") if len(conditions) > 1 or i else ""
        start = first or ("" if condition.isupper() else "IF ")
        lines += textwrap.wrap(
            f"{start}{condition}", LETTERS, initial_indent="  ", subsequent_indent="      "
        )
    return "\n".join(lines).replace("$", r"\$")
