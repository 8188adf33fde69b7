"""Models on several data sets: mean ranks with a critical difference, and Bayesian signed ranks.

Demsar, "Statistical comparisons of classifiers over multiple data sets" (JMLR 7, 2006), and
Benavoli and others, "Time for a change" (JMLR 18, 2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from efcml.measures import Measure
from efcml.plots import draw_ranks
from efcml.support.checks import check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from efcml.support.aliases import Floats

DRAWS, SEED = 50_000, 2017
PRIOR = 0.5  # weight of a data set without a difference


class Ranks(NamedTuple):
    """Mean ranks over data sets, 1 the best.

    ``p`` is that of Friedman's test. Mean ranks that are further apart than the
    ``critical_difference`` (Nemenyi) differ; ``groups`` are models that cannot be told apart.
    """

    measure: str
    mean: pd.Series  # by model, the best first
    p: float
    critical_difference: float
    level: float
    data: int  # number of sets

    @property
    def groups(self) -> list[list[str]]:
        """Models within the critical difference of each other; none is within another group."""
        ranks, found = self.mean.to_numpy(), list[list[int]]()
        for i, low in enumerate(ranks):
            within = [*range(i, int((ranks <= low + self.critical_difference).sum()))]
            if len(within) > 1 and not (found and within[-1] <= found[-1][-1]):
                found.append(within)
        return [[self.mean.index[one] for one in within] for within in found]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean ranks; a bar joins models that cannot be told apart."""
        what = f"mean rank in {self.measure} over {self.data} data sets"
        groups = [(self.mean[one[0]], self.mean[one[-1]]) for one in self.groups]
        ranks = self.mean.to_dict()
        return draw_ranks(ranks, self.critical_difference, groups, ax=ax, xlabel=what)

    def __repr__(self) -> str:
        apart = f"critical difference {self.critical_difference:.3f} at {self.level:.0%}"
        head = f"mean ranks in {self.measure} over {self.data} data sets, 1 the best; {apart}"
        return f"{head}; Friedman p = {self.p:.3g}\n{self.mean.round(3).to_string()}"


def rank_models(values: pd.DataFrame, measure: Measure, level: float) -> Ranks:
    """Return the ranks of models (columns) on data sets by a measure."""
    from scipy.stats import friedmanchisquare, studentized_range  # not above: takes a second

    check_number("level", level, above=0.0, below=1.0)
    n, k = values.shape
    if n < 2 or k < 3:
        got = f"here are {k} on {n}; for two models see signed_ranks"
        raise ValueError(f"ranks need three models or more on two data sets or more: {got}.")
    check_there(values.to_numpy(), measure.name)
    ranks = values.rank(axis=1, ascending=measure.better == "down")
    p = float(friedmanchisquare(*values.to_numpy().T).pvalue)
    apart = float(studentized_range.ppf(level, k, np.inf)) * np.sqrt(k * (k + 1) / (12.0 * n))
    mean = ranks.mean().sort_values(kind="stable")
    return Ranks(measure.title, mean, p, apart, level, n)


class SignedRanks(NamedTuple):
    """How likely the first of two models is better on a further data set, level, or worse."""

    better: float
    level: float
    worse: float


def compare_two(gaps: Floats, rope: float) -> SignedRanks:
    """Return what differences, one of each data set, say of the next one (Dirichlet process)."""
    check_number("rope", rope, least=0.0)
    check_there(gaps, "the measure")
    gaps = np.append(gaps, 0.0)
    sums, weights = np.add.outer(gaps, gaps), np.ones(len(gaps))
    weights[-1] = PRIOR
    drawn = np.random.default_rng(SEED).dirichlet(weights, DRAWS)
    above, below = (
        ((drawn @ np.heaviside(one - 2.0 * rope, 0.5)) * drawn).sum(axis=1) for one in (sums, -sums)
    )
    won = np.argmax([above, 1.0 - above - below, below], axis=0)
    return SignedRanks(*(float((won == one).mean()) for one in range(3)))


def check_there(values: Floats, name: str) -> None:
    """Refuse values that are not there."""
    if np.isnan(values).any():
        raise ValueError(f"some data sets have no value of {name}: leave them out.")
