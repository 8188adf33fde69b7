"""Small streams, models on them and their states, for the tests of everything above the learner."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from efcml import ActiveLearner, EFCMLClassifier
from efcml.model.learner import Learner
from efcml.model.stages import Stage
from efcml.model.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
N_INITIAL = 20

# Nothing here depends on defaults, so that rules are born and merged whatever those become.
FIXED = {
    "birth_width": 0.3,
    "variance_floor": 0.1,
    "merge_overlap": 0.8,
    "merge_volume": 1.0,
    "activation_floor": 1e-4,
}

# Small enough for uncompiled kernels: no search for the prior, a short warm-up, several rules.
QUICK = FIXED | {"prior": 1.0, "warmup_rows": 12, "vigilance": 0.3, "bandwidth": "dimension"}

# Every option that changes what is computed, away from its default; births at a low cap.
EVERYTHING = FIXED | {
    "vigilance": 0.05,
    "alpha": 0.01,
    "beta": 0.1,
    "correlation": "laplacian",
    "bandwidth": 1.0,
    "forgetting": 0.99,
    "prior": 2.0,
    "product_space": False,
    "max_rules": 4,
    "update": "paper",
    "cases": 7,
    "warmup_rows": 10,
}


def stream(n=40, n_features=3, n_labels=3, seed=0):
    """Return X and Y of a small multi-label problem with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    planes = rng.normal(size=(n_features, n_labels))
    return X, (X @ planes + 0.3 * rng.normal(size=(n, n_labels)) > 0.2).astype(float)


def hide(Y, share=0.4, seed=1):
    """Return Y with some labels unknown, and row 3 without any."""
    hidden = np.random.default_rng(seed).random(Y.shape) < share
    hidden[3] = True
    return np.where(hidden, np.nan, Y)


# Every parameter that forms rules, so that there are exactly two.
TWO_RULES = {
    "vigilance": 1.5,
    "birth_width": 0.1,
    "variance_floor": 0.0,
    "product_space": False,
    "bandwidth": "dimension",
    "activation": "density",
    "merge_overlap": 0.8,
    "merge_volume": 1.0,
    "splitting": "off",
    "prior": 1.0,
    "alpha": 0.0,
    "beta": 0.1,
    "activation_floor": 1e-4,
}


def learn_late(model, X, Y, delay):
    """Learn rows whose labels come so many rows after the answers, as `prequential` does."""
    if not delay or not hasattr(model, "learner_"):
        return model.partial_fit(X, Y)
    trace = Trace.for_rows(*Y.shape)
    trace.delay = delay
    model.learner_.learn(X, Y, trace)
    return model


def freeze(value):
    """Return a comparable deep copy of a state; two are equal only if equal bit for bit."""
    if isinstance(value, Stage):
        return type(value).__name__, freeze(value.state())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple((name, freeze(value[name])) for name in sorted(value))
    if isinstance(value, np.ndarray | list | tuple):
        return tuple(freeze(part) for part in value)
    if type(value) is object:  # stands for something; its repr is an address
        return "object"
    if isinstance(value, Learner):
        value = value.copy()  # puts together rows that came in several calls
    if type(value).__module__.startswith("efcml"):
        # What held rows say is made when it is asked for; who asked whom is not saved.
        spare = ("_made", "identity", "asker", "asked")
        kept = {name: part for name, part in vars(value).items() if name not in spare}
        return type(value).__name__, freeze(kept)
    return repr(value)


def problem(labels="known", n=60):
    """Return a stream; with unknown labels, also rows that know none and rows without labels."""
    X, Y = stream(n)
    Y[30:33] = 0.0  # no label: no ranking
    if labels == "unknown":
        Y[25:] = hide(Y[25:])
    return X, Y


def blocks(n=40, seed=20260):
    """Two clusters that differ in features 0 and 2 only; label1 follows feature 1."""
    rng = np.random.default_rng(seed)
    second = np.arange(n) >= n // 2
    X = rng.normal(size=(n, 4))
    Y = np.column_stack([second, X[:, 1] > 0.0]).astype(float)
    X[:, 0] += 20.0 * second
    X[:, 2] -= 20.0 * second
    return X * [1.0, 10.0, 0.1, 5.0] + [0.0, 100.0, 0.0, -50.0], Y


def fit_blocks(**changes):
    X, Y = blocks()
    return EFCMLClassifier(**TWO_RULES | changes).fit(X, Y)


def open_questions():
    """Return a model, an active learner with open questions, and the rows left."""
    X, Y = stream(70)
    model = EFCMLClassifier(**QUICK).fit(X[:20], Y[:20])
    active = ActiveLearner(0.8, "labels", random_state=7)
    for x, y in zip(X[20:50], Y[20:50], strict=True):
        question = active.ask(model, x)
        answer = np.where(question.labels, y, np.nan) if question and question.row % 3 else None
        active.tell(model, x, answer)
    assert len(active.waiting) >= 3
    return model, active, X[50:], Y[50:]


def run_code(code):
    """Run code in a new process and return what it prints as JSON."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "experiments")])}
    # The oldest matplotlib uses what the newest pyparsing warns of.
    spare = "import warnings; warnings.filterwarnings('default', module='matplotlib')\n"
    command = [sys.executable, "-W", "error", "-c", spare + code]
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)
