"""What the built-in streams ask for: one plane, the default, and narrow rules, test-then-train.

``python experiments/decisions/synthetic_scores.py`` writes
``experiments/results/decisions/synthetic.json``; `make docs-tables` writes the table of it. The
plane is a single rule with the best of three forgetting factors picked on the stream itself, so it
is optimistic.
"""

import json
from pathlib import Path

import numpy as np

import efcml
from efcml import EFCMLClassifier, Study, datasets
from efcml.measures import partial_accuracy
from efcml.studies.provenance import method

OUT = Path(__file__).parents[1] / "results" / "decisions" / "synthetic.json"
STREAMS = {
    "drifting-clusters, seed 0": ("drifting-clusters", 0),
    "seed 1": ("drifting-clusters", 1),
    "seed 2": ("drifting-clusters", 2),
    "drifting-clusters-2d": ("drifting-clusters-2d", 0),
    "stationary-clusters": ("stationary-clusters", 0),
}
MODELS = {
    "one plane": [{"max_rules": 1, "cases": 0, "forgetting": f} for f in (1.0, 0.999, 0.99)],
    "rules alone": [{"cases": 0}],
    "rules alone, bandwidth 1": [{"cases": 0, "bandwidth": 1.0}],
    "30 rules alone, bandwidth 1": [
        {"cases": 0, "bandwidth": 1.0, "vigilance": 0.5, "max_rules": 30}
    ],
    "one plane and cases": [{"max_rules": 1}],
    "default": [{}],
    "default, bandwidth 1": [{"bandwidth": 1.0}],
}


def frequencies(ds):
    """Return PA of always answering what most rows of the initial part say."""
    labels = np.tile(ds.initial[1].mean(axis=0) >= 0.5, (len(ds) - ds.n_initial, 1))
    return {"pa": partial_accuracy(ds.stream[1], labels.astype(float))}


def best_run(study, title, model):
    """Return the best of the settings of a model by PA, on one stream."""
    runs = []
    for number, parameters in enumerate(MODELS[model]):
        result = study.result(f"{model} {number}", title)
        found = {"pa": result.pa, "ap": result.ap, "rules": int(result.rules[-1])}
        runs.append(found | {"parameters": parameters})
    return max(runs, key=lambda run: run["pa"])


def main():
    streams = {title: datasets.load(name, seed=seed) for title, (name, seed) in STREAMS.items()}
    models = {
        f"{model} {number}": EFCMLClassifier(**parameters)
        for model, settings in MODELS.items()
        for number, parameters in enumerate(settings)
    }
    study = Study(models, streams, orders=1).run()
    table = {"label frequencies of the initial part": {t: frequencies(streams[t]) for t in streams}}
    for model in MODELS:
        table[model] = {title: best_run(study, title, model) for title in streams}
    record = {"version": efcml.__version__, "method": method(), "scores": table}
    OUT.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
