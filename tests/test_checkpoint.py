"""``efcml run --checkpoint``: goes on bit for bit, and only where it belongs."""

import json
import shutil
import subprocess
import sys
import time
from itertools import count

import helpers.cli_files as files
import numpy as np
import pytest
from helpers.cli_files import QUICK, refusal, results, run_arguments, small_blocks, write_csv
from helpers.mixed_tables import LABELS as MIXED_LABELS
from helpers.mixed_tables import write_mixed

import efcml
from efcml.cli import main, run, stream
from efcml.evaluation import blocks
from efcml.studies import provenance

OPTIONS = {
    "far": ["--set", "clip=0.9", "--set", "scaling=frozen"],
    "subset": ["--set", "decision=subset", "--budget", "0.4"],
    "labels": ["--budget", "0.4", "--unit", "labels"],
    "ovr": ["--model", "ovr"],
    "chain": ["--model", "chain", "--set", "order=random", "--seed", "3"],
    "static": ["--model", "static"],
    "forgetting": ["--set", "forgetting=0.9", "--set", "max_rules=4"],
    "held": ["--initial", "0", "--set", "warmup_rows=12"],
}


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(run, "write_pages", lambda *given, **how: [])


@pytest.fixture
def songs(tmp_path):
    return write_csv(tmp_path)


def read(path):
    """Return what a checkpoint says, and its arrays, but for the time it took and the checksum."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    facts = json.loads(arrays.pop("header").tobytes())["content"]
    del facts["seconds"], arrays["sha256"]
    return facts, arrays


def state(path):
    """Return all of it for comparisons."""
    facts, arrays = read(path)
    return facts, {name: array.tobytes() for name, array in arrays.items()}


def interrupted(arguments, monkeypatch, block=1, size=5):
    """Run until some block is done."""
    with monkeypatch.context() as patched:
        small_blocks(patched, size)
        files.interrupt_after(patched, block)
        assert main(arguments) == 130


@pytest.mark.parametrize(("name", "block"), [(name, k % 3) for k, name in enumerate(OPTIONS)])
def test_an_interrupted_run_ends_like_a_whole_one(name, block, songs, tmp_path, monkeypatch):
    whole = run_arguments(songs, *OPTIONS[name], "--out", tmp_path / "whole")
    assert main([*whole, "--checkpoint", str(tmp_path / "whole.npz")]) == 0
    parts = run_arguments(songs, *OPTIONS[name], "--out", tmp_path / "parts")
    parts += ["--checkpoint", str(tmp_path / "parts.npz")]
    interrupted(parts, monkeypatch, block)
    first = json.loads((tmp_path / "parts" / "summary.json").read_text())
    assert first["n_stream"] == 5 * (block + 1)
    with monkeypatch.context() as patched:
        for kind in (efcml.EFCMLClassifier, efcml.OneVsRestEFC, efcml.ChainEFC):
            patched.setattr(kind, "fit", None)  # the initial part is not learned again
        assert main(parts) == 0
    assert results(tmp_path / "parts") == results(tmp_path / "whole")
    assert state(tmp_path / "parts.npz") == state(tmp_path / "whole.npz")
    if name == "far":  # there was something to join
        facts, _ = read(tmp_path / "whole.npz")
        assert np.unique([row // 5 for row, *_ in facts["events"]]).tolist() == [0, 1, 2, 3]


def test_it_says_where_it_goes_on_and_writes_a_finished_run_again(
    songs, tmp_path, capsys, monkeypatch
):
    path, out = tmp_path / "new" / "c.npz", tmp_path / "out"
    arguments = run_arguments(songs, "--checkpoint", path, "--out", out, "--json")
    interrupted(arguments, monkeypatch)
    told = files.without_notes(capsys.readouterr().err)
    assert told == "efcml: interrupted after 10 of 20 rows\n"
    for done in (10, 20):
        assert main(arguments) == 0
        captured = capsys.readouterr()
        said = f"efcml: going on from {path}: {done} of 20 rows are done\n"
        assert files.without_notes(captured.err) == said
        assert json.loads(captured.out)["n_stream"] == 20


def test_the_time_of_all_parts_adds_up_and_the_file_is_written_now_and_then(
    songs, tmp_path, monkeypatch
):
    with monkeypatch.context() as patched:
        arguments = run_arguments(songs, "--checkpoint", tmp_path / "c.npz", "--out", tmp_path)
        interrupted(arguments, patched)
        small_blocks(patched, 5)
        patched.setattr(blocks, "perf_counter", map(float, count()).__next__)
        assert main(arguments) == 0
    assert json.loads((tmp_path / "summary.json").read_text())["ms_per_sample"] == 1e3 * 4 / 20
    clock, written = [0.0], []

    def write(path, content, arrays):
        written.append(content["done"])

    def perf_counter():
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(stream.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(stream, "write", write)
    small_blocks(monkeypatch, 4)
    monkeypatch.setattr(blocks, "perf_counter", perf_counter)
    assert main(run_arguments(songs, "--out", tmp_path / "a", "--checkpoint", tmp_path / "c")) == 0
    assert written == [0, 12, 20]


EAGER = """
import sys
from efcml.cli import main, run, stream
from efcml.evaluation import blocks
from efcml.studies import provenance
stream.SECONDS_BETWEEN, blocks.ROWS = 0.0, 32
run.write_pages = lambda *given, **how: []
sys.exit(main())
"""


@pytest.mark.long
def test_killed_it_goes_on_and_ends_like_a_whole_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, written = tmp_path / "c.npz", set()
    arguments = ["run", "--set", "prior=1.0", "--budget", "0.2"]
    assert main([*arguments, "--out", "whole"]) == 0
    arguments += ["--out", "parts", "--checkpoint", "c.npz"]
    process = subprocess.Popen([sys.executable, "-c", EAGER, *arguments])
    while len(written) < 5:
        assert process.poll() is None
        if path.exists():
            written.add(path.stat().st_mtime_ns)
        time.sleep(1e-3)
    process.kill()
    process.wait()
    assert 0 < state(path)[0]["done"] < 5000
    assert main(arguments) == 0
    assert results(tmp_path / "parts") == results(tmp_path / "whole")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the checkpoints of finished runs, without and with a budget."""
    folder = tmp_path_factory.mktemp("finished")
    songs = write_csv(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "write_pages", lambda *given, **how: [])
        patched.chdir(folder)
        for name, more in (("c.npz", []), ("asked.npz", ["--budget", "0.5"])):
            assert main(run_arguments(songs, "--checkpoint", name, "--out", "out", *more)) == 0
    return folder


