"""Scores of peers: baselines, measures, resuming, the test for leaks, tables from records."""

import json
import sys
from argparse import Namespace
from copy import deepcopy

import numpy as np
import pytest
from helpers.tool_files import ROOT, load_tool

pytestmark = pytest.mark.plain

FOLDER = ROOT / "experiments" / "benchmarks"


@pytest.fixture(scope="module")
def scores():
    sys.path.insert(0, str(FOLDER))
    yield load_tool("peer_scores", "experiments/benchmarks")
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def leak(scores):
    return load_tool("peer_leak", "experiments/benchmarks")


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(ROOT / "docs" / "tools"))
    yield load_tool("peer_tables")
    sys.path.remove(str(ROOT / "docs" / "tools"))


X = np.arange(5.0)[:, None]
Y = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]], dtype=float)


# -- what is run ------------------------------------------------------------------------------


def test_no_change_says_the_labels_of_the_row_before(scores):
    answers, decided = scores.answer(scores.NoChange(1, 2, 0), X, Y, 0)
    assert answers.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
    assert (decided == answers).all()
    found = scores.evaluate(Y, answers, decided)
    assert found["pa"] == pytest.approx(0.5)  # right: 1, 1, 1, 1 and 1 of 2
    assert found["subset_accuracy"] == 0.0
    after, _ = scores.answer(scores.NoChange(1, 2, 2), X, Y, 2)
    assert after.tolist() == [[1, 1], [0, 1], [0, 0]]  # the first knows the last initial row


def test_frequencies_are_running_means(scores):
    answers, decided = scores.answer(scores.Frequencies(1, 2, 0), X, Y, 0)
    expected = [[0, 0], [1, 0], [1, 1 / 2], [2 / 3, 2 / 3], [1 / 2, 1 / 2]]
    np.testing.assert_allclose(answers, expected)
    assert decided.tolist() == [[0, 0], [1, 0], [1, 1], [1, 1], [1, 1]]
    found = scores.evaluate(Y, answers, decided)
    assert found["pa"] == pytest.approx(4 / 10)  # right: 1, 1, 1, 0 and 1 of 2
    # Average precision of the rows with labels: both scores tie in rows 1 and 5.
    assert found["ap"] == pytest.approx(np.mean([1 / 2, (1 + 1) / 2, 1 / 2, 1 / 2]))


def obvious(Y, decided, ranked):
    """Return the six measures in loops."""
    hits = Y * decided
    sizes = Y + decided
    by_row = [1.0 if not s else 2 * h / s for h, s in zip(hits.sum(1), sizes.sum(1), strict=True)]
    by_label = [2 * h / s for h, s in zip(hits.sum(0), sizes.sum(0), strict=True) if s]
    precision = []
    for y, s in zip(Y, ranked, strict=True):
        true = np.flatnonzero(y)
        if len(true):
            precision.append(np.mean([(s[true] >= s[j]).sum() / (s >= s[j]).sum() for j in true]))
    return {
        "pa": (Y == decided).mean(),
        "ap": np.mean(precision),
        "micro_f1": 2 * hits.sum() / sizes.sum(),
        "macro_f1": np.mean(by_label),
        "example_f1": np.mean(by_row),
        "subset_accuracy": np.mean([(y == d).all() for y, d in zip(Y, decided, strict=True)]),
    }


def test_measures_are_those_of_the_obvious_loops(scores, rng):
    truth = (rng.random((40, 5)) < 0.3).astype(float)
    ranked = rng.random((40, 5)).round(1)  # with ties
    decided = (rng.random((40, 5)) < 0.4).astype(float)  # not those that the scores imply
    found = scores.evaluate(truth, ranked, decided)
    assert list(found) == list(scores.MEASURES)
    assert found == pytest.approx(obvious(truth, decided, ranked))


def test_what_must_learn_first_says_no_label_in_the_first_row(scores):
    from peer_libraries import PartialFit

    class Late(PartialFit):
        def start(self):
            self.seen = 0

        def answer(self, x):
            assert self.seen, "asked before it has learned"
            return [1.0, 0.0]

        def update(self, x, y):
            self.seen += 1

    answers, _ = scores.answer(Late(1, 2, 0), X, Y, 0)
    assert answers.tolist() == [[0, 0], *[[1, 0]] * 4]


def test_a_second_call_runs_what_is_missing(scores, tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "method_of_today", lambda: "new")
    path, ran = tmp_path / "scores.json", []
    chosen = Namespace(
        sets=["emotions"],
        protocols=["nothing"],
        models=["no-change", "efcml", "river-tree"],
        seconds=1.0,
        again=False,
    )

    def make(name, dataset, protocol, python, seconds):
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(name)
        return {"set": dataset, "model": name, "left_out": "not tried"}

    with pytest.raises(KeyboardInterrupt):
        scores.run_missing(path, chosen, {}, make)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert list(kept) == ["emotions/nothing/no-change", "emotions/nothing/efcml"]
    ran.clear()
    assert list(scores.run_missing(path, chosen, {}, make))[2:] == ["emotions/nothing/river-tree"]
    assert ran == ["river-tree"]
    assert scores.is_done({"method": "new"}, False)
    assert not scores.is_done({"method": "old"}, False)
    assert scores.is_done({"left_out": "slow"}, False)
    assert not scores.is_done({"left_out": "slow"}, True)


