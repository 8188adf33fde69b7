"""What a user waits for: import and first fit in a fresh process, cold and warm compilation cache.

Usage: ``python experiments/benchmarks/first_fit.py [--out FILE]``.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from efcml_paper.machine import method

ROOT = Path(__file__).resolve().parents[2]
WANTED = {"cold": 15.0, "warm": 1.5}

PROGRAM = """
import json, time
begin = time.perf_counter()
from efcml import EFCMLClassifier, datasets
ds = datasets.load("drifting-clusters")
imported = time.perf_counter()
clf = EFCMLClassifier().fit(ds.X[:300], ds.Y[:300])
fitted = time.perf_counter()
clf.partial_fit(ds.X[300:400], ds.Y[300:400])
clf.predict(ds.X[400:410])
done = time.perf_counter()
print(json.dumps({"import": imported - begin, "first_fit": fitted - imported,
                  "first_partial_fit_and_predict": done - fitted}))
"""


def run(cache):
    """Return the times of one fresh process that uses the cache folder given."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main():
    """Measure both, print them and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as cache:
        times = {"cold": run(cache), "warm": run(cache)}
    for kind, parts in times.items():
        line = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items())
        print(f"{kind}: {line} (first fit wanted: {WANTED[kind]:g} s)")
    if out:
        record = {
            "method": method(), "machine": platform.machine(), "wanted": WANTED, "seconds": times,
        }  # fmt: skip
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
