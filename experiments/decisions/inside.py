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
MORE_ORDERS = ORDERS + tuple(f"shuffle-{seed}" for seed in range(3, 9))
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
    models = {name: EFCMLClassifier(**parameters) for name, parameters in settings.items()}
    given = {name: {"parameters": parameters} for name, parameters in settings.items()}
    return run_models(models, out, orders, share, jobs, given=given)


def run_models(models, out, orders, share, jobs=2, *, word="setting", given=None):
    """Run models by name; ``word`` is what records call the name, ``given`` what else they say."""
    have = {(r[word], r["set"], r["order"], r.get("share", share)) for r in read(out)}
    keys = [(m, name, order, share) for m in models for name in SETS for order in orders]
    missing = [key for key in keys if key not in have]
    if missing:
        data = {
            f"{name}, {order}": ordered_initial_part(name, order, share)
            for name, order in dict.fromkeys(key[1:3] for key in missing)
        }
        wanted = {name: models[name] for name in dict.fromkeys(key[0] for key in missing)}
        folder = KEPT / f"{out.stem}-{100 * share:.0f}"
        study = Study(wanted, data, orders=1, folder=folder).run(jobs)
        with out.open("a") as file:
            for name, dataset, order, _ in missing:
                line = {word: name, "set": dataset, "order": order} | (given or {}).get(name, {})
                result = study.result(name, f"{dataset}, {order}")
                file.write(json.dumps(line | record_of(result) | {"share": share}) + "\n")
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
        with out.open("a") as file:
            for (name, model), key in missing.items():
                line = key | record_of(study.result(model, name))
                line |= {} if more is None else more(study, name, model)
                line |= study.noted(model, name) if "note" in options else {}
                file.write(json.dumps(line) + "\n")
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


def table_by_share(settings, records):
    """Return mean PA / AP by share fitted first, and the rules at the end with half fitted.

    ``records`` are those of every share.
    """
    shares = " | ".join(f"{share:.0%} fitted" for share in records)
    rules = f"rules on {', '.join(SETS)}, half fitted"
    lines = [f"| setting | {shares} | {rules} |", "|---" * (len(records) + 2) + "|"]
    for setting in settings:
        tables = {share: averages(found, setting) for share, found in records.items()}
        means = [np.mean([row[:2] for row in table.values()], axis=0) for table in tables.values()]
        cells = " | ".join(f"{pa:.4f} / {ap:.4f}" for pa, ap in means)
        rules = " / ".join(f"{row[2]:.0f}" for row in tables[0.5].values())
        lines.append(f"| {setting} | {cells} | {rules} |")
    return "\n".join(lines)


def print_table(records, settings):
    """Print one line per setting: mean PA and AP, then each set."""
    for setting in settings:
        table = averages(records, setting)
        pa, ap = np.mean([[row[0], row[1]] for row in table.values()], axis=0)
        cells = "  ".join(f"{r[0]:.4f}/{r[1]:.4f} ({r[2]:.0f})" for r in table.values())
        print(f"{setting:28} {pa:.4f} {ap:.4f} {(pa + ap) / 2:.4f} | {cells}")
