"""Few rules that decide alone: splitting, activation, vigilance (decision 21).

``python experiments/decisions/rules_that_decide.py`` runs the settings inside the initial parts,
as the search for the defaults does, and the default on whole sets and built-in streams; a second
call only adds what is missing. Writes the tables of the decision. The records of the lines "as
before" were made with the code from before the decision, and are not made again.
"""

import argparse
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from inside import ORDERS, read, run_all, run_missing, table_by_share

from efcml import EFCMLClassifier, datasets
from efcml.model import batch
from efcml_paper.scale import SETS

RESULTS = Path(__file__).parents[1] / "results" / "decisions"
PAGE = Path(__file__).parents[2] / "docs" / "decisions" / "0021-rules-that-decide.md"
NAMES = "rules-that-decided-before", "rules-that-decide"
SHARES = (0.15, 0.5, 0.75)
BEFORE = ("as before", "as before, no cases")
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
CRISP_BEFORE = ("as before", "as before, bandwidth 1")


@lru_cache(1)
def load(name, seed):
    """Return a set by its published split (seed None), or a built-in stream."""
    return datasets.load(name) if seed is None else datasets.load(name, seed=seed)


def structure(name, seed, clf, result):
    """Return how the rules share the decisions about rows, and how their answers differ.

    Effective rules: median over the rows of exp(entropy of the activations). Largest: share of the
    rows at which one rule is the strongest. Spread: standard deviation of the rules' answers at
    their centers, weighted by these rows, mean over the labels.
    """
    learner, X = clf.learner_, load(name, seed).X
    rules, rows = learner.rules, learner.scaler.transform(np.asarray(X, dtype=float))
    psi = batch.activations(rules, rows, learner.settings.replace(activation_floor=0.0))
    entropy = -(psi * np.log(np.maximum(psi, 1e-300))).sum(axis=1)
    won = np.bincount(psi.argmax(axis=1), minlength=rules.n_rules) / len(rows)
    centers = batch.extended(rules.center[:, : rules.n_features])
    answers = np.einsum("rp,rkp->rk", centers, rules.W)
    spread = np.sqrt(won @ (answers - won @ answers) ** 2).mean()
    return {
        "most_rules": int(result.rules.max()),
        "counts": learner.counts,
        "effective": float(np.median(np.exp(entropy))),
        "top": float(np.median(psi.max(axis=1))),
        "largest": float(won.max()),
        "spread": float(spread),
    }


def run_whole(out, settings, seeds):
    """Run settings on whole sets and streams; append what is not there yet."""
    models = {name: EFCMLClassifier(**parameters) for name, parameters in settings.items()}
    for name, seed in seeds:
        keys = {
            (name, setting): {"setting": setting, "set": name, "seed": seed, "parameters": given}
            for setting, given in settings.items()
            if name != LARGE or setting == "the default"
        }
        data, note = {name: partial(load, name, seed)}, partial(structure, name, seed)
        run_missing(out, keys, models, data, note=note)


def records_of(part):
    """Return the records of both versions: of a share fitted first, or of whole sets."""
    return [record for name in NAMES for record in read(RESULTS / f"{name}-{part}.jsonl")]


FIELDS = ("pa", "ap", "rules", "effective", "top", "largest", "spread")


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
            pa, ap, rules, *shares, spread = np.mean([[r[f] for f in FIELDS] for r in rows], 0)
            ms = np.mean([r.get("cpu_ms_per_sample", r.get("ms_per_sample")) for r in rows])
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    jobs = parser.parse_args().jobs
    for share in SHARES:
        run_all(SETTINGS, RESULTS / f"{NAMES[1]}-{100 * share:.0f}.jsonl", ORDERS, share, jobs)
    seeds = [(name, None) for name in (*SETS, LARGE)]
    seeds += [(name, seed) for name in STREAMS for seed in STREAMS[name]]
    run_whole(RESULTS / f"{NAMES[1]}-whole.jsonl", WHOLE_SETTINGS, seeds)
    inside = {share: records_of(f"{100 * share:.0f}") for share in SHARES}
    write_between("inside", table_by_share((*BEFORE, *SETTINGS), inside))
    write_between("whole", whole_table(records_of("whole")))


if __name__ == "__main__":
    main()
