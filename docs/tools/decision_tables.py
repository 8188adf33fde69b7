"""Tables of what experiments/decisions ran: parts, rivals, streams, scales, grids, features."""

import json

import numpy as np
from following_tables import DEFAULT, RECORDS, read
from speed_tables import markdown


def by(records, *names):
    """Return records by their values of some names, in the order of the file."""
    return {tuple(record[name] for name in names): record for record in records}


def parts_table(records=None):
    """Return what each part gives, in points: the default minus the default without it."""
    found = by(read("parts.jsonl") if records is None else records, "setting", "set", "order")
    sets = dict.fromkeys(name for _, name, _ in found)
    lines = []
    for setting in dict.fromkeys(setting for setting, _, _ in found):
        runs = {key[1:]: run for key, run in found.items() if key[0] == setting}
        gaps = 100.0 * np.array(
            [
                [found[DEFAULT, *place][measure] - run[measure] for measure in ("pa", "ap")]
                for place, run in runs.items()
            ]
        )
        halves = 1.96 * gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
        rules = (
            np.mean([run["rules"] for (name, _), run in runs.items() if name == one])
            for one in sets
        )
        lines.append(
            [
                setting,
                *(f"{m:+.2f} ± {h:.2f}" for m, h in zip(gaps.mean(axis=0), halves, strict=True)),
                " / ".join(f"{number:.0f}" for number in rules),
            ]
        )
    head = ["changed", "PA of the default above it", "AP of the default above it", "rules"]
    return markdown(head, lines)


def rivals_table():
    """Return PA / AP and rules of every model on the small sets."""
    from efcml.rivals import MODELS

    found = by(read("rivals.jsonl"), "model", "set")
    sets = list(dict.fromkeys(name for _, name in found))
    lines = []
    for model, entry in MODELS.items():
        runs = [found[model, name] for name in sets]
        rules = [f", {run['rules']} rules" if run["rules"] else "" for run in runs]
        scores = [f"{run['pa']:.3f} / {run['ap']:.3f}" for run in runs]
        lines.append([entry.title, *map("".join, zip(scores, rules, strict=True))])
    return markdown(["model", *sets], lines)


def synthetic_table():
    """Return PA of every model on the built-in streams."""
    scores = json.loads((RECORDS / "synthetic.json").read_text(encoding="utf-8"))["scores"]
    lines = [
        [model, *(f"{run['pa']:.3f}" for run in runs.values())] for model, runs in scores.items()
    ]
    return markdown(["partial accuracy", *next(iter(scores.values()))], lines)


def moved_scales_table(records=None):
    """Return accuracy around a change of units: means over the draws, and changes of all."""
    found = {}
    for run in read("moved-scales.jsonl") if records is None else records:
        found.setdefault((run["happens"], run["scale"]), []).append(run)
    lines = []
    for place, runs in found.items():
        spans = (np.mean([run["spans"][name] for run in runs]) for name in runs[0]["spans"])
        moved, left = (sum(run[key] for run in runs) for key in ("re_expressed", "left"))
        lines.append([*place, *(f"{value:.3f}" for value in spans), f"{moved} / {left}"])
    spans = next(iter(found.values()))[0]["spans"]
    head = ["what happens", "scale", *spans, "re-expressed / left as it was"]
    return markdown(head, lines)


def named_features_table():
    """Return for each set how many rules name features that matter more than others."""
    records = read("named-features.jsonl")
    lines = []
    for name in dict.fromkeys(record["set"] for record in records):
        cells, rules = [], [record for record in records if record["set"] == name]
        for what in ("activation", "decisions"):
            pairs = [record[what] for record in rules if record[what][1] is not None]
            better = sum(named > other for named, other in pairs)
            named, other = (sum(part) / len(pairs) for part in zip(*pairs, strict=True))
            cells += [f"{better} of {len(pairs)}", f"{named:.3f}", f"{other:.3f}"]
        lines.append([name, str(len(rules)), *cells])
    lost, turned = "activation lost: more than by others", "decisions turned: more than by others"
    return markdown(["data", "rules", lost, "named", "others", turned, "named", "others"], lines)
