"""Where and with what a run was made."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import efcml
from efcml.support.states import to_plain

PACKAGES = ("numpy", "numba", "scipy")
OTHER_PARTS: dict[str, Any] = {  # that a run by default does not go through
    "alpha": 0.05,
    "correlation": "laplacian",
    "forgetting": 0.99,
    "bandwidth": 1.0,
    "prior": 1.0,
    "activation": "distance",
    "product_space": False,
    "update": "paper",
}
MANY_EVENTS: dict[str, Any] = {"cases": 10, "vigilance": 0.6}


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    found = {"efcml": efcml.__version__, "python": platform.python_version()}
    return found | {name: version(name) for name in PACKAGES}


def package_version(model: Any) -> dict[str, str]:
    """Return name and version of the package that a model comes from; nothing for ours.

    Examples
    --------
    >>> package_version(object())
    {}
    """
    package = type(model).__module__.partition(".")[0]
    if package in ("efcml", "builtins", "__main__"):
        return {}
    try:
        return {package: version("scikit-learn" if package == "sklearn" else package)}
    except PackageNotFoundError:  # a module of one's own
        return {}


def machine() -> dict[str, Any]:
    """Return the kind of machine and its number of cores."""
    return {"kind": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count()}


@cache
def method() -> str:
    """Return a text that changes when a model answers differently than before, or by default.

    Between two releases the version stays the same while the method changes. So a few rows of a
    built-in stream are learned, and the scores, rounded, are what records are compared by.
    """
    from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, datasets, prequential

    short = datasets.load("drifting-clusters", n=60, n_initial=30)
    # Long enough that rules are split and taken in, with planes that they share.
    long = datasets.load("drifting-clusters", n=170, n_initial=60, p=16, K=2)
    # Labels turn round, so that rules drift, and rows move so far that the scale changes.
    moved = datasets.load("stationary-clusters", n=300, n_initial=60, p=3, K=2)
    moved.Y[90:] = 1.0 - moved.Y[90:]
    moved.X[180:] += 3.0 * moved.X.std(axis=0)
    digest = hashlib.sha256(json.dumps(defaults()).encode())
    quick: dict[str, Any] = {"max_rules": 3, "prior": 1.0, "vigilance": 0.3}
    for model, ds, active in (
        (EFCMLClassifier(max_rules=4), short, None),
        (EFCMLClassifier(max_rules=4, **OTHER_PARTS), short, None),
        (EFCMLClassifier(**quick), short, ActiveLearner(0.3, "labels", random_state=0)),
        (OneVsRestEFC(**quick), short, None),
        (ChainEFC(**quick), short, None),
        (EFCMLClassifier(**MANY_EVENTS), long, None),
        (EFCMLClassifier(max_rules=2, prior=1.0), moved, None),
    ):
        model.fit(*ds.initial)
        result = prequential(model, *ds.stream, active=active, progress=False)
        digest.update((result.scores.round(6) + 0.0).tobytes())
    from_nothing = prequential(EFCMLClassifier(), short.X, short.Y, progress=False)
    digest.update((from_nothing.scores.round(6) + 0.0).tobytes())
    return digest.hexdigest()[:12]


def defaults() -> dict[str, dict[str, Any]]:
    """Return all parameters of all models where nothing is set, as JSON can hold them."""
    from efcml.rivals import MODELS, make_model

    return {
        name: {key: to_plain(value) for key, value in make_model(name).get_params().items()}
        for name in MODELS
    }