@pytest.fixture
def taken(finished, tmp_path, monkeypatch):
    """A copy of that folder, where commands run."""
    monkeypatch.chdir(shutil.copytree(finished, tmp_path / "here"))
    monkeypatch.setattr(efcml.EFCMLClassifier, "fit", None)
    return tmp_path / "here"


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("c.npz", "--set vigilance=0.31"),
        ("c.npz", "--model static"),
        ("c.npz", "--budget 0.5"),
        ("c.npz", "--initial 23"),
        ("asked.npz", "--budget 0.5 --unit labels"),
        ("asked.npz", "--budget 0.5 --seed 1"),
    ],
)
def test_the_checkpoint_of_another_run_is_refused_and_stays(file, more, taken, capsys):
    before = (taken / file).read_bytes()
    line = refusal(main, run_arguments("songs.csv", "--checkpoint", file, *more.split()), capsys)
    assert f"{file} cannot be loaded: it is no checkpoint of this run, or of other data" in line
    assert (taken / file).read_bytes() == before


def test_the_checkpoint_of_other_data_or_of_other_code_is_refused(taken, capsys, monkeypatch):
    arguments = run_arguments("songs.csv", "--checkpoint", "c.npz")
    with monkeypatch.context() as patched:
        code_alone = provenance.code_alone
        patched.setattr(provenance, "code_alone", lambda source: code_alone(source) + "changed")
        provenance.sources.cache_clear()
        line = refusal(main, arguments, capsys)
    provenance.sources.cache_clear()
    assert "other code of efcml wrote it: go on with that, or delete the file" in line
    (taken / "songs.csv").write_text(files.csv_text().replace(",1,", ",0,", 1))
    assert "or of other data or options: delete it" in refusal(main, arguments, capsys)


def test_the_same_features_of_other_words_are_other_data(tmp_path, capsys):
    path = write_mixed(tmp_path, 60)
    arguments = ["run", str(path), "--labels", MIXED_LABELS, "--initial", "40", *QUICK]
    arguments += ["--checkpoint", str(tmp_path / "c.npz"), "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    path.write_text(path.read_text().replace("rock", "punk"))
    assert main(arguments) == 2
    assert "of this run, or of other data" in capsys.readouterr().err


def flip_a_bit(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


BROKEN = {
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged"),
    "empty": (lambda path: path.write_bytes(b""), "damaged"),
    "a bit": (flip_a_bit, "damaged or no file of efcml (BadZipFile"),
    "model": (lambda path: efcml.save(efcml.EFCMLClassifier(), path), "no checkpoint of this run"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(name, taken, capsys):
    spoil, message = BROKEN[name]
    spoil(taken / "c.npz")
    line = refusal(main, run_arguments("songs.csv", "--checkpoint", "c.npz"), capsys)
    assert line.startswith("efcml: c.npz cannot be loaded: ")
    assert message in line
