"""Ctrl-C while a model learns: what it has learned are whole rows, and it can go on."""

import signal
import threading

import numpy as np
import pytest
from helpers.streams import assert_identical, random_rows, state_of

from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC
from efcml.compat.river import RiverEFCML
from efcml.model import evolving
from efcml.model import trace as trace_module
from efcml.support.interrupts import interrupts_held

CAP = {"vigilance": 0.2, "bandwidth": 1.0, "max_rules": 3, "prior": 1.0, "cases": 5}
CAP |= {"warmup_rows": 10, "merging": False, "correlation": "none"}


@pytest.fixture
def interrupt_at(monkeypatch):
    """Press Ctrl-C when so many rules more have been born, in the middle of the birth."""
    births, give_birth = [], evolving.give_birth

    def interrupting(*given):
        births.append(given)
        if len(births) == interrupting.at:
            signal.raise_signal(signal.SIGINT)
        return give_birth(*given)

    def begin(number):
        births.clear()
        interrupting.at = number

    monkeypatch.setattr(evolving, "give_birth", interrupting)
    monkeypatch.setattr(trace_module, "BLOCK", 8)
    begin(0)
    return begin


def states_of(clf):
    models = getattr(clf.learner_, "models", [clf.learner_])
    return [state_of(model) for model in models]


@pytest.mark.parametrize("make", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
@pytest.mark.parametrize("at", [1, 4])
def test_whole_rows_are_learned(make, at, rng, interrupt_at):
    initial, (X, Y) = random_rows(rng, 20, 2, 2), random_rows(rng, 60, 2, 2)
    expected = make(**CAP).fit(*initial)
    clf = make(**CAP).fit(*initial)
    interrupt_at(at)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X, Y)
    interrupt_at(0)
    learned = clf.learner_.rows_seen - 20
    assert 0 < learned < 60
    expected.partial_fit(X[:learned], Y[:learned])
    for state, other in zip(states_of(clf), states_of(expected), strict=True):
        assert_identical(state, other)
    clf.partial_fit(X[learned:], Y[learned:])
    expected.partial_fit(X[learned:], Y[learned:])
    assert np.array_equal(clf.decision_function(X), expected.decision_function(X))


def test_rows_of_a_warm_up_stay_held(rng, monkeypatch):
    """The fit at the end of the warm-up may take long: it ends at once, and is made later."""
    X, Y = random_rows(rng, 30, 2, 2)
    clf = EFCMLClassifier(**CAP)
    expected = EFCMLClassifier(**CAP).partial_fit(X, Y)

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(evolving.batch, "set_weights", interrupted)
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X, Y)
    assert (clf.n_rules_, len(clf.learner_.held)) == (0, 9)
    clf.partial_fit(X[9:], Y[9:])
    assert_identical(state_of(clf.learner_), state_of(expected.learner_))


def test_a_told_row_is_learned_and_paid_for(rng, interrupt_at):
    initial, (X, Y) = random_rows(rng, 20, 2, 2), random_rows(rng, 30, 2, 2)
    clf, active = EFCMLClassifier(**CAP).fit(*initial), ActiveLearner.all()
    interrupt_at(1)
    told = 0
    with pytest.raises(KeyboardInterrupt):
        for x, y in zip(X, Y, strict=True):
            told += 1
            active.tell(clf, x, y)
    assert (active.rows, active.spent, len(active.log)) == (told, told, told)
    assert clf.learner_.rows_seen == 20 + told


def test_a_row_of_river_is_learned_with_its_label(rng, interrupt_at):
    X, Y = random_rows(rng, 40, 2, 2)
    model = RiverEFCML(**CAP)
    rows = [(dict(enumerate(x)), dict(enumerate(y))) for x, y in zip(X, Y, strict=True)]
    for x, y in rows[:20]:
        model.learn_one(x, y)
    interrupt_at(1)
    with pytest.raises(KeyboardInterrupt):
        for t, (x, y) in enumerate(rows[20:]):
            model.learn_one(x, y | {2: t})
    assert model.learner.n_labels == len(model.label_names) == 3
    assert model.learner.rows_seen == 20 + t + 1


# The block itself


def press():
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_waits_for_the_outermost_block():
    steps = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        with interrupts_held():
            press()
            steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]
    with pytest.raises(KeyboardInterrupt):
        press()


def test_an_error_leaves_nothing_held():
    with pytest.raises(ValueError, match="broken"), interrupts_held():
        raise ValueError("broken")
    with pytest.raises(KeyboardInterrupt):
        press()


def test_other_threads_and_handlers_are_left_alone():
    def run():
        with interrupts_held():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run()
        press()
    finally:
        signal.signal(signal.SIGINT, before)
    assert handlers == [signal.default_int_handler, signal.SIG_IGN]


def test_a_learner_in_a_thread(rng):
    X, Y = random_rows(rng, 30, 2, 2)
    clf = EFCMLClassifier(**CAP).fit(X, Y)
    thread = threading.Thread(target=clf.partial_fit, args=(X, Y))
    thread.start()
    thread.join()
    assert clf.learner_.rows_seen == 60
