"""Several threads in one learner, and several processes without compiled files.

Budget: half a minute in `make test`, 5 in `make soak`.
"""

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from helpers.amounts import amount, counted
from helpers.cli_files import ROOT
from helpers.streams import assert_identical, make_params, random_rows, state_of
from sklearn.base import clone

from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, load, prequential, save
from efcml.compat.river import RiverEFCML
from efcml.explain import explaining
from efcml.model.learner import Learner
from efcml.rivals import GlobalRLS, LabelFrequencies
from efcml.support import guard
from efcml.support.blas import blas_pools, one_blas_thread

ROWS = 3000  # scored by each call; enough that calls overlap
CHUNK = 40


def make_learner(rng):
    X, Y = random_rows(rng, 400, 4, 3)
    params = make_params(vigilance=0.3, max_rules=12, variance_floor=0.2)
    return Learner(params, 4, 3).fit(X[:100], Y[:100]), X, Y


# -- one learner, several threads -------------------------------------------------------------


def run_readers(learner, rows, known, seconds, train=lambda: None):
    """Score in two threads while ``train`` runs; return calls and answers that nobody knows."""
    stop = threading.Event()
    until = time.monotonic() + seconds

    def read():
        calls, garbage = 0, 0
        while not stop.is_set() and time.monotonic() < until:
            scores = learner.score(rows)
            calls += 1
            if scores.tobytes() not in known:
                garbage += 1
                stop.set()
        return calls, garbage

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        train()
        found = [reader.result() for reader in readers]
    return tuple(sum(part) for part in zip(*found, strict=True))


def states_on_the_way(learner, X, Y, rows):
    """Return the scores of every state that a learner has between two chunks."""
    twin, known = learner.copy(), set()
    for at in range(100, len(X) + 1, CHUNK):
        known.add(twin.score(rows).tobytes())
        twin.learn(X[at : at + CHUNK], Y[at : at + CHUNK])
    known.add(twin.score(rows).tobytes())
    return twin, known


@pytest.mark.slow
def test_readers_see_whole_states_only(rng):
    learner, X, Y = make_learner(rng)
    rows = rng.normal(size=(ROWS, 4))
    twin, known = states_on_the_way(learner, X, Y, rows)
    seconds = amount(1.5, 60.0)

    def train():
        while time.monotonic() < end:
            other = learner.copy()
            for at in range(100, len(X) + 1, CHUNK):
                other.learn(X[at : at + CHUNK], Y[at : at + CHUNK])
            assert_identical(state_of(other), state_of(twin))
        for at in range(100, len(X) + 1, CHUNK):
            learner.learn(X[at : at + CHUNK], Y[at : at + CHUNK])

    with counted("threads") as figures:
        end = time.monotonic() + 0.7 * seconds
        calls, garbage = run_readers(learner, rows, known, seconds, train)
        figures |= {"calls": calls, "garbage": garbage}
    assert garbage == 0
    assert calls >= 4
    assert_identical(state_of(learner), state_of(twin))


@pytest.mark.slow
def test_without_the_guard_there_is_garbage(rng, monkeypatch):
    """The reason for all this: two threads share one set of scratch arrays."""
    learner, _, _ = make_learner(rng)
    rows = rng.normal(size=(ROWS, 4))
    known = {learner.score(rows).tobytes()}
    monkeypatch.setattr(guard, "lock_of", lambda thing: nullcontext())
    with counted("threads without the guard") as figures:
        calls, garbage = run_readers(learner, rows, known, 60.0)
        figures |= {"calls until the first garbage": calls}
    assert garbage > 0


@pytest.mark.slow
def test_fit_with_other_columns_while_another_thread_predicts(rng):
    """A prediction is refused or has the right shape: it never mixes two fits."""
    tables = [random_rows(rng, 60, p, K) for p, K in ((2, 3), (5, 1))]
    clf = EFCMLClassifier(prior=1.0, max_rules=4).fit(*tables[0])
    end = time.monotonic() + amount(1.0, 20.0)
    expected = {}
    for X, Y in tables:
        fitted = EFCMLClassifier(prior=1.0, max_rules=4).fit(X, Y)
        expected[X.shape[1]] = fitted.decision_function(X)

    def read():
        answers = 0
        while time.monotonic() < end or (not answers and time.monotonic() < end + 60.0):
            for X, _ in tables:
                try:
                    scores = clf.decision_function(X)
                except ValueError as error:
                    assert "features" in str(error)
                    continue
                assert np.array_equal(scores, expected[X.shape[1]])
                answers += 1
        return answers

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        while not all(reader.done() for reader in readers):
            for X, Y in tables:
                clf.fit(X, Y)
        assert min(reader.result() for reader in readers) > 0


def make_slow(monkeypatch, kind, method, begun, finish):
    """Let a method stop inside until ``finish`` is set."""
    plain = getattr(kind, method)

    def slow(self, *arguments, **more):
        begun.set()
        assert finish.wait(20.0)
        return plain(self, *arguments, **more)

    monkeypatch.setattr(kind, method, guard.one_at_a_time(slow))