def test_a_cell_says_what_it_was_made_with(scores, monkeypatch):
    monkeypatch.setattr(scores, "method_of_today", lambda: "new")
    monkeypatch.setattr(scores, "load", lambda name: (X, Y, 2))
    monkeypatch.setattr(
        scores, "ask", lambda name, rows, *_: (0.5 * Y[rows[2] :], Y[rows[2] :], {})
    )
    cell = scores.make_cell("efcml-f1", "emotions", "initial", "python", 1.0)
    assert (cell["n_initial"], cell["rows"], cell["method"]) == (2, 3, "new")
    assert cell["parameters"] == {"decision": "f1"}
    assert cell["pa"] == cell["ap"] == cell["subset_accuracy"] == 1.0
    other = scores.make_cell("river-forest", "emotions", "nothing", "python", 1.0)
    assert (other["n_initial"], other["rows"], other["seed"]) == (0, 5, 1)
    assert "method" not in other
    slow = scores.make_cell("river-forest", "mediamill", "nothing", "python", 1.0)
    assert slow["left_out"].startswith("not tried on 5 rows of 2 labels")
    monkeypatch.setattr(scores, "ask", lambda *_: "took more than 1 s")
    assert scores.make_cell("efcml", "emotions", "nothing", "p", 1.0)["left_out"].startswith("took")


# -- leaks ------------------------------------------------------------------------------------


def test_a_model_that_looks_at_the_labels_is_found(scores, leak):
    class Leaking(scores.NoChange):
        """Notes the outcome of a row before it answers."""

        def run(self, X, Y):
            self.last = np.where(self.last == Y[0], self.last, 0.5)
            return super().run(X, Y)

    found = leak.peeks(lambda: Leaking(1, 2, 0), X, Y)
    assert found == {"rows": 5, "changed": 5, "unsteady": 0}
    honest = leak.peeks(lambda: scores.NoChange(1, 2, 2), X, Y, 2)
    assert honest == {"rows": 3, "changed": 0, "unsteady": 0}
    assert leak.peeks(lambda: scores.Frequencies(1, 2, 2), X, Y, 2)["changed"] == 0


def test_chance_and_copies_that_fail_are_told_apart_from_leaks(scores, leak):
    chance = np.random.default_rng(0)

    class Guessing(scores.NoChange):
        def score(self, x):
            return chance.random(self.K)

    assert leak.peeks(lambda: Guessing(1, 2, 0), X, Y)["unsteady"] == 5

    made = []

    def six_times(model):
        if len(made) == 6:
            raise RuntimeError("cannot be copied\nany more")
        made.append(deepcopy(model))
        return made[-1]

    found = leak.peeks(lambda: scores.NoChange(1, 2, 0), X, Y, duplicate=six_times)
    assert (found["rows"], found["ended"]) == (2, "cannot be copied")


