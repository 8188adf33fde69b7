"""What a newcomer waits for: import, first fit, first stream, first commands, cold and warm.

Seconds of CPU in fresh processes, with an empty and with a filled folder of compiled code. Cold,
also by kernel: what each took to compile, without those that it calls. And the time per row, since
what compiles sooner may run slower.

Usage: ``python experiments/benchmarks/first_fit.py [--before FOLDER] [--out FILE]``, where FOLDER
is another checkout, measured in the same run; the times per row of both take turns. Without it,
what the record has of an earlier version is kept.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent.parent
REPEATS = 5  # of what is warm
WANTED = {
    "import": 1.2,
    "cold": 25.0,
    "efcml --version": 0.4,
    "efcml --help": 0.4,
    "wrong command": 0.4,
    "missing file": 0.4,
    "efcml predict": 2.0,
}

IMPORT = """
import json, time
from efcml import EFCMLClassifier
print(json.dumps({"import": time.process_time()}))
"""

ANSWER = """
import json, time
from efcml import EFCMLClassifier, datasets, prequential
imported = time.process_time()

own, running = {}, []
try:
    from numba.core import event

    class Clock(event.Listener):
        def on_start(self, what):
            running.append([time.process_time(), 0.0])

        def on_end(self, what):
            begin, inner = running.pop()
            took = time.process_time() - begin
            name = what.data["dispatcher"].py_func.__name__
            own[name] = own.get(name, 0.0) + took - inner
            if running:
                running[-1][1] += took

    event.register("numba:compile", Clock())
except ImportError:
    pass

stream = datasets.load("drifting-clusters")
clf = EFCMLClassifier().fit(*stream.initial)
fitted = time.process_time()
result = prequential(clf, stream.stream[0][:300], stream.stream[1][:300])
done = time.process_time()
seconds = {"import": imported, "fit": fitted - imported, "stream": done - fitted, "all": done}
print(json.dumps({"seconds": seconds, "kernels": own, "pa": result.pa}))
"""

ROWS = """
import json, time
import numpy as np
from efcml import EFCMLClassifier
found = []
for p, K in ((8, 4), (16, 14), (72, 6)):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, p))
    Y = (X[:, :1] + rng.normal(size=(2000, K)) > 0).astype(float)
    clf = EFCMLClassifier().fit(X[:300], Y[:300]).partial_fit(X[300:500], Y[300:500])
    begin = time.process_time()
    clf.partial_fit(X[500:], Y[500:])
    found.append(1e6 * (time.process_time() - begin) / 1500)
print(json.dumps(found))
"""

NOTEBOOK = """
import json, sys, time
import nbformat
from nbclient import NotebookClient

code = open(sys.argv[1]).read().split("```python")[1].split("```")[0]
timer = "import time; print(time.process_time())"
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (timer, code, timer)])
begin = time.perf_counter()
NotebookClient(book, timeout=600, kernel_name="python3").execute()
wall = time.perf_counter() - begin
clocks = [float(book.cells[i].outputs[0].text) for i in (0, 2)]
print(json.dumps({"cpu": clocks[1] - clocks[0], "wall": wall}))
"""


def environment(package, cache):
    """Return the environment of a fresh process."""
    paths = os.pathsep.join((str(package), str(package / "experiments")))
    wanted = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | wanted


def run(program, env, *args):
    """Return what a program prints as its last line; it runs where no package lies about."""
    command = [sys.executable, "-c", program, *map(str, args)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, env=env, cwd=folder, capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def cpu_of(arguments, env, folder):
    """Return the CPU seconds of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "efcml", *arguments], env=env, cwd=folder, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(env, folder):
    """Return the CPU seconds of short commands, everything compiled, the median of some runs."""
    make = """
import numpy as np
from efcml import EFCMLClassifier, datasets, save
stream = datasets.load("drifting-clusters")
save(EFCMLClassifier().fit(*stream.initial), "model.npz")
names = ",".join(stream.feature_names)
np.savetxt("row.csv", stream.X[:1], delimiter=",", header=names, comments="")
print("{}")
"""
    subprocess.run([sys.executable, "-c", make], env=env, cwd=folder, check=True)
    lines = {
        "efcml --version": ["--version"],
        "efcml --help": ["--help"],
        "wrong command": ["ruin"],
        "missing file": ["run", "nowhere.csv", "--labels", "a"],
        "efcml predict": ["predict", "model.npz", "row.csv"],
    }
    return {
        name: median(cpu_of(arguments, env, folder) for _ in range(REPEATS))
        for name, arguments in lines.items()
    }


def measure(package, folder):
    """Return everything, of the package in a checkout; ``folder`` is for files."""
    env = environment(package, folder / "compiled")
    cold = run(ANSWER, env)
    warm = [run(ANSWER, env)["seconds"] for _ in range(REPEATS)]
    notebook = environment(package, folder / "compiled for the notebook")
    return {
        "import": median(run(IMPORT, env)["import"] for _ in range(REPEATS)),
        "cold": cold["seconds"],
        "warm": {name: median(times[name] for times in warm) for name in warm[0]},
        "kernels": dict(sorted(cold["kernels"].items(), key=lambda pair: -pair[1])),
        "commands": commands(env, folder),
        "notebook": {
            kind: run(NOTEBOOK, notebook, package / "README.md") for kind in ("cold", "warm")
        },
    }


def measure_all(packages, folder):
    """Return the record of every version: all of one, then of the next; rows in turns."""
    found, turns = {}, {name: [] for name in packages}
    for name, package in packages.items():
        (folder / name).mkdir()
        found[name] = measure(package, folder / name)
    for _ in range(REPEATS):
        for name, package in packages.items():
            env = environment(package, folder / name / "compiled")
            turns[name].append(run(ROWS, env))
    for name, times in turns.items():
        found[name]["microseconds_per_row"] = [min(column) for column in zip(*times, strict=True)]
    return found


def show(name, found):
    """Print what was measured of a version."""
    print(f"-- {name}")
    print(f"import {found['import']:.2f} s (wanted {WANTED['import']:g})")
    for kind in ("cold", "warm"):
        parts = ", ".join(f"{part} {seconds:.2f}" for part, seconds in found[kind].items())
        print(f"{kind}: {parts}")
    for command, seconds in found["commands"].items():
        print(f"{command}: {seconds:.2f} s (wanted {WANTED[command]:g})")
    print(f"README in a notebook: {found['notebook']}")
    print(f"microseconds per row: {[round(each) for each in found['microseconds_per_row']]}")
    print(f"{len(found['kernels'])} functions compiled; the longest:")
    for kernel, seconds in list(found["kernels"].items())[:8]:
        print(f"  {kernel:24} {seconds:.2f}")


def main():
    """Measure, print and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    packages = {"now": ROOT}
    if args.before:
        packages["before"] = args.before.resolve()
    with tempfile.TemporaryDirectory() as folder:
        found = measure_all(packages, Path(folder))
    for name, one in found.items():
        show(name, one)
    if args.out:
        from efcml.studies.provenance import method

        old = json.loads(args.out.read_text()) if args.out.exists() else {}
        kept = {"before": old["before"]} if "before" in old else {}
        record = {"method": method(), "machine": platform.machine(), "wanted": WANTED}
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(record | kept | found, indent=2) + "\n")


if __name__ == "__main__":
    main()
