"""The script that measures what labels tell of other labels: what it runs, keeps and shows."""

import json

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool

from efcml import ActiveLearner, EFCMLClassifier, datasets, measures, prequential
from efcml.model.params import DECISIONS


@pytest.fixture
def folder(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "decisions"))


@pytest.fixture
def tool(folder):
    return load_tool("labels_together", "experiments/decisions")


@pytest.fixture
def answering(folder):
    return load_tool("answered_rows", "experiments/decisions")


@pytest.fixture(scope="module")
def short():
    return datasets.load("label-drift", n=110, n_initial=40)


def run(answering, ds, masks=2):
    told = answering.random_halves(*ds.stream[1].shape, masks, 7)
    learner = EFCMLClassifier().fit(*ds.initial).learner_
    return answering.answer_stream(learner, *ds.stream, told)


def test_half_of_the_labels_is_told_of_every_row(answering):
    told = answering.random_halves(400, 5, 3, 0)
    assert told.shape == (3, 400, 5)
    assert np.all(told.sum(axis=2) == 2)
    assert np.all(np.abs(told.mean(axis=(0, 1)) - 0.4) < 0.06)
    assert np.array_equal(told, answering.random_halves(400, 5, 3, 0))
    assert not np.array_equal(told, answering.random_halves(400, 5, 3, 1))


def test_one_pass_gives_what_runs_with_each_decision_give(answering, short):
    found = run(answering, short)
    assert found.decisions.keys() == DECISIONS.keys()
    for name in DECISIONS:
        model = EFCMLClassifier(decision=name).fit(*short.initial)
        result = prequential(model, *short.stream)
        assert np.array_equal(found.scores, result.scores)
        assert np.array_equal(found.decisions[name], result.decisions)
        assert np.array_equal(found.probabilities, result.probabilities)
        assert found.rules == model.n_rules_
    unlike = [np.any(found.decisions["hamming"] != found.decisions[n]) for n in ("f1", "subset")]
    assert all(unlike)


def test_told_labels_reach_the_model_before_the_row_is_learned(answering, short):
    found = run(answering, short)
    model = EFCMLClassifier().fit(*short.initial)
    for t, (x, y) in enumerate(zip(*short.stream, strict=True)):
        known = np.where(found.told[1, t], y, np.nan)[None]
        assert np.array_equal(found.told_decisions[1, t], model.predict([x], known)[0])
        assert np.array_equal(found.told_probabilities[1, t], model.predict_proba([x], known)[0])
        model.partial_fit([x], [y])
    assert np.all(np.where(found.told, found.told_decisions == found.Y, True))


def test_a_comparison_has_both_values_and_their_difference(tool, rng):
    Y = rng.integers(0, 2, (2, 60, 3)).astype(float)
    before, after = rng.integers(0, 2, (2, 2, 60, 3)).astype(bool)
    Y[:, :, 0] = np.nan  # counts nowhere
    for measure in tool.DECIDED:
        found = tool.compare(measure, Y, before, after)
        function = measures.MEASURES[measure].function
        for when, answers in (("before", before), ("after", after)):
            expected = np.mean([function(*pair) for pair in zip(Y, answers, strict=True)])
            assert found[when] == pytest.approx(expected, abs=1e-12)
        mean, low, high = found["gain"]
        assert mean == pytest.approx(found["after"] - found["before"], abs=1e-12)
        assert low < mean < high
    alone = tool.compare("pa", Y[0], before[0], after[0])
    assert alone["before"] == measures.partial_accuracy(Y[0], before[0])


def test_drawn_labels_show_what_chance_alone_does(tool):
    likely = np.full((400, 5), 0.3)
    # The mean of |Binomial(2000, .3) / 2000 - .3| is that of a normal deviate.
    expected = np.sqrt(2 / np.pi * 0.3 * 0.7 / likely.size)
    found = tool.drawn_error(np.zeros_like(likely), likely)
    assert found == pytest.approx(expected, rel=0.5)
    assert tool.drawn_error(np.zeros((9, 2)), np.zeros((9, 2))) == 0.0
    unknown = np.where(np.arange(400)[:, None] < 396, np.nan, 0.0) * np.ones(5)
    assert tool.drawn_error(unknown, likely) > 3 * found


