"""Small files and settings for the tests of the command line."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from efcml.evaluation import blocks

ROOT = Path(__file__).resolve().parents[2]
PATH = os.pathsep.join([str(ROOT), str(ROOT / "experiments")])  # of both packages
FEATURES = ["tempo", "loud, very"]
LABELS = ['so "happy"', "calm"]
ROWS = 44

# Quick also where nothing is compiled: few rules, no cross-validation of the prior.
QUICK = ["--set", "prior=1.0", "--set", "max_rules=3", "--set", "vigilance=0.3"]


def csv_text(n=ROWS, columns=None):
    """Return a table with two features and two labels; one label is unknown in row 20."""
    names = ['"loud, very"', "tempo", "calm", '"so ""happy"""']
    lines = [",".join(names)]
    for i in range(n):
        x, z = (i * 7 % 11) / 3 - 2, (i * 5 % 13) / 4 - 1
        happy = "" if i == 20 else int(x + z > 0)
        lines.append(f"{z!r},{x!r},{int(x > z)},{happy}")
    return "\n".join(lines) + "\n"


def write_csv(folder):
    path = Path(folder) / "songs.csv"
    path.write_text(csv_text())
    return path


def write_related(folder):
    """Write a table of three features and four labels that share what features do not tell."""
    rng = np.random.default_rng(0)
    X, common = rng.normal(size=(160, 3)), rng.normal(size=(160, 1))
    heights = X @ rng.normal(size=(3, 4)) + 1.5 * common * [1, 1, -1, 0.5]
    Y = heights + rng.normal(size=(160, 4)) > [0, 0, 0, 2.5]
    lines = [[*map(repr, x), *map(str, y)] for x, y in zip(X.tolist(), 1 * Y, strict=True)]
    path = Path(folder) / "related.csv"
    path.write_text("\n".join([",".join("abcdefg"), *map(",".join, lines)]) + "\n")
    return path


def run_arguments(path, *more):
    """Return the arguments of a quick run over `csv_text`."""
    return ["run", str(path), "--labels", "2", "--initial", "24", *QUICK, *map(str, more)]


def shell(arguments, cwd, code="from efcml.cli import main; raise SystemExit(main())", **more):
    """Run the command in a process of its own, as a person would."""
    env = os.environ | {"PYTHONPATH": PATH}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=False, **more
    )


def refusal(main, arguments, capsys):
    """Run in this process, check that it ends with code 2 and one line, and return the line.

    Notes on the data may come before it.
    """
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    return without_notes(captured.err, lines=1)


def without_notes(text, lines=None):
    """Return what a command says besides notes on its data, so many lines if that is known."""
    rest = [line for line in text.splitlines() if not line.startswith("efcml: note: ")]
    assert lines in (None, len(rest)), text
    return "".join(f"{line}\n" for line in rest)


def small_blocks(monkeypatch, size):
    """Let streams run in blocks of so many rows."""
    monkeypatch.setattr(blocks, "ROWS", size)


def interrupt_after(monkeypatch, block, times=1):
    """Send Ctrl-C while a block is running."""
    read = iter(range(200))  # the clock, before and after a block

    def interrupted():
        now = next(read)
        if now == 2 * block + 1:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return float(now)

    monkeypatch.setattr(blocks, "perf_counter", interrupted)


def results(folder):
    """Return everything a run has written, but for the time it took."""
    summary = json.loads((folder / "summary.json").read_text())
    del summary["ms_per_sample"]
    return summary, *((folder / name).read_bytes() for name in ("model.npz", "predictions.csv"))
