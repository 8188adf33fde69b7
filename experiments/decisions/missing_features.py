"""What rules know of missing features, against filling them in; published splits, in file order.

``python experiments/decisions/missing_features.py`` takes values out of the four small sets, fits
the initial part, runs the stream test-then-train, and prints PA / AP. Values are missing at random,
10, 30 or 50 % of all, or a sensor is gone: a quarter of the columns in the middle third of the
stream. ``native`` leaves the gaps to the rules;
``mean`` puts the mean of the initial part there; ``iterative`` is scikit-learn's IterativeImputer,
fitted to the initial part. ``none`` is the set without gaps. Records are appended to
``experiments/results/decisions/missing-features.jsonl``, and what is there is not run again.
Nothing is chosen here.

``--only SET ...`` runs a part, ``--seed N`` draws other gaps.
"""

import argparse
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from inside import run_missing
from sklearn.experimental import enable_iterative_imputer  # noqa: F401, makes it importable
from sklearn.impute import IterativeImputer, SimpleImputer

from efcml import EFCMLClassifier, datasets
from efcml_paper.scale import SETS

OUT = Path(__file__).parents[1] / "results" / "decisions" / "missing-features.jsonl"
SHARES = {"10 %": 0.1, "30 %": 0.3, "50 %": 0.5}
SENSOR = "sensor"
PATTERNS = (*SHARES, SENSOR)
WAYS = ("native", "mean", "iterative")
NEAREST = (
    20  # features that the imputer looks at for one, where there are more; else it takes hours
)


def take_out(ds, pattern, seed):
    """Return the rows of a set with gaps."""
    X, rng = ds.X.copy(), np.random.default_rng(seed)
    if pattern in SHARES:
        X[rng.random(X.shape) < SHARES[pattern]] = np.nan
    elif pattern == SENSOR:
        p, third = X.shape[1], (len(X) - ds.n_initial) // 3
        gone = rng.choice(p, size=max(1, p // 4), replace=False)
        X[ds.n_initial + third : ds.n_initial + 2 * third, gone] = np.nan
    return X


def fill(way, X, n_initial, seed):
    """Return the rows as a model gets them."""
    if way == "native" or not np.isnan(X).any():
        return X
    imputer = SimpleImputer(keep_empty_features=True)
    if way == "iterative":
        nearest = NEAREST if X.shape[1] > NEAREST else None
        imputer = IterativeImputer(
            n_nearest_features=nearest, keep_empty_features=True, random_state=seed
        )
    return imputer.fit(X[:n_initial]).transform(X)


def load(name, pattern, way, seed, seconds):
    """Return a set as a model gets it; ``seconds`` gets what filling took, by pattern and way."""
    ds, begin = datasets.load(name), time.process_time()
    X = fill(way, take_out(ds, pattern, seed), ds.n_initial, seed)
    seconds[f"{pattern}, {way}"] = time.process_time() - begin
    return replace(ds, X=X)


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Take features out, and let models answer.")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args(arguments)
    plan = [("none", "native"), *((pattern, way) for pattern in PATTERNS for way in WAYS)]
    seconds = {}

    def more(study, rows, model):
        return {"fill_seconds": seconds[rows]}

    for name in given.only:
        keys, data = {}, {}
        for pattern, way in plan:
            seed, rows = 0 if pattern == "none" else given.seed, f"{pattern}, {way}"
            keys[rows, "default"] = {"set": name, "pattern": pattern, "way": way, "seed": seed}
            data[rows] = partial(load, name, pattern, way, seed, seconds)
        for record in run_missing(out, keys, {"default": EFCMLClassifier()}, data, more=more):
            if record["set"] == name:
                marks = f"{record['pa']:.4f} / {record['ap']:.4f}"
                print(f"{name}, {record['pattern']}, {record['way']}: {marks}", flush=True)


if __name__ == "__main__":
    main()