def test_draws_do_not_know_which_half_was_told(tool, answering):
    likely = np.full((400, 6), 0.3)
    told = answering.random_halves(400, 6, 1, tool.SEED)[0]
    expected = np.sqrt(2 / np.pi * 0.3 * 0.7 / (likely.size / 2))
    assert tool.drawn_error(np.where(told, np.nan, 0.0), likely) == pytest.approx(expected, rel=0.5)


def test_only_the_half_that_was_not_told_counts(tool, answering, short):
    found = run(answering, short)
    asked = ~found.told
    line = tool.given_half(found)["pa"]
    right = found.told_decisions == found.Y
    assert line["after"] == pytest.approx(right[asked].mean(), abs=1e-12)
    right = np.broadcast_to(found.decisions["hamming"] == found.Y, asked.shape)
    assert line["before"] == pytest.approx(right[asked].mean(), abs=1e-12)


def test_what_is_recorded_is_not_run_again(tool, short, monkeypatch, tmp_path, capsys):
    loaded = []
    monkeypatch.setattr(tool.datasets, "load", lambda name: loaded.append(name) or short)
    monkeypatch.setattr(tool, "method", lambda: "today")  # takes a while
    out = tmp_path / "out.jsonl"
    tool.main(["--only", "emotions"], out)
    tool.main(["--only", "emotions", "yeast"], out)
    assert loaded == ["emotions", "yeast"]
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [r["set"] for r in records] == loaded
    first = records[0]
    assert (first["method"], first["rows"], first["labels"]) == ("today", 70, 5)
    model = EFCMLClassifier().fit(*short.initial)
    result = prequential(model, *short.stream)
    assert first["pa"] == pytest.approx(result.pa) and first["ap"] == pytest.approx(result.ap)
    without = prequential(EFCMLClassifier(correlation="none").fit(*short.initial), *short.stream)
    for measure in ("pa", "ap"):
        line = first["penalty"][measure]
        assert line["before"] == pytest.approx(getattr(without, measure))
        assert line["after"] == pytest.approx(first[measure])
    likely = first["probabilities"]
    assert likely["log_loss"]["after"] == pytest.approx(
        measures.log_loss(result.Y, result.probabilities)
    )
    assert likely["calibration_error"]["before"] == pytest.approx(
        measures.calibration_error(result.Y, tool.squash(result.scores))
    )
    said, happened, counts = likely["reliability_after"]
    assert sum(counts) == result.Y.size
    assert all((count == 0) == (value == -1.0) for count, value in zip(counts, said, strict=True))
    printed = capsys.readouterr().out
    for part in tool.PARTS.values():
        assert tool.as_table(records, part) in printed


def test_a_cell_says_what_has_changed(tool):
    line = {"before": 0.5, "after": 0.51234, "gain": [0.01234, -0.001, 0.02]}
    assert tool.as_cell(line) == "0.5000 -> 0.5123 (+12.3 [-1.0, +20.0])"


@pytest.fixture
def late(folder):
    return load_tool("few_and_late_labels", "experiments/decisions")


@pytest.mark.parametrize("case", ["at once", "10 rows later", "of a tenth of the rows, asked"])
def test_late_and_few_labels_are_those_of_prequential(case, late, answering, short):
    (X, Y), model = short.stream, EFCMLClassifier().fit(*short.initial)
    learner, delay = model.learner_.copy(), late.DELAYS.get(case, 0)
    told, teach = answering.random_halves(*Y.shape, 1, 0), late.teacher(case, learner, X, Y)
    found = answering.answer_stream(learner, X, Y, told, teach, delay)
    active = ActiveLearner(late.BUDGET) if case == late.ASKED else None
    result = prequential(model, X, Y, delay=delay, active=active)
    assert np.array_equal(found.scores, result.scores)
    assert np.array_equal(found.probabilities, result.probabilities)


def test_every_case_is_recorded_once(late, monkeypatch, tmp_path, capsys):
    ds = datasets.load("label-drift", n=60, n_initial=40)
    monkeypatch.setattr(late, "ordered_initial_part", lambda *which: ds)
    out = tmp_path / "late.jsonl"
    for _ in range(2):
        late.main(["--only", "yeast"], out)
        records = [json.loads(line) for line in out.read_text().splitlines()]
        assert [record["order"] for record in records] == list(late.ORDERS)
    assert all({*late.CASES, "method"} <= record.keys() for record in records)
    assert {"share", "half", "subset", "log_loss"} == records[0]["at once"].keys()
    assert records[0]["at once"] != records[0][late.ASKED]