CALLS = {
    "score": lambda clf, path: clf.decision_function([[0.0, 0.0]]),
    "proba": lambda clf, path: clf.predict_proba([[0.0, 0.0]]),
    "learn": lambda clf, path: clf.partial_fit([[0.0, 0.0]], [[1, 0]]),
    "rules": lambda clf, path: clf.rules_,
    "explain": lambda clf, path: clf.explain([0.0, 0.0]),
    "copy": lambda clf, path: clf.learner_.copy(),
    "deep copy": lambda clf, path: copy.deepcopy(clf),
    "pickle": lambda clf, path: pickle.dumps(clf),
    "save": lambda clf, path: save(clf, path),
    "labels": lambda clf, path: clf.add_labels(1),
    "fit": lambda clf, path: clf.learner_.fit(np.zeros((2, 2)), np.eye(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_waits_for_the_learner(name, rng, tmp_path, monkeypatch):
    X, Y = random_rows(rng, 12, 2, 2)
    clf = EFCMLClassifier(prior=1.0, max_rules=2).fit(X, Y)
    begun, finish = threading.Event(), threading.Event()
    make_slow(monkeypatch, Learner, "learn", begun, finish)
    with ThreadPoolExecutor(2) as pool:
        busy = pool.submit(clf.learner_.learn, X, Y)
        assert begun.wait(20.0)
        call = pool.submit(CALLS[name], clf, tmp_path / "model.npz")
        time.sleep(0.05)
        waited = not call.done()
        finish.set()
        busy.result()
        call.result()
    assert waited


X, Y = random_rows(np.random.default_rng(5), 12, 2, 2)
FACES = {
    "fit": lambda clf: clf.fit(X, Y),
    "partial_fit": lambda clf: clf.partial_fit(X, Y),
    "begin_stream": lambda clf: clf.begin_stream(X, Y),
    "check_features": lambda clf: clf.check_features(X),
    "check_labels": lambda clf: clf.check_labels(Y, 12),
    "name_columns": lambda clf: clf.name_columns("ab", "cd"),
    "decision_function": lambda clf: clf.decision_function(X),
    "predict": lambda clf: clf.predict(X),
    "predict_proba": lambda clf: clf.predict_proba(X),
    "score": lambda clf: clf.score(X, Y),
}
LEARNERS = {
    "fit": lambda learner: learner.fit(X, Y),
    "learn": lambda learner: learner.learn(X, Y),
    "score": lambda learner: learner.score(X),
    "copy": lambda learner: learner.copy(),
    "pickle": lambda learner: pickle.dumps(learner),
}
RIVER = {
    "learn_one": lambda model: model.learn_one({"a": 1.0}, {"b": True}),
    "predict_one": lambda model: model.predict_one({"a": 1.0}),
    "predict_proba_one": lambda model: model.predict_proba_one({"a": 1.0}),
    "rules": lambda model: model.rules,
    "explain_one": lambda model: model.explain_one({"a": 1.0}),
}


def river_model():
    model = RiverEFCML(warmup_rows=5)
    model.learn_one({"a": 0.0}, {"b": False})
    return model


@contextmanager
def another_thread_in(thing):
    """Let another thread be inside of an object until the block ends."""
    begun, finish = threading.Event(), threading.Event()

    def hold():
        with guard.lock_of(thing):
            begun.set()
            assert finish.wait(20.0)

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(hold)
        assert begun.wait(20.0)
        try:
            yield
        finally:
            finish.set()
        busy.result()


def assert_waits(thing, call):
    """Check that a call waits while another thread is in the same object."""
    with ThreadPoolExecutor(1) as pool:
        with another_thread_in(thing):
            waiting = pool.submit(call, thing)
            time.sleep(0.03)
            waited = not waiting.done()
        waiting.result()
    assert waited


@pytest.mark.parametrize("name", FACES)
def test_estimators_wait(name):
    assert_waits(LabelFrequencies().fit(X, Y), FACES[name])


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", [OneVsRestEFC, ChainEFC, GlobalRLS, LabelFrequencies])
def test_learners_of_rivals_wait(kind, name):
    assert_waits(kind().fit(X[:6], Y[:6]).learner_, LEARNERS[name])


@pytest.mark.parametrize("name", RIVER)
def test_models_of_river_wait(name):
    assert_waits(river_model(), RIVER[name])


def test_active_learners_wait():
    clf = EFCMLClassifier(prior=1.0, max_rules=2).fit(X, Y)
    assert_waits(ActiveLearner(), lambda active: active.ask(clf, X[0]))
    assert_waits(ActiveLearner(), lambda active: active.tell(clf, X[0]))
    assert_waits(ActiveLearner(), lambda active: prequential(clf, X, Y, active=active))


def test_an_explanation_is_of_one_state(monkeypatch):
    """All that it reads is read in one go."""
    clf = EFCMLClassifier(prior=1.0, max_rules=2).fit(X, Y)
    plain, inside = explaining.read_in_order, []

    def watched(learner, *names):
        inside.append(guard.lock_of(learner)._is_owned())
        return plain(learner, *names)

    monkeypatch.setattr(explaining, "read_in_order", watched)
    clf.explain(X[0])
    assert inside == [True]


def test_the_guard_leaves_no_trace(rng, tmp_path):
    X, Y = random_rows(rng, 20, 2, 2)
    for kind in (EFCMLClassifier, OneVsRestEFC):
        clf = kind(prior=1.0, max_rules=2).fit(X, Y)
        before = clf.decision_function(X)
        save(clf, tmp_path / "model.npz")
        others = [pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf), load(tmp_path / "model.npz")]
        others.append(clone(clf).fit(X, Y))
        for other in others:
            assert guard.lock_of(other.learner_) is not guard.lock_of(clf.learner_)
            assert np.array_equal(other.decision_function(X), before)
        assert not any("lock" in name for name in [*vars(clf), *vars(clf.learner_)])


def test_locks_go_with_their_objects(rng):
    before = len(guard._locks)
    learner = Learner(make_params(), 2, 2).fit(*random_rows(rng, 20, 2, 2))
    assert len(guard._locks) == before + 1
    del learner
    assert len(guard._locks) == before


# -- forks ------------------------------------------------------------------------------------


def answer_of_child(learner):
    """Fork, score in the child, and return what it says."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            says = f"works {learner.score(np.zeros((1, 2))).shape}"
        except RuntimeError as error:
            says = str(error)
        os.write(write, says.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        says = pipe.read().decode()
    os.waitpid(child, 0)
    return says


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_in_the_middle_is_refused(rng, monkeypatch):
    X, Y = random_rows(rng, 12, 2, 2)
    learner = Learner(make_params(), 2, 2).fit(X, Y)
    learner.score(X)
    assert answer_of_child(learner) == "works (1, 2)"
    begun, finish = threading.Event(), threading.Event()
    make_slow(monkeypatch, Learner, "learn", begun, finish)
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(learner.learn, X, Y)
        assert begun.wait(20.0)
        assert "when the process was forked" in answer_of_child(learner)
        finish.set()
        busy.result()
    assert answer_of_child(learner) == "works (1, 2)"


def test_the_child_forgets_the_locks_of_threads_that_are_gone():
    """As above, in one process, where coverage sees it."""

    class Thing:
        pass

    held, free = Thing(), Thing()
    guard.lock_of(free)
    with another_thread_in(held), guard.lock_of(free):  # by the thread that forks
        guard._after_fork()
    with pytest.raises(RuntimeError, match="may be half changed: copy it before"):
        guard.one_at_a_time(lambda thing: None)(held)
    guard.one_at_a_time(lambda thing: None)(free)
    guard.Abandoned().__exit__(None, None, None)


# -- BLAS -------------------------------------------------------------------------------------


def test_the_last_thread_puts_the_number_back():
    before = [pool.get_num_threads() for pool in blas_pools()]
    for pool in blas_pools():
        pool.set_num_threads(2)
    try:
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert {pool.get_num_threads() for pool in blas_pools()} == {1}
        second.__exit__(None, None, None)
        assert {pool.get_num_threads() for pool in blas_pools()} == {2}
    finally:
        for pool, number in zip(blas_pools(), before, strict=True):
            pool.set_num_threads(number)


# -- processes that compile at the same time --------------------------------------------------

KERNELS = """
import numpy as np
from efcml.kernels.antecedent import add_to_covariance
from efcml.kernels.linalg import quadratic_form
A, e = np.diag(np.arange(1.0, 5.0)), np.arange(4.0)
print(add_to_covariance(A, e, 0.5, 1, 0.5, np.zeros(4), np.zeros(4)), quadratic_form(A, e))
"""
LEARNER = """
import hashlib
import numpy as np
from efcml.model.learner import Learner
from efcml.model.params import Params
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 19))
Y = (X @ rng.normal(size=(19, 3)) > 0).astype(float)
learner = Learner(Params(prior=1.0, vigilance=0.3), 19, 3).fit(X[:60], Y[:60]).learn(X, Y)
print(hashlib.sha256(learner.score(X).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_processes_that_fill_one_empty_cache(tmp_path):
    """All compile, all write, and all get the same; so does one that finds the files."""
    program = amount(KERNELS, LEARNER)
    env = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", program],
            env=env,
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    with counted("processes with one empty cache") as figures:
        running = [start() for _ in range(amount(3, 6))]
        ended = [(*process.communicate(), process.returncode) for process in running]
        figures |= {"processes": len(running)}
    assert [code for *_, code in ended] == [0] * len(running), ended
    assert len({said for said, *_ in ended}) == 1
    assert all(not errors for _, errors, _ in ended)
    last = start()
    assert last.communicate() == (ended[0][0], "")
