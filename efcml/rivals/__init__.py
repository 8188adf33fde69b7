"""What EFC-ML is compared with on the same engine, and the models of the command line by name."""

from typing import TYPE_CHECKING

from efcml.rivals.model_list import MODELS, make_model
from efcml.support.imports import lazy_names

if TYPE_CHECKING:
    from efcml.rivals.per_label import ChainEFC, OneVsRestEFC

__all__ = ["MODELS", "ChainEFC", "OneVsRestEFC", "make_model"]

# Not at once: the command line names the models without loading scikit-learn.
if not TYPE_CHECKING:  # a checker would take every name for one of these
    home = "efcml.rivals.per_label"
    __getattr__, __dir__ = lazy_names(__name__, {"ChainEFC": home, "OneVsRestEFC": home})
