"""Seeded built-in streams of Gaussian clusters, each with its own linear label model.

How a row is made: draw one of six clusters and a point of its Gaussian. Two latent moods follow
linearly from where the point lies around the centre. Their direction has a part common to all
clusters and a part of the cluster's own (clusters 0, 1, 2 and 3, 4, 5 are opposite in pairs), and
each cluster has its own offset. Every label is a threshold on a mix of the two moods plus noise, so
neighbouring labels are correlated (0.56 for the first two with seed 0) and the outer ones exclude
each other (-0.39). One plane for all rows can learn the common part and, from 8 features on, the
offsets, but no cluster's own part.

What drifts, with the default n = 6000 (the rows are in `Dataset.marks` and scale with n):

- all rows: the whole picture turns by a quarter of a radian, so every centre travels about four
  times the spread of its cluster;
- rows 2400 to 3300, gradual: clusters 1 and 4 turn their own direction by 90 degrees;
- row 4200, abrupt: cluster 0 ends, a new cluster starts in the middle, and clusters 2 and 5 reverse
  their own direction.

What models reach on them is in docs/results/synthetic.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .dataset import Dataset

if TYPE_CHECKING:
    from numpy.random import Generator as Rng

    from efcml.support.aliases import Floats, Ints

N_CLUSTERS = 6
RADIUS = 16.0
RING_RADIUS = 8.0
TURN = 0.25
COMMON_SHARE = 0.2
OFFSET = 0.6
LABEL_SPAN = np.deg2rad(130.0)
THRESHOLD = 0.25

GRADUAL_SHARE = 0.40, 0.55
ABRUPT_SHARE = 0.70
GRADUAL_CLUSTERS = [1, 4]
REVERSED_CLUSTERS = [2, 5]
ENDING_CLUSTER = 0
NEW_CLUSTER = N_CLUSTERS


def drifting_clusters(
    n: int = 6000,
    *,
    p: int = 10,
    K: int = 5,
    seed: int = 0,
    n_initial: int | None = None,
    noise: float = 0.4,
) -> Dataset:
    """Make the main demonstration stream: moving clusters, a gradual and an abrupt drift.

    Parameters
    ----------
    n : int
        Rows.
    p, K : int
        Features (at least 2) and labels.
    seed : int
    n_initial : int, optional
        Rows of the initial part; a tenth of n if not given.
    noise : float
        Standard deviation of what is added to the label scores, whose own one is about 1.

    Returns
    -------
    Dataset
        With `marks` gradual_start, gradual_end and abrupt.
    """
    return _make("drifting-clusters", n, p, K, seed, n_initial, noise, drifting=True)


def drifting_clusters_2d(
    n: int = 6000, *, K: int = 3, seed: int = 0, n_initial: int | None = None, noise: float = 0.4
) -> Dataset:
    """Make the drifting stream with two features, for pictures; the clusters lie on a ring."""
    return _make("drifting-clusters-2d", n, 2, K, seed, n_initial, noise, drifting=True)


def stationary_clusters(
    n: int = 6000,
    *,
    p: int = 10,
    K: int = 5,
    seed: int = 0,
    n_initial: int | None = None,
    noise: float = 0.4,
) -> Dataset:
    """Make the same clusters without any movement or drift."""
    return _make("stationary-clusters", n, p, K, seed, n_initial, noise, drifting=False)


class World(NamedTuple):
    """What is drawn once for a stream: where the clusters lie and what the labels follow.

    Clusters come first in all arrays of them; `own` and `common` are two directions each, one per
    mood.
    """

    centers: Floats  # (clusters, p)
    common: Floats  # (p, 2)
    shapes: Floats  # (clusters, p, p)
    own: Floats  # (clusters, p, 2)
    offsets: Floats  # (clusters, 2)
    loadings: Floats  # (2, K)


def _make(
    name: str,
    n: int,
    p: int,
    K: int,
    seed: int,
    n_initial: int | None,
    noise: float,
    *,
    drifting: bool,
) -> Dataset:
    check_options(n, p, K, noise)
    X, Y, _ = draw_clusters(n, p, K, seed, noise, drifting=drifting)
    marks = _drift_rows(n) if drifting else {}
    n_initial = n // 10 if n_initial is None else n_initial
    return name_columns(name, X, Y, n_initial, seed, marks)


def check_options(n: int, p: int, K: int, noise: float) -> None:
    """Refuse what no stream can be made of."""
    for value, what, least in ((n, "n", 1), (p, "p", 2), (K, "K", 1)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{what} is {value!r}: give a whole number, at least {least}")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise is {noise!r}: give a number that is not negative")


def name_columns(
    name: str, X: Floats, Y: Floats, n_initial: int, seed: int, marks: dict[str, int]
) -> Dataset:
    """Return the data set of a built-in stream, with names and a description."""
    events = ", ".join(f"{event} at row {row}" for event, row in marks.items())
    return Dataset(
        name,
        X,
        Y,
        n_initial,
        [f"x{i}" for i in range(X.shape[1])],
        [f"label{i}" for i in range(Y.shape[1])],
        f"Gaussian clusters with a linear label model each, seed {seed}; {events or 'no drift'}",
        marks,
    )


def draw_clusters(
    n: int, p: int, K: int, seed: int, noise: float, *, drifting: bool
) -> tuple[Floats, Floats, Ints]:
    """Return X, Y and, for each row, the number of its cluster."""
    rng = np.random.default_rng(seed)
    rows = np.arange(n)
    world = draw_world(rng, p, K)
    cluster = rng.integers(N_CLUSTERS, size=n)
    if drifting:
        marks = _drift_rows(n)
        after = rows >= marks["abrupt"]
        cluster[after & (cluster == ENDING_CLUSTER)] = NEW_CLUSTER
    around_center = draw_around_centers(rng, world, cluster)
    X = world.centers[cluster] + around_center
    moods = np.einsum("ni,nij->nj", around_center, world.own[cluster])
    if drifting:
        X = rotate(X, TURN * rows / n)
        length = max(marks["gradual_end"] - marks["gradual_start"], 1)
        progress = np.clip((rows - marks["gradual_start"]) / length, 0, 1)
        moods = rotate(moods, np.pi / 2 * progress * np.isin(cluster, GRADUAL_CLUSTERS))
        moods[after & np.isin(cluster, REVERSED_CLUSTERS)] *= -1
    moods = add_common(moods, around_center, world) + world.offsets[cluster]
    return X, draw_labels(rng, moods, world, noise), cluster


def draw_world(rng: Rng, p: int, K: int) -> World:
    """Draw what does not depend on the rows."""
    centers, common = _draw_frame(rng, p)
    shapes = np.stack([_draw_shape(rng, p) for _ in range(N_CLUSTERS + 1)])
    own = draw_directions(rng, p)
    offsets = OFFSET * rng.normal(size=(N_CLUSTERS + 1, 2))
    angles = np.linspace(0, LABEL_SPAN, K)
    return World(centers, common, shapes, own, offsets, np.stack([np.cos(angles), np.sin(angles)]))


def draw_directions(rng: Rng, p: int) -> Floats:
    """Return two directions for every cluster; 0, 1, 2 and 3, 4, 5 are opposite in pairs."""
    own = np.stack([_draw_orthonormal(rng, p)[:, :2] for _ in range(N_CLUSTERS // 2)])
    return np.concatenate([own, -own, _draw_orthonormal(rng, p)[None, :, :2]])


def draw_around_centers(rng: Rng, world: World, cluster: Ints) -> Floats:
    """Return where every row lies, seen from the centre of its cluster."""
    normal = rng.normal(size=(len(cluster), world.centers.shape[1]))
    return np.einsum("ni,nij->nj", normal, world.shapes[cluster])


def add_common(moods: Floats, around_center: Floats, world: World) -> Floats:
    """Return the moods with the part that all clusters have in common."""
    common = around_center @ world.common
    return np.sqrt(1 - COMMON_SHARE) * moods + np.sqrt(COMMON_SHARE) * common


def draw_labels(rng: Rng, moods: Floats, world: World, noise: float) -> Floats:
    """Return labels 0 and 1: thresholds on mixes of the two moods and noise."""
    exact = moods @ world.loadings
    scores = exact + noise * rng.normal(size=exact.shape)
    return (scores >= THRESHOLD).astype(np.float64)


def _drift_rows(n: int) -> dict[str, int]:
    start, end = GRADUAL_SHARE
    return {
        "gradual_start": round(start * n),
        "gradual_end": round(end * n),
        "abrupt": round(ABRUPT_SHARE * n),
    }


def _draw_frame(rng: Rng, p: int) -> tuple[Floats, Floats]:
    """Return the centres, the last one in the middle, and the common directions of the moods.

    All are at right angles, or the centres are on a ring where p is too small for that.
    """
    basis = _draw_orthonormal(rng, p)
    centers = np.zeros((N_CLUSTERS + 1, p))
    if p >= N_CLUSTERS + 2:
        centers[:N_CLUSTERS] = RADIUS * basis[:N_CLUSTERS]
    else:
        angle = 2 * np.pi * np.arange(N_CLUSTERS) / N_CLUSTERS
        centers[:N_CLUSTERS, 0] = RING_RADIUS * np.cos(angle)
        centers[:N_CLUSTERS, 1] = RING_RADIUS * np.sin(angle)
    return centers, basis[-2:].T


def _draw_shape(rng: Rng, p: int) -> Floats:
    """Return a matrix that stretches by up to 1.5 along random directions."""
    return np.exp(rng.uniform(-0.4, 0.4, p))[:, None] * _draw_orthonormal(rng, p)


def _draw_orthonormal(rng: Rng, p: int) -> Floats:
    q, r = np.linalg.qr(rng.normal(size=(p, p)))
    return q * np.sign(np.diag(r))


def rotate(points: Floats, angle: Floats) -> Floats:
    """Rotate every row by its angle in the planes of columns (0, 1), (2, 3), ..."""
    paired = points.shape[1] // 2 * 2
    first, second = points[:, 0:paired:2], points[:, 1:paired:2]
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    rotated = points.copy()
    rotated[:, 0:paired:2] = cos * first - sin * second
    rotated[:, 1:paired:2] = sin * first + cos * second
    return rotated
