"""Draw docs/images/following.svg from the records of experiments/decisions/drift_detection.py."""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"default": "default", "forgetting=1": "never forgets"}


def draw(records):
    """Return the figure: a panel for each stream, both variants, means over the draws.

    Below the lines stand the rows at which rules told of drift, those of all draws together.
    """
    from following_tables import spans_of

    from efcml.plots import new_figure, style

    streams = [name for name in dict.fromkeys(r["stream"] for r in records) if "drift" in name]
    figure = new_figure(9.5, 7.6)
    for ax, stream in zip(figure.subplots(3, 2).ravel(), streams, strict=False):
        here = [one for one in records if one["stream"] == stream]
        style.clear_frame(ax)
        for variant, (color, dash) in zip(NAMES, style.line_looks(2), strict=True):
            runs = [one for one in here if one["variant"] == variant]
            trend = np.mean([one["trend"] for one in runs], axis=0)
            rows = (np.arange(len(trend)) + 0.5) * runs[0]["window"]
            label = NAMES[variant]
            ax.plot(rows, trend, color=color, linestyle=dash, linewidth=1.6, label=label)
        low = ax.get_ylim()[0]
        told = [row for one in here for row, _ in one["drifts"]]
        ax.plot(told, np.full(len(told), low - 0.02), "|", color="#CC79A7", markersize=9)
        for start, end in spans_of(here[0]["changes"]):
            ax.axvspan(start, end, color="#000000", alpha=0.06, linewidth=0)
            ax.axvline(start, color="#777777", linestyle=":", linewidth=1.0)
        ax.set_title(stream, fontsize=style.SMALL + 1, loc="left")
        ax.set(xlabel="row of the stream", ylabel="partial accuracy")
    ax.plot([], [], color="#CC79A7", linewidth=5, label="rows at which rules tell of drift")
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def main(root=ROOT):
    """Draw the picture and name it."""
    from following_tables import read

    from efcml.plots import save_figure

    drawn = draw(read("drift-detection.jsonl"))
    for file in save_figure(drawn, root / "docs" / "images" / "following", ["svg"]):
        print(file.name)
    return 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]
    sys.exit(main())
