"""``efcml run --checkpoint``: goes on bit for bit, and only where it belongs."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.amounts import amount, counted
from helpers.cli_files import ROOT, csv_text, run_arguments, shell, write_csv
from test_cli_run import interrupt_after, small_blocks

import efcml
from efcml.cli import checkpoint, main, outcome
from efcml.cli import stream_run as stream
from efcml.datasets import large_tables
from efcml.evaluation import blocks
from efcml.saving import read_archive, write_archive
from efcml.support import pacing

TIMES = {"ms_per_sample"}  # all that may differ between two runs
OPTIONS = {
    "plain": [],
    "f1": ["--decision", "f1"],
    "subset": ["--decision", "subset", "--budget", "0.4"],
    "samples": ["--budget", "0.4"],
    "labels": ["--budget", "0.4", "--unit", "labels", "--criteria", "novelty,random"],
    "ovr": ["--model", "ovr"],
    "chain": ["--model", "chain", "--set", "order=random", "--seed", "3"],
    "static": ["--model", "static"],
    "shuffled": ["--shuffle", "--set", "forgetting=0.9"],
    "unlimited": ["--set", "weight_limit=inf"],
}


@pytest.fixture
def songs(tmp_path, monkeypatch):
    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    return write_csv(tmp_path)


def results(folder):
    """Return everything a run has written, but for the time it took."""
    summary = json.loads((folder / "summary.json").read_text())
    kept = {name: value for name, value in summary.items() if name not in TIMES}
    return kept, *((folder / name).read_bytes() for name in ("model.npz", "predictions.csv"))


def state(path):
    """Return what a checkpoint holds, but for the time it took."""
    header, arrays = read_archive(path, tables_of_file)
    del header["content"]["run"]["seconds"]
    return header["content"], {name: array.tobytes() for name, array in arrays.items()}


def tables_of_file(header):
    return {name: (dtype, tuple(shape)) for name, dtype, shape in header["arrays"]}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("block", [0, 2])
def test_goes_on_bit_for_bit(options, block, songs, tmp_path, capsys, monkeypatch):
    whole = run_arguments(songs, *options, "--out", tmp_path / "whole")
    assert main([*whole, "--checkpoint", str(tmp_path / "whole.npz")]) == 0
    parts = run_arguments(songs, *options, "--out", tmp_path / "parts")
    parts += ["--checkpoint", str(tmp_path / "parts.npz")]
    with monkeypatch.context() as patched:
        small_blocks(patched, 5)
        interrupt_after(patched, block)
        assert main(parts) == 130
    first = json.loads((tmp_path / "parts" / "summary.json").read_text())
    assert first["n_stream"] == 5 * (block + 1)

    def refuse(*arguments):
        raise AssertionError("the initial part is learned again")

    with monkeypatch.context() as patched:
        for kind in (efcml.EFCMLClassifier, efcml.OneVsRestEFC, efcml.ChainEFC):
            patched.setattr(kind, "fit", refuse)
        assert main(parts) == 0
    assert results(tmp_path / "parts") == results(tmp_path / "whole")
    assert state(tmp_path / "parts.npz") == state(tmp_path / "whole.npz")


@pytest.mark.parametrize("options", [[], OPTIONS["shuffled"]], ids=["plain", "shuffled"])
def test_goes_on_with_a_file_that_is_read_in_blocks(options, songs, tmp_path, monkeypatch):
    assert main(run_arguments(songs, *options, "--out", tmp_path / "whole")) == 0
    for name, value in {"MOST_AT_ONCE": 0, "FIRST_ROWS": 25, "FIELDS_AT_ONCE": 24}.items():
        monkeypatch.setattr(large_tables, name, value)
    parts = run_arguments(songs, *options, "--out", tmp_path / "parts")
    parts += ["--checkpoint", str(tmp_path / "c.npz")]
    with monkeypatch.context() as patched:
        small_blocks(patched, 5)
        interrupt_after(patched, 1)
        assert main(parts) == 130
    assert main(parts) == 0
    assert results(tmp_path / "parts") == results(tmp_path / "whole")


def test_says_where_it_goes_on(songs, tmp_path, capsys, monkeypatch):
    path = tmp_path / "c.npz"
    arguments = run_arguments(songs, "--checkpoint", path, "--out", tmp_path / "out", "--json")
    with monkeypatch.context() as patched:
        small_blocks(patched, 5)
        interrupt_after(patched, 1)
        assert main(arguments) == 130
    assert "going on" not in capsys.readouterr().err
    for said in (
        "10 of 20 rows are done, the next is row 34",
        "20 of 20 rows are done, nothing is left",
    ):
        assert main(arguments) == 0
        captured = capsys.readouterr()
        assert captured.err == f"efcml: going on from {path}: {said}\n"
        assert json.loads(captured.out)["n_stream"] == 20


def test_time_adds_up(songs, tmp_path, capsys, monkeypatch):
    run_block = blocks.run_block

    def in_a_second(*arguments):
        run_block(*arguments)
        return 1.0

    monkeypatch.setattr(blocks, "run_block", in_a_second)
    arguments = run_arguments(songs, "--checkpoint", tmp_path / "c.npz", "--out", tmp_path)
    small_blocks(monkeypatch, 5)
    with monkeypatch.context() as patched:
        interrupt_after(patched, 1)
        assert main(arguments) == 130
    assert main(arguments) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["ms_per_sample"] == 1e3 * 4 / 20


def test_a_finished_run_is_written_again(songs, tmp_path, capsys):
    arguments = run_arguments(songs, "--checkpoint", tmp_path / "c.npz", "--out", tmp_path / "a")
    assert main(arguments) == 0
    first = results(tmp_path / "a")
    assert main([*arguments[:-1], str(tmp_path / "b")]) == 0
    assert results(tmp_path / "b") == first


def test_without_an_initial_part(songs, tmp_path, capsys, monkeypatch):
    arguments = run_arguments(songs, "--set", "warmup_rows=12")
    arguments[arguments.index("24")] = "0"
    assert main([*arguments, "--out", str(tmp_path / "whole")]) == 0
    arguments += ["--checkpoint", str(tmp_path / "c.npz"), "--out", str(tmp_path / "parts")]
    with monkeypatch.context() as patched:
        small_blocks(patched, 5)
        interrupt_after(patched, 1)  # rows are still held
        assert main(arguments) == 130
    assert main(arguments) == 0
    assert results(tmp_path / "parts") == results(tmp_path / "whole")


def test_written_now_and_then(songs, tmp_path, capsys, monkeypatch):
    clock, written = [0.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: clock[0])
    write = checkpoint.Checkpoint.write

    def note(self):
        written.append(self.run.done)
        write(self)

    monkeypatch.setattr(checkpoint.Checkpoint, "write", note)
    small_blocks(monkeypatch, 4)

    def slowly(pace, *arguments, **options):
        clock[0] += 1.25

    monkeypatch.setattr(pacing.Pace, "follow", slowly)
    assert main(run_arguments(songs, "--out", tmp_path / "a", "--checkpoint", tmp_path / "c")) == 0
    assert written == [0, 8, 16, 20]


def test_a_slow_disk_is_written_to_less_often(songs, tmp_path, monkeypatch):
    clock = iter(np.arange(1000.0))  # every look takes a second
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: next(clock))
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    run = stream.StreamRun(efcml.EFCMLClassifier(), None, *ds.stream, learn=True)
    kept = checkpoint.Checkpoint(tmp_path / "c.npz", run, ds)
    kept.write()
    assert kept.pause == checkpoint.WRITES_BETWEEN


# -- killed ---------------------------------------------------------------------------------

EAGER = """
import sys
from efcml.cli import checkpoint, main, outcome
from efcml.support import pacing
checkpoint.SECONDS_BETWEEN, checkpoint.WRITES_BETWEEN = 0.0, 0
pacing.MOST_GROWTH = 1
outcome.write_pictures = lambda *arguments: []
sys.exit(main())
"""


KILLS = amount(2, 25)  # for each of the two kinds of runs
ACTIVE = ["--budget", "0.2", "--criteria", "ambiguity,random"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ACTIVE], ids=["all", "active"])
def test_killed_at_any_moment(options, tmp_path, rng):
    """Kill the process at random moments; the rest ends like a whole run."""
    name = f"kills, {'active' if options else 'all labels'}"
    with counted(name) as figures:
        figures |= kill_again_and_again(options, tmp_path, rng)


def kill_again_and_again(options, tmp_path, rng):
    n = 400 * (KILLS + 1)
    ds = efcml.datasets.load("drifting-clusters-2d", n=n, n_initial=200)
    table = np.column_stack([ds.X, ds.Y])
    names = ",".join([*ds.feature_names, *ds.label_names])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header=names, comments="")
    arguments = ["run", "rows.csv", "--labels", "3", "--initial", "200", *options]
    arguments += ["--set", "prior=1.0", "--set", "max_rules=8", "--set", "vigilance=0.4"]
    whole = shell([*arguments, "--out", "whole"], tmp_path, EAGER)
    assert whole.returncode == 0, whole.stderr
    parts = [*arguments, "--out", "parts", "--checkpoint", "c.npz"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = [-1]
    for number in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", EAGER, *parts],
            cwd=tmp_path,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        early = number % 5 == 4  # before anything is written, perhaps before the file is read
        wait_for_writings(process, tmp_path / "c.npz", 0 if early else int(rng.integers(2, 12)))
        time.sleep(rng.uniform(0.0, 1.5 if early else 0.03))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        done.append(read_archive(tmp_path / "c.npz", tables_of_file)[0]["content"]["run"]["done"])
    assert done == sorted(done)
    assert len(set(done)) > 0.6 * KILLS
    assert done[-1] < n - 200
    assert not (tmp_path / "parts" / "summary.json").exists()
    end = shell(parts, tmp_path, EAGER)
    assert end.returncode == 0, end.stderr
    assert results(tmp_path / "parts") == results(tmp_path / "whole")
    return {"kills": KILLS, "rows": n, "states taken up": len(set(done))}


def wait_for_writings(process, path, count):
    """Return when a file has been replaced so many times."""
    seen = set()
    while len(seen) < count:
        assert process.poll() is None, process.communicate()
        if path.exists():
            seen.add(path.stat().st_mtime_ns)
        time.sleep(1e-3)


# -- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (["--set", "vigilance=0.31"], "other parameters"),
        (["--model", "rfwls"], "other parameters"),
        (["--model", "static"], "other model"),
        (["--model", "chain"], "other model and parameters"),
        (["--seed", "1"], "other parameters"),
        (["--budget", "0.5"], "other budget and criteria and seed"),
        (["--shuffle"], "other data"),
        (["--initial", "23"], "other data"),
        (["--labels", "1"], "other data"),
    ],
)
def test_of_another_run(more, word, songs, tmp_path, capsys):
    path = tmp_path / "c.npz"
    arguments = run_arguments(songs, "--checkpoint", path, "--out", tmp_path / "out")
    assert main(arguments) == 0
    before = path.read_bytes()
    capsys.readouterr()
    assert main([*arguments, *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{path} cannot be loaded: it is the checkpoint of a run with {word}" in captured.err
    assert captured.err.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize(("old", "new"), [("2.0", "2.5"), (",1,", ",0,")], ids=["X", "Y"])
def test_of_other_data(old, new, songs, tmp_path, capsys):
    arguments = run_arguments(songs, "--checkpoint", tmp_path / "c.npz", "--out", tmp_path / "out")
    assert main(arguments) == 0
    songs.write_text(csv_text().replace(old, new, 1))
    assert main(arguments) == 2
    assert "with other data:" in capsys.readouterr().err


def test_other_questions(songs, tmp_path, capsys):
    arguments = run_arguments(songs, "--checkpoint", tmp_path / "c.npz", "--out", tmp_path / "out")
    assert main([*arguments, "--budget", "0.5"]) == 0
    for more, word in (
        (["--budget", "0.6"], "other budget:"),
        (["--budget", "0.5", "--unit", "labels"], "other budget:"),
        (["--budget", "0.5", "--criteria", "random"], "other criteria:"),
    ):
        assert main([*arguments, *more]) == 2
        assert word in capsys.readouterr().err


def test_of_another_version(songs, tmp_path, capsys, monkeypatch):
    arguments = run_arguments(songs, "--checkpoint", tmp_path / "c.npz", "--out", tmp_path / "out")
    assert main(arguments) == 0
    monkeypatch.setattr(checkpoint, "__version__", "99")
    assert main(arguments) == 2
    assert "with other version" in capsys.readouterr().err


def lie(change):
    """Return how to write a file again with something changed."""

    def write(path):
        header, arrays = read_archive(path, tables_of_file)
        change(header["content"], arrays)
        write_archive(path, {"kind": header["kind"], "content": header["content"]}, arrays)

    return write


def cut_rows(content, arrays):
    content["run"]["done"] = 30
    for name in ("scores", "rules", "queried"):
        arrays[f"run/{name}"] = np.concatenate([arrays[f"run/{name}"]] * 2)[:30]


BROKEN = {
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-100]), "bytes"),
    "empty": (lambda path: path.write_bytes(b""), "it ends too early"),
    "foreign": (lambda path: path.write_text("not this\n" * 50), "it was not written by efcml"),
    "model": (lambda path: efcml.save(efcml.EFCMLClassifier(), path), "the file of a model"),
    "nothing said": (lie(lambda c, a: c.pop("about")), "which run it belongs to"),
    "no model": (lie(lambda c, a: c.pop("model")), "the content must say"),
    "more rows": (lie(cut_rows), "impossible sizes"),
    "negative": (lie(lambda c, a: c["run"].update(events=-1)), "impossible sizes"),
    "no record": (lie(lambda c, a: c.update(run={})), "the record must say"),
    "NaN": (lie(lambda c, a: a["run/scores"].fill(np.nan)), "record of the stream is damaged"),
    "unlikely": (
        lie(lambda c, a: a["run/probabilities"].fill(1.5)),
        "record of the stream is damaged",
    ),
    "kinds": (lie(lambda c, a: a["run/events"].fill(9)), "record of the stream is damaged"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name, songs, tmp_path, capsys):
    spoil, message = BROKEN[name]
    path = tmp_path / "c.npz"
    arguments = run_arguments(songs, "--checkpoint", path, "--out", tmp_path / "out")
    assert main(arguments) == 0
    spoil(path)
    capsys.readouterr()
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"efcml: {path} cannot be loaded: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1
