"""Every model of the comparisons, once, by the name that the command line uses.

Nothing slow is imported here: an estimator is, when it is first made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

LEAST_SQUARES: dict[str, Any] = {"correlation": "none", "alpha": 0.0, "beta": 0.0}
CLASSIFIER = "efcml.estimators.classifier.EFCMLClassifier"


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
    offered: bool = False

    @property
    def module(self) -> str:
        """Name of the module of its class."""
        return self.home.rpartition(".")[0]

    @property
    def kind(self) -> str:
        """Name of its class."""
        return self.home.rpartition(".")[2]

    @property
    def estimator(self) -> Any:
        """Its class."""
        return getattr(import_module(self.module), self.kind)

    @property
    def decides(self) -> bool:
        """Whether it learns all labels together, and so can decide them by any ``decision``."""
        return self.home == CLASSIFIER

    @property
    def asks(self) -> bool:
        """Whether an active learner works with it."""
        return self.home == CLASSIFIER and self.learn


MODELS = {
    "efcml": Rival("EFC-ML", CLASSIFIER, offered=True),
    "rules": Rival("EFC-ML, rules alone", CLASSIFIER, {"cases": 0}),
    "ovr": Rival("one-versus-rest", "efcml.rivals.per_label_models.OneVsRestEFC", offered=True),
    "chain": Rival(
        "classifier chain",
        "efcml.rivals.per_label_models.ChainEFC",
        further=("order",),
        offered=True,
    ),
    "static": Rival("EFC-ML, initial part only", CLASSIFIER, learn=False, offered=True),
    "rfwls": Rival("EFC-ML, least squares only", CLASSIFIER, LEAST_SQUARES, offered=True),
    "frequencies": Rival("label frequencies", "efcml.rivals.label_frequencies.LabelFrequencies"),
    "rls": Rival("one global plane", "efcml.rivals.linear.GlobalRLS"),
    "rff": Rival("one global plane, Fourier features", "efcml.rivals.linear.FourierRLS"),
}


def make_model(name: str, **parameters: Any) -> Any:
    """Return a new estimator; keywords override its parameters.

    Give ``MODELS[name].learn`` to `prequential`: it is false for "static".

    Examples
    --------
    >>> make_model("rfwls", vigilance=0.4).correlation
    'none'
    >>> MODELS["static"].learn
    False
    """
    if name not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}; got {name!r}.")
    model = MODELS[name]
    return model.estimator(**(model.parameters | parameters))
