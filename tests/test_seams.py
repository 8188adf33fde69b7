"""Parts of the method that are replaced, by a function or a registered name."""

from collections import namedtuple

import numpy as np
import pytest
from helpers.models import freeze
from helpers.streams import COMPILED, make_params, random_rows, unscaled_learner
from numba import njit
from numpy.testing import assert_allclose

from efcml import EFCMLClassifier, Study, datasets, seams
from efcml.kernels.linalg import whole
from efcml.model import reshape
from efcml.model.learner import Learner
from efcml.model.stages import Stage
from efcml.model.tables import Table
from efcml.model.temporal import TemporalStage
from efcml.seams import Update, register

pytestmark = pytest.mark.uncompiled

SMALL = {"splitting": "labels", "vigilance": 1.0, "split_share": 0.3}


def learn(rng_seed=0, n=250, **changes):
    X, Y = random_rows(np.random.default_rng(rng_seed), n, 2, 2)
    return unscaled_learner(2, 2, **SMALL | changes).learn(X, Y), X, Y


def never(pair):
    return 0.0


def always(pair):
    assert 0.0 <= pair.overlap <= 1.0 and pair.covariance.shape == (4, 4)
    return 2.0


def by_name_and_function(kind, name, function):
    register(kind, name, function)
    return [function, name]


@pytest.mark.slow
@pytest.mark.parametrize("how", by_name_and_function("merging", "never", never))
def test_a_criterion_that_never_merges(how):
    learner, *_ = learn(merging=how, vigilance=0.5)
    assert learner.rules.counts["merge"] == 0
    assert learn(merging=True, vigilance=0.5)[0].rules.counts["merge"] > 0
    capped, *_ = learn(merging=how, vigilance=0.3, max_rules=4)
    assert (capped.rules.counts["merge"], capped.n_rules) == (0, 4)
    assert capped.rules.counts["drop"] > 0


@pytest.mark.parametrize("how", by_name_and_function("merging", "always", always))
def test_a_criterion_that_always_merges(how):
    """What it merges has rows of its own, and does not hold so many that it is split again."""
    learner, X, _ = learn(merging=how, splitting="off", vigilance=0.5)
    old_enough = learner.rules.updates + 1 >= 4
    assert old_enough.sum() == 1
    assert learner.rules.counts["merge"] > 5
    capped, *_ = learn(merging=how, vigilance=0.3, max_rules=4)
    assert capped.rules.counts["drop"] == 0


def test_an_idle_rule_goes_to_the_one_that_is_most_alike():
    def by_label(pair):
        """Rules are alike if they are on the same side of the second label."""
        i, j = pair.rules.center[[pair.i, pair.j], 3] > 0.5
        return 0.9 if i == j else 0.1

    learner, *_ = learn(merging=by_label, n=300)
    assert learner.rules.counts["merge"] > 0  # idle ones only: it is never 1


@pytest.mark.parametrize("name", ["labels", "axis", "own", "registered"])
def test_a_direction_of_ones_own(name):
    seen = []

    def second(S, p):
        assert_allclose(S, S.T)
        assert (S.shape, p) == ((4, 4), 2)
        seen.append(S)
        return np.array([0.0, 1.0])

    if name == "registered":
        register("split", name, second)
    how = second if name == "own" else name
    learner, *_ = learn(splitting=how, vigilance=3.0, merging=False)
    splits = learner.rules.counts["split"]
    assert splits > 0
    assert len(seen) == (splits if name in ("own", "registered") else 0)


def test_the_built_in_directions(rng):
    S = np.diag([4.0, 1.0, 0.25])
    S[1, 2] = S[2, 1] = -0.3
    assert np.abs(reshape.along_axis(S, 2)).tolist() == [1.0, 0.0]
    assert np.abs(reshape.across_labels(S, 2)).tolist() == [0.0, 1.0]
    S[1, 2] = S[2, 1] = 0.0
    assert np.abs(reshape.across_labels(S, 2)).tolist() == [1.0, 0.0]


@njit
def half(distance, dimension, support, vigilance):
    """The built-in test, with half of the radius that it is given."""
    reach = 0.5 * vigilance * dimension ** (1.0 / np.sqrt(2.0))
    return np.sqrt(distance) > reach / (1.0 - 1.0 / (support + 1.0)) ** 4


