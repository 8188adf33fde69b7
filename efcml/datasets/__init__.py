"""Published and built-in multi-label data sets, and readers for your own.

>>> from efcml import datasets
>>> stream = datasets.load("drifting-clusters", seed=1)
>>> stream
Dataset('drifting-clusters': 6000 rows (600 initial + 5400 stream), 10 features, 5 labels)
"""

from .dataset import Dataset, from_arff, from_arrays, from_csv, from_frame
from .published import CATALOG, DatasetNotFound, available, fetch, load

__all__ = [
    "CATALOG",
    "Dataset",
    "DatasetNotFound",
    "available",
    "fetch",
    "from_arff",
    "from_arrays",
    "from_csv",
    "from_frame",
    "load",
]
