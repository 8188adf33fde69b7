"""Seeded built-in streams and their drifts, of which `Dataset.marks` has the rows.

A row is a point of one of six Gaussian clusters. Two latent moods follow linearly from where it
lies around the centre; their direction has a part common to all clusters and a part of the
cluster's own (clusters 0, 1, 2 and 3, 4, 5 are opposite in pairs), and each cluster has its own
offset. Every label is a threshold on a mix of the two moods plus noise, so neighbouring labels are
correlated (0.56 for the first two with seed 0) and the outer ones exclude each other (-0.39).

- ``drifting-clusters``, ``drifting-clusters-2d``: the whole picture turns by a quarter of a radian;
  from .4 to .55 of all rows clusters 1 and 4 turn their own direction by 90 degrees; at .7 cluster
  0 ends, a new one starts in the middle, and clusters 2 and 5 reverse.
- ``abrupt-drift``: at 1/3 of the rows after the initial part all clusters reverse their own
  directions and cluster 0 jumps to the middle; at 2/3 all get directions that are drawn anew, and
  cluster 3 jumps to the opposite side.
- ``gradual-drift``: from .3 to .7 a row follows either the old or the new concept, the new one with
  a probability that grows evenly from 0 to 1. The new one has all own directions reversed.
- ``recurring-drift``: concept A, then B, A, B, A, for a fifth each; B has all own ones reversed.
- ``local-drift``: at .3 cluster 2 reverses its own directions and its offset; at .65 it goes back
  to its offset and gets directions that are drawn anew.

``drifting-topics`` are words of texts, sparse: half of them common ones, half those of one to four
topics. A label is there if the text has enough of one to three topics. At .3 topics change two
fifths of their words, from .5 to .7 other topics become popular, at .85 a quarter of the labels
gets other topics.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array, vstack

from efcml.support.aliases import Floats
from efcml.support.checks import check_number, check_whole

from .dataset import Dataset, choose_initial

Marks = dict[str, int]

N_CLUSTERS = 6
MIDDLE = N_CLUSTERS  # the centre that no cluster has at first
RADIUS, RING_RADIUS = 16.0, 8.0
TURN = 0.25
COMMON_SHARE = 0.2
OFFSET = 0.6
LABEL_SPAN = np.deg2rad(130.0)
THRESHOLD = 0.25


class Clusters:
    """What is drawn once for a stream: where clusters and rows lie, and what the labels follow.

    ``own`` (clusters, p, 2) and ``common`` (p, 2) are two directions each, one per mood. Centres,
    the last one in the middle, and common directions are all at right angles; or the centres are
    on a ring where p is too small for that.
    """

    def __init__(self, n: int, p: int, K: int, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)  # also for what a drift draws itself
        basis = draw_orthonormal(rng, p)
        self.common = basis[-2:].T
        self.centers = np.zeros((N_CLUSTERS + 1, p))
        if p >= N_CLUSTERS + 2:
            self.centers[:N_CLUSTERS] = RADIUS * basis[:N_CLUSTERS]
        else:
            angle = 2 * np.pi * np.arange(N_CLUSTERS) / N_CLUSTERS
            self.centers[:N_CLUSTERS, 0] = RING_RADIUS * np.cos(angle)
            self.centers[:N_CLUSTERS, 1] = RING_RADIUS * np.sin(angle)
        shapes = [  # each stretches by up to 1.5 along random directions
            np.exp(rng.uniform(-0.4, 0.4, p))[:, None] * draw_orthonormal(rng, p)
            for _ in range(N_CLUSTERS + 1)
        ]
        self.shapes = np.stack(shapes)
        self.own = self.draw_directions()
        self.offsets = OFFSET * rng.normal(size=(N_CLUSTERS + 1, 2))
        angles = np.linspace(0, LABEL_SPAN, K)
        self.loadings = np.stack([np.cos(angles), np.sin(angles)])
        self.row = np.arange(n)
        self.cluster = rng.integers(N_CLUSTERS, size=n)
        self.normal = rng.normal(size=(n, p))

    def draw_directions(self) -> Floats:
        """Return two directions for every cluster; 0, 1, 2 and 3, 4, 5 are opposite in pairs."""
        p = self.centers.shape[1]
        own = np.stack([draw_orthonormal(self.rng, p)[:, :2] for _ in range(N_CLUSTERS // 2)])
        return np.concatenate([own, -own, draw_orthonormal(self.rng, p)[None, :, :2]])

    @property
    def around(self) -> Floats:
        """Where every row lies, seen from its centre."""
        return np.einsum("ni,nij->nj", self.normal, self.shapes[self.cluster])

    @property
    def X(self) -> Floats:
        """The features."""
        return self.centers[self.cluster] + self.around

    def own_moods(self, directions: Floats | None = None) -> Floats:
        """Return the clusters' own part of the moods, by their directions or by others."""
        directions = self.own if directions is None else directions
        return np.einsum("ni,nij->nj", self.around, directions[self.cluster])

    def moods(self, own: Floats) -> Floats:
        """Return the whole moods: own and common part, and the offset of the cluster."""
        common = self.around @ self.common
        both = np.sqrt(1 - COMMON_SHARE) * own + np.sqrt(COMMON_SHARE) * common
        return both + self.offsets[self.cluster]

    def progress(self, start: int, end: int) -> Floats:
        """Return how much of the rows from start to end every row has behind it, 0 to 1."""
        return np.clip((self.row - start) / max(end - start, 1), 0, 1)


