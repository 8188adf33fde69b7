"""The built-in streams with one kind of drift: what changes, where, and what does not."""

import itertools

import numpy as np
import pytest

from efcml import datasets
from efcml.datasets import drift_streams, synthetic
from efcml.datasets.built_in import GENERATORS
from efcml.datasets.drift_streams import KINDS, LOCAL_CLUSTER, draw_drift, drift_rows

N, INITIAL = 6000, 600
OPTIONS = {"n": N, "p": 10, "K": 5, "seed": 1, "noise": 0.4}
LARGE_LOSS, NO_LOSS = 0.15, 0.03
MARKS = {
    "abrupt-drift": {"abrupt_1": 2400, "abrupt_2": 4200},
    "gradual-drift": {"gradual_start": 2220, "gradual_end": 4380},
    "recurring-drift": {f"recurring_{i}": 600 + 1080 * i for i in (1, 2, 3, 4)},
    "local-drift": {"local_1": 2220, "local_2": 4110},
    "label-drift": {"labels_1": 2400, "labels_2": 4200},
    "scale-drift": {
        "shift": 1680,
        "growth_start": 1680,
        "units": 2760,
        "waking": 3840,
        "growth_end": 5460,
    },
}


def draw(name, **options):
    """Return X, Y and clusters of a stream, and its marks."""
    options = OPTIONS | options
    marks = drift_rows(name, options["n"], options["n"] // 10)
    return *draw_drift(name, **options, marks=marks), marks


def draw_still(**options):
    """Return X, Y and clusters without any drift."""
    return synthetic.draw_clusters(**OPTIONS | options, drifting=False)


def segments(marks):
    """Return the stretches between marks, as slices."""
    return [slice(*ends) for ends in itertools.pairwise((0, *marks.values(), N))]


def fit(X, Y):
    """Return scale and weights of a ridge plane."""
    mean, deviation = X.mean(axis=0), X.std(axis=0) + 1e-12
    R = np.column_stack([(X - mean) / deviation, np.ones(len(X))])
    return mean, deviation, np.linalg.solve(R.T @ R + np.eye(R.shape[1]), R.T @ Y)


def accuracy(plane, X, Y):
    """Return the partial accuracy of a plane."""
    mean, deviation, W = plane
    R = np.column_stack([(X - mean) / deviation, np.ones(len(X))])
    return ((R @ W >= 0.5) == Y).mean()


def cluster_accuracies(stream, learned, asked):
    """Fit a plane to each cluster in some rows; return their accuracies in others."""
    X, Y, cluster = stream
    found = []
    for c in range(synthetic.N_CLUSTERS):
        first, then = (cluster[part] == c for part in (learned, asked))
        plane = fit(X[learned][first], Y[learned][first])
        found.append(accuracy(plane, X[asked][then], Y[asked][then]))
    return np.array(found)


def halves(part):
    """Return the first and the second half of a slice."""
    middle = (part.start + part.stop) // 2
    return slice(part.start, middle), slice(middle, part.stop)


def own_accuracies(stream, part):
    """Return what planes reach in the second half of a stretch that have learned the first."""
    return cluster_accuracies(stream, *halves(part))


# --- all of them


def test_these_are_all_kinds():
    assert set(MARKS) == set(KINDS) == {name for name in GENERATORS if name.endswith("-drift")}


@pytest.mark.parametrize("name", MARKS)
def test_marks_scale_with_the_rows(name):
    ds = datasets.load(name)
    assert (len(ds), ds.n_initial, ds.marks) == (N, INITIAL, MARKS[name])
    assert all(f"{event} at row {row}" in ds.description for event, row in ds.marks.items())
    twice = datasets.load(name, n=2 * N).marks
    assert twice == {event: 2 * row for event, row in MARKS[name].items()}


@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize("n_initial", [0, 7, 300, 400])
def test_nothing_drifts_in_the_initial_part(name, n_initial):
    ds = datasets.load(name, n=400, seed=2, n_initial=n_initial, noise=0.0)
    still = datasets.load("stationary-clusters", n=400, seed=2, noise=0.0)
    first = min(ds.marks.values())
    assert n_initial <= first
    assert first < 400 or n_initial == 400
    np.testing.assert_array_equal(ds.Y[:first], still.Y[:first])
    columns = np.arange(10) != (drift_streams.WAKING if name == "scale-drift" else -1)
    np.testing.assert_allclose(ds.X[:first, columns], still.X[:first, columns])


@pytest.mark.parametrize("name", MARKS)
def test_seeds_are_reproducible(name):
    first, again, other = (datasets.load(name, n=300, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.Y, again.Y)
    assert not np.array_equal(first.X, other.X)
    assert not np.array_equal(first.Y, other.Y)


@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize(("n", "p", "K"), [(1, 2, 1), (9, 3, 2), (50, 4, 1), (200, 23, 7)])
def test_shapes(name, n, p, K):
    ds = datasets.load(name, n=n, p=p, K=K)
    assert (ds.X.shape, ds.Y.shape, ds.n_initial) == ((n, p), (n, K), n // 10)
    assert ds.name == name
    assert np.isfinite(ds.X).all()


@pytest.mark.parametrize("name", [*MARKS, "drifting-clusters", "stationary-clusters"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n is 0: give a whole number, at least 1"),
        ({"n": 10.0}, "n is 10.0"),
        ({"p": 1}, "p is 1: give a whole number, at least 2"),
        ({"K": 0}, "K is 0"),
        ({"noise": -1}, "noise is -1"),
        ({"noise": np.nan}, "noise is nan"),
        ({"n": 20, "n_initial": 21}, "n_initial is 21: choose a whole number of rows, 0 to 20"),
        ({"n_initial": -1}, "n_initial is -1"),
        ({"n_initial": "many"}, "n_initial is 'many'"),
    ],
)
def test_bad_options_are_refused(name, options, words):
    with pytest.raises(ValueError, match=words):
        datasets.load(name, **options)


# --- one by one


@pytest.mark.parametrize("name", ["abrupt-drift", "label-drift", "recurring-drift"])
def test_what_was_learned_before_a_mark_is_wrong_after_it(name):
    *stream, marks = draw(name)
    for before, after in itertools.pairwise(segments(marks)):
        there, here = own_accuracies(stream, before), own_accuracies(stream, after)
        assert there.mean() > 0.8
        assert here.mean() > 0.8  # it can be learned again
        old = cluster_accuracies(stream, before, after)
        assert (old < here - NO_LOSS).all()  # every cluster has changed
        assert old.mean() < here.mean() - LARGE_LOSS


@pytest.mark.parametrize("name", ["abrupt-drift", "label-drift", "recurring-drift"])
def test_changes_happen_at_the_marks(name):
    *stream, marks = draw(name)
    for before, after in itertools.pairwise(segments(marks)):
        learned, last = halves(before)
        asked, _ = halves(after)
        known = cluster_accuracies(stream, learned, last).mean()
        assert cluster_accuracies(stream, learned, asked).mean() < known - LARGE_LOSS
        near = slice(before.stop - 300, before.stop)
        assert cluster_accuracies(stream, learned, near).mean() > known - 2 * NO_LOSS
        near = slice(after.start, after.start + 300)
        assert cluster_accuracies(stream, learned, near).mean() < known - LARGE_LOSS


def test_two_clusters_of_abrupt_drift_jump():
    X, _, cluster, marks = draw("abrupt-drift")
    X_still, _, cluster_still = draw_still()
    np.testing.assert_array_equal(cluster, cluster_still)
    rows = np.arange(N)
    to_middle = (cluster == 0) & (rows >= marks["abrupt_1"])
    to_opposite = (cluster == 3) & (rows >= marks["abrupt_2"])
    np.testing.assert_array_equal(X[~to_middle & ~to_opposite], X_still[~to_middle & ~to_opposite])
    assert np.linalg.norm(X[to_middle].mean(axis=0)) < 0.5
    center = X_still[cluster == 3].mean(axis=0)
    assert np.linalg.norm(X[to_opposite].mean(axis=0) + center) < 0.5
    assert np.linalg.norm(center) > 10


def test_concepts_recur():
    *stream, marks = draw("recurring-drift")
    parts = segments(marks)
    for i, j in itertools.combinations(range(5), 2):
        here = own_accuracies(stream, parts[j]).mean()
        old = cluster_accuracies(stream, parts[i], parts[j]).mean()
        if (j - i) % 2:
            assert old < here - LARGE_LOSS
        else:  # the same concept, learned from more rows
            assert old > here - NO_LOSS


def test_rows_of_the_new_concept_become_more():
    X, Y, cluster, marks = draw("gradual-drift")
    X_still, Y_still, cluster_still = draw_still()
    np.testing.assert_array_equal(X, X_still)
    np.testing.assert_array_equal(cluster, cluster_still)
    _, exact, *_ = draw("gradual-drift", noise=0.0)
    _, exact_still, _ = draw_still(noise=0.0)
    changed = (exact != exact_still).any(axis=1)
    start, end = marks.values()
    fifths = np.linspace(start, end, 6).astype(int)
    shares = [changed[slice(*ends)].mean() for ends in itertools.pairwise(fifths)]
    after = changed[end:].mean()
    assert not changed[:start].any()
    np.testing.assert_allclose(shares, after * np.array([0.1, 0.3, 0.5, 0.7, 0.9]), atol=0.07)
    before, there = slice(0, start), slice(end, N)
    new = own_accuracies((X, Y, cluster), there).mean()
    assert cluster_accuracies((X, Y, cluster), before, there).mean() < new - LARGE_LOSS


def test_one_cluster_changes_in_local_drift():
    X, Y, cluster, marks = draw("local-drift")
    np.testing.assert_array_equal(X, draw_still()[0])
    others = np.arange(synthetic.N_CLUSTERS) != LOCAL_CLUSTER
    for before, after in itertools.pairwise(segments(marks)):
        loss = own_accuracies((X, Y, cluster), after)
        loss -= cluster_accuracies((X, Y, cluster), before, after)
        assert loss[LOCAL_CLUSTER] > LARGE_LOSS
        assert (loss[others] < 2 * NO_LOSS).all()
        assert loss[others].mean() < NO_LOSS


def test_directions_and_offset_of_the_local_cluster_are_reversed_once():
    X, Y, cluster, marks = draw("local-drift", n=30000)
    ends = (0, *marks.values(), len(X))
    slopes, means = [], []
    for begin, end in itertools.pairwise(ends):
        here = np.flatnonzero(cluster[begin:end] == LOCAL_CLUSTER) + begin
        W = fit(X[here], Y[here])[-1][:-1]
        slopes.append(W / np.linalg.norm(W))
        means.append(Y[here].mean(axis=0))
    assert (slopes[0] * slopes[1]).sum() < -0.4  # not -1: the common part stays
    assert max((slopes[i] * slopes[2]).sum() for i in (0, 1)) < 0.7  # neither of the old ones
    assert abs(means[0] - means[1]).max() > 0.15
    np.testing.assert_allclose(means[0], means[2], atol=0.1)


def test_the_other_clusters_of_local_drift_do_not_change_at_all():
    _, Y, cluster, marks = draw("local-drift", noise=0.0)
    _, Y_still, _ = draw_still(noise=0.0)
    here, changed = cluster == LOCAL_CLUSTER, (Y != Y_still).any(axis=1)
    assert not changed[~here].any()
    parts = [changed[part][here[part]].mean() for part in segments(marks)]
    assert parts[0] == 0
    assert min(parts[1:]) > 0.5


@pytest.mark.parametrize("name", ["gradual-drift", "label-drift", "local-drift", "recurring-drift"])
def test_features_do_not_drift_where_labels_do(name):
    X, _, cluster, _ = draw(name)
    X_still, _, cluster_still = draw_still()
    np.testing.assert_array_equal(X, X_still)
    np.testing.assert_array_equal(cluster, cluster_still)


# --- scale


def test_labels_of_scale_drift_are_those_of_the_underlying_features():
    _, Y, cluster, _ = draw("scale-drift")
    _, Y_still, cluster_still = draw_still()
    np.testing.assert_array_equal(Y, Y_still)
    np.testing.assert_array_equal(cluster, cluster_still)


@pytest.mark.parametrize("p", [2, 3, 10, 23])
def test_units_change_as_told(p):
    X, _, _, marks = draw("scale-drift", p=p)
    X_still, *_ = draw_still(p=p)
    mean, deviation = X_still.mean(axis=0), X_still.std(axis=0)
    rows = np.arange(N)
    shifting = [c for c in (0, 4, 10, 14, 20) if c < p]
    moved = np.where(rows >= marks["shift"], 20.0, 0.0)[:, None] * deviation[shifting]
    np.testing.assert_allclose(X[:, shifting], X_still[:, shifting] + moved)
    rescaled = [c for c in (1, 5, 11, 15, 21) if c < p]
    factor = np.where(rows >= marks["units"], 1000.0, 1.0)[:, None]
    np.testing.assert_allclose(X[:, rescaled], factor * X_still[:, rescaled])
    told = {*shifting, *rescaled, 2, 3}
    plain = [c for c in range(p) if c not in told]
    np.testing.assert_array_equal(X[:, plain], X_still[:, plain])
    if p > 2:
        awake = rows >= marks["waking"]
        assert (X[~awake, 2] == 1000).all()
        underlying = (X_still[:, 2] - mean[2]) / deviation[2]
        np.testing.assert_allclose(X[awake, 2], 1000 + underlying[awake])
        assert 0.8 < X[awake, 2].std() < 1.2
    if p > 3:
        grown = (X[:, 3] - mean[3]) / (X_still[:, 3] - mean[3])
        start, end = marks["growth_start"], marks["growth_end"]
        np.testing.assert_allclose(grown[: start + 1], 1.0)
        np.testing.assert_allclose(grown[end:], 10.0)
        np.testing.assert_allclose(np.diff(grown[start:end]), 9 / (end - start), rtol=1e-6)


def test_a_plane_of_the_old_units_loses_and_one_of_new_units_does_not():
    X, Y, _, marks = draw("scale-drift")
    for event in ("shift", "units"):
        row = marks[event]
        before, after = slice(row - 1000, row), slice(row, row + 1000)
        plane = fit(X[before], Y[before])
        new = accuracy(fit(X[after], Y[after]), X[after], Y[after])
        assert accuracy(plane, X[after], Y[after]) < new - 0.1
