"""How often the 95 % intervals of a study hold the truth.

``python experiments/interval_coverage.py [--draws N] [--rows N] [--comparisons N]``

Differences of two models are drawn as what an order adds, plus what a row adds in all orders, plus
chance. Rows follow each other by an autoregression. A cell says how often the interval held the
true difference, and in parentheses how often there was none, both in percent.
"""

import argparse
from itertools import product

import numpy as np
from scipy.signal import lfilter

from efcml.studies.intervals import paired_difference

ORDERS = (1, 2, 3, 5, 10)
EFFECTS = {"none": 0.0, "as large as rows": 1.0, "dominating": 10.0}  # of orders, to that of rows
LIKENESS = (0.0, 0.5, 0.8, 0.9)  # of neighbouring rows
BEFORE = 200  # rows of the autoregression that are thrown away


def draw(rng, orders, rows, effect, likeness):
    """Return differences of shape (orders, rows) around 0."""
    own = lfilter([1.0], [1.0, -likeness], rng.normal(size=rows + BEFORE))[BEFORE:]
    of_orders = effect / (1.0 - likeness) / np.sqrt(rows) * rng.normal(size=(orders, 1))
    return of_orders + own + rng.normal(size=(orders, rows))


def coverage(draws, orders, rows, effect, likeness, comparisons=1, seed=0):
    """Return the share of intervals that hold 0, and the share of draws without one."""
    rng, held = np.random.default_rng([seed, orders, int(effect), int(10 * likeness)]), []
    for _ in range(draws):
        gaps = draw(rng, orders, rows, effect, likeness)
        second = np.stack([gaps, np.ones_like(gaps)], axis=-1)[..., None]
        first = second * [[0.0], [1.0]]
        _, low, high, *_ = paired_difference(first, second, comparisons=comparisons)
        held += [np.nan if np.isnan(low) else low <= 0.0 <= high]
    held = np.array(held, dtype=float)
    given = ~np.isnan(held)
    return held[given].mean() if given.any() else np.nan, 1.0 - given.mean()


def in_words(held, without):
    """Return a cell."""
    words = "none" if without == 1.0 else f"{100 * held:.1f}"
    return words + (f" ({100 * without:.0f})" if 0.005 <= without < 1.0 else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000, help="of each cell")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--comparisons", type=int, default=1)
    given = parser.parse_args()
    print("| orders | effect of orders |" + "".join(f" {one:g} |" for one in LIKENESS))
    print("|---|---|" + "---|" * len(LIKENESS))
    for orders, (name, effect) in product(ORDERS, EFFECTS.items()):
        if orders > 1 or not effect:  # of one order alone nothing is known of others
            cells = [
                in_words(*coverage(given.draws, orders, given.rows, effect, one, given.comparisons))
                for one in LIKENESS
            ]
            print(f"| {orders} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
