"""One row taken apart: what each phase costs, and how far the whole is from plain BLAS calls.

Sizes are those of the five data sets; the rules are made so that their number is known and none is
born or merged. Phases are the kernels of efcml/kernels, each called for all rows in a row; the sum
differs a little from the whole, in which they share the caches. Real streams with the default
parameters follow, with the paper's seconds beside them. Compilation is not counted. Usage:
``python experiments/benchmarks/update_phases.py [--out FILE]``.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import roofline
from numba import njit
from update_speed import make_learner

import efcml
from efcml import EFCMLClassifier, datasets
from efcml.kernels import cases as case_kernels
from efcml.kernels import learning
from efcml.kernels.cases import RENEWAL
from efcml.kernels.constants import AHEAD
from efcml.kernels.firing import activate_rules
from efcml.kernels.pairs import find_due_pair
from efcml.kernels.scoring import score_rows
from efcml.model.arguments import Watch
from efcml.model.params import Params
from efcml.model.trace import Trace
from efcml.studies.provenance import method
from efcml_paper.claims import PAPER_SECONDS

SIZES = {name: (record.p, record.K) for name, record in datasets.CATALOG.items()}
RULES = (5, 20, 50)
ALLOWED = ((100, 2.0), (0, 3.0))  # from that many features on, times the BLAS calls
ROWS, REPEATS = 60, 7
NOTHING = np.empty((0, 0))
# What a row moves of a rule besides its planes.
GAUSSIAN = (
    *("center", "joint_precision", "input_precision", "log_det"),
    *("support", "updates", "prior_share", "tested"),
)


def prepare(p, K, n_rules, *, cases, correlation, dense):
    """Return a learner of that many rules and cases, with penalties as by default."""
    learner = make_learner(
        p,
        K,
        n_rules,
        np.random.default_rng(0),
        cases=cases,
        correlation=correlation,
        alpha=Params.alpha,
        beta=Params.beta,
        activation_floor=Params.activation_floor,
        bandwidth=float(p) if dense else 0.05 * p,
    )
    start = learner.rules.copy()
    learner.learn(*make_rows(learner, cases + ROWS))
    if dense:  # the rows were to fill the cases, not to move the rules
        put_back(learner.rules, start)
    return learner


def learn(learner, X, Y):
    """Learn scaled rows in one call of the driver."""
    nobody = Watch(NOTHING, NOTHING, False, 0, NOTHING, np.empty(0))
    numbers = np.arange(len(X))
    n_rules = learner.rules.n_rules
    learning.learn_until_event(X, Y, 0, -1, numbers, n_rules, learner.model, nobody)


def put_back(rules, before):
    """Move rules to where they were: rows make some so narrow that the others sleep."""
    for name in GAUSSIAN:
        getattr(rules.arrays, name)[...] = getattr(before.arrays, name)


def count_active(learner, X, Y):
    """Return how many rules learn a row, on average over the rows."""
    weights = learner.rules.scratch.weights[: learner.rules.n_rules]
    found = []
    for t in range(len(X)):
        learn(learner, X[t : t + 1], Y[t : t + 1])
        found.append(np.count_nonzero(weights))
    return float(np.mean(found))


def make_rows(learner, n):
    """Return rows and labels."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, learner.n_features))
    return X, (rng.random((n, learner.n_labels)) < 0.3).astype(float)


# -- phases, each over all rows ------------------------------------------------------------------


@njit
def time_view(X, Y, n_rules, model):
    first = last = 0
    for t in range(X.shape[0]):
        first, last = learning.view_next_row(X, Y, t, first, last, n_rules, model, True)


