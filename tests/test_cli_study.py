"""``efcml study``: files, table, going on, bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from helpers.cli_files import PATH, QUICK, refusal, write_csv
from helpers.study_files import keep_method

from efcml.cli import main
from efcml.studies import study_page


@pytest.fixture(autouse=True)
def method(monkeypatch):
    keep_method(monkeypatch)


@pytest.fixture
def no_figures(monkeypatch):
    monkeypatch.setattr(study_page, "draw_all", lambda *given: {})


def study_arguments(path, *more):
    given = ["study", str(path), "--labels", "2", "--initial", "24", *QUICK, "--jobs", "1"]
    return [*given, "--orders", "2", *map(str, more)]


def test_files_table_and_going_on(tmp_path, capsys, monkeypatch):
    path, out = write_csv(tmp_path), tmp_path / "out"
    arguments = study_arguments(path, "--vary", "correlation=shift,none", "--out", out)
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "Study of 2 models, 1 data set, 2 orders: 4 of 4 runs done" in said
    assert "correlation=none" in said
    files = {file.name for file in out.iterdir()}
    assert {"table.csv", "differences.csv", "summary.json", "report.html", "records"} <= files
    assert {f"{name}.{kind}" for name in ("pa", "ap", "rules") for kind in ("png", "svg")} <= files
    assert len(list((out / "records" / "runs").glob("*.npz"))) == 4

    monkeypatch.setattr("efcml.studies.study_work.run_batches", None)  # nothing is run again
    monkeypatch.setattr(study_page, "draw_all", lambda *given: {})
    assert main([*arguments, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["runs"], summary["done"]) == (4, 4)
    assert [line["measure"] for line in summary["differences"]] == ["pa", "ap"]


def test_models_are_compared(tmp_path, capsys, monkeypatch, no_figures):
    monkeypatch.chdir(tmp_path)
    path = write_csv(tmp_path)
    assert main(study_arguments(path, "--model", "efcml,static", "--measures", "micro_f1")) == 0
    said = capsys.readouterr().out
    assert "EFC-ML, initial part only" in said
    assert "micro F1 minus EFC-ML" in said
    assert (tmp_path / "studies" / "songs-efcml-static" / "report.html").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "what is compared? Give --vary NAME=A,B"),
        (["--vary", "correlation"], "--vary is 'correlation': write NAME=A,B"),
        (["--vary", "corelation=a,b"], "there is no parameter 'corelation': did you mean"),
        (["--vary", "correlation=shift,nonne"], "correlation must be one of 'shift'"),
        (["--vary", "beta=1,1"], "two variants are named 'beta=1'"),
        (["--vary", "beta=1,2", "--vary", "beta=3,4"], "--vary names beta twice"),
        (["--vary", "beta=1,2", "--orders", "0"], "orders must be a whole number"),
        (["--vary", "beta=1,2", "--measures", "accuracy"], "there is no measure 'accuracy'"),
        (["--vary", "beta=1,2", "--jobs", "0"], "jobs must be a number of processes"),
        (["--model", "efcml,tree"], "there is no model 'tree': choose from efcml"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    arguments = study_arguments(write_csv(tmp_path), *more)
    assert words in refusal(main, arguments, capsys)
    assert not (tmp_path / "studies").exists()


def test_unknown_sets_and_other_studies(tmp_path, capsys, no_figures):
    assert "there is no data set 'emotonis'" in refusal(
        main, ["study", "emotonis", "--vary", "beta=0,1"], capsys
    )
    assert "--labels is for files" in refusal(
        main, ["study", "emotions", "--labels", "2", "--vary", "beta=0,1"], capsys
    )
    path, out = write_csv(tmp_path), tmp_path / "out"
    assert main(study_arguments(path, "--vary", "beta=0,1", "--out", out)) == 0
    capsys.readouterr()
    arguments = study_arguments(path, "--vary", "beta=0,1", "--out", out, "--seed", "1")
    assert "has records of another study" in refusal(main, arguments, capsys)


def test_interrupted(tmp_path, capsys, monkeypatch):
    from efcml.studies import cell_run

    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(cell_run, "stream", interrupt)
    arguments = study_arguments(write_csv(tmp_path), "--vary", "beta=0,1", "--out", tmp_path / "o")
    assert main(arguments) == 130
    said = capsys.readouterr().err
    assert said == "efcml: interrupted after 0 of 4 runs; the same command goes on from there\n"


@pytest.mark.slow
def test_interrupted_in_processes(tmp_path):
    """Ctrl-C reaches all processes of a terminal; one line is left of it, and what was done."""
    more = ["--vary", "beta=0,1", "--orders", "6", "--jobs", "2", "--out", str(tmp_path / "out")]
    program = "from efcml.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "study", "stationary-clusters", *QUICK, *more]
    env = os.environ | {"PYTHONPATH": PATH}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    try:
        end = time.monotonic() + 120
        while not list(tmp_path.glob("out/records/runs/*.npz")):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode == 130
    assert said[0] == ""
    assert re.fullmatch(r"efcml: interrupted after \d+ of 12 runs; the same .* there\n", said[1])
