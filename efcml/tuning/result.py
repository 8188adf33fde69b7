"""What a search found."""

from dataclasses import dataclass

import numpy as np

from efcml.tuning.grid import Grid


@dataclass(frozen=True)
class TuningResult:
    """Scores of every point of a grid, averaged over the held-out rows of all folds.

    Rows without any label have no average precision and are left out of ``ap``. Arrays have the
    shape (vigilances, pairs) of the grid.
    """

    grid: Grid
    pa: np.ndarray
    ap: np.ndarray
    rules: np.ndarray
    params: dict  # what was not searched and differs from the defaults

    @classmethod
    def from_lines(cls, grid, lines, params):
        """Sum up the records of all tasks; their order does not matter."""
        shape = len(grid.vigilance), len(grid.pairs)
        right, ap, rules = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        known, ranked, folds = np.zeros((shape[0], 1)), np.zeros((shape[0], 1)), 0
        for line in sorted(lines, key=lambda line: (line["vigilance"], line["fold"])):
            row = grid.vigilance.index(line["vigilance"])
            right[row] += line["right"]
            ap[row] += line["ap"]
            rules[row] += line["rules"]
            known[row] += line["known"]
            ranked[row] += line["ranked"]
            folds = max(folds, line["fold"] + 1)
        defined = np.where(ranked > 0, ranked, np.nan)
        return cls(grid, right / known, ap / defined, rules / folds, params)

    @property
    def best(self):
        """Index (vigilance, pair) of the point with the highest PA; AP breaks ties, then order."""
        order = np.lexsort((-np.nan_to_num(self.ap.ravel(), nan=-1.0), -self.pa.ravel()))
        return np.unravel_index(order[0], self.pa.shape)

    @property
    def best_params(self):
        """Parameters for ``EFCMLClassifier``: the chosen point and what was not searched."""
        row, pair = self.best
        alpha, beta = self.grid.pairs[pair]
        return self.params | {
            "vigilance": self.grid.vigilance[row], "alpha": alpha, "beta": beta,
        }  # fmt: skip

    @property
    def best_pa(self):
        """Partial accuracy of the chosen point."""
        return float(self.pa[self.best])

    @property
    def best_ap(self):
        """Average precision of the chosen point."""
        return float(self.ap[self.best])

    def rows(self):
        """Return one dictionary per point: vigilance, alpha, beta, pa, ap, rules."""
        points = []
        for row, vigilance in enumerate(self.grid.vigilance):
            for column, (alpha, beta) in enumerate(self.grid.pairs):
                scores = (float(part[row, column]) for part in (self.pa, self.ap, self.rules))
                names = ("vigilance", "alpha", "beta", "pa", "ap", "rules")
                points.append(dict(zip(names, (vigilance, alpha, beta, *scores), strict=True)))
        return points

    def to_frame(self):
        """Return a pandas DataFrame with one line per point, the best first."""
        import pandas

        frame = pandas.DataFrame(self.rows())
        return frame.sort_values(["pa", "ap"], ascending=False, ignore_index=True, kind="stable")

    def __repr__(self):
        chosen = ", ".join(
            f"{name}={self.best_params[name]:g}" for name in ("vigilance", "alpha", "beta")
        )
        return (
            f"TuningResult({len(self.grid)} points; {chosen}; pa={self.best_pa:.4f}, "
            f"ap={self.best_ap:.4f}, rules={self.rules[self.best]:.3g})"
        )
