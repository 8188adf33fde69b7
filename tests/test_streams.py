"""The built-in streams: the same for a seed, and they change where and as they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from efcml import datasets
from efcml.datasets import streams
from efcml.datasets.streams import DRIFTS

N = 1500
# Marks of 6000 rows, of which 600 are the initial part.
CLUSTER_MARKS = {"gradual_start": 2400, "gradual_end": 3300, "abrupt": 4200}
MARKS = {
    "drifting-clusters": CLUSTER_MARKS,
    "drifting-clusters-2d": CLUSTER_MARKS,
    "stationary-clusters": {},
    "abrupt-drift": {"abrupt_1": 2400, "abrupt_2": 4200},
    "gradual-drift": {"gradual_start": 2220, "gradual_end": 4380},
    "recurring-drift": {f"recurring_{i}": 600 + 1080 * i for i in (1, 2, 3, 4)},
    "local-drift": {"local_1": 2220, "local_2": 4110},
}
# Weighted sums of X and Y of 300 rows, and of 61 rows with other options.
SUMS = {
    "drifting-clusters": (17.9894439302, 47.052019, 30.7362860134, 2.612359),
    "drifting-clusters-2d": (-62.4514364244, -2.636016, 69.2359051951, -3.18482),
    "stationary-clusters": (-9.66550284774, 49.683364, 42.7496393195, -0.078251),
    "abrupt-drift": (38.6827064189, 15.954266, 16.4582244954, -0.727769),
    "gradual-drift": (-9.66550284774, 34.443416, 42.7496393195, 1.046552),
    "recurring-drift": (-9.66550284774, 19.517793, 42.7496393195, 2.78232),
    "local-drift": (-9.66550284774, 25.468431, 42.7496393195, -0.129758),
}


def weigh(values):
    return (values * np.cos(np.arange(values.size).reshape(values.shape))).sum()


@pytest.mark.parametrize("name", MARKS)
def test_a_stream_is_what_it_always_was(name):
    marks, flat = MARKS[name], name.endswith("2d")
    other = {"n": 61, "K": 2, "seed": 1, "n_initial": 7, "noise": 0.1} | ({} if flat else {"p": 5})
    first, ds = datasets.load(name, n=300, seed=3), datasets.load(name, **other)
    sums = [weigh(values) for values in (first.X, first.Y, ds.X, ds.Y)]
    assert_allclose(sums, SUMS[name], rtol=1e-9, atol=1e-6)
    assert (ds.X.shape, ds.Y.shape, ds.n_initial) == ((61, 2 if flat else 5), (61, 2), 7)
    ds = datasets.load(name)
    assert (len(ds), ds.n_initial, ds.marks, ds.name) == (6000, 600, marks, name)
    assert ds.feature_names == tuple(f"x{i}" for i in range(2 if flat else 10))
    assert ds.label_names == tuple(f"label{i}" for i in range(3 if flat else 5))
    assert "seed 0" in ds.description
    assert all(f"{event} at row {row}" in ds.description for event, row in marks.items())
    correlation = np.corrcoef(ds.Y.T)  # neighbours agree, the outer ones exclude each other
    assert np.diagonal(correlation, offset=1).min() > 0.2 and correlation[0, -1] < -0.3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must be a whole number >= 1; got 0"),
        ({"p": 1}, "p must be a whole number >= 2; got 1"),
        ({"K": 0}, "K must be a whole number >= 1; got 0"),
        ({"noise": np.inf}, "noise must be a number >= 0; got inf"),
        ({"n": 20, "n_initial": 21}, "n_initial is 21: choose a whole number of rows, 0 to 20"),
    ],
)
def test_options_that_no_stream_can_have_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        datasets.load("abrupt-drift", **options)


def labels_by_row(name, marks):
    """Compute the labels of a stream without noise row by row, from where it says what changes."""
    world = streams.Clusters(N, 10, 5, seed=1)
    around = np.einsum("ni,nij->nj", world.normal, world.shapes[world.cluster])
    if name in ("abrupt-drift", "local-drift"):
        others = world.draw_directions()
    chance = world.rng.random(N) if name == "gradual-drift" else None
    Y = np.empty((N, 5))
    for t, c in enumerate(world.cluster):
        passed = sum(t >= row for row in marks.values())
        own, offset = world.own[c].T @ around[t], world.offsets[c]
        if name == "abrupt-drift":
            own = [own, -own, others[c].T @ around[t]][passed]
        elif name == "recurring-drift":
            own = own * (-1) ** passed
        elif name == "gradual-drift":
            start, end = marks.values()
            own = -own if chance[t] < (t - start) / (end - start) else own
        elif name == "local-drift" and c == 2:
            own = [own, -own, others[c].T @ around[t]][passed]
            offset = -offset if passed == 1 else offset
        moods = np.sqrt(0.8) * own + np.sqrt(0.2) * (world.common.T @ around[t]) + offset
        Y[t] = moods @ world.loadings >= 0.25
    return Y


@pytest.mark.parametrize("name", DRIFTS)
def test_labels_follow_what_each_drift_says(name):
    ds, still = (
        datasets.load(kind, n=N, seed=1, noise=0.0) for kind in (name, "stationary-clusters")
    )
    X, marks, world = still.X.copy(), ds.marks, streams.Clusters(N, 10, 5, seed=1)
    assert_array_equal(ds.Y, labels_by_row(name, marks))
    first = min(marks.values())
    assert_array_equal(ds.Y[:first], still.Y[:first])
    if name == "abrupt-drift":  # two clusters jump, to the middle and to the opposite side
        X[(world.cluster == 0) & (world.row >= marks["abrupt_1"])] -= world.centers[0]
        X[(world.cluster == 3) & (world.row >= marks["abrupt_2"])] -= 2 * world.centers[3]
    assert_allclose(ds.X, X, atol=1e-12)


@pytest.mark.parametrize("n_initial", [0, 7, 400])
def test_nothing_drifts_in_the_initial_part(n_initial):
    for name in DRIFTS:
        marks = datasets.load(name, n=400, n_initial=n_initial).marks
        assert n_initial <= min(marks.values()) <= max(marks.values()) <= 400
