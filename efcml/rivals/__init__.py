"""What EFC-ML is compared with: rivals on the same engine, and simple lines."""

from typing import TYPE_CHECKING

from efcml.lazy import lazy_names

if TYPE_CHECKING:
    from efcml.rivals.estimators import ChainEFC, OneVsRestEFC
    from efcml.rivals.frequencies import LabelFrequencies
    from efcml.rivals.linear import FourierRLS, GlobalRLS
    from efcml.rivals.registry import MODELS, make_model

__all__ = [
    "MODELS",
    "ChainEFC",
    "FourierRLS",
    "GlobalRLS",
    "LabelFrequencies",
    "OneVsRestEFC",
    "make_model",
]

_HOMES = {
    "MODELS": "efcml.rivals.registry",
    "ChainEFC": "efcml.rivals.estimators",
    "FourierRLS": "efcml.rivals.linear",
    "GlobalRLS": "efcml.rivals.linear",
    "LabelFrequencies": "efcml.rivals.frequencies",
    "OneVsRestEFC": "efcml.rivals.estimators",
    "make_model": "efcml.rivals.registry",
}

# Not at once: learners are read from files without scikit-learn.
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
