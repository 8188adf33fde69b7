"""Seeded built-in streams with one kind of drift each, at rows that are known.

All start from the clusters of `efcml.datasets.synthetic`: six of them, each with two directions of
its own that the moods follow, and labels that are thresholds on mixes of the moods. There, centres
stay where they are. What changes, and at which share of the rows after the initial part (the rows
themselves are in `Dataset.marks`), is this:

- ``abrupt-drift``: at 1/3 all clusters reverse their own directions and cluster 0 jumps to the
  middle; at 2/3 all clusters get directions that are drawn anew, and cluster 3 jumps to the
  opposite side.
- ``gradual-drift``: from .3 to .7 a row follows either the old or the new concept, the new one with
  a probability that grows evenly from 0 to 1; nothing turns, rows of both are mixed. The new
  concept has all own directions reversed.
- ``recurring-drift``: concept A, then B, A, B, A, for a fifth each. In B all own directions are
  reversed.
- ``local-drift``: at .3 cluster 2 reverses its own directions and its offset; at .65 it goes back
  to its offset and gets directions that are drawn anew. The five other clusters stay as they are.
- ``label-drift``: at 1/3 and at 2/3 the moods of all rows turn by 120 degrees before the labels are
  made of them. X is that of a stream without drift, bit for bit.
- ``scale-drift``: labels follow the underlying features as ever, but features are told in other
  units. At .2 some columns shift by 20 of their own deviations; at .4 others are multiplied by
  1000; at .6 column 2, which was 1000 in all rows, begins to vary by about 1; from .2 to .9 the
  spread of column 3 grows evenly to tenfold.

What is learned before a change is mostly wrong after it, not just less useful: reversed directions,
and moods that are turned by 120 degrees, ask for other answers. So a model that never forgets
loses, and one that forgets recovers, within about a thousand rows. Directions that are drawn anew
are milder: the old ones are of no use but do less harm. In ``scale-drift`` forgetting does not
help; what would is a scale that follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .dataset import check_initial
from .synthetic import (
    N_CLUSTERS,
    World,
    add_common,
    check_options,
    draw_around_centers,
    draw_directions,
    draw_labels,
    draw_world,
    name_columns,
    rotate,
)

if TYPE_CHECKING:
    from numpy.random import Generator as Rng

    from efcml.support.aliases import Bools, Floats, Ints

    from .dataset import Dataset

MIDDLE = N_CLUSTERS  # the centre that no cluster has at first
JUMPING_CLUSTERS = 0, 3
LOCAL_CLUSTER = 2
LABEL_TURN = np.deg2rad(120.0)

# Columns of scale-drift; those of the first two come again every ten columns.
SHIFTING, RESCALED = (0, 4), (1, 5)
PERIOD = 10
WAKING, GROWING = 2, 3
SHIFT = 20.0
FACTOR = 1000.0
CONSTANT = 1000.0
GROWTH = 10.0


class Rows(NamedTuple):
    """The rows of a stream before anything drifts."""

    world: World
    cluster: Ints  # of every row
    around: Floats  # where the row lies, seen from its centre
    rng: Rng  # for what a drift draws itself

    @property
    def X(self) -> Floats:
        """The features."""
        return self.world.centers[self.cluster] + self.around

    def own_moods(self, directions: Floats) -> Floats:
        """Return the clusters' own part of the moods, by the directions given."""
        return np.einsum("ni,nij->nj", self.around, directions[self.cluster])

    def moods(self, own: Floats) -> Floats:
        """Return the whole moods: own and common part, and the offset of the cluster."""
        return add_common(own, self.around, self.world) + self.world.offsets[self.cluster]

    def is_from(self, row: int) -> Bools:
        """Tell which rows come at or after a row."""
        return np.arange(len(self.cluster)) >= row

    def count_changes(self, marks: dict[str, int]) -> Ints:
        """Return how many of the marks every row has behind it."""
        return np.sum([self.is_from(row) for row in marks.values()], axis=0, dtype=np.int64)


class Kind(NamedTuple):
    """A kind of drift: the shares of the stream where it happens, and what happens."""

    shares: dict[str, float]
    change: Callable[[Rows, dict[str, int]], tuple[Floats, Floats]]  # to features and moods


def drift_stream(
    name: str,
    n: int = 6000,
    *,
    p: int = 10,
    K: int = 5,
    seed: int = 0,
    n_initial: int | None = None,
    noise: float = 0.4,
) -> Dataset:
    """Make one of the streams above.

    Parameters
    ----------
    name : str
        One of `KINDS`.
    n : int
        Rows.
    p, K : int
        Features (at least 2) and labels.
    seed : int
    n_initial : int, optional
        Rows of the initial part; a tenth of n if not given. All drifts come after it.
    noise : float
        Standard deviation of what is added to the label scores, whose own one is about 1.

    Returns
    -------
    Dataset
        Its `marks` are those of the kind.
    """
    check_options(n, p, K, noise)
    n_initial = n // 10 if n_initial is None else n_initial
    check_initial(n_initial, n)
    marks = drift_rows(name, n, n_initial)
    X, Y, _ = draw_drift(name, n, p, K, seed, noise, marks)
    return name_columns(name, X, Y, n_initial, seed, marks)


