"""What EFC-ML is compared with on the same engine, and the models of the command line by name.

Nothing slow is imported here: a class is, when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, NamedTuple

LEAST_SQUARES: dict[str, Any] = {"correlation": "none", "alpha": 0.0, "beta": 0.0}
CLASSIFIER = "efcml:EFCMLClassifier"


class Rival(NamedTuple):
    """One line of a comparison."""

    title: str
    home: str  # of its class
    parameters: Mapping[str, Any] = {}  # that differ from the defaults of the class
    learn: bool = True  # goes to `prequential`
    further: tuple[str, ...] = ()  # names of parameters that the engine does not have

    @property
    def estimator(self) -> Any:
        """Its class."""
        return resolve_name(self.home)

    @property
    def decides(self) -> bool:
        """Whether it learns all labels together, and so can decide them by any ``decision``."""
        return self.home == CLASSIFIER

    @property
    def asks(self) -> bool:
        """Whether an active learner works with it."""
        return self.decides and self.learn


MODELS = {
    "efcml": Rival("EFC-ML", CLASSIFIER),
    "ovr": Rival("one-versus-rest", "efcml:OneVsRestEFC"),
    "chain": Rival("classifier chain", "efcml:ChainEFC", further=("order",)),
    "static": Rival("EFC-ML, initial part only", CLASSIFIER, learn=False),
    "rfwls": Rival("EFC-ML, least squares only", CLASSIFIER, LEAST_SQUARES),
}


def make_model(name: str, models: Mapping[str, Rival] = MODELS, **parameters: Any) -> Any:
    """Return a new estimator; keywords override its parameters.

    Give ``MODELS[name].learn`` to `prequential`: it is false for "static".

    Examples
    --------
    >>> make_model("rfwls", vigilance=0.4).correlation
    'none'
    >>> MODELS["static"].learn
    False
    """
    if name not in models:
        raise ValueError(f"model must be one of {', '.join(models)}; got {name!r}.")
    return models[name].estimator(**{**models[name].parameters, **parameters})
