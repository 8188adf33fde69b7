"""Memory of the state against what the tables of its arrays predict.

Each size has a process of its own. It fits a learner, copies it until the copies should take
``TOGETHER`` bytes, and sees how much the process has grown: once by the resident memory that the
system reports, once by what tracemalloc has counted.

Usage: ``python experiments/benchmarks/memory.py [--out FILE]``.
"""

import argparse
import ctypes
import gc
import json
import math
import os
import platform
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from update_speed import make_learner

import efcml
from efcml import datasets
from efcml.model.casebase import CaseBase
from efcml.model.following_scale import FollowingScale
from efcml.model.label_layer import LabelLayer
from efcml.model.memories import MOST_RECENT
from efcml.model.params import Params
from efcml.model.rulebase import RuleBase
from efcml.model.sequelbase import SequelBase
from efcml.studies.provenance import method

SIZES = {name: (record.p, record.K) for name, record in datasets.CATALOG.items()}
RULES = (5, 20, 50)
GROUPED = ("yeast", 20)  # also with labels missing: then every label has its own P and G
TOGETHER = 200e6
WITHIN = 0.1
# Large arrays get pages of their own, which go back to the system: what is freed does not count.
ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


def predict_bytes(p, K, n_rules, n_cases, n_groups=1):
    """Return the bytes of all tables of a default learner, by the shapes of their arrays alone.

    It follows its stream: there are two memories of the rules, and recent cases.
    """
    sizes = {"n_features": p, "n_labels": K, "n_groups": n_groups, "n_pairs": 1, "n_rules": n_rules}
    tables = [
        *[RuleBase.state_shapes(sizes)] * 2,
        *[CaseBase.state_shapes(p, K, count) for count in (n_cases, MOST_RECENT)],
        SequelBase.state_shapes(K, times=True),
        LabelLayer.state_shapes(K),
        FollowingScale.state_shapes(p, K),
    ]
    shapes = [shape for table in tables for shape in table.values()]
    return sum(np.dtype(kind).itemsize * math.prod(shape) for kind, shape in shapes)


def rows_kept(n_rules, most, first=8):
    """Return for how many rules there is room: it doubles when used up, to the cap at most."""
    while first < n_rules:
        first *= 2
    return min(first, most)


def resident_bytes():
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def give_back():
    """Return to the system what is free, else it would be given back while we measure."""
    gc.collect()
    with suppress(AttributeError, OSError):  # only glibc can be told to
        ctypes.CDLL(None).malloc_trim(0)


def growth(make, count, measure):
    """Return by how much a measure grows for each of ``count`` things that are made."""
    give_back()
    before = measure()
    kept = [make() for _ in range(count)]
    return (measure() - before) / len(kept)


def measure_one(p, K, n_rules, grouped):
    """Fit a learner in this process and return what its state takes."""
    rng = np.random.default_rng(0)
    most = max(n_rules, Params.max_rules)
    learner = make_learner(
        p, K, n_rules, rng, cases=Params.cases, max_rules=most, forgetting="auto"
    )
    X = rng.normal(size=(20, p))
    Y = (rng.random((20, K)) < 0.3).astype(float)
    if grouped:
        Y[0, 0] = np.nan
    learner.learn(X, Y)
    room = rows_kept(n_rules, most)
    groups = K if grouped else 1
    predicted = predict_bytes(p, K, room, Params.cases, groups)
    count = math.ceil(TOGETHER / predicted)
    growth(learner.copy, 1, resident_bytes)  # what a first copy needs besides
    resident = growth(learner.copy, count, resident_bytes)
    tracemalloc.start()
    counted = growth(learner.copy, count, lambda: tracemalloc.get_traced_memory()[0])
    assert learner.n_rules == n_rules
    return {
        "p": p,
        "K": K,
        "rules": n_rules,
        "room": room,
        "cases": Params.cases,
        "groups": groups,
        "used_bytes": predict_bytes(p, K, n_rules, Params.cases, groups),
        "predicted_bytes": predicted,
        "resident_bytes": resident,
        "counted_bytes": counted,
        "copies": count,
    }


def run(size, n_rules, grouped=False):
    """Measure one size in a fresh process."""
    p, K = SIZES[size]
    words = [str(p), str(K), str(n_rules), *(["grouped"] if grouped else [])]
    done = subprocess.run(
        [sys.executable, __file__, "--one", *words],
        env=os.environ | ALLOCATION,
        capture_output=True,
        text=True,
        check=True,
    )
    record = {"size": size, **json.loads(done.stdout)}
    print(
        f"{size:>13} {n_rules:3} rules{', labels missing' if grouped else '':16}"
        f" {record['predicted_bytes'] / 1e6:8.2f} MB predicted,"
        f" {record['counted_bytes'] / record['predicted_bytes'] - 1:+7.2%} counted,"
        f" {record['resident_bytes'] / record['predicted_bytes'] - 1:+7.2%} resident",
        flush=True,
    )
    return record


def main():
    """Measure all sizes, print and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        p, K, n_rules = map(int, chosen.one[:3])
        print(json.dumps(measure_one(p, K, n_rules, "grouped" in chosen.one)))
        return
    found = [run(size, n_rules) for size in SIZES for n_rules in RULES]
    found.append(run(*GROUPED, grouped=True))
    record = {
        "method": method(),
        "efcml": efcml.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": platform.system(),
        "within": WITHIN,
        "sizes": found,
    }
    if chosen.out:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        chosen.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
