"""Few rules that decide alone: splitting, activation, vigilance (decision 21).

``python experiments/decisions/rules_that_decide.py`` runs the settings inside the initial parts,
as the search for the defaults does, and the default on whole sets and built-in streams; a second
call only adds what is missing. Writes the tables of the decision. ``--as-before FOLDER`` runs the
lines "as before" instead, with all the code of a checkout from before the decision, this file
excepted.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from inside import ORDERS, method, read, run_all

import efcml
from efcml import EFCMLClassifier, datasets, prequential
from efcml.model import batch
from efcml_paper.scale import SETS

RESULTS = Path(__file__).parents[1] / "results" / "decisions"
PAGE = Path(__file__).parents[2] / "docs" / "decisions" / "0021-rules-that-decide.md"
IS_OLD = "EFCML_AS_BEFORE" in os.environ
NAME = "rules-that-decided-before" if IS_OLD else "rules-that-decide"
SHARES = (0.15, 0.5, 0.75)
BEFORE = {"as before": {}, "as before, no cases": {"cases": 0}}
SETTINGS = {
    "the default": {},
    "the default, no cases": {"cases": 0},
    "bandwidth 1": {"bandwidth": 1.0},
    "bandwidth of the dimension": {"bandwidth": "dimension"},
    "vigilance 1": {"vigilance": 1.0},
    "vigilance 3": {"vigilance": 3.0},
    "split beyond 40 %": {"split_share": 0.4},
    "split beyond 20 %": {"split_share": 0.2},
    "cut across the longest axis": {"splitting": "axis"},
    "no splitting": {"splitting": "off"},
    "labels do not win rows": {"product_space": False},
    "distance instead of density": {"activation": "distance"},
    "small rules stay": {"least_share": 0.0},
    "one rule": {"max_rules": 1},
}
STREAMS = {"drifting-clusters": (1, 2, 3), "drifting-clusters-2d": (1, 2, 3)}
STREAMS |= {"stationary-clusters": (1, 2, 3)}
LARGE = "mediamill"  # run with one setting
WHOLE_SETTINGS = {"the default": {}, "bandwidth 1": {"bandwidth": 1.0}}
WHOLE_SETTINGS |= {"the default, no cases": {"cases": 0}}
CRISP_BEFORE = {"as before": {}, "as before, bandwidth 1": {"bandwidth": 1.0}}


def structure(clf, X):
    """Return how the rules share the decisions about rows, and how their answers differ.

    Effective rules: median over the rows of exp(entropy of the activations). Largest: share of the
    rows at which one rule is the strongest. Spread: standard deviation of the rules' answers at
    their centers, weighted by these rows, mean over the labels.
    """
    learner = clf.learner_
    rules, rows = learner.rules, learner.scaler.transform(np.asarray(X, dtype=float))
    psi = batch.activations(rules, rows, learner.settings.replace(activation_floor=0.0))
    entropy = -(psi * np.log(np.maximum(psi, 1e-300))).sum(axis=1)
    won = np.bincount(psi.argmax(axis=1), minlength=rules.n_rules) / len(rows)
    centers = batch.extended(rules.center[:, : rules.n_features])
    answers = np.einsum("rp,rkp->rk", centers, rules.W)
    spread = np.sqrt(won @ (answers - won @ answers) ** 2).mean()
    return {
        "effective": float(np.median(np.exp(entropy))),
        "top": float(np.median(psi.max(axis=1))),
        "largest": float(won.max()),
        "spread": float(spread),
    }


def run_whole(name, seed, parameters):
    """Return one record of the published split of a set, or of a built-in stream."""
    ds = datasets.load(name) if seed is None else datasets.load(name, seed=seed)
    clf = EFCMLClassifier(**parameters).fit(*ds.initial)
    begin = time.process_time()
    result = prequential(clf, *ds.stream)
    seconds = time.process_time() - begin
    return {
        "set": name,
        "seed": seed,
        "parameters": parameters,
        "version": efcml.__version__,
        "method": method(),
        "pa": result.pa,
        "ap": result.ap,
        "rules": clf.n_rules_,
        "most_rules": int(result.rules.max()),
        "counts": clf.learner_.counts,
        "cpu_ms_per_sample": 1e3 * seconds / len(result.Y),
    } | structure(clf, ds.X)


def run_all_whole(settings):
    """Run settings on the small sets and the built-in streams; append what is not there yet."""
    out = RESULTS / f"{NAME}-whole.jsonl"
    have = {(r["setting"], r["set"], r["seed"]) for r in read(out)}
    seeds = {name: (None,) for name in SETS} | STREAMS
    todo = [(setting, name, seed) for setting in settings for name in seeds for seed in seeds[name]]
    todo.append((next(iter(settings)), LARGE, None))
    efcml.warmup()
    for setting, name, seed in todo:
        if (setting, name, seed) not in have:
            record = {"setting": setting} | run_whole(name, seed, settings[setting])
            with out.open("a") as file:
                file.write(json.dumps(record) + "\n")


def records_of(part):
    """Return the records of both versions: of a share fitted first, or of whole sets."""
    names = "rules-that-decided-before", "rules-that-decide"
    return [record for name in names for record in read(RESULTS / f"{name}-{part}.jsonl")]


def whole_table(records):
    """Return one line per setting and set: scores, rules, and how they share the decisions."""
    head = (
        "| set | setting | PA / AP | rules | effective | top share | largest | spread | ms a row |"
    )
    lines = [head, "|---" * 9 + "|"]
    for name in (*SETS, LARGE, *STREAMS):
        for setting in (*CRISP_BEFORE, *WHOLE_SETTINGS):
            rows = [r for r in records if (r["setting"], r["set"]) == (setting, name)]
            if not rows:
                continue
            fields = (
                "pa",
                "ap",
                "rules",
                "effective",
                "top",
                "largest",
                "spread",
                "cpu_ms_per_sample",
            )
            pa, ap, rules, *shares, spread, ms = np.mean([[r[f] for f in fields] for r in rows], 0)
            effective, top, largest = shares
            lines.append(
                f"| {name} | {setting} | {pa:.4f} / {ap:.4f} | {rules:.3g} | {effective:.1f} | "
                f"{top:.2f} | {largest:.0%} | {spread:.3f} | {ms:.2f} |"
            )
    return "\n".join(lines)


def write_between(mark, text):
    """Replace what stands between two marks of the page."""
    begin, end = f"<!-- {mark}:begin -->\n", f"\n<!-- {mark}:end -->"
    head, rest = PAGE.read_text().split(begin)
    PAGE.write_text(head + begin + text + end + rest.split(end)[1])
    print(text)


def run_as_before(folder, jobs):
    """Run this file with the code of another checkout."""
    paths = [f"{folder}/experiments/decisions", f"{folder}/experiments", folder]
    program = (
        f"import runpy, sys; sys.path[:0] = {paths}; runpy.run_path({__file__!r}, None, 'old')"
    )
    program += f".get('run_parts')({jobs})"
    old = os.environ | {"EFCML_AS_BEFORE": "1"}
    subprocess.run([sys.executable, "-c", program], env=old, check=True)


def run_parts(jobs):
    """Run what is missing of this version."""
    for share in SHARES:
        out = RESULTS / f"{NAME}-{100 * share:.0f}.jsonl"
        run_all(BEFORE if IS_OLD else SETTINGS, out, ORDERS, share, jobs)
    run_all_whole(CRISP_BEFORE if IS_OLD else WHOLE_SETTINGS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--as-before", metavar="FOLDER", help="checkout from before the decision")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    if given.as_before:
        run_as_before(given.as_before, given.jobs)
    else:
        run_parts(given.jobs)
        from inside import table_by_share  # not above: the code before has none

        write_between(
            "inside",
            table_by_share((*BEFORE, *SETTINGS), {s: records_of(f"{100 * s:.0f}") for s in SHARES}),
        )
        write_between("whole", whole_table(records_of("whole")))