@njit
def time_winner(X, Y, n_rules, model):
    for t in range(X.shape[0]):
        n_known = learning.note_known(Y[t], model.scratch.known)
        last = min(t + 1 + AHEAD // 2, X.shape[0])  # on average half are still to come
        learning.find_and_move_winner(X, Y, t, t, last, n_known, n_rules, model)


@njit
def time_activation(X, Y, n_rules, model):
    rules, settings, scratch = model.rules, model.settings, model.scratch
    for _ in range(X.shape[0]):
        activate_rules(scratch.distances, n_rules, rules, settings, scratch.activation)


@njit
def time_planes(X, Y, n_rules, model):
    for t in range(X.shape[0]):
        learning.learn_both(Y[t], -1, t, n_rules, model)


@njit
def time_merge(X, Y, n_rules, model):
    for t in range(X.shape[0]):
        find_due_pair(t % n_rules, n_rules, model.rules, model.settings, model.scratch.e)


@njit
def time_cases(X, Y, n_rules, model):
    for t in range(X.shape[0]):
        n_known = learning.note_known(Y[t], model.scratch.known)
        learning.learn_errors_of_rules(X[t], Y[t], n_known, False, t, n_rules, model)
    case_kernels.bring_covariance(model.cases)


@njit
def time_sequel(X, Y, n_rules, model):
    for t in range(X.shape[0]):
        n_known = learning.note_known(Y[t], model.scratch.known)
        learning.learn_trust_and_time(X[t], Y[t], n_known, True, n_rules, model)


PHASES = {
    "distances and heights": time_view,
    "winner": time_winner,
    "activation": time_activation,
    "least squares": time_planes,
    "merge screen": time_merge,
    "cases": time_cases,
    "trust and time": time_sequel,
}


def arguments(learner, X, Y, **changes):
    """Return what every phase is called with."""
    learner.settings = learner.settings.replace(**changes)
    return X, Y, learner.rules.n_rules, learner.model


def fired(learner, X, Y, **changes):
    """Return the same after the rules have fired for the rows: a fresh learner has none active."""
    found = arguments(learner, X, Y, **changes)
    time_view(*found)
    time_activation(*found)
    return found


def microseconds(function, n, before=lambda: None):
    """Return the shortest time of a call, in microseconds for one of its ``n`` rows.

    ``before`` is called before every call, outside the clock.
    """
    before()
    function()
    best = np.inf
    for _ in range(REPEATS):
        before()
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best / n


def time_phases(learner, X, Y):
    """Return microseconds by phase; the proximal steps are what they add to least squares."""
    found = {}
    for name, function in PHASES.items():
        if name == "cases" and not learner.cases.capacity:
            continue
        plain = fired(learner.copy(), X, Y, corrects=False)
        found[name] = microseconds(lambda f=function, a=plain: f(*a), len(X))
    if learner.settings.corrects:
        whole = fired(learner.copy(), X, Y)
        both = microseconds(lambda: time_planes(*whole), len(X))
        found["proximal steps"] = max(0.0, both - found["least squares"])
    return found


def time_blas(learner, n, active, corrected):
    """Return microseconds of plain BLAS calls for a scored and for a learned row."""
    M, v = roofline.make_operands(learner)
    c = roofline.make_constants()
    score = microseconds(lambda: roofline.score_rows(n, M, v, c), n)
    update = microseconds(lambda: roofline.update_rows(n, active, corrected, RENEWAL, M, v, c), n)
    return score, update


def run_size(name, n_rules, *, cases, correlation, dense):
    """Measure one size of state."""
    p, K = SIZES[name]
    learner = prepare(p, K, n_rules, cases=cases, correlation=correlation, dense=dense)
    X, Y = make_rows(learner, ROWS)
    scaled = learner.scaler.transform(X)
    corrected = 1.0 / max(learner.params.step_interval, 1e-9) if learner.settings.corrects else 0.0
    twin = learner.copy()
    out = np.empty((ROWS, K))
    predict = microseconds(lambda: score_rows(scaled, 0, n_rules, twin.model, out), ROWS)
    update = microseconds(
        lambda: learn(twin, scaled, Y), ROWS, lambda: put_back(twin.rules, learner.rules)
    )
    active = count_active(learner.copy(), scaled, Y)
    blas_score, blas_update = time_blas(learner, ROWS, round(active), corrected)
    allowed = next(limit for least, limit in ALLOWED if p >= least)
    return {
        "size": name,
        "p": p,
        "K": K,
        "rules": n_rules,
        "active": active,
        "cases": learner.cases.n_cases,
        "correlation": correlation,
        "predict_us": predict,
        "update_us": update,
        "blas_predict_us": blas_score,
        "blas_update_us": blas_update,
        "ratio": update / blas_update,
        "allowed": allowed,
        "phases_us": time_phases(learner, scaled, Y),
    }


def run_stream(name, repeats=3):
    """Measure the default parameters on the published stream; mediamill is cut."""
    ds = datasets.load(name)
    (X, Y), (stream, labels) = ds.initial, ds.stream
    if name == "mediamill":
        X, Y, stream, labels = X[-3000:], Y[-3000:], stream[:1000], labels[:1000]
    clf = EFCMLClassifier().fit(X, Y)
    n, update, both = len(stream), np.inf, np.inf
    for _ in range(repeats):
        learner = clf.learner_.copy()
        begin = time.perf_counter()
        learner.learn(stream, labels)
        update = min(update, (time.perf_counter() - begin) / n)
        learner, trace = clf.learner_.copy(), Trace.for_rows(n, ds.Y.shape[1])
        begin = time.perf_counter()
        learner.learn(stream, labels, trace)
        both = min(both, (time.perf_counter() - begin) / n)
    return {
        "set": name,
        "p": ds.X.shape[1],
        "K": ds.Y.shape[1],
        "rows": n,
        "rules": learner.n_rules,
        "cases": learner.cases.n_cases,
        "update_ms": 1e3 * update,
        "predict_and_update_ms": 1e3 * both,
        "paper_ms": 1e3 * PAPER_SECONDS[name][0],
        "times_faster": PAPER_SECONDS[name][0] / update,
    }


def main():
    """Measure all sizes and streams, print two tables and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    out = parser.parse_args().out
    default = {"cases": Params.cases, "correlation": Params.correlation, "dense": True}
    sizes = []
    for name in SIZES:
        variants = [(n_rules, {}) for n_rules in RULES]
        variants += [(20, {"correlation": "none"}), (20, {"cases": 0}), (20, {"dense": False})]
        for n_rules, changes in variants:
            found = run_size(name, n_rules, **(default | changes))
            sizes.append(found)
            print(
                f"{name:14} {n_rules:3} rules {found['active']:5.1f} active {found['cases']:4}"
                f" cases {found['correlation']:6} predict {found['predict_us']:7.1f}"
                f" update {found['update_us']:8.1f} BLAS {found['blas_update_us']:8.1f} us,"
                f" ratio {found['ratio']:.2f} (allowed {found['allowed']:g})",
                flush=True,
            )
    streams = []
    for name in SIZES:
        found = run_stream(name)
        streams.append(found)
        print(
            f"{name:14} {found['rules']:3} rules: update {found['update_ms']:.3f} ms, with"
            f" prediction {found['predict_and_update_ms']:.3f}; the paper {found['paper_ms']:g}:"
            f" {found['times_faster']:.0f} times",
            flush=True,
        )
    if out:
        record = {
            "method": method(),
            "efcml": efcml.__version__,
            "numpy": np.__version__,
            "machine": platform.machine(),
            "rows": ROWS,
            "sizes": sizes,
            "streams": streams,
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
