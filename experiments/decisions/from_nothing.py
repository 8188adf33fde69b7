"""Answers from the first row, without an initial part (decision 25).

``python experiments/decisions/from_nothing.py`` runs test-then-train from row 1, in file order and
shuffled, and keeps PA and AP over the first rows; a second call only adds what is missing. Writes
the tables of the decision. Trials of other memories see the warm-up alone.
"""

import json
import os
import re
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from inside import method, read

import efcml
from efcml import EFCMLClassifier, datasets, prequential
from efcml.measures import average_precision, partial_accuracy
from efcml.model import beginning
from efcml.rivals import LabelFrequencies

OUT = Path(__file__).parents[1] / "results" / "decisions" / "from-nothing.jsonl"
PAGE = Path(__file__).parents[2] / "docs" / "decisions" / "0025-from-the-first-row.md"
SETS = ("emotions", "yeast", "birds", "water-quality", "mediamill")
STREAMS = ("drifting-clusters", "drifting-clusters-2d", "stationary-clusters")
ORDERS = ("file", "shuffle-1", "shuffle-2", "shuffle-3")  # by these the memories were chosen
NEW_ORDERS = ("shuffle-11", "shuffle-12", "shuffle-13", "shuffle-14", "shuffle-15")
PREFIXES = (10, 20, 30, 50, 100, 150, 200, 300)
WARM_UP = 200
MOST_ROWS = 3000  # of mediamill and the streams; after the warm-up nothing differs
FREQUENCIES = "label frequencies"
HELD, WAITING = "held rows answer", "frequencies until the fit"
MODELS = {
    HELD: EFCMLClassifier,
    WAITING: lambda: EFCMLClassifier(provisional=False),
    FREQUENCIES: LabelFrequencies,
}
LASTING = tuple(memory for memory in beginning.MEMORIES if memory.kept == 1.0)
TRIALS = {  # what differs in efcml/model/beginning.py
    "as decided": {},
    "nothing fades": {"MEMORIES": LASTING},
    "one memory: wide, noise 1": {"MEMORIES": (beginning.Memory(1.0, 1.0, 1.0),)},
    "no doubt": {"DOUBT": 1e-9},
    "doubt 10": {"DOUBT": 10.0},
    "from row 2 on": {"FIRST": 2},
    "from row 30 on": {"FIRST": 30},
}


def rows_of(name, order):
    """Return features and labels of a set in one of the orders."""
    ds = datasets.load(name)
    rows = np.arange(len(ds.X))
    if order != "file":
        rows = np.random.default_rng(int(order.split("-")[1])).permutation(len(rows))
    if name == "mediamill" or name in STREAMS:
        rows = rows[:MOST_ROWS]
    return ds.X[rows], ds.Y[rows]


@contextmanager
def changed(changes):
    """Let the memories be others for a while."""
    changes = dict(changes)
    if "MEMORIES" in changes:
        changes["EVIDENCE"] = 2 + len(changes["MEMORIES"])
    before = {name: getattr(beginning, name) for name in changes}
    vars(beginning).update(changes)
    try:
        yield
    finally:
        vars(beginning).update(before)


def run(model, X, Y):
    """Return PA and AP over the first rows and over all, and CPU seconds of the warm-up."""
    begin = time.process_time()
    held = WARM_UP - 1
    parts = [prequential(model, X[:held], Y[:held], progress=False)]
    seconds = time.process_time() - begin
    if len(X) > held:
        parts.append(prequential(model, X[held:], Y[held:], progress=False))
    scores = np.vstack([part.scores for part in parts])
    lengths = [*(n for n in PREFIXES if n <= len(X)), len(X)]
    found = [
        [partial_accuracy(Y[:n], scores[:n] >= 0.5), average_precision(Y[:n], scores[:n])]
        for n in lengths
    ]
    return {"lengths": lengths, "pa_ap": found, "warm_up_cpu": seconds}


def jobs():
    """Yield kind, setting, set and order of every run."""
    for name in SETS + STREAMS:
        for order in ORDERS:
            yield from (("whole", setting, name, order) for setting in MODELS)
            yield from (("trial", setting, name, order) for setting in TRIALS)
        for order in NEW_ORDERS:
            yield from (("whole", setting, name, order) for setting in MODELS)


