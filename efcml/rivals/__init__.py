"""What EFC-ML is compared with: rivals on the same engine, and simple lines."""

from typing import TYPE_CHECKING

from efcml.rivals.model_list import MODELS, make_model
from efcml.support.lazy import lazy_names

if TYPE_CHECKING:
    from efcml.rivals.label_frequencies import LabelFrequencies
    from efcml.rivals.linear import FourierRLS, GlobalRLS
    from efcml.rivals.per_label_models import ChainEFC, OneVsRestEFC

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
    model.kind: model.module for model in MODELS.values() if model.module.startswith(__name__)
}

# Not at once: learners are read from files without scikit-learn.
if not TYPE_CHECKING:  # a checker would take every name for one of these
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
