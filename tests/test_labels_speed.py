"""The benchmark of caution, time and the label layer: what is left out, and what is counted."""

import importlib
import json

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool

from efcml import datasets
from efcml.model.params import DECISIONS


@pytest.fixture
def tool(in_turns):
    return load_tool("labels_speed", "experiments/benchmarks")


@pytest.fixture
def in_turns(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "benchmarks"))
    return importlib.import_module("in_turns")


@pytest.fixture(scope="module")
def short():
    return datasets.load("label-drift", n=80, n_initial=40)


def test_without_the_label_layer_the_scores_are_the_same(tool, short):
    learners = tool.fit_variants(*short.initial)
    whole, bare = learners["default"].copy(), learners[tool.UNLAYERED]
    assert bare.labels is None and learners["default"].labels is not None
    X, Y = short.stream
    whole.learn(X, Y)
    bare.learn(X, Y)
    assert bare.labels is None
    assert np.array_equal(whole.score(X), bare.score(X))
    for name, made in tool.VARIANTS.items():
        assert all(getattr(learners[name].params, key) == value for key, value in made.items())


def test_the_least_of_all_turns_counts_and_preparing_does_not(in_turns, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(in_turns.time, "process_time", lambda: clock[0])
    times = iter([3.0, 1.0, 2.0])

    def wait(seconds):
        clock[0] += seconds

    def prepare():
        wait(100.0)
        return lambda: wait(next(times))

    assert in_turns.least_cpu({"some": prepare}, 3) == {"some": 1.0}


def test_learning_leaves_the_learner_as_it_was(tool, in_turns, short):
    learner = tool.fit_variants(*short.initial)["default"]
    X, Y = short.stream
    before = learner.score(X)
    in_turns.learning(learner, X, Y)()()
    assert np.array_equal(learner.score(X), before)


def test_answers_are_of_every_kind(tool, short):
    learner = tool.fit_variants(*short.initial)["default"]
    X, Y = short.stream
    answers = {name: prepare()() for name, prepare in tool.answering(learner, X, Y).items()}
    assert np.array_equal(answers["each label"].decisions, answers["each label"].scores >= 0.5)
    for name in ("given half", "subset, given half"):
        assert np.array_equal(answers[name].decisions[:, ::2], Y[:, ::2])
    for name in ("f1", "subset"):
        # They may agree with each label alone on so few rows.
        expected = learner.labels.answer(answers["scores"], DECISIONS[name])
        assert np.array_equal(answers[name].decisions, expected.decisions)


def test_every_decision_is_asked_for(tool, short, monkeypatch):
    learner = tool.fit_variants(*short.initial)["default"]
    asked = []
    monkeypatch.setattr(
        learner.labels, "answer", lambda scores, decision, known: asked.append(decision)
    )
    for prepare in tool.answering(learner, *short.stream).values():
        prepare()()
    names = ("hamming", "hamming", "f1", "subset", "subset")
    assert asked == [DECISIONS[name] for name in names]


def test_figures_are_written(tool, in_turns, short, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tool.datasets, "load", lambda name: short)
    monkeypatch.setattr(tool, "ROWS", {"emotions": 30})
    monkeypatch.setattr(in_turns, "method", lambda: "today")  # takes a while
    out = tmp_path / "out.json"
    tool.main(["--out", str(out), "--turns", "1"])
    record = json.loads(out.read_text())
    (line,) = record["lines"]
    assert record["method"] == "today"
    assert (line["rows"], line["labels"]) == (30, 5)
    assert list(line["learned"]) == [*tool.VARIANTS, tool.UNLAYERED]
    assert "subset, given half" in line["answered"]
    assert "emotions, learned, ms: default" in capsys.readouterr().out