def draw_drift(
    name: str, n: int, p: int, K: int, seed: int, noise: float, marks: dict[str, int]
) -> tuple[Floats, Floats, Ints]:
    """Return X, Y and, for each row, the number of its cluster."""
    rng = np.random.default_rng(seed)
    world = draw_world(rng, p, K)
    cluster = rng.integers(N_CLUSTERS, size=n)
    rows = Rows(world, cluster, draw_around_centers(rng, world, cluster), rng)
    X, moods = KINDS[name].change(rows, marks)
    return X, draw_labels(rng, moods, world, noise), cluster


def drift_rows(name: str, n: int, n_initial: int) -> dict[str, int]:
    """Return where the drifts of a stream happen, never inside its initial part."""
    shares = KINDS[name].shares
    return {event: n_initial + round(share * (n - n_initial)) for event, share in shares.items()}


def _change_abruptly(rows: Rows, marks: dict[str, int]) -> tuple[Floats, Floats]:
    first, second = (rows.is_from(marks[event]) for event in ("abrupt_1", "abrupt_2"))
    old, other = rows.own_moods(rows.world.own), rows.own_moods(_draw_others(rows))
    own = np.where(second[:, None], other, np.where(first[:, None], -old, old))
    X, centers = rows.X, rows.world.centers
    to_middle, to_opposite = JUMPING_CLUSTERS
    moved = first & (rows.cluster == to_middle)
    X[moved] += centers[MIDDLE] - centers[to_middle]
    moved = second & (rows.cluster == to_opposite)
    X[moved] -= 2 * centers[to_opposite]
    return X, rows.moods(own)


def _change_gradually(rows: Rows, marks: dict[str, int]) -> tuple[Floats, Floats]:
    start, end = marks["gradual_start"], marks["gradual_end"]
    chance = np.clip((np.arange(len(rows.cluster)) - start) / max(end - start, 1), 0, 1)
    is_new = rows.rng.random(len(chance)) < chance
    own = rows.own_moods(rows.world.own)
    return rows.X, rows.moods(np.where(is_new[:, None], -own, own))


def _change_to_and_fro(rows: Rows, marks: dict[str, int]) -> tuple[Floats, Floats]:
    is_b = rows.count_changes(marks) % 2 == 1
    own = rows.own_moods(rows.world.own)
    return rows.X, rows.moods(np.where(is_b[:, None], -own, own))


def _change_one_cluster(rows: Rows, marks: dict[str, int]) -> tuple[Floats, Floats]:
    here = rows.cluster == LOCAL_CLUSTER
    second = here & rows.is_from(marks["local_2"])
    first = here & rows.is_from(marks["local_1"]) & ~second
    own = rows.own_moods(rows.world.own)
    own[first] *= -1
    own[second] = rows.own_moods(_draw_others(rows))[second]
    moods = rows.moods(own)
    moods[first] -= 2 * rows.world.offsets[LOCAL_CLUSTER]
    return rows.X, moods


def _change_labels(rows: Rows, marks: dict[str, int]) -> tuple[Floats, Floats]:
    moods = rows.moods(rows.own_moods(rows.world.own))
    return rows.X, rotate(moods, LABEL_TURN * rows.count_changes(marks))


def _change_units(rows: Rows, marks: dict[str, int]) -> tuple[Floats, Floats]:
    X = rows.X
    n, p = X.shape
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    moods = rows.moods(rows.own_moods(rows.world.own))
    shifting, rescaled = (np.isin(np.arange(p) % PERIOD, kind) for kind in (SHIFTING, RESCALED))
    X[marks["shift"] :] += SHIFT * deviation * shifting
    X[marks["units"] :] *= np.where(rescaled, FACTOR, 1.0)
    if p > WAKING:
        waking = (X[:, WAKING] - mean[WAKING]) / deviation[WAKING]
        X[:, WAKING] = CONSTANT + np.where(rows.is_from(marks["waking"]), waking, 0.0)
    if p > GROWING:
        start, end = marks["growth_start"], marks["growth_end"]
        progress = np.clip((np.arange(n) - start) / max(end - start, 1), 0, 1)
        spread = 1 + (GROWTH - 1) * progress
        X[:, GROWING] = mean[GROWING] + spread * (X[:, GROWING] - mean[GROWING])
    return X, moods


def _draw_others(rows: Rows) -> Floats:
    return draw_directions(rows.rng, rows.world.centers.shape[1])


KINDS = {
    "abrupt-drift": Kind({"abrupt_1": 1 / 3, "abrupt_2": 2 / 3}, _change_abruptly),
    "gradual-drift": Kind({"gradual_start": 0.3, "gradual_end": 0.7}, _change_gradually),
    "recurring-drift": Kind(
        {f"recurring_{i}": i / 5 for i in range(1, 5)},  # odd ones to B, even ones back to A
        _change_to_and_fro,
    ),
    "local-drift": Kind({"local_1": 0.3, "local_2": 0.65}, _change_one_cluster),
    "scale-drift": Kind(
        {"shift": 0.2, "growth_start": 0.2, "units": 0.4, "waking": 0.6, "growth_end": 0.9},
        _change_units,
    ),
    "label-drift": Kind({"labels_1": 1 / 3, "labels_2": 2 / 3}, _change_labels),
}
