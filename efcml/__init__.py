"""Evolving multi-label fuzzy classifiers for data streams (EFC-ML).

Names are loaded when they are first used, so that ``import efcml`` stays quick and a stream that
needs no scikit-learn does not load it.
"""

from typing import TYPE_CHECKING

from efcml.support.imports import lazy_names

if TYPE_CHECKING:
    from efcml import datasets as datasets
    from efcml.active import ActiveLearner as ActiveLearner
    from efcml.estimators.classifier import EFCMLClassifier as EFCMLClassifier
    from efcml.evaluation import prequential as prequential
    from efcml.model.compiling import warmup as warmup
    from efcml.rivals.per_label import ChainEFC as ChainEFC
    from efcml.rivals.per_label import OneVsRestEFC as OneVsRestEFC
    from efcml.saving import load as load
    from efcml.saving import save as save
    from efcml.seams import register as register
    from efcml.studies import Study as Study

__version__ = "0.2.0"

_HOMES = {
    "ActiveLearner": "efcml.active",
    "ChainEFC": "efcml.rivals.per_label",
    "EFCMLClassifier": "efcml.estimators.classifier",
    "OneVsRestEFC": "efcml.rivals.per_label",
    "Study": "efcml.studies",
    "datasets": "efcml.datasets",
    "load": "efcml.saving",
    "prequential": "efcml.evaluation",
    "register": "efcml.seams",
    "save": "efcml.saving",
    "warmup": "efcml.model.compiling",
}
__all__ = [*_HOMES]

if not TYPE_CHECKING:  # a checker would take every name for one of these
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