def draw_orthonormal(rng: np.random.Generator, p: int) -> Floats:
    """Return p random directions at right angles."""
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


def _change_and_turn(rows: Clusters, marks: Marks) -> tuple[Floats, Floats]:
    after = rows.row >= marks["abrupt"]
    rows.cluster = np.where(after & (rows.cluster == 0), MIDDLE, rows.cluster)
    turned = rows.progress(marks["gradual_start"], marks["gradual_end"])
    own = rotate(rows.own_moods(), np.pi / 2 * turned * np.isin(rows.cluster, [1, 4]))
    own[after & np.isin(rows.cluster, [2, 5])] *= -1
    return rotate(rows.X, TURN * rows.row / len(rows.row)), rows.moods(own)


def _change_abruptly(rows: Clusters, marks: Marks) -> tuple[Floats, Floats]:
    first, second = (rows.row >= marks[event] for event in ("abrupt_1", "abrupt_2"))
    old, other = rows.own_moods(), rows.own_moods(rows.draw_directions())
    own = np.where(second[:, None], other, np.where(first[:, None], -old, old))
    X = rows.X
    X[first & (rows.cluster == 0)] += rows.centers[MIDDLE] - rows.centers[0]
    X[second & (rows.cluster == 3)] -= 2 * rows.centers[3]
    return X, rows.moods(own)


def _change_gradually(rows: Clusters, marks: Marks) -> tuple[Floats, Floats]:
    chance = rows.progress(marks["gradual_start"], marks["gradual_end"])
    is_new, own = rows.rng.random(len(chance)) < chance, rows.own_moods()
    return rows.X, rows.moods(np.where(is_new[:, None], -own, own))


def _change_to_and_fro(rows: Clusters, marks: Marks) -> tuple[Floats, Floats]:
    own = rows.own_moods()
    for row in marks.values():
        own[row:] *= -1
    return rows.X, rows.moods(own)


def _change_one_cluster(rows: Clusters, marks: Marks) -> tuple[Floats, Floats]:
    here = rows.cluster == 2
    second = here & (rows.row >= marks["local_2"])
    first = here & (rows.row >= marks["local_1"]) & ~second
    own = rows.own_moods()
    own[first] *= -1
    own[second] = rows.own_moods(rows.draw_directions())[second]
    moods = rows.moods(own)
    moods[first] -= 2 * rows.offsets[2]
    return rows.X, moods


# What changes, and at which share of the rows: after the initial part here, of all rows below.
DRIFTS = {
    "abrupt-drift": (_change_abruptly, {"abrupt_1": 1 / 3, "abrupt_2": 2 / 3}),
    "gradual-drift": (_change_gradually, {"gradual_start": 0.3, "gradual_end": 0.7}),
    "recurring-drift": (_change_to_and_fro, {f"recurring_{i}": i / 5 for i in range(1, 5)}),
    "local-drift": (_change_one_cluster, {"local_1": 0.3, "local_2": 0.65}),
}
_TURNING = (_change_and_turn, {"gradual_start": 0.4, "gradual_end": 0.55, "abrupt": 0.7})
KINDS = {
    "drifting-clusters": _TURNING,
    "drifting-clusters-2d": _TURNING,
    "stationary-clusters": (lambda rows, marks: (rows.X, rows.moods(rows.own_moods())), {}),
    **DRIFTS,
}


