"""Scores of efcml beside those of other libraries: six measures, two protocols, no clocks.

"initial": the published initial part is learned first, the rest is test-then-train. "nothing":
test-then-train from row 1. File order, one run, defaults. A score of 0.5 or more is a predicted
label, unless a model has decisions of its own. What cannot answer before it has learned a row
answers the first with no label.

Usage: ``python experiments/benchmarks/peer_scores.py --out FILE [--sets NAME ...] [--models NAME
...] [--protocols NAME ...] [--seconds N] [--python LIBRARY=PATH ...]``. Every cell (set, protocol,
model) is a process of its own, run by the interpreter that is named for its library, here or in the
variable EFCML_PEERS, since libraries may exclude each other. It is written as soon as it is done; a
second call runs what is missing. Cells of our models carry the method, and are run again when it
has changed. A cell that took too long, or whose library is missing, is kept with the reason and
tried again when ``--again`` is given.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
from peer_libraries import Efcml, Frequencies, Mlp, Moa, NoChange, PartialFit, River, SgdLoop

import efcml
from efcml import datasets, measures
from efcml.support.files import replacing

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ROOT = Path(__file__).resolve().parents[2]
MEASURES = ("pa", "ap", "micro_f1", "macro_f1", "example_f1", "subset_accuracy")
PROTOCOLS = {"initial": "initial part first", "nothing": "from nothing"}
LARGE, CUT = "mediamill", "mediamill-cut"
CUT_ROWS = 2000, 1000  # fitted, streamed
SETS = ("emotions", "birds", "water-quality", "yeast", LARGE, CUT)
MODELS = {  # name: title, class, keywords
    "efcml": ("efcml", Efcml, {}),
    "efcml-rules": ("efcml, `cases=0`", Efcml, {"cases": 0}),
    "efcml-ovr": ("efcml, one versus rest", Efcml, {"model": "ovr"}),
    "efcml-chain": ("efcml, chain", Efcml, {"model": "chain"}),
    "river-logistic": ("river, logistic regression per label", River, {"kind": "logistic"}),
    "river-chain": ("river, chain of logistic regressions", River, {"kind": "chain"}),
    "river-tree": ("river, Hoeffding tree per label", River, {"kind": "tree"}),
    "river-forest": ("river, forest per label (ARF 10)", River, {"kind": "forest"}),
    "river-neighbours": ("river, 10 neighbours per label", River, {"kind": "neighbours"}),
    "sklearn-sgd": ("scikit-learn, SGD per label", SgdLoop, {}),
    "sklearn-mlp": ("scikit-learn, MLP", Mlp, {}),
    "moa-forest": ("MOA, forest per label (ARF 10)", Moa, {"kind": "forest"}),
    "moa-neighbours": ("MOA, 10 neighbours per label", Moa, {"kind": "neighbours"}),
    "efcml-f1": ('efcml, `decision="f1"`', Efcml, {"decision": "f1"}),
    "efcml-subset": ('efcml, `decision="subset"`', Efcml, {"decision": "subset"}),
    "no-change": ("no change (labels of the row before)", NoChange, {}),
    "frequencies": ("label frequencies", Frequencies, {}),
}
SEEDS = {"river-forest": 1, "sklearn-sgd": 0, "sklearn-mlp": 0, "moa-forest": 1}
QUICK = (  # taken to be, for 43907 rows of 101 labels; the others see the cut only
    "efcml",
    "efcml-rules",
    "efcml-f1",
    "efcml-subset",
    "river-logistic",
    "river-chain",
    "sklearn-mlp",
    "no-change",
    "frequencies",
)
SECONDS = 900.0  # of a cell


def load(name):
    """Return X, Y and the number of initial rows."""
    ds = datasets.load(LARGE if name == CUT else name)
    X, Y = np.asarray(ds.X, dtype=float), np.asarray(ds.Y, dtype=float)
    if name == CUT:
        return X[: sum(CUT_ROWS)], Y[: sum(CUT_ROWS)], CUT_ROWS[0]
    return X, Y, ds.n_initial


def answer(model, X, Y, n_initial):
    """Return scores and decisions of all rows after the initial ones, which are learned first."""
    before = []
    if n_initial:
        model.fit(X[:n_initial], Y[:n_initial])
    elif isinstance(model, PartialFit):
        model.fit(X[:1], Y[:1])
        before, n_initial = [np.zeros(Y.shape[1])], 1
    scores = np.vstack([*before, model.run(X[n_initial:], Y[n_initial:])])
    decided = scores >= 0.5 if model.decided is None else model.decided
    return scores, np.asarray(decided, dtype=float)


def version_of(library):
    """Return the version of a library; efcml may be run without being installed."""
    return efcml.__version__ if library == "efcml" else metadata.version(library)


def evaluate(Y, scores, decided):
    """Return the six measures."""
    found = {}
    for name in MEASURES:
        measure = measures.MEASURES[name]
        given = decided if measure.takes == "labels" else scores
        found[name] = float(measure(Y, given, ready=True))
    return found


def run_cell(name, file, out):
    """Run one model over the rows of a file and write its answers, or say what is missing."""
    _, kind, keywords = MODELS[name]
    with np.load(file) as data:
        X, Y, n = data["X"], data["Y"], int(data["n_initial"])
    try:
        model = kind(X.shape[1], Y.shape[1], n, **keywords)
    except ImportError as error:
        print(f"missing: {error}", file=sys.stderr)
        return 3
    scores, decided = answer(model, X, Y, n)
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    if kind.library:
        versions[kind.library] = version_of(kind.library)
    np.savez(out, scores=scores, decided=decided, versions=json.dumps(versions))
    return 0


def ask(name, rows, python, most_seconds):
    """Run a cell in a process of its own; return its answers, or why there are none."""
    X, Y, n_initial = rows
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "rows.npz", Path(folder) / "answers.npz"
        np.savez(given, X=X, Y=Y, n_initial=n_initial)
        command = [python, "-W", "ignore", __file__, "--cell", name, str(given), str(made)]
        paths = [str(ROOT), str(ROOT / "experiments"), str(Path(__file__).parent)]
        env = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths)}
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=most_seconds
            )
        except subprocess.TimeoutExpired:
            return f"took more than {most_seconds:.0f} s"
        if done.returncode:
            words = [line for line in done.stderr.splitlines() if line.strip()]
            return words[-1] if words else f"ended with {done.returncode}"
        with np.load(made) as data:
            return data["scores"], data["decided"], json.loads(str(data["versions"]))


def describe(name, dataset, protocol, rows):
    """Return what a cell is about."""
    X, Y, n_initial = rows
    title, kind, keywords = MODELS[name]
    facts = {
        "set": dataset,
        "protocol": protocol,
        "model": name,
        "title": title,
        "parameters": keywords,
        "seed": SEEDS.get(name),
        "n_initial": n_initial,
        "rows": len(X) - n_initial,
        "p": X.shape[1],
        "K": Y.shape[1],
    }
    if kind.library == "efcml":
        facts["method"] = method_of_today()
    return facts


def method_of_today():
    from efcml.studies.provenance import method

    return method()


def make_cell(name, dataset, protocol, python, most_seconds):
    """Return the record of one model on one set by one protocol."""
    X, Y, n_initial = load(dataset)
    rows = X, Y, n_initial if protocol == "initial" else 0
    cell = describe(name, dataset, protocol, rows)
    if dataset == LARGE and name not in QUICK:
        return cell | {"left_out": f"not tried on {len(X)} rows of {Y.shape[1]} labels"}
    found = ask(name, rows, python, most_seconds)
    if isinstance(found, str):
        return cell | {"left_out": found}
    scores, decided, versions = found
    return cell | evaluate(Y[rows[2] :], scores, decided) | {"versions": versions}


def is_done(cell, again):
    """Tell whether a cell need not be run."""
    if cell is None or (again and "left_out" in cell):
        return False
    return cell.get("method") in (None, method_of_today())


def keep(record, path):
    """Write all cells; an interrupted write leaves the file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(cell)}" for key, cell in record.items())
    with replacing(path) as file:
        file.write(f"{{\n{lines}\n}}\n".encode())


