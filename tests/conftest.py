"""Settings that must be made before efcml, and with it numba, is imported."""

import os
import signal

# Sums in BLAS depend on the number of threads, and tests compare bit for bit.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["MPLBACKEND"] = "Agg"
# A shell that starts jobs in the background lets them ignore interrupts, and tests send some.
signal.signal(signal.SIGINT, signal.default_int_handler)

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from numba import config  # noqa: E402

from efcml.datasets import published  # noqa: E402
from efcml.model.params import Parameters, Params  # noqa: E402

# Uncompiled, a row takes as long as the square of the cases; a few have every branch. Faces take
# their defaults from here when they are imported.
if config.DISABLE_JIT:
    Parameters.cases = Parameters.__dataclass_fields__["cases"].default = 6
    Params.__init__.__kwdefaults__["cases"] = 6
    np.seterr(over="ignore")  # compiled code does not tell of it, either

# The same examples in every run of the gate; `make test-all` draws new ones, and more.
hypothesis.settings.register_profile(
    "gate",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=10 if config.DISABLE_JIT else 40,
)
hypothesis.settings.register_profile("all", deadline=None, max_examples=400)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))


# On every machine tests see only the published sets that they ask for, with the fixture `need`.
OPEN, FOLDERS, FIND = set(), published.searched_folders(), published.find_folder


def find_if_asked_for(record):
    folder = FIND(record)
    if folder in FOLDERS and record.name not in OPEN:
        raise AssertionError(f'before a test uses {record.name} it says need("{record.name}")')
    return folder


published.find_folder = find_if_asked_for


@pytest.fixture
def need():
    """A function that opens published sets to the test, which is skipped where one is nowhere."""

    def open_sets(*names):
        for name in names:
            if FIND(published.CATALOG[name]) is None:
                pytest.skip(f"the published data set {name} is not on this machine")
            OPEN.add(name)

    yield open_sets
    OPEN.clear()


def pytest_report_header():
    return f"efcml: kernels {'uncompiled' if config.DISABLE_JIT else 'compiled'}"


@pytest.fixture
def rng():
    """A generator with a fixed seed, new for every test."""
    return np.random.default_rng(20260)
