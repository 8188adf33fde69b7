"""What a newcomer waits for, what a row costs, and how much memory: seconds of CPU.

Everything runs in new processes, one at a time.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST = """
import time
from efcml import EFCMLClassifier, datasets
imported = time.process_time()
stream = datasets.load("drifting-clusters")
clf = EFCMLClassifier().fit(*stream.initial)
clf.partial_fit(stream.X[-30:], stream.Y[-30:]).predict(stream.X[-30:])
print(json.dumps({"import": imported, "import, fit, 30 rows": time.process_time()}))
"""
FIT = """
import time
import numpy as np
from efcml import EFCMLClassifier
rng = np.random.default_rng(0)
H = rng.normal(size=(1200, 12))
X = np.tanh(H @ rng.normal(size=(12, 294))) + 0.5 * rng.normal(size=(1200, 294))
Y = (H @ rng.normal(size=(12, 6)) > 0.0).astype(float)
EFCMLClassifier().fit(X[:100], Y[:100])
begin = time.process_time()
EFCMLClassifier().fit(X, Y)
print(json.dumps({"fit of 1200 rows, 294 features, 6 labels": time.process_time() - begin}))
"""
ROWS = """
import time
from efcml import EFCMLClassifier, datasets
ds, found = datasets.load("drifting-clusters"), {}
X, Y = (part[:1000] for part in ds.stream)
for name, size in (("1000 rows in one call", 1000), ("1000 calls of one row", 1)):
    clf = EFCMLClassifier().fit(*ds.initial)
    begin = time.process_time()
    for t in range(0, 1000, size):
        clf.partial_fit(X[t : t + size], Y[t : t + size])
    found[name] = time.process_time() - begin
print(json.dumps(found))
"""
MEMORY = """
import tracemalloc
import numpy as np
from efcml import EFCMLClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(600, p))
Y = (X[:, :K] + rng.normal(size=(600, K)) > 0.0).astype(float)
EFCMLClassifier(relevance="off").fit(X[:300], Y[:300]).partial_fit(X[300:310], Y[300:310])
tracemalloc.start()
EFCMLClassifier(relevance="off").fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
most = tracemalloc.get_traced_memory()[1]
print(json.dumps({f"{p} features, {K} labels: MB": most / 2.0**20}))
"""


def run(program, cache, **values):
    """Return what a program prints in a new process."""
    head = "import json\n" + "".join(f"{name} = {value!r}\n" for name, value in values.items())
    env = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", head + program], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def seconds_of(*arguments):
    """Return the CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "efcml", *arguments], cwd=ROOT, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(quick):
    """Return lines of what was measured."""
    with tempfile.TemporaryDirectory() as cache:
        found = {f"{name}, nothing compiled": s for name, s in run(FIRST, cache).items()}
        del found["import, nothing compiled"]
        programs = (FIRST,) if quick else (FIRST, FIT, ROWS)
        for program in programs:
            found |= run(program, cache)
        for p, K in () if quick else ((10, 5), (100, 15), (100, 100), (300, 15)):
            found |= run(MEMORY, cache, p=p, K=K)
    found |= {"efcml --help": seconds_of("--help")}
    found |= {"efcml run, file missing": seconds_of("run", "nowhere.csv", "--labels", "a")}
    return [{"what": name, "value": value} for name, value in found.items()]
