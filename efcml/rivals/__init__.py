"""What EFC-ML is compared with: rivals on the same engine, and simple lines."""

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
