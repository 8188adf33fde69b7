"""One learned row: the kernels against the same work in numpy, in one run.

The rivals are the twins of ``tests/naive/learner.py``: all rules at once in stacked numpy
operations, and a numpy loop over the rules. Every rule is active, the correlation penalty is on,
and proximal steps are taken as by default. Compilation is not counted. Usage: ``python
experiments/benchmarks/update_speed.py [--out FILE]``.
"""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from naive import learner as naive

import efcml
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.studies.provenance import method

# p, K, rules, rival, wanted ratio
CASES = (
    (72, 6, 20, "batched", 2.5),
    (260, 19, 20, "batched", 1.7),
    (16, 14, 20, "loop", 10.0),
)
PARAMETERS = dict(
    activation="density",
    alpha=0.05,
    beta=1.0,
    correlation="shift",
    lipschitz="exact",
    n_steps=1,
    step_interval=1.0,
    forgetting=1.0,
    variance_floor=0.1,
    activation_floor=0.0,
    birth_learning=True,
    product_space=True,
    cases=0,
)
PRIOR = 10.0


def make_learner(p, K, n_rules, rng, **changes):
    """Return a learner with exactly ``n_rules`` rules that neither bears nor merges any more."""
    params = Params(
        vigilance=1e-6,
        prior=PRIOR,
        merging=False,
        birth_width=0.3,
        **({"bandwidth": float(p), "max_rules": n_rules} | PARAMETERS | changes),
    )
    X = rng.normal(size=(n_rules, p))
    Y = (rng.random((n_rules, K)) < 0.3).astype(float)
    learner = Learner(params, p, K).fit(X, Y)
    learner.settings = learner.settings.replace(vigilance=1e9)
    return learner


def make_rival(kind, learner):
    """Return the numpy twin in the state of the learner."""
    arrays = {name: getattr(learner.rules, name) for name in naive.FIELD_NAMES}
    for name in ("W", "B", "D", "W_prior"):  # the twins keep them as the formulas are written
        arrays[name] = arrays[name].transpose(0, 2, 1)
    rival = {"batched": naive.BatchedNumpyLearner, "loop": naive.LoopNumpyLearner}[kind]
    names = [name for name in PARAMETERS if name not in ("birth_learning", "cases")]
    return rival(
        naive.unstack_rules(arrays),
        p=learner.n_features,
        K=learner.n_labels,
        S_0=learner.start_variance,
        prior=PRIOR,
        prior_intercept=learner.prior_precision[-1],
        bandwidth=float(learner.n_features),
        **{name: PARAMETERS[name] for name in names},
    )


def median_ms(function, rows):
    """Return the median time of one row in milliseconds."""
    times = []
    for x, y in rows:
        begin = time.perf_counter()
        function(x, y)
        times.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(times))


def run_case(p, K, n_rules, kind, wanted, n=150):
    """Time the learner and a rival on the same rows, a warm-up portion before."""
    rng = np.random.default_rng(0)
    learner = make_learner(p, K, n_rules, rng)
    rival = make_rival(kind, learner)
    X = rng.normal(size=(2 * n, p))
    Y = (X[:, :K] @ rng.normal(size=(min(p, K), K)) > 1.0).astype(float)
    scaled = learner.scaler.transform(X)
    learner.learn(X[:n], Y[:n])
    for t in range(n):
        rival.learn_row(scaled[t], Y[t])
    begin = time.perf_counter()
    learner.learn(X[n:], Y[n:])
    ours = 1e3 * (time.perf_counter() - begin) / n
    theirs = median_ms(rival.learn_row, zip(scaled[n:], Y[n:], strict=True))
    same = float(np.abs(learner.rules.W.transpose(0, 2, 1) - rival.W).max())
    assert learner.n_rules == n_rules
    return {
        "p": p,
        "K": K,
        "rules": n_rules,
        "rival": kind,
        "ms": ours,
        "rival_ms": theirs,
        "ratio": theirs / ours,
        "wanted": wanted,
        "largest_difference_of_W": same,
    }


def main():
    """Run all cases, print a table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    out = parser.parse_args().out
    record = {
        "method": method(),
        "efcml": efcml.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "parameters": PARAMETERS,
        "cases": [run_case(*case) for case in CASES],
    }
    print(
        f"{'p':>4} {'K':>3} {'rules':>5} {'efcml ms':>9} {'numpy ms':>9} {'ratio':>6} {'wanted':>6}"
    )
    for case in record["cases"]:
        print(
            f"{case['p']:4} {case['K']:3} {case['rules']:5} {case['ms']:9.3f} "
            f"{case['rival_ms']:9.3f} {case['ratio']:6.1f} {case['wanted']:6.1f}  {case['rival']}"
        )
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
