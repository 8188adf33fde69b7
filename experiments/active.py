"""Active learning on the four small sets against random, full update and static, in ten orders.

``python experiments/active.py``. Two starts: the published split, and the first tenth of the set
as initial part (small start). Stream orders: as filed and nine seeded shuffles of the stream; the
initial part stays. Budgets 10, 20 and 30 %, in samples and in labels. Default parameters, nothing
is tuned; rules alone (``cases=0``). Records go to ``results/active.jsonl``; a second call only adds
what is missing. The tables in ``docs/results/active.md`` are made from them.
"""

import json
import os
from copy import deepcopy
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from inside import SETS, read
from joblib import Parallel, delayed
from scipy.stats import t as student

import efcml
from efcml import ActiveLearner, EFCMLClassifier, datasets, prequential

OUT = Path(__file__).parent / "results" / "active.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "results" / "active.md"
STARTS = ("small", "published")
ORDERS = range(10)  # 0 is the order of the file
BUDGETS = (0.1, 0.2, 0.3)
UNITS = ("samples", "labels")
WAYS = [("static", 0.0, "samples"), ("full", 1.0, "samples")] + [
    (kind, budget, unit) for unit in UNITS for budget in BUDGETS for kind in ("random", "active")
]


def make_asker(kind, budget, unit, order):
    """Return the active learner of a run, or None."""
    if kind == "random":
        return ActiveLearner.random(budget, unit, random_state=order)
    return ActiveLearner(budget, unit) if kind == "active" else None


def run_order(name, start, order, ways):
    """Return a record for every way of one set in one order; the initial part is fitted once."""
    ds = datasets.load(name)
    first = len(ds) // 10 if start == "small" else ds.n_initial
    rows = np.arange(first, len(ds))
    if order:
        rows = np.random.default_rng(order).permutation(rows)
    fitted = EFCMLClassifier(cases=0).fit(ds.X[:first], ds.Y[:first])
    records = []
    for kind, budget, unit in ways:
        asker = make_asker(kind, budget, unit, order)
        clf = deepcopy(fitted)
        result = prequential(clf, ds.X[rows], ds.Y[rows], active=asker, learn=kind != "static")
        record = {
            "set": name, "start": start, "order": order, "way": kind, "budget": budget,
            "unit": unit, "pa": result.pa, "ap": result.ap, "rules": int(result.rules[-1]),
            "share": 0.0 if kind == "static" else asker.share if asker else 1.0,
            "ms_per_sample": 1e3 * result.seconds_per_sample, "version": efcml.__version__,
        }  # fmt: skip
        records.append(record)
    return records


def key(record):
    """Return what tells records apart."""
    return tuple(record[name] for name in ("set", "start", "order", "way", "budget", "unit"))


def run_all(starts, orders, jobs):
    """Run what is missing and return all records."""
    have = {key(record) for record in read(OUT)}
    tasks = []
    for start, order, name in product(starts, orders, SETS):
        ways = [way for way in WAYS if (name, start, order, *way) not in have]
        if ways:
            tasks.append(delayed(run_order)(name, start, order, ways))
    efcml.warmup()
    with OUT.open("a") as file:
        for records in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
            file.writelines(json.dumps(record) + "\n" for record in records)
            file.flush()
    return read(OUT)


def means_by_order(records, start, ways, measure):
    """Return an array (orders, ways) of means over the sets; only orders with all runs."""
    found = {key(record): record[measure] for record in records if record["start"] == start}
    rows = []
    for order in ORDERS:
        values = [[found.get((name, start, order, *way)) for name in SETS] for way in ways]
        if not any(None in line for line in values):
            rows.append(np.mean(values, axis=1))
    return np.reshape(rows, (-1, len(ways)))


def interval(values):
    """Return the mean and the half width of its 95 % interval (Student's t)."""
    n = len(values)
    if n == 0:
        return np.nan, np.nan
    half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return np.mean(values), half


def recovered(records, start, way, measure):
    """Return mean, half width and number, over orders, of (way - static) / (full - static).

    Numerator and denominator are averaged over the sets first, as a set with a small gap would
    otherwise decide.
    """
    static, full, here = means_by_order(records, start, [*WAYS[:2], way], measure).T
    return *interval((here - static) / (full - static)), len(here)


def lead(records, start, budget, unit, measure):
    """Return mean and half width of active minus random, paired over orders, in points."""
    ways = [("active", budget, unit), ("random", budget, unit)]
    active, random = means_by_order(records, start, ways, measure).T
    return interval(100 * (active - random))


def tables(records):
    """Return the tables as markdown: what is recovered, then PA and AP of every set."""
    lines = []
    for start in STARTS:
        part = [record for record in records if record["start"] == start]
        if not part:
            continue
        title = "first tenth as initial part" if start == "small" else "published split"
        lines += [f"## {title[0].upper()}{title[1:]}", ""]
        lines += ["| | PA recovered | AP recovered | orders |", "|---|---|---|---|"]
        for way in WAYS[2:]:
            cells = [recovered(records, start, way, m) for m in ("pa", "ap")]
            name = f"{way[0]}, {way[1]:.0%} of {way[2]}"
            texts = [f"{mean:.2f} ± {half:.2f}" for mean, half, _ in cells]
            lines.append(f"| {name} | {' | '.join(texts)} | {cells[0][2]} |")
        lines += ["", "| active minus random, points | PA | AP |", "|---|---|---|"]
        for unit in UNITS:
            for budget in BUDGETS:
                cells = [lead(records, start, budget, unit, m) for m in ("pa", "ap")]
                texts = [f"{mean:+.2f} ± {half:.2f}" for mean, half in cells]
                lines.append(f"| {budget:.0%} of {unit} | {' | '.join(texts)} |")
        lines += ["", "| PA / AP | " + " | ".join(SETS) + " |", "|---" * (len(SETS) + 1) + "|"]
        for way in WAYS:
            cells = []
            for name in SETS:
                rows = [r for r in part if r["set"] == name and key(r)[3:] == way]
                pa, ap = (
                    np.mean([[r["pa"], r["ap"]] for r in rows], axis=0) if rows else (np.nan,) * 2
                )
                cells.append(f"{pa:.3f} / {ap:.3f}")
            name = way[0] if way[0] in ("static", "full") else f"{way[0]}, {way[1]:.0%} of {way[2]}"
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    starts = sys.argv[1:] or STARTS
    records = run_all(starts, ORDERS, jobs=int(os.environ.get("JOBS", "2")))
    head = PAGE.read_text().split("<!-- tables -->")[0]
    PAGE.write_text(head + "<!-- tables -->\n\n" + tables(records))
    print(tables(records))
