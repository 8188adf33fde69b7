"""One pass over all of mediamill (43 907 rows, 101 labels), ten rules, one core.

Usage: ``python experiments/benchmarks/mediamill_pass.py [--out FILE]``. Every row is predicted,
scored and learned; nothing is fitted before but the warm-up rows of the stream. Compile time is
apart.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import efcml
from efcml import EFCMLClassifier, datasets, prequential
from efcml.studies.provenance import method

WANTED_MINUTES = 6.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    ds = datasets.load("mediamill")
    efcml.warmup()
    clf = EFCMLClassifier(max_rules=10)
    wall, cpu = time.perf_counter(), time.process_time()
    result = prequential(clf, ds.X, ds.Y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    record = {
        "method": method(),
        "machine": platform.machine(),
        "version": efcml.__version__,
        "rows": len(ds),
        "minutes": wall / 60,
        "cpu_minutes": cpu / 60,
        "wanted_minutes": WANTED_MINUTES,
        "ms_per_sample": 1e3 * wall / len(ds),
        "rules": int(result.rules[-1]),
        "most_rules": int(result.rules.max()),
        "pa": result.pa,
        "ap": result.ap,
        "parameters": clf.get_params(),
    }
    print(json.dumps(record, indent=2))
    if options.out:
        options.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
