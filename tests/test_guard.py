"""Several threads in one model, one thread of BLAS, and Ctrl-C while a model learns."""

import copy
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import matplotlib.pyplot as plt
import numpy as np
import pytest
from helpers.cli_files import write_csv
from helpers.models import freeze
from helpers.streams import make_params, random_rows

from efcml import (
    ActiveLearner,
    ChainEFC,
    EFCMLClassifier,
    OneVsRestEFC,
    load,
    plots,
    prequential,
    save,
)
from efcml.cli import main
from efcml.compat.river import RiverEFCML
from efcml.explain import explanation as reading
from efcml.model import reshape
from efcml.model import trace as trace_module
from efcml.model.cases import CaseStage
from efcml.model.learner import Learner
from efcml.model.rulebase import RuleBase
from efcml.model.stages import Stage
from efcml.studies import runs as runs_module
from efcml.support import guard
from efcml.support.guard import blas_pools, interrupts_held, one_blas_thread

X, Y = random_rows(np.random.default_rng(5), 12, 2, 2)


# Threads


def make_face():
    return EFCMLClassifier(prior=1.0, max_rules=2, cases=4).fit(X, Y)


def make_river():
    model = RiverEFCML(warmup_rows=5)
    for t in range(6):
        model.learn_one({"a": float(t)}, {"b": t > 3})
    return model


# What is to wait, by name; others are functions of the model.
LEARNER = [("fit", X, Y), ("learn", X, Y), ("score", X), ("copy",), (pickle.dumps,)]
FACE = [("fit", X, Y), ("partial_fit", X, Y), ("begin_stream", X, Y), ("name_columns", "ab", "cd")]
FACE += [("check_features", X), ("check_labels", Y, 12), ("decision_function", X)]
FACE += [("predict", X), ("predict_proba", X), ("score", X, Y)]
INNER = [("rules_",), ("explain", X[0]), ("predict_proba", X), ("partial_fit", X, Y)]
INNER += [("add_labels", 1), (pickle.dumps,), (copy.deepcopy,)]
RIVER = [("learn_one", {"a": 1.0}, {"b": True}), ("predict_one", {"a": 1.0}), ("rules",)]
RIVER += [("predict_proba_one", {"a": 1.0}), ("explain_one", {"a": 1.0})]
ACTIVE = [(lambda active: active.ask(make_face(), X[0]),)]
ACTIVE += [(lambda active: active.tell(make_face(), X[0]),)]
THINGS = {
    "learner": (lambda: Learner(make_params(), 2, 2).fit(X, Y), LEARNER),
    "one by one": (lambda: OneVsRestEFC().fit(X, Y).learner_, LEARNER),
    "face": (make_face, FACE),
    "inside of a face": (make_face, INNER),
    "river": (make_river, RIVER),
    "active": (ActiveLearner, ACTIVE),
}


class Watched:
    """A lock that tells whether somebody has come to it."""

    def __init__(self, lock):
        self.lock, self.asked = lock, threading.Event()

    def __enter__(self):
        self.asked.set()
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


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
            lock = guard._locks[thing]
            guard._locks[thing] = watched = Watched(lock)
            waiting = pool.submit(call)
            assert watched.asked.wait(20.0), "it did not ask for the lock"
            assert not waiting.done()
            guard._locks[thing] = lock
        waiting.result()


@pytest.mark.parametrize("name", THINGS)
def test_every_call_waits_for_other_threads(name):
    make, calls = THINGS[name]
    for what, *given in calls:
        thing = make()

        def call(what=what, thing=thing, given=given):
            if callable(what):
                return what(thing)
            found = getattr(thing, what)
            return found(*given) if given or callable(found) else found

        assert_waits(thing.learner_ if calls is INNER else thing, call)


def test_saving_and_streams_wait_too(tmp_path):
    clf, active = make_face(), ActiveLearner()
    for model in (clf, OneVsRestEFC(prior=1.0).fit(X, Y)):
        assert_waits(model.learner_, lambda model=model: save(model, tmp_path / "model.npz"))
    assert_waits(active, lambda: prequential(clf, X, Y, active=active))


READERS = {
    "rules": lambda clf, X: str(clf.rules_),
    "explanation": lambda clf, X: str(clf.explain(X[0])),
    "trust": lambda clf, X: clf.trust(X),
    "answers": lambda clf, X: (clf.predict(X), clf.predict_proba(X), clf.effective_rules(X)),
    "pictures": lambda clf, X: plt.close(plots.draw_importance(clf.rules_.importance()).figure),
    "state": lambda clf, X: (clf.learner_.state(), clf.learner_.latest),
}


