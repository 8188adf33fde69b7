"""Draw the pictures of docs/pictures.md into docs/images.

A picture that is followed by a code block is the figure of the Axes ``ax`` which the block leaves.
Pictures of real data are drawn here; the data sets must be there (``efcml datasets fetch NAME``).
"""

import argparse
import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/pictures.md"
IMAGES = "docs/images"
PICTURE = re.compile(r"^!\[[^\]]*\]\(images/(\w+)\.svg\)\n(?:\n```python\n(.*?)^```)?", re.S | re.M)
ORDERS = 10
FIRST = 50  # rows of a stream that are not drawn: means of few rows say little


def pictures(root=ROOT):
    """Return the code of every picture of the page by its name; empty where it is drawn here."""
    return dict(PICTURE.findall((root / PAGE).read_text(encoding="utf-8")))


def run_block(code):
    """Run the code block of a picture and return its Axes."""
    names = {}
    exec(compile(code, PAGE, "exec"), names)
    return names["ax"]


def draw_trends_emotions():
    """Draw the average precision of four models over shuffled orders."""
    from efcml import (
        ChainEFC,
        EFCMLClassifier,
        OneVsRestEFC,
        datasets,
        measures,
        plots,
        prequential,
    )

    ds = datasets.load("emotions")
    X, Y = ds.stream
    models = {
        "EFC-ML": (EFCMLClassifier, True),
        "one versus rest": (OneVsRestEFC, True),
        "chain": (ChainEFC, True),
        "static EFC-ML": (EFCMLClassifier, False),
    }
    curves = {}
    for name, (model, learn) in models.items():
        trends = np.empty((ORDERS, len(X)))
        for seed in range(ORDERS):
            order = np.random.default_rng(seed).permutation(len(X))
            result = prequential(model().fit(*ds.initial), X[order], Y[order], learn=learn)
            trends[seed] = measures.trend(result.Y, result.scores, "ap")
        trends[:, :FIRST] = np.nan
        curves[name] = ds.n_initial + np.arange(len(X)), trends
    return plots.draw_trends(curves, ylabel="average precision")


def largest_rule(name):
    """Return a data set and the rule with most rows after its initial part."""
    from efcml import EFCMLClassifier, datasets

    ds = datasets.load(name)
    rules = EFCMLClassifier().fit(*ds.initial).rules_
    return ds, max(rules, key=lambda rule: rule.support)


def draw_consequents_emotions():
    """Draw the slopes of the largest rule."""
    from efcml import plots

    ds, rule = largest_rule("emotions")
    return plots.draw_consequents(rule.slopes, ds.feature_names, ds.label_names, most=12)


def draw_correlation_birds():
    """Draw the label correlation of the largest rule."""
    from efcml import plots

    ds, rule = largest_rule("birds")
    return plots.draw_label_correlation(rule.label_correlation, ds.label_names)


REAL = {
    "trends_emotions": draw_trends_emotions,
    "consequents_emotions": draw_consequents_emotions,
    "correlation_birds": draw_correlation_birds,
}


def main(arguments=None):
    """Draw the pictures named, or all."""
    from efcml.plots import save_figure

    parser = argparse.ArgumentParser(description="Draw the pictures of docs/pictures.md.")
    parser.add_argument("names", nargs="*", help="pictures to draw; all if none is named")
    parser.add_argument("--out", type=Path, default=ROOT / IMAGES, help="folder for the files")
    parser.add_argument("--kinds", nargs="+", default=["svg"], help="endings: svg, png, pdf")
    chosen = parser.parse_args(arguments)
    found = pictures()
    unknown = [name for name in chosen.names if name not in found]
    if unknown:
        parser.error(f"no such picture: {', '.join(unknown)}; there are {', '.join(found)}")
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in chosen.names or found:
        ax = run_block(found[name]) if found[name] else REAL[name]()
        for file in save_figure(ax.figure, chosen.out / name, chosen.kinds):
            print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
