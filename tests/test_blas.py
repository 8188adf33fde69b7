"""BLAS runs in one thread inside a learner, and as before outside."""

import numpy as np
import pytest
from helpers.streams import make_params, random_rows

from efcml.model import evolving
from efcml.model import learner as learner_module
from efcml.model.learner import Learner
from efcml.support.blas import blas_pools, one_blas_thread


@pytest.fixture
def two_threads():
    pools = blas_pools()
    before = [pool.get_num_threads() for pool in pools]
    for pool in pools:
        pool.set_num_threads(2)
    yield
    for pool, number in zip(pools, before, strict=True):
        pool.set_num_threads(number)


def threads():
    return {pool.get_num_threads() for pool in blas_pools()}


def test_one_thread_inside_and_as_before_outside(two_threads):
    assert threads() == {2}
    with one_blas_thread():
        assert threads() == {1}
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_as_before_after_an_error(two_threads):
    with pytest.raises(ValueError, match="here"), one_blas_thread():
        raise ValueError("here")
    assert threads() == {2}


def test_the_learner_works_in_one_thread(two_threads, rng, monkeypatch):
    seen = []
    places = {"cluster_until_event": evolving, "learn_until_event": evolving}
    for name, place in (places | {"score_rows": learner_module}).items():
        plain = getattr(place, name)

        def watched(*arguments, plain=plain, name=name):
            seen.append((name, *threads()))
            return plain(*arguments)

        monkeypatch.setattr(place, name, watched)
    X, Y = random_rows(rng, 30, 2, 2)
    learner = Learner(make_params(), 2, 2).fit(X, Y)
    learner.learn(X, Y)
    assert np.isfinite(learner.score(X)).all()
    assert threads() == {2}
    expected = {("cluster_until_event", 1), ("learn_until_event", 1), ("score_rows", 1)}
    assert set(seen) == expected
