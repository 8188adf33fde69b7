"""Every model of the command line, once, by its name.

Nothing slow is imported here: an estimator is, when it is first made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

LEAST_SQUARES: dict[str, Any] = {"correlation": "none", "alpha": 0.0, "beta": 0.0}
CLASSIFIER = "efcml:EFCMLClassifier"


@dataclass(frozen=True)
class Rival:
    """One line of a comparison.

    ``home`` is where its class is, ``parameters`` are those that differ from the defaults of the
    class, and ``further`` the names of those that the engine does not have. ``learn`` goes to
    `prequential`. The command line offers the models that are ``offered``.
    """

    title: str
    home: str
    parameters: dict[str, Any] = field(default_factory=dict)
    learn: bool = True
    further: tuple[str, ...] = ()
    offered: bool = True

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
        return self.home == CLASSIFIER and self.learn


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
    model = models[name]
    return model.estimator(**(model.parameters | parameters))
