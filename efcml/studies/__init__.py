"""Studies: models on data sets in several orders, and what their differences mean.

A study is described (`variants`); its runs are done where there is room (`workers`)
and kept by their content (`runs`); tables, differences, pictures and pages come from what is kept.
"""

from typing import TYPE_CHECKING

from efcml.support.imports import lazy_names

if TYPE_CHECKING:
    from efcml.studies.study import Study
    from efcml.studies.variants import Variant

__all__ = ["Study", "Variant"]

_HOMES = {"Study": "efcml.studies.study", "Variant": "efcml.studies.variants"}

# Not at once: the experiments of the paper take intervals and versions from here.
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
