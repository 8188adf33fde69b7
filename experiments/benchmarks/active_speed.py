"""A stream row under a 10 % budget against a row that is learned, in one run.

Both go through the same learner state and the same rows; every rule is active and the correlation
penalty is on. Compilation is not counted.

Usage: ``python experiments/benchmarks/active_speed.py [--out FILE]``.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from update_speed import make_learner

import efcml
from efcml.active import ActiveLearner
from efcml.model.trace import Trace
from efcml.studies.provenance import method

CASES = (("yeast", 103, 14, 20), ("mediamill", 120, 101, 20))  # p, K, rules
BUDGET, WANTED, ROWS, REPEATS = 0.1, 0.35, 400, 7


def time_full(learner, X, Y):
    """CPU seconds of scoring and learning every row."""
    trace = Trace.for_rows(len(X), Y.shape[1])
    begin = time.process_time()
    learner.learn(X, Y, trace=trace)
    return time.process_time() - begin


def time_active(learner, X, Y, unit):
    """CPU seconds of scoring every row and learning what is asked, and the share asked."""
    active = ActiveLearner(BUDGET, unit)
    trace = Trace.for_rows(*Y.shape)
    queried = np.zeros(Y.shape if unit == "labels" else len(Y), dtype=np.bool_)
    begin = time.process_time()
    active.run_stream(learner, X, Y, trace, queried, after_block=lambda rows: None)
    return time.process_time() - begin, active.share


def run_case(name, p, K, n_rules):
    """Time both, interleaved, and keep the fastest of each."""
    rng = np.random.default_rng(0)
    start = make_learner(p, K, n_rules, rng)
    X = rng.normal(size=(ROWS, p))
    Y = (X[:, : min(p, K)] @ rng.normal(size=(min(p, K), K)) > 1.0).astype(float)
    start.learn(X[:50], Y[:50])
    full, active, by_label = [], [], []
    for _ in range(REPEATS):
        full.append(time_full(start.copy(), X, Y))
        active.append(time_active(start.copy(), X, Y, "samples"))
        by_label.append(time_active(start.copy(), X, Y, "labels"))
    seconds, share = min(active)
    return {
        "size": name,
        "p": p,
        "K": K,
        "rules": n_rules,
        "full_ms": 1e3 * min(full) / ROWS,
        "active_ms": 1e3 * seconds / ROWS,
        "share_asked": share,
        "ratio": seconds / min(full),
        "ratio_labels": min(by_label)[0] / min(full),
        "wanted": WANTED,
    }


def main():
    """Run all cases, print a table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    out = parser.parse_args().out
    efcml.warmup()
    record = {
        "method": method(),
        "efcml": efcml.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "budget": BUDGET,
        "cases": [run_case(*case) for case in CASES],
    }
    print(f"{'size':>10} {'full ms':>8} {'active ms':>9} {'ratio':>6} {'wanted':>6} {'labels':>6}")
    for case in record["cases"]:
        print(
            f"{case['size']:>10} {case['full_ms']:8.3f} {case['active_ms']:9.3f} "
            f"{case['ratio']:6.2f} {case['wanted']:6.2f} {case['ratio_labels']:6.2f}"
        )
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
