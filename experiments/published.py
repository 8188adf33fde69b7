"""The default on the four small published sets: initial part fitted, rest test-then-train.

``python experiments/published.py`` takes seconds once compiled, and writes a line for each set to
``experiments/results/published.jsonl``; ``docs/tools/write_docs.py`` makes the table of results of
it. File order, default parameters, nothing tuned.
"""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from efcml import EFCMLClassifier, __version__, datasets, prequential, warmup

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "experiments" / "results" / "published.jsonl"
SETS = ("emotions", "birds", "water-quality", "yeast")


def hash_of_method(root=ROOT):
    """Return which method it was: a hash of the sources of kernels and model."""
    digest = hashlib.sha256()
    for folder in ("kernels", "model"):
        for path in sorted((root / "efcml" / folder).glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def run(name):
    """Return the record of a set."""
    ds = datasets.load(name)
    clf = EFCMLClassifier().fit(*ds.initial)
    result = prequential(clf, *ds.stream)
    return {
        "set": name,
        "features": ds.X.shape[1],
        "labels": ds.Y.shape[1],
        "initial": ds.n_initial,
        "rows": len(result.Y),
        "pa": round(result.pa, 4),
        "ap": round(result.ap, 4),
        "rules": clf.n_rules_,
        "ms": round(1e3 * result.seconds_per_sample, 2),
        "version": __version__,
        "method": hash_of_method(),
        "date": datetime.now(UTC).date().isoformat(),
    }


if __name__ == "__main__":
    warmup()
    records = [json.dumps(run(name)) for name in SETS]
    OUT.write_text("\n".join(records) + "\n", encoding="utf-8")
    print(*records, sep="\n")