@pytest.mark.slow
@pytest.mark.parametrize("how", by_name_and_function("birth", "half", half))
def test_a_birth_test_of_ones_own_is_asked_for_every_row(how):
    """It is given 1 for the radius; in the stream, in the batch, in folds."""
    one, X, Y = learn(vigilance=how)
    other, *_ = learn(vigilance=0.5)
    assert one.score(X).tobytes() == other.score(X).tobytes()
    assert one.rules.counts == other.rules.counts
    one, other = (
        Learner(make_params(vigilance=v, prior="auto"), 2, 2).fit(X, Y) for v in (how, 0.5)
    )
    assert one.score(X).tobytes() == other.score(X).tobytes()
    alone = Learner(make_params(vigilance=how, max_rules=1), 2, 2).fit(X, Y)
    assert alone.rules.next_uid == 1  # the radius is infinite


@njit
def normalised_lms(row, y, weight, keep, heights, P, W, v):
    """W <- W + mu Psi (y - r'W) r / (1 + r'r)."""
    length = 1.0 + row @ row
    for c in range(y.shape[0]):
        W[c] += 0.5 * weight * (y[c] - heights[c]) / length * row
    return False


@pytest.mark.parametrize("how", by_name_and_function("update", "nlms", normalised_lms))
def test_an_update_of_ones_own_is_all_that_moves_planes(how):
    learner, X, Y = learn(
        update=how, splitting="off", max_rules=1, alpha=0.0, correlation="none", n=60
    )
    W = np.zeros((2, 3))
    for x, y in zip(np.clip(X, -6.0, 6.0)[1:], Y[1:], strict=True):
        r = np.append(x, 1.0)
        W += 0.5 * np.outer(y - W @ r, r) / (1.0 + r @ r)
    assert_allclose(learner.rules.W[0, 0], W, atol=1e-12)
    G, R = (
        whole(learner.rules.G[0, 0].copy()),
        np.insert(np.clip(X, -6.0, 6.0)[1:], 2, 1.0, axis=1),
    )
    assert_allclose(G, R.T @ R, atol=1e-9)  # sums are kept for it


@pytest.mark.parametrize("forgetting", [1.0, "auto"])
def test_an_update_without_a_solution_averages_planes(forgetting):
    """Merges and splits leave planes that such updates have made, not those of least squares."""
    learner, X, Y = learn(update=normalised_lms, merging=always, forgetting=forgetting,
                          correlation="none", vigilance=0.5, splitting="off")  # fmt: skip
    assert learner.rules.counts["merge"] > 3
    assert np.abs(learner.rules.W).max() < 3.0
    assert ((learner.score(X) >= 0.5) == (Y == 1.0)).mean() > 0.6
    exact = learn(update=Update(normalised_lms, solves=True), merging=always, correlation="none",
                  vigilance=0.5, splitting="off", forgetting=forgetting)[0]  # fmt: skip
    assert not np.array_equal(exact.score(X), learner.score(X))


def test_who_learns_the_row_of_a_birth():
    plain, *_ = learn(update=Update(normalised_lms, at_birth=False), n=30)
    assert plain.rules.use.sum() < learn(update=Update(normalised_lms), n=30)[0].rules.use.sum()


BIAS = Table("""
mean f8 K: mean error so far
rows f8 1: rows
""")
BiasArrays = namedtuple("BiasArrays", BIAS.names)


class Bias(Stage):
    """Takes the mean error of all rows so far off the scores."""

    table = BIAS

    def __init__(self, n_features, n_labels):
        self.arrays = BiasArrays(**BIAS.allocate({"K": n_labels}))

    def begin(self, rows, scores, Y, weights):
        assert rows.shape[0] == len(scores) and not np.isnan(rows).any()
        self.arrays.mean[:] = np.nanmean(Y - scores, axis=0)
        self.arrays.rows[0] = len(rows)
        return scores + self.arrays.mean

    def follow(self, rows, scores, Y, weights, kept):
        out = np.empty_like(scores)
        for t, (score, y) in enumerate(zip(scores, Y, strict=True)):
            out[t] = score + self.arrays.mean
            if weights[t] > 0.0 and not np.isnan(y).any():
                self.arrays.rows[0] += 1.0
                self.arrays.mean[:] += (y - score - self.arrays.mean) / self.arrays.rows[0]
        return out


