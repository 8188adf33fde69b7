"""How much a test does: a little in `make test`, the full amount in `make soak`.

With EFCML_SOAK=1 the tests also write what they did to ``experiments/results/soak/faults.json``,
from which docs/reliability.md is made.
"""

import json
import os
import time
from contextlib import contextmanager
from pathlib import Path

SOAK = os.environ.get("EFCML_SOAK", "0") not in ("", "0")
FIGURES = Path(__file__).resolve().parents[2] / "experiments/results/soak/faults.json"


def amount(short, full):
    """Return the number for this run."""
    return full if SOAK else short


@contextmanager
def counted(name):
    """Yield a dictionary of figures; a full run writes it, with the seconds it took."""
    figures, begin = {}, time.perf_counter()
    yield figures
    if SOAK:
        found = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
        found[name] = figures | {"seconds": round(time.perf_counter() - begin, 1)}
        FIGURES.parent.mkdir(parents=True, exist_ok=True)
        FIGURES.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
