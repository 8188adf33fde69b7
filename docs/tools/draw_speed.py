"""Draw docs/images/scaling.svg from the record of experiments/benchmarks/scaling.py."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = "experiments/results/benchmarks/scaling.json"
WORDS = {
    "features": "features p",
    "labels": "labels K",
    "rules": "rules, all active",
    "active rules": "active rules, of 40",
    "rows before": "rows before",
}


def draw(record):
    """Return the figure: one panel for each size that grows, both axes logarithmic."""
    from efcml.plots import new_figure, style

    names = list(dict.fromkeys(line["line"] for line in record["lines"]))
    figure = new_figure(9.5, 5.4)
    panels = figure.subplots(2, 3).ravel()
    for ax, name in zip(panels, names, strict=False):
        lines = [line for line in record["lines"] if line["line"] == name]
        looks = style.line_looks(len(lines))
        for line, (color, dash) in zip(lines, looks, strict=True):
            what = f"{line['cases']} cases" if line["cases"] else "rules alone"
            words = f"{what}: {line['slope']:.2f} ± {line['error']:.2f}"
            ax.loglog(
                line["sizes"],
                line["ms"],
                color=color,
                linestyle=dash,
                marker="o",
                markersize=3.5,
                linewidth=1.6,
                label=words,
            )
        set_ticks(style.clear_frame(ax), lines)
        ax.legend(
            fontsize=style.SMALL - 0.5,
            frameon=False,
            loc="upper left",
            title="exponent",
            title_fontsize=style.SMALL - 0.5,
            alignment="left",
        )
        ax.set(xlabel=WORDS[name], ylabel="ms per learned row")
    for ax in panels[len(names) :]:
        ax.set_axis_off()
    return figure


def set_ticks(ax, lines):
    """Put ticks at the sizes that were measured, and room for the words above the lines."""
    from matplotlib.ticker import LogLocator, NullFormatter

    sizes = lines[0]["sizes"]
    ax.set_xticks(sizes, [f"{size:g}" if size < 1000 else f"{size // 1000:g}k" for size in sizes])
    ax.set_xticks([], minor=True)
    times = [ms for line in lines for ms in line["ms"]]
    low, high = min(times), max(times)
    ax.set_ylim(low / 1.5, high * max(3.0, (high / low) ** 0.5))
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def main(root=ROOT):
    """Draw the picture and name it."""
    from efcml.plots import save_figure

    record = json.loads((root / RECORD).read_text(encoding="utf-8"))
    for file in save_figure(draw(record), root / "docs" / "images" / "scaling", ["svg"]):
        print(file.name)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
