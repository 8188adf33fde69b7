"""A checkpoint that was cut, a disk that is full, a folder that is closed.

Budget: half a minute in `make test`, 5 in `make soak`.
"""

import errno
import os
import shutil
import subprocess

import pytest
from helpers.amounts import SOAK, amount, counted
from helpers.cli_files import run_arguments, shell, write_csv
from test_cli_checkpoint import results, state

import efcml
from efcml.cli import checkpoint, main, outcome
from efcml.cli import stream_run as stream
from efcml.support import folders

# The disk closes after the second writing.
TROUBLE = """
import os, resource, sys
from efcml.cli import checkpoint, main, outcome
from efcml.support import pacing
checkpoint.SECONDS_BETWEEN, checkpoint.WRITES_BETWEEN = 0.0, 0
pacing.FIRST_BLOCK, pacing.MOST_GROWTH, pacing.SECONDS_PER_BLOCK = 4, 1, 1e9
outcome.write_pictures = lambda *arguments: []
write, written = checkpoint.Checkpoint.write, []

def write_and_close(self):
    write(self)
    written.append(self.path)
    if len(written) == 2:
        close_disk(self.path)

def close_disk(path):
    kind = os.environ["TROUBLE"]
    if kind == "full":
        size = path.stat().st_size // 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    elif kind == "closed":
        os.chmod(path.parent, 0o500)
        if os.geteuid() == 0:  # root may write everywhere
            os.seteuid(65534)
    elif kind == "gone":
        os.rename(path.parent, f"{path.parent}-moved")
    elif kind == "small":
        with open(path.parent / "other", "wb", buffering=0) as other:
            try:
                while True:
                    other.write(bytes(512))
            except OSError:
                pass

checkpoint.Checkpoint.write = write_and_close
sys.exit(main())
"""
SAYS = {
    "full": os.strerror(errno.EFBIG),
    "closed": os.strerror(errno.EACCES),
    "gone": os.strerror(errno.ENOENT),
    "small": os.strerror(errno.ENOSPC),
}


def check_trouble(kind, tmp_path, monkeypatch):
    """Run until the disk fails; the last good checkpoint is there, and the run goes on from it."""
    songs, kept = write_csv(tmp_path), tmp_path / "kept"
    monkeypatch.setenv("TROUBLE", kind)
    arguments = run_arguments(songs, "--checkpoint", "kept/c.npz", "--out", "parts")
    failed = shell(arguments, tmp_path, TROUBLE)
    if kind == "gone":
        os.rename(tmp_path / "kept-moved", kept)
    os.chmod(kept, 0o700)
    assert failed.returncode == 2, failed.stderr
    assert failed.stdout == ""
    assert failed.stderr == f"efcml: kept/c.npz: {SAYS[kind]}\n"
    assert [path.name for path in kept.glob("*.npz")] == ["c.npz"]
    assert list(kept.glob(".*")) == []
    assert state(kept / "c.npz")[0]["run"]["done"] == 4
    (kept / "other").unlink(missing_ok=True)
    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 0
    assert main(run_arguments(songs, "--out", "whole")) == 0
    assert results(tmp_path / "parts") == results(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "closed", "gone"])
def test_trouble_while_a_run_is_kept(kind, tmp_path, monkeypatch, capsys):
    with counted(f"disk: {kind}") as figures:
        check_trouble(kind, tmp_path, monkeypatch)
        figures |= {"says": SAYS[kind]}


@pytest.mark.slow
@pytest.mark.skipif(not SOAK or os.geteuid() != 0, reason="mounts a small disk")
def test_a_disk_that_is_really_full(tmp_path, monkeypatch, capsys):
    disk = tmp_path / "kept"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        with counted("disk: small tmpfs") as figures:
            check_trouble("small", tmp_path, monkeypatch)
            figures |= {"says": SAYS["small"]}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_errors_of_the_disk_name_the_file(number, tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    efcml.save(efcml.EFCMLClassifier(), path)
    before = path.read_bytes()

    def fail(file):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(folders.os, "fsync", fail)
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        efcml.save(efcml.EFCMLClassifier(vigilance=0.9), path)
    assert (caught.value.errno, caught.value.filename) == (number, str(path))
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model.npz"]


def test_other_errors_stay_as_they_are(tmp_path):
    class Strange(OSError):
        pass

    with pytest.raises(Strange), folders.replacing(tmp_path / "x"):
        raise Strange("no number")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_closed_before_the_run(tmp_path, monkeypatch, capsys):
    songs, closed = write_csv(tmp_path), tmp_path / "file" / "below"
    (tmp_path / "file").write_text("in place of a folder")
    out = tmp_path / "out"
    arguments = run_arguments(songs, "--checkpoint", closed / "c.npz", "--out", out)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"efcml: cannot write to {closed}: ")
    assert captured.err.count("\n") == 1


def test_a_checkpoint_cut_at_any_byte_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    songs, path = write_csv(tmp_path), tmp_path / "c.npz"
    assert main(run_arguments(songs, "--checkpoint", path, "--out", tmp_path / "out")) == 0
    contents = path.read_bytes()
    ds = efcml.datasets.from_csv(songs, 2, n_initial=24)
    model = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3, random_state=0)
    run = stream.StreamRun(model, None, *ds.stream, learn=True)
    kept = checkpoint.Checkpoint(path, run, ds)
    assert kept.take_up()  # it is the same run, and only the cut is refused
    run = kept.run = stream.StreamRun(model, None, *ds.stream, learn=True)
    ends = set(range(0, len(contents), amount(151, 1)))
    ends |= {*range(120), *range(len(contents) - 120, len(contents))}
    with counted("checkpoints cut") as figures:
        for end in sorted(ends, reverse=True):
            os.truncate(path, end)
            with pytest.raises(ValueError, match="cannot be loaded: ") as caught:
                kept.take_up()
            assert "\n" not in str(caught.value)
            assert run.model is model
            assert run.done == 0
        figures |= {"cuts": len(ends), "bytes": len(contents)}
    shutil.copy(songs, path)
    with pytest.raises(ValueError, match="it was not written by efcml"):
        kept.take_up()
