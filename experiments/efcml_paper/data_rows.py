"""Which rows of a data set a run fits, and which ones it streams, in which order."""

from functools import cache, lru_cache

import numpy as np

from efcml import datasets
from efcml.support.states import fingerprint
from efcml_paper.runs import is_built_in

SMALL_SHARE = 10  # a small start is one part in ten of all rows
INSIDE_SHARE = 0.8  # of the initial part is fitted where its rest is the stream


@lru_cache(maxsize=2)
def load_rows(name, seed):
    """Return a data set; the seed matters to built-in streams only."""
    return datasets.load(name, seed=seed) if is_built_in(name) else datasets.load(name)


def data_of(run):
    """Return the data set of a run."""
    return load_rows(run.dataset, data_seed(run))


def data_seed(run):
    """Return the seed of a built-in stream, 0 for data of a file."""
    return run.order if is_built_in(run.dataset) else 0


def data_fingerprint(run):
    """Return a short text that stands for the rows and labels of the data set of a run."""
    return _fingerprint(run.dataset, data_seed(run))


@cache
def _fingerprint(name, seed):
    ds = load_rows(name, seed)
    return fingerprint(ds.X, ds.Y)[:12]


def initial_rows(run, ds):
    """Return the rows that are fitted."""
    first = len(ds) // SMALL_SHARE if run.start == "small" else ds.n_initial
    rows = np.arange(first)
    if run.initial_limit is not None:
        rows = rows[-run.initial_limit :]
    return rows[: int(INSIDE_SHARE * len(rows))] if run.start == "inside" else rows


def stream_rows(run, ds):
    """Return the rows that are streamed, in the order of the file."""
    fitted = initial_rows(run, ds)
    first, last = fitted[-1] + 1, ds.n_initial if run.start == "inside" else len(ds)
    if run.stream_limit is not None:
        last = min(last, first + run.stream_limit)
    return np.arange(first, last)


def order_of(run, n_rows):
    """Return the order in which the rows of the stream arrive.

    Examples
    --------
    >>> from efcml_paper.runs import make_run
    >>> order_of(make_run("emotions"), 3)
    array([0, 1, 2])
    """
    if run.order == 0 or is_built_in(run.dataset):
        return np.arange(n_rows)
    return np.random.default_rng(run.order).permutation(n_rows)
