"""What is compared for the pages: functions that return what a `Study` gets, or lines of a record.

Nothing is chosen here, and nothing is tuned: one default, file order and shuffles of the stream,
other draws of the built-in streams. ``quick`` is the same on little data, to see that it runs.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from itertools import product

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from efcml import ActiveLearner, EFCMLClassifier, datasets, prequential
from efcml.studies import Variant
from efcml_paper import plan
from efcml_paper.plan import LARGE, load
from peer_models import Frequencies, NoChange, Plane, moa_models, river_models, sklearn_models
from wide import wide

SETS = ("emotions", "birds", "water-quality", "yeast")
STREAMS = ("drifting-clusters", "abrupt-drift", "gradual-drift", "recurring-drift", "local-drift")
LARGER_CUT = 2500, 5000  # of the large set: fewer models are run than for the paper


def usual(quick, names=(*SETS, *STREAMS), orders=3):
    """Return data and orders of a study; streams that go by their names are drawn anew."""
    if quick:
        return {"data": [load(name, quick) for name in names[::5]], "orders": 1}
    return {"data": list(names), "orders": orders}


def parts(quick):
    """What each part of the method earns."""
    return {"models": plan.parts()} | usual(quick)


def decisions(quick):
    """Decisions made for another measure, and what the probabilities are worth."""
    models = {name: EFCMLClassifier(decision=name) for name in ("hamming", "subset", "f1")}
    return {"models": models} | usual(quick, SETS)


def budgets(quick):
    """Labels that cost money: a small start, then so many of the labels."""
    asked = [ActiveLearner(budget, unit) for unit in ("samples", "labels") for budget in (0.1, 0.3)]
    random = {f"random {100 * b:g} %": ActiveLearner.random(budget=b) for b in (0.1, 0.3)}
    lines = {"all labels": None, "10 % of samples": asked[0], "30 % of samples": asked[1]}
    lines |= {"10 % of labels": asked[2], "30 % of labels": asked[3]} | random
    models = {name: Variant(EFCMLClassifier(), active=one) for name, one in lines.items()}
    models["static"] = Variant(EFCMLClassifier(), learn=False)
    names = SETS[:1] if quick else SETS
    data = {name: load(name, quick, small=True) for name in names}
    return {"models": models, "data": data, "orders": 1 if quick else 3}


def gaps(quick):
    """Values that are missing: left to the rules, or filled in with means before."""
    filled = make_pipeline(SimpleImputer(keep_empty_features=True), EFCMLClassifier())
    data = {}
    for name in SETS[:1] if quick else SETS:
        ds = load(name, quick)
        for share in (0.1, 0.3, 0.5):
            X, rng = ds.X.copy(), np.random.default_rng(1)
            X[rng.random(X.shape) < share] = np.nan
            data[f"{name}, {100 * share:g} %"] = replace(ds, X=X)
        X, gone = ds.X.copy(), np.random.default_rng(2).permutation(ds.X.shape[1])
        third = (len(X) - ds.n_initial) // 3
        X[ds.n_initial + third : -third, gone[: max(1, len(gone) // 4)]] = np.nan
        data[f"{name}, a sensor"] = replace(ds, X=X)
    models = {"means": filled, "rules": EFCMLClassifier()}
    return {"models": models, "data": data, "orders": 1}


def units(quick):
    """Features that come in other units from the middle of the stream on."""
    scenes: dict[str, Callable] = {
        "nothing": lambda X: X,
        "+ 20, all": lambda X: X + 20.0,
        "+ 20, two of eight": lambda X: X + 20.0 * (np.arange(8) < 2),
        "times 1000, all": lambda X: X * 1000.0,
        "times 1000, three of eight": lambda X: X * np.where(np.arange(8) < 3, 1000.0, 1.0),
        "a thousandth, all": lambda X: X / 1000.0,
        "one wild row": lambda X: np.r_[np.full((1, 8), 1e9), X[1:]],
        "5 % wild values": lambda X: np.where(
            np.random.default_rng(3).random(X.shape) < 0.05, 1e6, X
        ),
    }
    n = 300 if quick else 3500
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(n, 8)), rng.normal(size=(8, 3))
    Y = X @ (V / np.linalg.norm(V, axis=0)) + 0.15 * rng.normal(size=(n, 3)) > 0.0
    first, middle = n // 7, n // 2
    data = {
        scene: datasets.from_arrays(
            np.r_[X[:middle], change(X[middle:])], Y.astype(float), n_initial=first
        )
        for scene, change in scenes.items()
    }
    models = {name: EFCMLClassifier(scaling=name) for name in ("frozen", "follow")}
    return {"models": models, "data": data, "orders": 1}


# Columns that mean nothing


def add_columns(X, kind, rng):
    """Return a table with columns that mean nothing."""
    n, many = len(X), max(20, X.shape[1])
    if kind == "noise":
        return np.c_[X, rng.normal(size=(n, many))]
    if kind == "weekday":
        return np.c_[X, np.eye(7)[rng.integers(0, 7, n)]]
    return X


def draw_scene(name, n=3000, p=8, K=3):
    """Return a stream; of its columns beside the first p none means anything."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, p + 20)), rng.normal(size=(p, K)) / 2.0
    four, rest = X[:, :4] @ W[:4], X[:, 4:p] @ W[4:]
    late = (np.arange(n) >= n // 2)[:, None]
    if name == "copies of relevant ones":
        X[:, 4:p] = X[:, :4] + 0.3 * rng.normal(size=(n, p - 4))
    H = {
        "products of two": X[:, :K] * X[:, K : 2 * K],
        "copies of relevant ones": four,
        "others matter from the middle on": np.where(late, rest, four),
        "more matter from the middle on": np.where(late, four + rest, four),
        "fewer matter from the middle on": np.where(late, four, four + rest),
    }[name]
    return datasets.from_arrays(X, H + 0.4 * rng.normal(size=H.shape) > 0.0, n_initial=n // 10)


SCENES = (
    "products of two",
    "copies of relevant ones",
    "others matter from the middle on",
    "more matter from the middle on",
    "fewer matter from the middle on",
)


def relevance(quick):
    """Columns that mean nothing, with rules over all features and over those that matter."""
    models = {name: EFCMLClassifier(relevance=name) for name in ("off", "auto")}
    studies = []
    for names in (SETS[:1],) if quick else (SETS, ("drifting-clusters", "local-drift")):
        data = {}
        for name, kind in product(names, ("as it is", "noise", "weekday")):
            ds, rng = load(name, quick), np.random.default_rng(1)
            X = add_columns(ds.X, kind, rng)
            data[f"{name}, {kind}"] = datasets.from_arrays(X, ds.Y, n_initial=ds.n_initial)
        orders = 3 if names == SETS else 1  # to shuffle a stream would destroy its drift
        studies.append({"models": models, "data": data, "orders": orders})
    scenes = {name: draw_scene(name, 300 if quick else 3000) for name in SCENES}
    return [*studies, {"models": models, "data": scenes, "orders": 1}]


# Other models


def peers(quick):
    """Other libraries on the same rows, each with its own defaults."""
    models = {
        "efcml": EFCMLClassifier(),
        "one plane": Plane(),
        "one plane on Fourier features": Plane(fourier=500),
        "label frequencies": Frequencies(),
        "labels of the row before": NoChange(),
    } | sklearn_models()
    for library, make in (("river", river_models), ("capymoa", moa_models)):
        models |= make() if find_spec(library) else {}
    return {"models": models} | usual(quick, SETS, orders=1)


# What is no study


def known_labels(quick):
    """Half of the labels of every row are known when the others are asked for."""
    lines = []
    for name in SETS[:1] if quick else SETS:
        ds, rng, right = load(name, quick), np.random.default_rng(0), np.zeros((2, 0))
        clf = EFCMLClassifier().fit(*ds.initial)
        for t in range(ds.n_initial, len(ds.X)):
            x, y = ds.X[t : t + 1], ds.Y[t : t + 1]
            asked = rng.permutation(y.shape[1]) >= y.shape[1] // 2
            told = np.where(asked, np.nan, y)
            answers = clf.predict(x)[0], clf.predict(x, known=told)[0]
            right = np.c_[right, [(one == y[0])[asked] for one in answers]]
            clf.partial_fit(x, y)
        alone, given = right.mean(axis=1)
        lines.append({"data": name, "PA alone": alone, "PA given half": given})
    return lines


def published(quick):
    """Return what the default does on published sets: initial part fitted, rest test-then-train."""
    lines = []
    for name in SETS[:1] if quick else (*SETS, LARGE):
        ds = load(name, quick, cut=LARGER_CUT)
        clf = EFCMLClassifier().fit(*ds.initial)
        result = prequential(clf, *ds.stream)
        line = {"set": name, "features": ds.X.shape[1], "labels": ds.Y.shape[1]}
        line |= {"initial": ds.n_initial, "rows": len(result.Y), "pa": result.pa, "ap": result.ap}
        lines.append(line | {"rules": clf.n_rules_, "ms": 1e3 * result.seconds_per_sample})
    return lines


STUDIES = {
    "parts": (parts, ("pa", "ap")),
    "decisions": (
        decisions,
        ("pa", "subset_accuracy", "example_f1", "macro_f1", "log_loss", "calibration_error"),
    ),
    "budgets": (budgets, ("pa", "ap")),
    "gaps": (gaps, ("pa", "ap")),
    "units": (units, ("pa", "ap")),
    "relevance": (relevance, ("pa", "ap")),
    "wide": (wide, ("pa", "ap")),
    "peers": (peers, ("pa", "ap", "macro_f1", "subset_accuracy")),
}
