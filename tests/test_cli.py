"""The command line: what it prints, and how it ends."""

import json
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.cli_files import refusal

import efcml
from efcml.cli import main
from efcml.cli import tune_command as tune
from efcml.cli.commands import build_parser
from efcml.support.tables import format_table
from efcml.tuning import PAPER_GRID, SHORT_GRID, task

CSV = "a,b,happy,calm\n" + "".join(
    f"{i % 7},{i % 5},{i % 2},{int(i % 3 == 0)}\n" for i in range(40)
)
SMALL = ["--vigilance", "0.5,0.9", "--alpha", "0", "--beta", "0,1", "--folds", "2", "--jobs", "1"]


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text(CSV)
    return path


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"efcml {efcml.__version__}\n"


def test_module_and_exit_code():
    command = [sys.executable, "-m", "efcml", "datasets", "info", "no-such-set"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("efcml: there is no data set 'no-such-set'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["datasets"], ["datasets", "list"]])
def test_names_are_listed(capsys, arguments, monkeypatch, tmp_path):
    monkeypatch.setenv("EFCML_DATA", str(tmp_path))
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(efcml.datasets.available())
    for line in lines[-3:]:
        ds = efcml.datasets.load(line.split()[0])
        sizes = [str(size) for size in (len(ds), ds.X.shape[1], ds.Y.shape[1])]
        assert line.split()[1:] == [*sizes, "built", "in"]


def test_a_missing_set_says_how_to_get_it(capsys, monkeypatch, tmp_path):
    from efcml.datasets import catalog

    monkeypatch.setattr(catalog, "searched_folders", lambda: [tmp_path])
    assert main(["datasets"]) == 0
    out = capsys.readouterr().out
    assert "efcml datasets fetch emotions" in out
    assert "here" not in out


def test_fetch_ends_with_one_line(capsys, monkeypatch, tmp_path):
    from efcml.datasets import catalog

    monkeypatch.setattr(catalog, "searched_folders", lambda: [tmp_path])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["datasets", "fetch", "emotions", "--base", "ftp://127.0.0.1/x"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("efcml: ")
    assert captured.err.count("\n") == 1


def test_fetch_says_where_it_is(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(efcml.datasets, "fetch", lambda name, base: tmp_path)
    assert main(["datasets", "fetch", "emotions"]) == 0
    assert capsys.readouterr().out == f"emotions is in {tmp_path}\n"


def test_info(capsys):
    assert main(["datasets", "info", "drifting-clusters"]) == 0
    out = capsys.readouterr().out
    assert "rows                6000" in out
    assert "labels by share" in out
    assert main(["datasets", "info", "drifting-clusters", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    ds = efcml.datasets.load("drifting-clusters")
    assert facts["initial"] == ds.n_initial
    assert facts["label shares"][ds.label_names[0]] == pytest.approx(ds.Y[:, 0].mean())


def test_tune_prints_the_choice(capsys, csv_file, tmp_path):
    out = tmp_path / "all.json"
    arguments = ["tune", str(csv_file), "--labels", "happy,calm", "--initial", "30", *SMALL]
    assert main([*arguments, "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "songs: 4 points, 2 folds of 30 rows, the best 4:"
    assert lines[1].split() == ["vigilance", "alpha", "beta", "PA", "AP", "rules"]
    assert len(lines) == 8
    written = json.loads(out.read_text())
    assert len(written["all"]) == 4
    best = written["best"]
    call = ", ".join(f"{name}={value!r}" for name, value in best.items())
    assert lines[-1] == f"EFCMLClassifier({call})"
    assert lines[2].split()[0] == f"{best['vigilance']:g}"
    efcml.EFCMLClassifier(**best)


def test_tune_prints_json(capsys, csv_file):
    arguments = ["tune", str(csv_file), "--labels", "2", "--rows", "10", "--initial", "30"]
    assert main([*arguments, *SMALL, "--json"]) == 0
    choice = json.loads(capsys.readouterr().out)
    assert choice["rows"] == 10
    assert choice["points"] == 4
    assert choice["version"] == efcml.__version__


def test_tune_goes_on_from_a_checkpoint(capsys, csv_file, tmp_path):
    arguments = ["tune", str(csv_file), "--labels", "2", *SMALL, "--json"]
    arguments += ["--checkpoint", str(tmp_path / "done.jsonl")]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    assert main(arguments) == 0
    assert capsys.readouterr().out == first


def test_the_grid_of_the_paper_is_named():
    def grid_of(*arguments):
        return tune.read_grid(build_parser().parse_args(["tune", "emotions", *arguments]))

    assert grid_of() == SHORT_GRID
    assert grid_of("--grid", "paper") == PAPER_GRID
    grid = grid_of("--grid", "paper", "--beta", "1,2")
    assert (grid.vigilance, grid.alpha) == (PAPER_GRID.vigilance, PAPER_GRID.alpha)
    assert grid.beta == (1.0, 2.0)
    assert replace(SHORT_GRID, alpha=(3.0,)) == grid_of("--alpha", "3")


def test_tune_says_how_long_it_takes(capsys, csv_file, tmp_path):
    arguments = ["tune", str(csv_file), "--labels", "2", *SMALL]
    arguments += ["--checkpoint", str(tmp_path / "done.jsonl")]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    size = "efcml: 4 points (2 of vigilance, 2 of alpha and beta) in 2 folds: 4 passes"
    took = r"[\d.e-]+ s with vigilance 0\.5, [\d.e-]+ s with vigilance 0\.9"
    assert re.fullmatch(re.escape(size) + rf", about \d+ s \(a pass took {took}\)\n", captured.err)
    assert main(arguments) == 0
    again = capsys.readouterr()
    assert again.err == f"{size}, 4 of them done already\n"
    assert again.out == captured.out


def test_a_worker_that_fails_is_one_line(capsys, csv_file, monkeypatch):
    def fail(*rest):
        raise FloatingPointError("too\nhot")

    monkeypatch.setattr(task, "run_pass", fail)
    line = refusal(main, ["tune", str(csv_file), "--labels", "2", *SMALL], capsys)
    assert line.startswith("efcml: vigilance 0.5 failed on fold 0")
    assert line.endswith("FloatingPointError: too hot\n")


def test_the_file_for_all_points_is_refused_before_the_search(capsys, csv_file, tmp_path):
    arguments = ["tune", str(csv_file), "--labels", "2", *SMALL, "--out"]
    assert "is a folder" in refusal(main, [*arguments, str(tmp_path)], capsys)
    assert "cannot write to" in refusal(main, [*arguments, str(csv_file / "x.json")], capsys)


def test_arff_is_read(tmp_path, capsys):
    arff, xml = tmp_path / "own.arff", tmp_path / "own.xml"
    rows = "".join(f"{i % 7},{i % 2}\n" for i in range(20))
    arff.write_text(f"@relation own\n@attribute a numeric\n@attribute y {{0,1}}\n@data\n{rows}")
    xml.write_text('<labels xmlns="http://mulan.sourceforge.net/labels"><label name="y"/></labels>')
    arguments = ["tune", str(arff), "--xml", str(xml), "--initial", "16", *SMALL, "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["dataset"] == "own"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.csv"], "which columns of x.csv are labels? Name them with --labels."),
        (["x.arff"], "which attributes of x.arff are labels? Name their file with --xml."),
        (["no.csv", "--labels", "y"], "no.csv"),
        (["emotions", "--labels", "y"], "--labels is for files"),
        (["emotions", "--xml", "y"], "--xml is for files"),
        (["songs.cs", "--labels", "y"], "--labels is for files: songs.cs is none"),
        (["drifting-clusters", "--rows", "0"], "--rows is 0: choose at least 1."),
        (["drifting-clusters", "--beta", "1,x"], "--beta is '1,x': give numbers"),
        (
            ["drifting-clusters", "--beta", "-1"],
            "beta must be a number >= 0 and <= 1e+09; got -1.0.",
        ),
        (["drifting-clusters", "--alpha", "0,0"], "the grid has a value of alpha twice"),
        (["drifting-clusters", "--folds", "1"], "folds must be a whole number >= 2; got 1."),
    ],
)
def test_bad_input_of_tune(capsys, arguments, message):
    assert message in refusal(main, ["tune", *arguments], capsys)


def test_unknown_command(capsys):
    with pytest.raises(SystemExit) as end:
        main(["tun"])
    assert end.value.code == 2
    assert "invalid choice: 'tun'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [(KeyboardInterrupt(), 130, "interrupted"), (ValueError("a\nb"), 2, "efcml: a b\n")],
)
def test_how_it_ends(capsys, monkeypatch, error, code, says):
    def fail(name):
        raise error

    monkeypatch.setattr(efcml.datasets, "load", fail)
    assert main(["datasets", "info", "emotions"]) == code
    assert says in capsys.readouterr().err


def test_warnings_are_one_line(capsys, monkeypatch):
    def warn(name):
        warnings.simplefilter("always")
        warnings.warn("rule 3\nran away", RuntimeWarning, stacklevel=1)
        raise FileNotFoundError(2, "No such file or directory", "model.npz")

    monkeypatch.setattr(efcml.datasets, "load", warn)
    assert main(["datasets", "info", "emotions"]) == 2
    notes = capsys.readouterr().err.splitlines()
    assert notes == ["efcml: note: rule 3 ran away", "efcml: model.npz: No such file or directory"]


def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m efcml datasets | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/command_line.md"])
def test_commands_on_the_pages_are_commands(page):
    text = (Path(__file__).parent.parent / page).read_text(encoding="utf-8")
    lines = re.findall(r"^(?:    |\$ )?efcml (.+)$", text, re.M)
    assert lines
    for line in lines:
        options = build_parser().parse_args(shlex.split(line, comments=True))
        assert callable(options.run)


def test_tables():
    lines = format_table(["name", "n"], [["a", "1"], ["bcd", "-"]])
    assert lines == ["name  n", "a     1", "bcd   -"]
    assert format_table(["n", "b/m"], [["a", "1/2"], ["b", "10/2"]])[1] == "a   1/2"
    assert format_table(["a/b"], [["x/y"], ["longer"]])[1] == "x/y"
