"""Studies: models on data sets in several orders, and what their differences mean.

A study is described (`variants`); its runs are done where there is room (`workers`)
and kept by their content (`runs`); tables, differences, pictures and pages come from what is kept.
"""

from efcml.studies.study import Study
from efcml.studies.variants import Variant

__all__ = ["Study", "Variant"]
