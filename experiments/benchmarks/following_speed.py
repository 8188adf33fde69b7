"""CPU of a learned row with the default, with ``forgetting=1`` and with a frozen scale, in turn.

The published splits, and a built-in stream; every model learns the same rows in one process, one
after the other, several times, and the least CPU counts. Usage: ``python
experiments/benchmarks/following_speed.py [--out FILE]``.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from in_turns import learning, least_cpu, measure_all

from efcml import EFCMLClassifier, datasets

ROWS = {  # that are learned; all of the stream, if it is shorter
    "emotions": 1000,
    "birds": 1000,
    "water-quality": 1000,
    "yeast": 1000,
    "mediamill": 300,
    "drifting-clusters": 3000,
}
VARIANTS = {"default": {}, "forgetting=1": {"forgetting": 1.0}, "frozen": {"scaling": "frozen"}}


def measure(name, rows, turns):
    """Return the CPU milliseconds of a learned row, for each variant."""
    ds = datasets.load(name)
    X, Y = (part[:rows] for part in ds.stream)
    models = {key: EFCMLClassifier(**made).fit(*ds.initial) for key, made in VARIANTS.items()}
    works = {key: learning(model.learner_, X, Y) for key, model in models.items()}
    spent = least_cpu(works, turns)
    return {"data": name, "rows": len(X)} | {key: 1e3 * cpu / len(X) for key, cpu in spent.items()}


def tell(line):
    """Return a line for people."""
    ratio = line["default"] / line["forgetting=1"]
    return f"{line['data']}: {line['default']:.3f} ms, {ratio:.2f} times forgetting=1"


def main(arguments=None):
    measure_all("Measure what following a stream costs.", ROWS, measure, tell, arguments)


if __name__ == "__main__":
    main()
