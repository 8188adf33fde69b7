"""A CSV file of several gigabytes through ``efcml run``: how much memory that takes.

Memory is what the kernel calls anonymous: what cannot be read again from a file. Pages of the
features are read from their file where they are needed, and do not count. The whole file is read;
the run is stopped with Ctrl-C after some rows, as learning millions of them would take an hour.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

N_LABELS = 2
POOL = 20_000  # different rows; a file of gigabytes has each of them many times
WIDE, NARROW = 150, 10  # features
NARROW_ROWS, LEARNED = 1_000_000, 5_000
SECONDS_BETWEEN = 0.1  # two looks at the memory


def write_file(path, n_features, *, rows=None, size=None, seed=0):
    """Write rows of numbers until there are enough of them, or enough bytes; return how many."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(POOL, n_features))
    Y = np.stack([X[:, 0] > 0.0, X[:, 1] + X[:, 2] > 0.5], axis=1).astype(int)
    lines = [
        ",".join([f"{value:.8f}" for value in x] + [str(label) for label in y]) + "\n"
        for x, y in zip(X.tolist(), Y.tolist(), strict=True)
    ]
    names = [f"x{i}" for i in range(n_features)] + [f"label{k}" for k in range(N_LABELS)]
    done = 0
    with path.open("w") as file:
        file.write(",".join(names) + "\n")
        while done < rows if rows is not None else file.tell() < size:
            count = POOL if rows is None else min(POOL, rows - done)
            file.writelines(lines[i] for i in rng.permutation(POOL)[:count])
            done += count
    return done


def anonymous_megabytes():
    """Return the memory of this process that no file holds."""
    text = Path("/proc/self/smaps_rollup").read_text()
    kilobytes = next(line.split()[1] for line in text.splitlines() if line.startswith("Anonymous:"))
    return int(kilobytes) / 1024


class Watch(threading.Thread):
    """Keeps the most memory of each phase."""

    def __init__(self):
        super().__init__(daemon=True)
        self.phase, self.most = "reading", {}

    def run(self):
        while True:
            now = anonymous_megabytes()
            self.most[self.phase] = max(now, self.most.get(self.phase, 0.0))
            time.sleep(SECONDS_BETWEEN)


def run_watched(path, learned):
    """Run the command over a file, in this process; print what was seen."""
    from efcml.cli import checkpoint, main, run_command
    from efcml.studies.provenance import method

    # All that is loaded or compiled once is there before.
    with tempfile.TemporaryDirectory() as folder:
        main(["run", "stationary-clusters", "--quick", "--out", f"{folder}/first", "--json"])
    known = {"method": method(), "before": anonymous_megabytes()}
    watch, read = Watch(), run_command.read_source
    now_and_then = checkpoint.Checkpoint.write_now_and_then

    def read_source(options):
        begin = time.process_time()
        ds = read(options)
        known["seconds_reading"] = time.process_time() - begin
        known["rows"], known["features_megabytes"] = len(ds), ds.X.nbytes / 2**20
        watch.phase = "learning"
        return ds

    def stop_in_time(self):  # after every block
        now_and_then(self)
        known["rows_learned"] = self.run.done
        known["seconds_learning"] = self.run.result().seconds
        if self.run.done >= learned:
            signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    checkpoint.Checkpoint.write_now_and_then = stop_in_time
    run_command.read_source = read_source
    watch.start()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--labels", str(N_LABELS), "--out", f"{folder}/out", "--json"]
        arguments += ["--checkpoint", f"{folder}/c.npz"]
        assert main(["run", str(path), *arguments]) == 130
    known |= {f"most_{phase}": most for phase, most in watch.most.items()}
    print("\n" + json.dumps(known))


def watched(path, learned):
    """Return what `run_watched` prints, of a process of its own."""
    command = [sys.executable, __file__, "--file", str(path), "--learned", str(learned)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {
        name: round(value, 2) if isinstance(value, float) else value
        for name, value in json.loads(done.stdout.splitlines()[-1]).items()
    }


def main():
    """Make the files, run over them, and write the figures after each one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.25, 2.0])
    parser.add_argument("--learned", type=int, default=LEARNED, help="rows before the run is ended")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file is not None:
        run_watched(options.file, options.learned)
        return
    cases = {
        f"{size:g} GB, {WIDE} features": {"n_features": WIDE, "size": int(size * 1e9)}
        for size in options.gigabytes
    }
    cases[f"{NARROW_ROWS} rows, {NARROW} features"] = {"n_features": NARROW, "rows": NARROW_ROWS}
    found = {}
    for name, case in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.csv"
            write_file(path, **case)
            found[name] = {"file_megabytes": round(path.stat().st_size / 2**20, 1)}
            found[name] |= watched(path, options.learned)
        one = found[name]
        whole = one["rows"] * one["seconds_learning"] / one["rows_learned"]
        one["reading_share"] = round(one["seconds_reading"] / whole, 5)  # of all rows, if learned
        print(f"{name}: {one}", flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
