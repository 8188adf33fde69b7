"""Blocks, delays and interrupts: what happens around the learner's own loop."""

import io

import numpy as np
import pytest
from helpers.models import EVERYTHING, N_INITIAL, QUICK, freeze, problem
from helpers.streams import COMPILED
from test_prequential import copy

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, prequential
from efcml.evaluation import blocks
from efcml.model.learner import Learner
from efcml.rivals import GlobalRLS, LabelFrequencies
from efcml.support import pacing

MODELS = {
    "efcml": lambda: EFCMLClassifier(**QUICK),
    "everything": lambda: EFCMLClassifier(**EVERYTHING),
    "ovr": lambda: OneVsRestEFC(**QUICK),
    "chain": lambda: ChainEFC(**QUICK, order=[2, 0, 1]),
    "rls": lambda: GlobalRLS(ridge=1.0, warmup_rows=12),
    "frequencies": LabelFrequencies,
}
EACH_MODEL = pytest.mark.parametrize("name", MODELS)


def start(name, how, X, Y):
    """Return a model, and where its stream begins."""
    model = MODELS[name]()
    return (model.fit(X[:N_INITIAL], Y[:N_INITIAL]), N_INITIAL) if how == "fit" else (model, 0)


def in_blocks_of(monkeypatch, size):
    monkeypatch.setattr(pacing, "FIRST_BLOCK", size)
    monkeypatch.setattr(pacing, "SECONDS_PER_BLOCK", 1e9)
    monkeypatch.setattr(pacing, "MOST_GROWTH", 1)


@EACH_MODEL
@pytest.mark.parametrize("labels", ["known", "unknown"])
@pytest.mark.parametrize("how", ["new", "fit"])
@pytest.mark.parametrize("delay", [0, 6])
def test_blocks_change_no_bit(name, labels, how, delay, monkeypatch):
    X, Y = problem(labels, n=45)
    model, begin = start(name, how, X, Y)
    X, Y = X[begin:], Y[begin:]
    runs = []
    for size in (1000, 7):
        in_blocks_of(monkeypatch, size)
        other = copy(model)
        result = prequential(other, X, Y, delay=delay)
        runs.append([freeze(other), freeze([result.scores, result.rules, list(result.events)])])
    assert runs[0] == runs[1]


@EACH_MODEL
@pytest.mark.parametrize("labels", ["known", "unknown"])
@pytest.mark.parametrize("how", ["new", "fit"])
@pytest.mark.parametrize("delay", [1, 9, 44, 60] if COMPILED else [9, 60])
def test_labels_that_come_late(name, labels, how, delay):
    """Row j is scored by the model that has learned rows 0..j-d-1."""
    X, Y = problem(labels, n=45)
    model, begin = start(name, how, X, Y)
    X, Y = X[begin:], Y[begin:]
    slow, whole = copy(model), copy(model)
    result = prequential(model, X, Y, delay=delay)
    learned = 0
    for j in range(len(X)):
        if j - delay > learned:
            slow.partial_fit(X[[learned]], Y[[learned]])
            assert result.rules[learned] == slow.learner_.n_rules
            learned += 1
        if how == "new" and learned == 0:
            assert (result.scores[j] == 0.0).all()
        else:
            expected = slow.decision_function(X[[j]])[0]
            np.testing.assert_array_equal(result.scores[j] - 0.5, expected, err_msg=f"row {j}")
    assert freeze(model) == freeze(whole.partial_fit(X, Y))
    assert result.rules[-1] == model.learner_.n_rules
    assert [row for row, _, _ in result.events] == sorted(row for row, _, _ in result.events)


def test_block_sizes_follow_the_time(monkeypatch):
    X, Y = problem(n=60)
    sizes = []
    monkeypatch.setattr(pacing, "FIRST_BLOCK", 4)

    def note(learner, X, Y, block, delay, trace):
        sizes.append(block.stop - block.start)
        return 1e-3 if len(sizes) == 1 else 100.0

    monkeypatch.setattr(blocks, "run_block", note)
    prequential(LabelFrequencies(), X, Y)
    assert sizes[:3] == [4, 16, 1]
    assert sum(sizes) == 60


def test_blocks_are_long_beside_the_copy(monkeypatch):
    X, Y = problem(n=60)
    sizes, clock = [], iter(np.arange(1000.0))  # every look at the clock takes a second
    monkeypatch.setattr(pacing, "FIRST_BLOCK", 4)

    def note(learner, X, Y, block, delay, trace):
        sizes.append(block.stop - block.start)
        return 4.0

    monkeypatch.setattr(blocks, "run_block", note)
    monkeypatch.setattr(blocks.time, "perf_counter", lambda: next(clock))
    prequential(LabelFrequencies(), X, Y)
    assert sizes[:2] == [4, 10]  # ten copies of a second each, at a second per row


def test_the_bar_counts_rows(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    X, Y = problem(n=60)
    in_blocks_of(monkeypatch, 20)
    for progress, watched in ((None, True), (True, False), (False, True), (None, False)):
        screen = Terminal() if watched else io.StringIO()
        monkeypatch.setattr("sys.stderr", screen)
        for learn in (True, False):
            prequential(LabelFrequencies().fit(X, Y), X, Y, learn=learn, progress=progress)
        shown = watched if progress is None else progress
        assert bool(screen.getvalue()) == shown
        assert ("prequential" in screen.getvalue()) == shown


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("name", ["efcml", "everything", "ovr", "chain"])
@pytest.mark.parametrize("how", ["new", "fit"])
def test_an_interrupt_leaves_whole_blocks(name, how, error, monkeypatch):
    X, Y = problem(n=45)
    model, begin = start(name, how, X, Y)
    X, Y = X[begin:], Y[begin:]
    expected = copy(model).partial_fit(X[:14], Y[:14])
    in_blocks_of(monkeypatch, 7)
    real, calls = Learner.learn, []
    per_block = 3 if name in ("ovr", "chain") else 1

    def breaks(self, X, Y, trace=None):
        """The third block breaks off half-way, for the models per label in the second of them."""
        calls.append(len(X))
        if len(calls) == 2 * per_block + 1 + (per_block > 1):
            real(self, X[:4], Y[:4])
            raise error("in the middle")
        return real(self, X, Y, trace)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", breaks)
        with pytest.raises(error):
            prequential(model, X, Y)
    assert freeze(model) == freeze(expected)
    model.partial_fit(X[14:], Y[14:])
    assert freeze(model) == freeze(expected.partial_fit(X[14:], Y[14:]))


def test_a_failed_first_block_leaves_a_new_model_empty(monkeypatch):
    X, Y = problem(n=45)
    clf = EFCMLClassifier(**QUICK)
    monkeypatch.setattr(Learner, "learn", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        prequential(clf, X, Y)
    monkeypatch.undo()
    clf.partial_fit(X, Y)
    assert freeze(clf) == freeze(EFCMLClassifier(**QUICK).partial_fit(X, Y))