@pytest.mark.parametrize("how", by_name_and_function("stage", "bias", Bias))
def test_a_stage_of_ones_own(rng, how):
    X, Y = random_rows(rng, 120, 3, 2)
    params = make_params(stages=(how,), cases=5, time=True, forgetting="auto", scaling="follow")
    learner = Learner(params, 3, 2).fit(X[:50], Y[:50])
    assert type(learner.stages[-1]) is Bias and len(learner.stages) == 5
    plain = learner.copy()
    plain.stages = plain.stages[:-1]
    mean = learner.stages[-1].arrays.mean.copy()
    assert mean.any()
    assert_allclose(learner.score(X), plain.score(X) + mean)
    learner.learn(X[50:], Y[50:])
    assert learner.stages[-1].arrays.rows[0] == 120
    other = Learner.from_state(*learner.state())
    assert other.score(X).tobytes() == learner.score(X).tobytes()
    learner.add_labels(1)
    assert learner.score(X).shape == (120, 3)


def test_stages_are_made_once(rng):
    made = []

    def make(*sizes):
        made.append(sizes)
        return Bias(*sizes)

    X, Y = random_rows(rng, 60, 3, 2)
    Learner(make_params(stages=(make,)), 3, 2).fit(X, Y).learn(X, Y)
    assert made == [(3, 2)]


