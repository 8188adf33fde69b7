"""Prequential runs inside the initial parts of the four small sets; the streams are never touched.

Every initial part is run in several orders (as filed, reversed, seeded shuffles): a first share of
it, half unless said otherwise, is fitted, the rest is a stream, test-then-train. Defaults are
chosen and parts are judged here.
"""

import json
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed

import efcml
from efcml import EFCMLClassifier, datasets, prequential
from efcml.studies.provenance import method
from efcml_paper.scale import SETS

ORDERS = ("file", "reversed", "shuffle-1", "shuffle-2")
MORE_ORDERS = ORDERS + tuple(f"shuffle-{seed}" for seed in range(3, 9))


def ordered_initial_part(name, order):
    """Return the initial part of a set in one of the orders."""
    ds = datasets.load(name)
    X, Y = ds.initial
    if order == "reversed":
        return X[::-1].copy(), Y[::-1].copy()
    if order.startswith("shuffle"):
        seed = int(order.split("-")[1])
        rows = np.random.default_rng(seed).permutation(len(X))
        return X[rows], Y[rows]
    return X, Y


def run(name, order, parameters, share=0.5):
    """Return one record: scores, rules and events of a run inside an initial part."""
    X, Y = ordered_initial_part(name, order)
    first = int(share * len(X))
    clf = EFCMLClassifier(**parameters).fit(X[:first], Y[:first])
    result = prequential(clf, X[first:], Y[first:])
    return {
        "set": name,
        "order": order,
        "parameters": parameters,
        "version": efcml.__version__,
        "method": method(),
        "pa": result.pa,
        "ap": result.ap,
        "rules": clf.n_rules_,
        "counts": clf.learner_.counts,
        "share": share,
        "prior": float(clf.learner_.prior_precision[0]),
        "ms_per_sample": 1e3 * result.seconds_per_sample,
    }


def run_all(settings, out, orders=ORDERS, share=0.5, jobs=2):
    """Run every named setting on every set and order; append records, skip those already there.

    ``settings`` maps a name to the parameters that differ from the defaults.
    """
    done = read(out)
    have = {(r["setting"], r["set"], r["order"]) for r in done}
    todo = [
        (setting, name, order)
        for setting in settings
        for name in SETS
        for order in orders
        if (setting, name, order) not in have
    ]
    efcml.warmup()
    out.parent.mkdir(parents=True, exist_ok=True)
    work = (delayed(run)(name, order, settings[setting], share) for setting, name, order in todo)
    with out.open("a") as file:
        results = Parallel(n_jobs=jobs, return_as="generator")(work)
        for (setting, _, _), record in zip(todo, results, strict=True):
            file.write(json.dumps({"setting": setting} | record) + "\n")
            file.flush()
    return read(out)


def read(path):
    """Return the records of a results file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def averages(records, setting):
    """Return {set: (PA, AP, rules)} averaged over the orders."""
    table = {}
    for name in SETS:
        rows = [r for r in records if r["setting"] == setting and r["set"] == name]
        table[name] = tuple(np.mean([[r["pa"], r["ap"], r["rules"]] for r in rows], axis=0))
    return table


def print_table(records, settings):
    """Print one line per setting: mean PA and AP, then each set."""
    for setting in settings:
        table = averages(records, setting)
        pa, ap = np.mean([[row[0], row[1]] for row in table.values()], axis=0)
        cells = "  ".join(f"{r[0]:.4f}/{r[1]:.4f} ({r[2]:.0f})" for r in table.values())
        print(f"{setting:28} {pa:.4f} {ap:.4f} {(pa + ap) / 2:.4f} | {cells}")