def record(kind, setting, name, order):
    """Return the record of one run."""
    X, Y = rows_of(name, order)
    if kind == "whole":
        found = run(MODELS[setting](), X, Y)
    else:
        with changed(TRIALS[setting]):
            found = run(EFCMLClassifier(), X[: WARM_UP - 1], Y[: WARM_UP - 1])
    line = {"kind": kind, "setting": setting, "set": name, "order": order}
    return line | {"version": efcml.__version__, "method": method()} | found


def run_missing():
    """Run what has no record yet; return all records by their key."""
    keys = ("kind", "setting", "set", "order")
    have = {tuple(r[key] for key in keys): r for r in read(OUT)}
    efcml.warmup()
    with OUT.open("a", encoding="utf-8") as file:
        for job in jobs():
            if job not in have:
                have[job] = record(*job)
                file.write(json.dumps(have[job]) + "\n")
                file.flush()
    return have


def pair(values):
    """Return PA and AP in one cell."""
    return " / ".join(f"{value:.3f}" for value in values)


def whole_table(records):
    """Return PA and AP over all rows, file order."""
    lines = [f"| set | {WAITING} | {HELD} | {FREQUENCIES} |", "|---|---|---|---|"]
    for name in SETS + STREAMS:
        cells = [
            pair(records["whole", setting, name, "file"]["pa_ap"][-1])
            for setting in (WAITING, HELD, FREQUENCIES)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ahead_table(records, orders=ORDERS):
    """Return how far held rows are ahead of frequencies after so many rows: the worst order."""
    lines = [
        f"| set | {' | '.join(map(str, PREFIXES))} | all |",
        "|---" * (len(PREFIXES) + 2) + "|",
    ]
    for name in SETS + STREAMS:
        ahead = [
            100.0
            * (
                np.array(records["whole", HELD, name, order]["pa_ap"])
                - np.array(records["whole", FREQUENCIES, name, order]["pa_ap"])
            )
            for order in orders
        ]
        worst = np.min(ahead, axis=0) + 0.0
        cells = " | ".join(f"{pa:+.1f} / {ap:+.1f}" for pa, ap in worst)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def trial_table(records):
    """Return PA and AP of the warm-up, mean over orders, and the worst difference at any length."""
    lines = ["| | " + " | ".join(SETS) + " | drifting-clusters | worst PA | worst AP |"]
    lines.append("|---" * (len(SETS) + 4) + "|")
    for setting in TRIALS:
        cells, worst = [], []
        for name in SETS + STREAMS:
            found = [records["trial", setting, name, order] for order in ORDERS]
            means = np.mean([r["pa_ap"][-1] for r in found], axis=0)
            if name in SETS or name == STREAMS[0]:
                cells.append(pair(means))
            for order, one in zip(ORDERS, found, strict=True):
                base = records["whole", FREQUENCIES, name, order]
                n = sum(length < WARM_UP for length in base["lengths"])
                worst.append(np.subtract(one["pa_ap"][:n], base["pa_ap"][:n]).min(axis=0))
        low = 100.0 * np.min(worst, axis=0)
        lines.append(f"| {setting} | {' | '.join(cells)} | {low[0]:+.1f} | {low[1]:+.1f} |")
    return "\n".join(lines)


def cost_table(records):
    """Return CPU seconds of the rows that are held, by set, file order."""
    lines = ["| | " + " | ".join(SETS) + " |", "|---" * (len(SETS) + 1) + "|"]
    for setting in (WAITING, HELD):
        cells = [f"{records['whole', setting, n, 'file']['warm_up_cpu']:.2f}" for n in SETS]
        lines.append(f"| {setting} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write_page(records):
    """Put the tables between their marks."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {"whole": whole_table, "ahead": ahead_table, "trials": trial_table, "cost": cost_table}
    tables["new"] = partial(ahead_table, orders=NEW_ORDERS)
    for name, make in tables.items():
        begin, end = f"<!-- from-nothing-{name}:begin -->", f"<!-- from-nothing-{name}:end -->"
        inside = f"{begin}\n{make(records)}\n{end}"
        text = re.sub(f"{begin}.*?{end}", lambda _, new=inside: new, text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    found = run_missing()
    if PAGE.exists():
        write_page(found)