@pytest.mark.parametrize("name", READERS)
def test_readers_change_nothing(name, rng):
    """Between calls, and from another thread while a stream is learned."""
    X, Y = random_rows(rng, 900, 3, 2)
    X[500:] += 30.0  # looks and a change of scale go by the last rows
    start = X[:250], Y[:250]
    read, alone = (EFCMLClassifier(cases=20).fit(*start) for _ in range(2))
    done = threading.Event()

    def look():
        while not done.is_set():
            READERS[name](read, X[:3])

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        for t in range(250, len(X)):
            read.partial_fit(X[t : t + 1], Y[t : t + 1])
            alone.partial_fit(X[t : t + 1], Y[t : t + 1])
        done.set()
        looking.result()
    assert read.learner_.scaler.mean.max() > 10.0  # the scale has changed
    assert freeze(read) == freeze(alone)


def test_an_explanation_is_of_one_state(monkeypatch):
    clf, plain, inside = make_face(), reading.read_all, []

    def watched(learner, *names, **more):
        inside.append(guard.lock_of(learner)._is_owned())
        return plain(learner, *names, **more)

    monkeypatch.setattr(reading, "read_all", watched)
    clf.explain(X[0])
    assert inside == [True]


def test_locks_belong_to_objects_and_go_with_them(tmp_path):
    clf = make_face()
    save(clf, tmp_path / "model.npz")
    for other in (copy.deepcopy(clf), load(tmp_path / "model.npz")):
        assert guard.lock_of(other.learner_) is not guard.lock_of(clf.learner_)
        assert guard.lock_of(clf.learner_) is guard.lock_of(clf.learner_)
    before = len(guard._locks)
    learner = Learner(make_params(), 2, 2).fit(X, Y)
    assert len(guard._locks) == before + 1
    del learner
    assert len(guard._locks) == before


# BLAS


def threads():
    return {pool.get_num_threads() for pool in blas_pools()}


@pytest.fixture
def two_threads():
    before = [pool.get_num_threads() for pool in blas_pools()]
    for pool in blas_pools():
        pool.set_num_threads(2)
    yield
    for pool, number in zip(blas_pools(), before, strict=True):
        pool.set_num_threads(number)


def test_one_thread_inside_and_as_before_outside(two_threads):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}  # the last one puts the number back
    second.__exit__(None, None, None)
    assert threads() == {2}
    with pytest.raises(ValueError, match="here"), one_blas_thread():
        raise ValueError("here")
    assert threads() == {2}


def test_the_learner_works_in_one_thread(two_threads, monkeypatch):
    seen = []

    def watch(where, name):
        plain = getattr(where, name)
        watched = lambda *given: (seen.append((name, *threads())), plain(*given))[1]  # noqa: E731
        monkeypatch.setattr(where, name, watched)

    watch(RuleBase, "begin")
    learner = Learner(make_params(vigilance=0.2), 2, 2).fit(X, Y)
    watch(reshape, "init_rule")  # in the stream only events need BLAS, such as a birth
    learner.learn(3.0 * X, Y).score(X)
    assert threads() == {2}
    assert {*seen} == {("begin", 1), ("init_rule", 1)}


# Ctrl-C

CAP = {"vigilance": 0.2, "bandwidth": 1.0, "max_rules": 3, "prior": 1.0, "cases": 5}
CAP |= {"warmup_rows": 10, "merging": False, "correlation": "none"}


@pytest.fixture
def interrupt_at(monkeypatch):
    """Press Ctrl-C when so many rules more have been born, in the middle of the birth."""
    init_rule, left = reshape.init_rule, [0]

    def interrupting(*given):
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)
        return init_rule(*given)

    monkeypatch.setattr(reshape, "init_rule", interrupting)
    monkeypatch.setattr(trace_module, "BLOCK", 8)
    return lambda number: left.__setitem__(0, number)


def failing_once(function, error, at):
    """Return a function that raises an error when it is called for the n-th time."""
    calls = count(1)

    def failing(*given, **more):
        if next(calls) == at:
            raise error
        return function(*given, **more)

    return failing


