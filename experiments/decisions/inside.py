"""Prequential runs inside the initial parts of the four small sets; the streams are never touched.

Every initial part is run in several orders (as filed, reversed, seeded shuffles): a first share of
it, half unless said otherwise, is fitted, the rest is a stream, test-then-train. Defaults are
chosen and parts are judged here.
"""

import json
from pathlib import Path

import numpy as np

import efcml
from efcml import EFCMLClassifier, Study, datasets
from efcml.studies.provenance import method
from efcml_paper.scale import SETS

ORDERS = ("file", "reversed", "shuffle-1", "shuffle-2")
KEPT = Path(__file__).parents[1] / "kept"  # runs of studies that were interrupted


def ordered_initial_part(name, order, share):
    """Return the initial part of a set in one of the orders, the first share of it to be fitted."""
    X, Y = datasets.load(name).initial
    rows = np.arange(len(X))
    if order == "reversed":
        rows = rows[::-1]
    elif order.startswith("shuffle"):
        rows = np.random.default_rng(int(order.split("-")[1])).permutation(len(X))
    return datasets.from_arrays(X[rows], Y[rows], n_initial=int(share * len(X)))


def run_all(settings, out, orders=ORDERS, share=0.5, jobs=2):
    """Run every named setting on every set and order; append records, skip those already there.

    ``settings`` maps a name to the parameters that differ from the defaults.
    """
    have = {(r["setting"], r["set"], r["order"]) for r in read(out)}
    keys = [(s, name, order) for s in settings for name in SETS for order in orders]
    missing = [key for key in keys if key not in have]
    if missing:
        data = {
            f"{name}, {order}": ordered_initial_part(name, order, share)
            for name, order in dict.fromkeys(key[1:] for key in missing)
        }
        wanted = {name: EFCMLClassifier(**settings[name]) for name, _, _ in missing}
        study = Study(wanted, data, orders=1, folder=KEPT / out.stem).run(jobs)
        append(
            out,
            (
                {"setting": name, "set": dataset, "order": order, "parameters": settings[name]}
                | record_of(study.result(name, f"{dataset}, {order}"))
                for name, dataset, order in missing
            ),
        )
    return read(out)


def run_missing(out, keys, models, data, *, more=None, jobs=1, **options):
    """Run what has no record yet, in file order, as a study; append the records, return all.

    Parameters
    ----------
    out : path
    keys : dict
        What records say of a run before it is done, by names of data set and model.
    models : dict
    data : dict of callables
        Each returns a data set; only those that are needed are called.
    more : callable, optional
        Gets the study and both names and returns what else a record says.
    **options
        Of the study; records say what its note says.
    """
    there = read(out)
    missing = {
        cell: key
        for cell, key in keys.items()
        if not any(key.items() <= record.items() for record in there)
    }
    if missing:
        wanted = {model: models[model] for _, model in missing}
        loaded = {name: data[name]() for name in dict.fromkeys(name for name, _ in missing)}
        options |= {"orders": 1, "only": lambda name, model, order: (name, model) in missing}
        study = Study(wanted, loaded, **options).run(jobs)
        lines = []
        for (name, model), key in missing.items():
            line = key | record_of(study.result(model, name))
            line |= {} if more is None else more(study, name, model)
            lines.append(line | (study.noted(model, name) if "note" in options else {}))
        append(out, lines)
    return read(out)


def record_of(result):
    """Return what is kept of a run."""
    return {
        "version": efcml.__version__,
        "method": method(),
        "pa": result.pa,
        "ap": result.ap,
        "rules": int(result.rules[-1]),
        "events": result.event_counts,
        "ms_per_sample": 1e3 * result.seconds_per_sample,
    }


def append(path, records):
    """Add records to a results file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


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
