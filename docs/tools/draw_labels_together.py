"""Draw docs/images/labels_together.svg: whether probabilities are what they say, before and now.

A panel for each set, from the records of experiments/decisions/labels_together.py.
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
CURVES = {"bent scores": "reliability_before", "probabilities": "reliability_after"}
COLUMNS = 3


def read_curve(table):
    """Return what was said, what happened, and counts; empty bins are -1 in a record."""
    said, happened, counts = np.array(table, dtype=float)
    return np.where(counts > 0, said, np.nan), np.where(counts > 0, happened, np.nan), counts


def draw(records):
    """Return the figure."""
    from efcml.plots import draw_reliability, new_figure, style

    rows = -(-len(records) // COLUMNS)
    figure = new_figure(4.0 * COLUMNS, 3.4 * rows)
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for ax, (name, record) in zip(axes, records.items(), strict=False):
        part = record["probabilities"]
        draw_reliability({title: read_curve(part[key]) for title, key in CURVES.items()}, ax=ax)
        ax.set_title(f"{name}, {record['rows']} rows", fontsize=style.SMALL + 1, loc="left")
    for ax in axes[len(records) :]:
        ax.set_axis_off()
    return figure


def main(root=ROOT):
    """Draw the picture and name it."""
    from together_tables import records_by_set

    from efcml.plots import save_figure

    drawn = draw(records_by_set())
    for file in save_figure(drawn, root / "docs" / "images" / "labels_together", ["svg"]):
        print(file.name)
    return 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]
    sys.exit(main())