@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("error", [MemoryError("too much"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize(("stage", "name"), [(RuleBase, "_act"), (CaseStage, "follow")])
def test_a_call_that_breaks_off_changes_nothing(make, rows, error, stage, name, rng, monkeypatch):
    initial, (X, Y) = random_rows(rng, 20, 2, 2), random_rows(rng, 60, 2, 2)
    (clf, expected), broken = (make(**CAP).fit(*initial) for _ in range(2)), 0
    for first in range(0, len(X), rows):
        part, before = (X[first : first + rows], Y[first : first + rows]), freeze(clf)
        with monkeypatch.context() as patch:
            patch.setattr(stage, name, failing_once(getattr(stage, name), error, at=1))
            try:
                clf.partial_fit(*part)
                continue  # there was no event
            except type(error):
                broken += 1
        assert freeze(clf) == before
        clf.partial_fit(*part)
    assert broken
    assert freeze(clf) == freeze(expected.partial_fit(X, Y))


@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC])
def test_calls_before_a_fit_are_forgotten_with_what_they_taught(make, rng, monkeypatch):
    rows = [random_rows(rng, 30, 2, 2) for _ in range(4)]
    learner = make(**CAP).fit(*rows[0]).partial_fit(*rows[1]).learner_
    before = freeze(learner.fit(*rows[2]))
    with monkeypatch.context() as patch:
        patch.setattr(RuleBase, "follow", failing_once(RuleBase.follow, MemoryError(), at=1))
        with pytest.raises(MemoryError):
            learner.learn(*rows[3])
    assert freeze(learner) == before


weather = []


def check_weather(value):
    if weather:
        raise ZeroDivisionError("it rains")
    return value


class Shaky(Stage):
    """A stage of one's own."""

    def __init__(self, n_features, n_labels):
        pass

    def follow(self, rows, scores, Y, weights, kept):
        return check_weather(scores)

    def add_labels(self, count):
        check_weather(None)


@pytest.mark.parametrize(
    "own", [{"merging": lambda pair: check_weather(0.0)}, {"stages": (Shaky,)}], ids=list
)
def test_functions_of_a_user_may_go_on_failing(own, rng, monkeypatch):
    clf = EFCMLClassifier(**CAP | own).fit(*random_rows(rng, 20, 2, 2))
    X, Y = random_rows(rng, 60, 2, 2)
    for t in range(10):
        clf.partial_fit(X[[t]], Y[[t]])
    before = freeze(clf)
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "weather", ["rain"])
        with pytest.raises((ZeroDivisionError, ValueError)):
            clf.partial_fit(X[10:], Y[10:])
        assert freeze(clf) == before
        if "stages" in own:
            with pytest.raises(ZeroDivisionError):
                clf.add_labels(1)
            assert freeze(clf) == before
    clf.partial_fit(X[10:], Y[10:])


@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
def test_an_interrupt_between_blocks_takes_the_whole_call_back(make, rng, interrupt_at):
    initial, (X, Y) = random_rows(rng, 20, 2, 2), random_rows(rng, 40, 2, 2)
    clf = make(**CAP).fit(*initial)
    before = freeze(clf)
    interrupt_at(4)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X, Y)
    assert freeze(clf) == before


def test_a_first_call_that_breaks_off_leaves_a_new_classifier(rng, monkeypatch):
    """The fit at the end of the warm-up may take long: it ends at once."""
    X, Y = random_rows(rng, 30, 2, 2)
    clf, expected = EFCMLClassifier(**CAP), EFCMLClassifier(**CAP).partial_fit(X, Y)
    before = freeze(clf)
    with monkeypatch.context() as patch:
        patch.setattr(RuleBase, "begin", failing_once(RuleBase.begin, KeyboardInterrupt(), at=1))
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X, Y)
    assert freeze(clf) == before
    assert freeze(clf.partial_fit(X, Y)) == freeze(expected)


def test_a_told_row_is_learned_and_paid_for(rng, interrupt_at):
    initial, rows = random_rows(rng, 20, 2, 2), zip(*random_rows(rng, 30, 2, 2), strict=True)
    clf, active = EFCMLClassifier(**CAP).fit(*initial), ActiveLearner(1.0, criteria="all")
    interrupt_at(1)
    with pytest.raises(KeyboardInterrupt):
        for x, y in rows:
            active.tell(clf, x, y)
    assert 0 < active.rows < 30
    assert active.rows == active.spent == len(active.log) == clf.learner_.rows_seen - 20


def test_a_row_of_river_is_learned_with_its_label(rng, interrupt_at):
    model, rows = RiverEFCML(**CAP), zip(*random_rows(rng, 40, 2, 2), strict=True)
    with pytest.raises(KeyboardInterrupt):
        for t, (x, y) in enumerate(rows):
            if t == 20:
                interrupt_at(1)
            late = {2: t % 2} if t >= 20 else {}
            model.learn_one(dict(enumerate(x)), dict(enumerate(y)) | late)
    assert model.learner.n_labels == len(model.label_names) == 3
    assert model.learner.rows_seen == t + 1


def test_an_interrupt_waits_for_the_outermost_block():
    steps = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]
    with pytest.raises(ValueError, match="broken"), interrupts_held():
        raise ValueError("broken")
    with pytest.raises(KeyboardInterrupt):  # nothing is held any more
        signal.raise_signal(signal.SIGINT)


def test_other_threads_and_handlers_are_left_alone():
    def run():
        with interrupts_held():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers = []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    run()
    signal.signal(signal.SIGINT, before)
    assert handlers == [signal.default_int_handler, signal.SIG_IGN]


def test_the_command_says_how_much_is_finished(tmp_path, monkeypatch, capsys):
    stream, done = runs_module.stream, []

    def stopping(*given):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(stream(*given))
        return done[-1]

    arguments = ["tune", str(write_csv(tmp_path)), "--labels", "2", "--initial", "12"]
    arguments += ["--vary", "vigilance=0.3,0.9"]
    arguments += ["--jobs", "1", "--checkpoint", str(tmp_path / "done")]
    with monkeypatch.context() as patch:
        patch.setattr(runs_module, "stream", stopping)
        assert main(arguments) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "efcml: interrupted after 3 of 15 runs"
    assert len(list((tmp_path / "done").iterdir())) == 3
    assert main(arguments) == 0
    assert "3 points on 12 rows" in capsys.readouterr().out