def make_stream(
    name: str,
    n: int = 6000,
    *,
    p: int = 10,
    K: int = 5,
    seed: int = 0,
    n_initial: int | None = None,
    noise: float = 0.4,
) -> Dataset:
    """Make one of the streams above of n rows, p features (at least 2) and K labels.

    A tenth of the rows is the initial part if ``n_initial`` is not given. ``noise`` is the standard
    deviation of what is added to the label scores, whose own one is about 1.
    """
    for what, value, least in (("n", n, 1), ("p", p, 2), ("K", K, 1)):
        check_whole(what, value, least=least)
    check_number("noise", noise, least=0.0)
    n_initial = choose_initial(n // 10 if n_initial is None else n_initial, n)
    change, shares = KINDS[name]
    first = n_initial if name in DRIFTS else 0
    marks = {event: first + round(share * (n - first)) for event, share in shares.items()}
    rows = Clusters(n, p, K, seed)
    X, moods = change(rows, marks)
    exact = moods @ rows.loadings
    Y = exact + noise * rows.rng.normal(size=exact.shape) >= THRESHOLD
    events = ", ".join(f"{event} at row {row}" for event, row in marks.items()) or "no drift"
    about = f"Gaussian clusters with a linear label model each, seed {seed}; {events}"
    return Dataset(name, X, Y, n_initial, description=about, marks=marks)


def make_topics(
    n: int = 6000, *, p: int = 3000, K: int = 60, seed: int = 0, n_initial: int | None = None
) -> Dataset:
    """Make ``drifting-topics``: n rows, p words, K labels; values are ``log(1 + count)``.

    A tenth of the rows is the initial part if ``n_initial`` is not given.
    """
    rng, T, row = np.random.default_rng(seed), max(2 * K // 3, 4), np.arange(n)[:, None]
    n_initial = choose_initial(n // 10 if n_initial is None else n_initial, n)
    shares = {"words": 0.3, "topics_start": 0.5, "topics_end": 0.7, "labels": 0.85}
    marks = {event: n_initial + round(at * (n - n_initial)) for event, at in shares.items()}
    common = rng.permutation(1.0 / (np.arange(p) + 10.0))
    early, other = rng.gamma(0.6, size=(2, T, p)) * (rng.random((2, T, p)) < 1.0 / 30.0) + 1e-9
    topics = np.stack([early, np.where(rng.random((T, p)) < 0.4, other, early)])
    topics = common / common.sum() + topics / topics.sum(axis=2, keepdims=True)
    old, new = rng.gamma(1.0, size=(2, T)) + 0.1
    progress = np.clip((row - marks["topics_start"]) / (0.2 * (n - n_initial) + 1.0), 0.0, 1.0)
    chance = (1.0 - progress) * old + progress * new
    # The first to arrive, each by its chance: so they are drawn one after the other.
    place = (rng.exponential(size=(n, T)) / chance).argsort(axis=1).argsort(axis=1)
    mixtures = rng.gamma(1.5, size=(n, T)) * (place <= np.minimum(rng.poisson(1.0, (n, 1)), 3))
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    expected = (40.0 * mixtures[t] @ topics[int(t >= marks["words"])] for t in range(n))
    X = vstack([csr_array(np.log1p(rng.poisson(words))[None]) for words in expected])
    told_by = rng.random((2, T, K)).argsort(axis=1) < rng.integers(1, 4, K)
    before, after = rng.uniform(0.5, 1.5, (2, T, K)) * told_by
    changed = (row >= marks["labels"]) & (rng.random(K) < 0.25)
    rule = np.where(changed, mixtures @ after, mixtures @ before)
    Y = rule + 0.1 * rng.normal(size=rule.shape) > rng.uniform(0.25, 0.6, K)
    names, about = [f"word{i}" for i in range(p)], f"texts of {T} topics, seed {seed}"
    return Dataset("drifting-topics", X, Y, n_initial, names, description=about, marks=marks)


GENERATORS: dict[str, Callable[..., Dataset]] = {
    name: partial(make_stream, name, **({"p": 2, "K": 3} if name.endswith("2d") else {}))
    for name in KINDS
} | {"drifting-topics": make_topics}
