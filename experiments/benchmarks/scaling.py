"""How the cost of a learned row grows: with features, labels, rules, active rules, and time.

One size is changed at a time. Rules are neither born nor merged, so their number is known. All
learners of a line take turns, and the fastest turn of each counts. A line gets the slope of
log(time) over log(size), with its standard error. Compilation is not counted.

Usage: ``python experiments/benchmarks/scaling.py [--out FILE]``; ``python
docs/tools/draw_speed.py`` draws it.
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
from efcml.model.params import Params
from efcml.studies.provenance import method

BASE = {"p": 100, "K": 10, "rules": 20, "active": None}
# name: (what is changed, its values, the rest of the sizes, exponent allowed)
LINES = {
    "features": ("p", (50, 100, 200, 400), {}, 2.0),
    "labels": ("K", (5, 10, 20, 40, 80), {}, 2.0),
    "rules": ("rules", (5, 10, 20, 40), {}, 1.0),
    "active rules": ("active", (5, 10, 20, 40), {"rules": 40}, 1.0),
}
LENGTH = "rows before"
STREAM = {"p": 20, "K": 5, "rules": 10, "active": None}
LENGTHS = (1000, 3000, 10_000, 30_000, 100_000)
CASES = (0, Params.cases)
TOLERANCE = 0.15
ROWS, TURNS, WARM_ROWS = 50, 9, Params.cases + 50  # after the warm rows all cases are taken
LAST_ROWS = 1000  # the cost at a length of the stream is that of so many rows before it
FLAT = 0.1  # exponent that the cost of a row may have over the length of the stream


def fit_slope(sizes, values):
    """Return the slope of log(values) over log(sizes) and its standard error."""
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(values, dtype=float))
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    rest = y - slope * x
    return slope, float(np.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))


def make_stream(n, p, K, rng):
    """Return rows and labels that depend on them."""
    X = rng.normal(size=(n, p))
    return X, (X[:, :5] @ rng.normal(size=(5, K)) > 1.0).astype(float)


def prepare(sizes, cases):
    """Return a learner of these sizes; the rules that are not to be active never fire."""
    rng = np.random.default_rng(0)
    learner = make_learner(
        sizes["p"], sizes["K"], sizes["rules"], rng, cases=cases, activation_floor=1e-12
    )
    if sizes["active"] is not None:  # a rule of huge volume has no density anywhere
        learner.rules.arrays.log_det[sizes["active"] : sizes["rules"], 1] = 1e9
    learner.learn(*make_stream(WARM_ROWS, sizes["p"], sizes["K"], rng))
    return learner


def count_active(learner):
    """Return how many rules took part in the last row."""
    activation = learner.rules.scratch.activation[: learner.n_rules]
    return int((activation >= learner.settings.activation_floor).sum())


def time_rows(learner, X, Y):
    """Return the milliseconds of a learned row."""
    begin = time.perf_counter()
    learner.learn(X, Y)
    return 1e3 * (time.perf_counter() - begin) / len(X)


def run_line(name, cases):
    """Change one size; return times and slope."""
    what, values, others, allowed = LINES[name]
    sizes = [BASE | others | {what: value} for value in values]
    learners = [prepare(one, cases) for one in sizes]
    rng = np.random.default_rng(1)
    best = np.full(len(sizes), np.inf)
    for _ in range(TURNS):
        for place, (learner, one) in enumerate(zip(learners, sizes, strict=True)):
            ms = time_rows(learner, *make_stream(ROWS, one["p"], one["K"], rng))
            best[place] = min(best[place], ms)
    slope, error = fit_slope(values, best)
    return {
        "line": name,
        "changed": what,
        "cases": cases,
        "sizes": list(values),
        "ms": best.tolist(),
        "others": BASE | others,
        "rules": [learner.n_rules for learner in learners],
        "active": [count_active(learner) for learner in learners],
        "slope": slope,
        "error": error,
        "allowed": allowed,
        "tolerance": TOLERANCE,
    }


def run_stream(cases):
    """Learn one long stream; return the time of a row at some lengths and its slope."""
    learner, rng = prepare(STREAM, cases), np.random.default_rng(1)
    done, ms = 0, []
    for length in LENGTHS:
        X, Y = make_stream(length - done, STREAM["p"], STREAM["K"], rng)
        learner.learn(X[:-LAST_ROWS], Y[:-LAST_ROWS])
        last = [
            time_rows(learner, X[low : low + 100], Y[low : low + 100])
            for low in range(len(X) - LAST_ROWS, len(X), 100)
        ]
        ms.append(float(np.median(last)))
        done = length
    slope, error = fit_slope(LENGTHS, ms)
    return {
        "line": LENGTH,
        "changed": "rows",
        "cases": cases,
        "sizes": list(LENGTHS),
        "ms": ms,
        "others": STREAM,
        "rules": [learner.n_rules] * len(ms),
        "active": [count_active(learner)] * len(ms),
        "slope": slope,
        "error": error,
        "allowed": 0.0,
        "tolerance": FLAT,
    }


def tell(line):
    """Print one line."""
    pairs = zip(line["sizes"], line["ms"], strict=True)
    print(
        f"{line['line']:12} {line['cases']:3} cases: slope {line['slope']:5.2f} +- "
        f"{line['error']:.2f} (at most {line['allowed']:g})  ms "
        + ", ".join(f"{size}: {ms:.3f}" for size, ms in pairs),
        flush=True,
    )


def main():
    """Run all lines, print the slopes and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=None)
    out = parser.parse_args().out
    efcml.warmup()
    lines = []
    for cases in CASES:
        for name in [*LINES, LENGTH]:
            lines.append(run_stream(cases) if name == LENGTH else run_line(name, cases))
            tell(lines[-1])
    record = {
        "method": method(),
        "efcml": efcml.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "rows": ROWS,
        "turns": TURNS,
        "lines": lines,
    }
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
