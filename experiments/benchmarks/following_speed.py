"""CPU of a learned row with the default, with ``forgetting=1`` and with a frozen scale, in turn.

The published splits, and a built-in stream; every model learns the same rows in one process, one
after the other, several times, and the least CPU counts. Usage: ``python
experiments/benchmarks/following_speed.py [--out FILE]``.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import efcml
from efcml import EFCMLClassifier, datasets
from efcml.studies.provenance import machine, method

ROWS = {  # that are learned; all of the stream, if it is shorter
    "emotions": 1000,
    "birds": 1000,
    "water-quality": 1000,
    "yeast": 1000,
    "mediamill": 300,
    "drifting-clusters": 3000,
}
VARIANTS = {"default": {}, "forgetting=1": {"forgetting": 1.0}, "frozen": {"scaling": "frozen"}}
TURNS = 5


def measure(name, rows, turns):
    """Return the CPU milliseconds of a learned row, for each variant."""
    ds = datasets.load(name)
    X, Y = (part[:rows] for part in ds.stream)
    models = {key: EFCMLClassifier(**made).fit(*ds.initial) for key, made in VARIANTS.items()}
    least = dict.fromkeys(models, float("inf"))
    for _ in range(turns):
        for key, model in models.items():
            learner = model.learner_.copy()
            start = time.process_time()
            learner.learn(X, Y)
            least[key] = min(least[key], time.process_time() - start)
    return {"data": name, "rows": len(X)} | {
        key: 1e3 * seconds / len(X) for key, seconds in least.items()
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Measure what following a stream costs.")
    parser.add_argument("--out", type=Path, help="write the figures there")
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args(arguments)
    efcml.warmup()
    lines = []
    for name, rows in ROWS.items():
        lines.append(measure(name, rows, given.turns))
        ratio = lines[-1]["default"] / lines[-1]["forgetting=1"]
        print(f"{name}: {lines[-1]['default']:.3f} ms, {ratio:.2f} times forgetting=1", flush=True)
    if given.out:
        record = {"efcml": efcml.__version__, "method": method(), "machine": machine()}
        given.out.write_text(json.dumps(record | {"lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