def run_missing(path, chosen, pythons, make=make_cell):
    """Run the cells that have no record yet, one after the other; return all."""
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for dataset in chosen.sets:
        for protocol in chosen.protocols:
            for name in chosen.models:
                key = f"{dataset}/{protocol}/{name}"
                if is_done(record.get(key), chosen.again):
                    continue
                python = pythons.get(MODELS[name][1].library, sys.executable)
                record[key] = make(name, dataset, protocol, python, chosen.seconds)
                keep(record, path)
                print(key, tell(record[key]), flush=True)
    return record


def tell(cell):
    """Return the six measures of a cell in one line, or why there are none."""
    if "left_out" in cell:
        return f"left out, {cell['left_out']}"
    return " / ".join(f"{cell[name]:.3f}" for name in MEASURES)


def main(arguments=None):
    """Run what is asked for."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--cell"]:
        return run_cell(*arguments[1:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS, metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, metavar="NAME")
    parser.add_argument("--protocols", nargs="+", default=list(PROTOCOLS), choices=PROTOCOLS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each cell")
    parser.add_argument("--again", action="store_true", help="try what was left out once more")
    parser.add_argument("--python", action="append", default=[], metavar="LIBRARY=PATH")
    chosen = parser.parse_args(arguments)
    words = [*os.environ.get("EFCML_PEERS", "").split(), *chosen.python]
    run_missing(chosen.out, chosen, dict(word.split("=", 1) for word in words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