def test_functions_without_a_name_cannot_be_saved(rng):
    X, Y = random_rows(rng, 30, 2, 2)
    learner = Learner(make_params(merging=lambda pair: 0.0), 2, 2).fit(X, Y)
    with pytest.raises(ValueError, match=r'efcml.register\("merging", "a name", function\)'):
        learner.state()
    with pytest.raises(ValueError, match="kind must be one of merging, split, birth"):
        register("no such kind", "a", never)
    for wrong in ({"merging": "unheard of"}, {"stages": ("unheard of",)}, {"update": "no"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            make_params(**wrong)
    assert seams.function_of("merging", "never") is never


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled")
def test_saved_by_name_and_taken_up(rng):
    X, Y = random_rows(rng, 90, 2, 2)
    params = make_params(merging="never", update="nlms")
    learner = Learner(params, 2, 2).fit(X[:40], Y[:40]).learn(X[40:60], Y[40:60])
    facts, arrays = learner.state()
    assert (facts["params"]["merging"], facts["params"]["update"]) == ("never", "nlms")
    other = Learner.from_state(facts, arrays)
    assert other.learn(X[60:], Y[60:]).score(X).tobytes() == (
        learner.learn(X[60:], Y[60:]).score(X).tobytes()
    )


@pytest.mark.parametrize(
    "given", [("update", "rls", never), ("split", "off", never), ("merging", 5, never)]
)
def test_names_that_are_taken_are_refused(given):
    with pytest.raises(ValueError, match="name must be a word that is not taken"):
        register(*given)
    with pytest.raises(TypeError, match="must be a function"):
        register("merging", "five", 5)


def test_mistakes_are_said_at_once():
    with pytest.raises(ValueError, match=r'the name of one \(efcml.register\("merging"'):
        make_params(merging="nokl")
    if COMPILED:
        for changes in ({"update": never}, {"vigilance": never}):
            with pytest.raises(ValueError, match="put @numba.njit before it"):
                learn(**changes)


@njit
def two_numbers(distance, dimension):
    return distance > dimension


@njit
def no_answer(row, y, weight, keep, heights, P, W, v):
    W[0, 0] += 0.1


class Unsized(Stage):
    """Has an array, which nothing describes."""

    def __init__(self, n_features, n_labels):
        self.arrays = namedtuple("Unsized", "mean")(np.zeros(n_labels))

    def follow(self, rows, scores, Y, weights, kept):
        return scores + self.arrays.mean


class Flat(Stage):
    def __init__(self, n_features, n_labels):
        pass

    def follow(self, rows, scores, Y, weights, kept):
        return scores[:, 0]


class Clipped(Flat):
    """Remembers nothing."""

    def follow(self, rows, scores, Y, weights, kept):
        return np.clip(scores, 0.0, 1.0)


CRITERION = r"a merging criterion is called with \(pair\) and must return a number; got "
DIRECTION = "a splitting direction is called with .* return p numbers that are not all 0; got "
BIRTH = "a birth test is called with .* return a bool; got "
UPDATE = "an update is called with .* return a bool; got "
STAGE = "a stage is made by .* as many scores as it gets; got "


@pytest.mark.parametrize(
    ("part", "function", "words"),
    [
        ("merging", lambda pair: np.nan, CRITERION + "nan"),
        ("merging", lambda pair: "much", CRITERION + "'much'"),
        ("merging", lambda pair: None, CRITERION + "None"),
        ("merging", lambda: 0.0, CRITERION + "TypeError: .* takes 0 pos"),
        ("merging", lambda pair: pair.nothing, CRITERION + "AttributeError: 'Pair' .* 'nothing'"),
        ("splitting", lambda S, p: np.ones(p + 1), DIRECTION + r"array\(\[1., 1., 1.\]\)"),
        ("splitting", lambda S, p: np.full(p, np.nan), DIRECTION + r"array\(\[nan, nan\]\)"),
        ("splitting", lambda S, p: np.zeros(p), DIRECTION + r"array\(\[0., 0.\]\)"),
        ("splitting", lambda S: np.ones(2), DIRECTION + "TypeError: .* takes 1 pos"),
        ("vigilance", two_numbers, BIRTH + "TypeError: .*2"),
        ("update", no_answer, UPDATE + "None"),
        ("update", two_numbers, UPDATE + "TypeError: .*2"),
        ("stages", (Flat,), STAGE + r"TypeError: follow returned the shape \(20,\) for \(20, 2\)"),
        ("stages", (Stage,), STAGE + "TypeError: Stage"),
        ("stages", (dict,), STAGE + "TypeError: dict"),
    ],
)
def test_what_a_part_must_be_is_said_in_one_line(part, function, words):
    usual = {} if part == "splitting" else {"vigilance": 0.5}
    with pytest.raises(ValueError, match=words) as caught:
        learn(**usual | {part: function})
    assert len(str(caught.value).splitlines()) == 1


def test_new_labels_come_to_a_stage_without_a_table_if_it_remembers_nothing():
    learner, X, _ = learn(stages=(Clipped,))
    learner.add_labels(1)
    assert learner.score(X).shape == (len(X), 3)
    learner, *_ = learn(stages=(Unsized,))
    with pytest.raises(ValueError, match="a label is new: Unsized must have .* or add_labels"):
        learner.add_labels(1)


@njit
def frozen(row, y, weight, keep, heights, P, W, v):
    return False


@pytest.mark.parametrize("forgetting", [1.0, "auto"])
def test_shared_planes_move_no_planes_of_ones_own(forgetting):
    fixed = {
        "shared": 2.0,
        "correlation": "none",
        "alpha": 0.0,
        "max_rules": 1,
        "forgetting": forgetting,
    }
    learner, *_ = learn(update=frozen, **fixed)
    assert not learner.rules.W.any()
    assert learn(**fixed)[0].rules.W.any()


def test_a_usual_stage_may_stand_once_more(rng):
    X, Y = random_rows(rng, 60, 2, 2)
    register("stage", "time again", TemporalStage)
    params = make_params(stages=("time again",), time=True)
    learner = Learner(params, 2, 2).fit(X[:40], Y[:40]).learn(X[40:], Y[40:])
    again = Learner.from_state(*learner.state())
    assert freeze(again.stages) == freeze(learner.stages)


@pytest.mark.long
def test_registered_names_reach_other_processes(tmp_path):
    X, Y = random_rows(np.random.default_rng(0), 80, 2, 2)
    register("merging", "never in others", never)
    models = Study.vary(EFCMLClassifier(prior=1.0), merging=["never in others", never])
    assert [*models] == ["merging=never in others", "merging=never"]
    study = Study(
        models, data=[datasets.from_arrays(X, Y, n_initial=40)], orders=2, folder=tmp_path
    )
    study.run(jobs=2)
    assert (study.differences("merging=never")["pa"] == 0.0).all(axis=None)
