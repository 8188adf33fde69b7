"""Published and built-in multi-label data sets, and readers for your own.

>>> from efcml import datasets
>>> stream = datasets.load("drifting-clusters", seed=1)
>>> stream
Dataset('drifting-clusters': 6000 rows (600 initial + 5400 stream), 10 features, 5 labels)
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import published as _published
from .built_in import GENERATORS
from .dataset import Dataset, from_arrays
from .published import CATALOG, DatasetNotFound, FetchError
from .tabular import from_arff, from_csv, from_frame, from_parquet

if TYPE_CHECKING:
    from efcml.support.aliases import PathLike

__all__ = [
    "Dataset",
    "DatasetNotFound",
    "FetchError",
    "available",
    "fetch",
    "from_arff",
    "from_arrays",
    "from_csv",
    "from_frame",
    "from_parquet",
    "load",
]


def available() -> tuple[str, ...]:
    """Return the names `load` knows: the published sets, then the built-in streams."""
    return (*CATALOG, *GENERATORS)


def load(name: str, **options: Any) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of `available()`.
    **options
        `n_initial` sets the number of initial rows of any set. A built-in stream also takes
        the parameters of its generator in `efcml.datasets.built_in`, such as `n` and `seed`.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotFound
        If the files of a published set are nowhere; the message says how to get them.
    """
    known = _known_name(name)
    if known in GENERATORS:
        return GENERATORS[known](**options)
    record = CATALOG[known]
    n_initial = options.pop("n_initial", record.n_initial)
    if options:
        raise TypeError(
            f"{known} has no option {', '.join(options)}: only n_initial can be set for it"
        )
    return _published.read_published(record, n_initial)


def fetch(
    name: str,
    *,
    base: str | None = None,
    folder: PathLike | None = None,
    timeout: float = 30.0,
    progress: bool | None = None,
) -> Path:
    """Download a published data set, unless its files are there already.

    The files come from the repository of the MULAN project. Each one is checked against its
    sha256 and appears under its name only when it is right; a file that is there and differs is
    replaced then.

    Parameters
    ----------
    name : str
        One of the published sets of `available()`. For mediamill the error says how to get it.
    base : str, optional
        The http or https address of a copy of the repository, below which the folder `data` lies.
        If not given, the environment variable EFCML_MULAN, else the MULAN project on GitHub.
    folder : str or path, optional
        Where to put the files. `load` searches it if the environment variable EFCML_DATA names
        it. If not given, the user's cache folder, and nothing is done if `load` finds the set.
    timeout : float
        Seconds without any answer after which the server is given up.
    progress : bool, optional
        Whether to show a progress bar; if not given, where a person can see it.

    Returns
    -------
    Path
        The folder that holds the files.

    Raises
    ------
    FetchError
        If the download fails, in one line that says why and what to do.
    """
    known = _known_name(name)
    if known in GENERATORS:
        raise FetchError(f"{known} is built in and has no files: use datasets.load({known!r})")
    return _published.fetch_files(CATALOG[known], base, folder, timeout, progress)


def _known_name(name: str) -> str:
    known = str(name).strip().lower().replace("_", "-").replace(" ", "-")
    if known in available():
        return known
    near = get_close_matches(known, available(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(available())}"
    raise ValueError(f"there is no data set {str(name)!r}: {hint}")