def test_the_repair_copies_masks(leak, tmp_path, monkeypatch):
    source = tmp_path / "given"
    source.mkdir()
    (source / "A.java").write_text(
        "labelInstanceMask[i] = labelInstanceMask[i+1];\n"
        "labelInstanceMask[i] = labelInstanceMask[diff+i];\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(leak.subprocess, "run", lambda *_, **__: None)
    assert leak.build(source, "moa.jar", tmp_path / "out", False) == 0
    assert leak.build(source, "moa.jar", tmp_path / "new", True) == 2
    text = (tmp_path / "new" / "source" / "A.java").read_text(encoding="utf-8")
    assert text.count("].clone();") == 2


# -- tables -----------------------------------------------------------------------------------


def a_cell(model, title, pa, protocol="initial", dataset="emotions", **more):
    facts = {"set": dataset, "protocol": protocol, "model": model, "title": title}
    facts |= {"p": 3, "K": 2, "n_initial": 4 if protocol == "initial" else 0, "rows": 9}
    measured = dict.fromkeys(("ap", "micro_f1", "macro_f1", "example_f1", "subset_accuracy"), 0.5)
    return facts | measured | {"pa": pa, "versions": {"river": "1"}} | more


def write(root, file, record):
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture
def repository(tables, tmp_path):
    """Return a folder with small records."""
    cells = [
        a_cell("efcml", "efcml", 0.8),
        a_cell("efcml-f1", "efcml, f1", 0.81),
        a_cell("river-tree", "river, tree per label", 0.7, macro_f1=0.75),
        a_cell("no-change", "no change", 0.6),
    ]
    slow = {k: v for k, v in a_cell("sklearn-sgd", "SGD", 0.0).items() if k not in tables.MEASURES}
    cells.append(slow | {"left_out": "took more than 1 s"})
    cells.append(a_cell("sklearn-mlp", "MLP", 0.5, "nothing"))
    write(tmp_path, tables.SCORES, {str(i): cell for i, cell in enumerate(cells)})
    there = {"pa": 0.9, "ap": 0.1, "micro_f1": 0.2, "macro_f1": 0.3, "subset_accuracy": 0.4}
    streams = {
        "source": "Measured once.",
        "groups": {tables.FAMILY: ["kNN, repaired"]},
        "initial": {
            "kNN, repaired": {"emotions": there},
            tables.TWICE["no-change"]: {"emotions": {"pa": 0.6, "ap": 0.4}},
        },
    }
    libraries = {"source": "Once.", "initial": {"BOOMER": {"emotions": {"pa": 0.81, "ap": 0.7}}}}
    write(tmp_path, tables.ELSEWHERE, {"streams": streams, "libraries": libraries})
    return tmp_path


def test_tables_are_made_from_the_records(tables, repository):
    text = tables.protocol_part("initial", repository)
    assert "### emotions: 3 features, 2 labels, 4 rows learned first, 9 tested" in text
    assert "| *efcml* | .800 | **.500** | **.500** | .500 | **.500** | **.500** |" in text
    assert "| river, tree per label | .700 | **.500** | **.500** | **.750** |" in text
    assert "| kNN, repaired, elsewhere | **.900** | .100 | .200 | .300 |  | .400 |" in text
    assert text.endswith("Left out: SGD (took more than 1 s); MLP (not run yet).")
    record = json.loads((repository / tables.SCORES).read_text(encoding="utf-8"))
    record["0"]["pa"] = 0.95
    write(repository, tables.SCORES, record)
    assert "| *efcml* | **.950** |" in tables.protocol_part("initial", repository)
    assert "| emotions | .950 / .500 |" in tables.readme_table(repository)
    assert "| efcml | **.950** / .500 |" in tables.comparison_table(repository)


def test_the_readme_has_the_best_line_of_every_library(tables, repository):
    head, _, line = tables.readme_table(repository).splitlines()
    assert head.startswith("| PA / AP | efcml | river | scikit-learn | MOA |")
    assert line == (
        "| emotions | .800 / .500 | .700 / .500 (tree) |  |  | .900 / .100 (kNN, repaired) "
        "| .600 / .500 |"
    )


def test_what_others_do_better_is_listed(tables, repository):
    text = tables.behind_part("initial", repository)
    assert text.startswith("Behind in 2 of 6 cells")
    first, second = text.splitlines()[-2:]
    assert first.startswith("| emotions | macro F1 | .500 | .750 (river, tree per label) |")
    assert second == (
        "| emotions | PA | .800 | .900 (kNN, repaired, elsewhere) | .810 (efcml, f1) | 10.0 |"
    )


def test_figures_that_exist_twice_are_compared(tables, repository):
    text = tables.agreement_part(repository)
    assert text.startswith("Of 2 such figures 1 are the same to three decimals; these are not:")
    assert text.endswith("| emotions | initial | no-change | AP | .500 | .400 |")


def test_nothing_is_shown_of_records_that_are_not_there(tables, tmp_path):
    assert tables.protocol_part("initial", tmp_path).startswith("Not measured yet")
    assert tables.readme_table(tmp_path).startswith("Not measured yet")
    assert tables.leak_part(tmp_path).startswith("Not measured yet")


def test_leaks_are_shown_with_what_was_repaired(tables, tmp_path):
    java = {"class": "a.b.C", "rows": 9, "changed": 7, "unsteady": 0}
    good = java | {"changed": 0, "repaired": True, "places_repaired": 3}
    models = {"m": {"title": "M", "rows": 5, "changed": 0, "unsteady": 0}}
    write(tmp_path, tables.LEAK, {"java": [java, good], "models": models})
    assert tables.leak_part(tmp_path).splitlines()[2:] == [
        "| C | published | 9 | 7 | 0 |",
        "| C | repaired in 3 places | 9 | 0 | 0 |",
        "| M |  | 5 | 0 | 0 |",
    ]


# -- the committed records --------------------------------------------------------------------


def test_baselines_agree_with_what_was_measured_elsewhere(tables):
    """Both know no features: any difference would be one of protocol, not of method."""
    found = tables.differences()
    assert len(found) > 50
    for *where, here, there in found:
        assert abs(here - there) < 0.0011, where


def test_every_line_of_the_record_is_whole(tables):
    for cell in tables.read_json(tables.SCORES).values():
        if "left_out" not in cell:
            assert all(0.0 <= cell[name] <= 1.0 for name in tables.MEASURES)
            assert cell["versions"]["numpy"]
            assert ("method" in cell) == (
                cell["model"].startswith("efcml") or "freq" in cell["model"]
            )
