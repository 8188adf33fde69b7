"""When and how often drift is told, on the built-in streams whose changes are known.

``python experiments/decisions/drift_detection.py`` runs the default, and the default with
``forgetting=1``, on ten draws of every stream with one kind of drift and of the stream without any,
test-then-train. It appends a record for each run to
``experiments/results/decisions/drift-detection.jsonl`` (the events, the changes, and the partial
accuracy of every hundred rows; runs that are there are skipped) and prints a table.
``docs/tools/following_tables.py`` makes the table and ``docs/tools/draw_following.py`` the picture.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
from inside import read, run_missing

from efcml import EFCMLClassifier, datasets
from efcml.datasets.streams import DRIFTS

ROOT = Path(__file__).parents[2]
OUT = ROOT / "experiments" / "results" / "decisions" / "drift-detection.jsonl"
STREAMS = (*DRIFTS, "stationary-clusters")
SEEDS = tuple(range(1, 11))
VARIANTS = {"default": {}, "forgetting=1": {"forgetting": 1.0}}
WINDOW = 100  # rows


def drifts_of(study, name, variant):
    """Return what is told and what happened; rows count from the first after the initial part."""
    result, ds = study.result(variant, name), study.plan.data[name].dataset
    right = ((result.scores >= 0.5) == result.Y).mean(axis=1)
    pieces = right[: len(right) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)
    return {
        "rows": len(right),
        "changes": {name: row - ds.n_initial for name, row in ds.marks.items()},
        "drifts": [[row, uid] for row, kind, uid in result.events if kind == "drift"],
        "window": WINDOW,
        "trend": np.round(pieces, 4).tolist(),
    }


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Measure when drift is told.")
    parser.add_argument("--only", nargs="+", choices=STREAMS, default=STREAMS, metavar="STREAM")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, metavar="SEED")
    given = parser.parse_args(arguments)
    models = {name: EFCMLClassifier(**parameters) for name, parameters in VARIANTS.items()}
    for stream in given.only:
        draws = {f"{stream}, {seed}": seed for seed in given.seeds}
        keys = {
            (name, variant): {"stream": stream, "seed": seed, "variant": variant}
            for name, seed in draws.items()
            for variant in VARIANTS
        }
        data = {name: partial(datasets.load, stream, seed=seed) for name, seed in draws.items()}
        run_missing(out, keys, models, data, more=drifts_of)
    sys.path.insert(0, str(ROOT / "docs" / "tools"))
    from following_tables import detection_table

    print(detection_table(read(out)))


if __name__ == "__main__":
    main()
