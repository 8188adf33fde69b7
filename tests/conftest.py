"""Settings that must be made before efcml, and with it numba, is imported.

Numba keeps compiled code on disk. It notices a change of the kernel's own file only, not of the
kernels it calls, and it does not know whether indices were checked. So every mode and every state
of the compiled sources gets its own cache folder.
"""

import hashlib
import os
import shutil
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHES_KEPT = 3  # per mode: the current one and those of the last edits


def numba_mode():
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "nojit"
    if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0"):
        return "boundscheck"
    return "jit"


def hash_of_kernels():
    digest = hashlib.sha256()
    rooms = (ROOT / "efcml" / room for room in ("_jit", "kernels"))
    for path in (path for room in rooms for path in sorted(room.glob("*.py"))):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def prepare_cache(parent, mode, digest):
    """Create the cache folder and remove the oldest ones of the same mode."""
    folder = parent / f"{mode}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    others = [path for path in parent.glob(f"{mode}-*") if path != folder]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[CACHES_KEPT - 1 :]:
        shutil.rmtree(path, ignore_errors=True)
    return folder


if "numba" in sys.modules:
    raise RuntimeError("numba was imported before tests/conftest.py could choose its cache folder")

# A shell that starts jobs in the background lets them ignore interrupts, and tests send some.
signal.signal(signal.SIGINT, signal.default_int_handler)

MODE = numba_mode()
os.environ["NUMBA_CACHE_DIR"] = str(prepare_cache(ROOT / ".numba_cache", MODE, hash_of_kernels()))
# Sums in BLAS depend on the number of threads, and tests compare bit for bit.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["MPLBACKEND"] = "Agg"

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from helpers.browser import browser  # noqa: E402, F401, for all that look at pages

from efcml.model.params import Parameters, Params  # noqa: E402

# Uncompiled, a row takes as long as the square of the cases; a few have every branch. Faces take
# their defaults from here when they are imported.
if MODE == "nojit":
    Parameters.cases = Parameters.__dataclass_fields__["cases"].default = 6
    Params.__init__.__kwdefaults__["cases"] = 6

# The same examples in every run. Uncompiled kernels are hundreds of times slower.
hypothesis.settings.register_profile(
    "efcml",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=100 if MODE == "jit" else 25,
)
hypothesis.settings.load_profile("efcml")


# Here kernels are tested themselves, so these run uncompiled too, where branches of kernels count.
# All other tests run once: uncompiled if they are `plain`, else compiled.
TWICE = (
    "test_kernels_*.py",
    "test_learner_trace.py",
    "test_learner_twins.py",
    "test_active_twins.py",
    "test_beginning.py",
    "test_calibration.py",
    "test_following_scale.py",
    "test_honest_errors.py",
    "test_label_*.py",
    "test_labels_together.py",
    "test_memories.py",
    "test_naive.py",
    "test_sequel.py",
    "test_splitting.py",
    "test_units.py",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if any(item.path.match(pattern) for pattern in TWICE):
            item.add_marker("twice")
            if MODE == "jit" and not item.get_closest_marker("slow"):
                item.add_marker("no_cover")  # the uncompiled run counts what it reaches


def pytest_report_header():
    return f"efcml: numba mode {MODE}"


@pytest.fixture
def rng():
    """A generator with a fixed seed, new for every test."""
    return np.random.default_rng(20260)
