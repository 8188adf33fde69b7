"""What EFC-ML is compared with on the same engine, and the models of the command line by name.

Nothing slow is imported here: a class is, when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, NamedTuple

from efcml.support.checks import check_choice

LEAST_SQUARES: dict[str, Any] = {"correlation": "none", "alpha": 0.0, "beta": 0.0}
CLASSIFIER = "efcml:EFCMLClassifier"


class Rival(NamedTuple):
    """One line of a comparison."""

    title: str
    home: str  # of its class
    parameters: Mapping[str, Any] = {}  # that differ from the defaults of the class
    learn: bool = True  # goes to `prequential`
    asks: bool = False  # whether an active learner works with it


MODELS = {
    "efcml": Rival("EFC-ML", CLASSIFIER, asks=True),
    "ovr": Rival("one-versus-rest", "efcml:OneVsRestEFC"),
    "chain": Rival("classifier chain", "efcml:ChainEFC"),
    "static": Rival("EFC-ML, initial part only", CLASSIFIER, learn=False),
    "rfwls": Rival("EFC-ML, least squares only", CLASSIFIER, LEAST_SQUARES, asks=True),
}


def make_model(name: str, **parameters: Any) -> Any:
    """Return a new estimator; keywords override its parameters.

    Give ``MODELS[name].learn`` to `prequential`: it is false for "static".
    """
    check_choice("model", name, MODELS)
    return resolve_name(MODELS[name].home)(**{**MODELS[name].parameters, **parameters})
