"""Every model of the comparisons, by the name that the command line uses."""

from collections.abc import Callable
from dataclasses import dataclass, field

from efcml.estimators.classifier import EFCMLClassifier
from efcml.rivals.label_frequencies import LabelFrequencies
from efcml.rivals.linear import FourierRLS, GlobalRLS
from efcml.rivals.per_label_models import LEAST_SQUARES, ChainEFC, OneVsRestEFC


@dataclass(frozen=True)
class Model:
    """One line of a comparison; ``learn`` goes to `prequential`."""

    title: str
    estimator: Callable
    parameters: dict = field(default_factory=dict)
    learn: bool = True


MODELS = {
    "efcml": Model("EFC-ML", EFCMLClassifier),
    "rules": Model("EFC-ML, rules alone", EFCMLClassifier, {"cases": 0}),
    "ovr": Model("one-versus-rest", OneVsRestEFC),
    "chain": Model("classifier chain", ChainEFC),
    "static": Model("EFC-ML, initial part only", EFCMLClassifier, learn=False),
    "rfwls": Model("EFC-ML, least squares only", EFCMLClassifier, LEAST_SQUARES),
    "frequencies": Model("label frequencies", LabelFrequencies),
    "rls": Model("one global plane", GlobalRLS),
    "rff": Model("one global plane, Fourier features", FourierRLS),
}


def make_model(name, **parameters):
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
