"""Published and built-in multi-label data sets, and readers for your own.

>>> from efcml import datasets
>>> stream = datasets.load("drifting-clusters", seed=1)
>>> stream
Dataset('drifting-clusters': 6000 rows (600 initial + 5400 stream), 10 features, 5 labels)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from zipfile import BadZipFile

import numpy as np

from . import arff as _arff
from . import catalog as _catalog
from .built_in import GENERATORS
from .catalog import CATALOG, Dataset, DatasetNotFound, FetchError, Record
from .csv_tables import from_csv, from_frame
from .parquet_tables import from_parquet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.support.aliases import Array, PathLike

    # X, Y, names of the features and of the labels.
    Loaded: TypeAlias = tuple[Array, Array, Sequence[str], Sequence[str]]

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
    return _load_published(record, n_initial)


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
    replaced then. A cut download goes on where it stopped, now or with the next call.

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
    from .download import fetch_files  # not above: it takes longer to import than all the rest

    known = _known_name(name)
    if known in GENERATORS:
        raise FetchError(f"{known} is built in and has no files: use datasets.load({known!r})")
    record = CATALOG[known]
    if folder is None:
        folder = _catalog.cache_folder()
        found = _found_elsewhere(record, folder)
        if found:
            return found
    folder = Path(folder).expanduser()
    fetch_files(record, folder, base=base, timeout=timeout, progress=progress)
    return folder


def from_arrays(
    X: ArrayLike | DataFrame,
    Y: ArrayLike | DataFrame,
    *,
    name: str = "data",
    n_initial: int | None = None,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    description: str = "",
) -> Dataset:
    """Make a data set of your own arrays or data frames.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Features, NaN where one is missing.
    Y : array or DataFrame of shape (n, K)
        Labels 0 or 1, NaN where unknown; may be sparse.
    name : str
    n_initial : int, optional
        Rows of the initial part; 30 % of the rows if not given.
    feature_names, label_names : sequence of str, optional
        Taken from the columns of a DataFrame, else x0, x1, ... and label0, label1, ...
    description : str

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from_arrays([[0.5, 1.0], [2.0, 3.0]], [[1], [0]], n_initial=1)
    Dataset('data': 2 rows (1 initial + 1 stream), 2 features, 1 label)
    """
    X_values, Y_values = _catalog.as_matrix(X, "X"), _catalog.as_matrix(Y, "Y")
    feature_names = _column_names(X, feature_names, "x", X_values.shape[1])
    label_names = _column_names(Y, label_names, "label", Y_values.shape[1])
    n_initial = _catalog.initial_rows(n_initial, len(X_values))
    return Dataset(name, X_values, Y_values, n_initial, feature_names, label_names, description)


def from_arff(
    arff: PathLike,
    xml: PathLike,
    *,
    test: PathLike | None = None,
    name: str | None = None,
    n_initial: int | None = None,
    description: str = "",
) -> Dataset:
    """Read a dense ARFF file whose labels are listed in a MULAN XML file.

    Parameters
    ----------
    arff, xml : str or path
    test : str or path, optional
        A second ARFF file with the same attributes; its rows follow those of the first.
    name : str, optional
        The file name without its ending if not given.
    n_initial : int, optional
        Rows of the initial part; if not given, the rows of the first file when there is a second
        one, else 30 % of the rows.
    description : str

    Returns
    -------
    Dataset
    """
    X, Y, feature_names, label_names = _arff.read_mulan(arff, xml)
    if test is not None:
        X_test, Y_test, *names = _arff.read_mulan(test, xml)
        if names != [feature_names, label_names]:
            raise ValueError(f"{test} has other attributes than {arff}: give files of one data set")
        n_initial = len(X) if n_initial is None else n_initial
        X, Y = np.concatenate([X, X_test]), np.concatenate([Y, Y_test])
    n_initial = _catalog.initial_rows(n_initial, len(X))
    name = Path(arff).stem if name is None else name
    return Dataset(name, X, Y, n_initial, feature_names, label_names, description)


def _column_names(
    table: Any, names: Sequence[str] | None, prefix: str, count: int
) -> Sequence[str]:
    if names is not None:
        return names
    if hasattr(table, "columns"):
        return table.columns
    return [f"{prefix}{i}" for i in range(count)]


def _known_name(name: str) -> str:
    known = str(name).strip().lower().replace("_", "-").replace(" ", "-")
    if known in available():
        return known
    near = get_close_matches(known, available(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(available())}"
    raise ValueError(f"there is no data set {str(name)!r}: {hint}")


def _found_elsewhere(record: Record, cache: Path) -> Path | None:
    """Return the folder `load` would take the files from, None if that is the cache or nowhere."""
    try:
        paths = _catalog.find_files(record)
    except DatasetNotFound:
        return None
    folder = next(iter(paths.values())).parent
    if not record.remote:
        return folder
    if folder == cache:
        return None
    # A wrong file there would hide a right one in the cache: refuse it, as `load` does.
    for file, expected in record.files.items():
        _catalog.check_sha256(paths[file], expected)
    return folder


def _load_published(record: Record, n_initial: int) -> Dataset:
    paths = _catalog.find_files(record)
    if record.remote:  # a file a person has put together holds the same arrays in other bytes
        for file, expected in record.files.items():
            _catalog.check_sha256(paths[file], expected)
    X, Y, feature_names, label_names = _READERS[record.layout](record, *paths.values())
    description = f"{record.title}; {record.source}"
    return Dataset(record.name, X, Y, n_initial, feature_names, label_names, description)


def _read_split(record: Record, train: Path, test: Path, xml: Path) -> Loaded:
    both = from_arff(train, xml, test=test)
    return both.X, both.Y, both.feature_names, both.label_names


def _read_amounts(record: Record, path: Path) -> Loaded:
    names, values, _ = _arff.read_arff(path)
    is_label = np.arange(len(names)) >= len(names) - record.K
    X, abundance, features, labels = _arff.split_columns(names, values, is_label)
    return X, abundance > 0, features, labels


def _read_arrays(record: Record, path: Path) -> Loaded:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            X, Y, n_train = arrays["X"], arrays["Y"], operator.index(arrays["n_train"].item())
    except (OSError, KeyError, ValueError, TypeError, BadZipFile):
        raise ValueError(f"{path} cannot be read: {record.how_to_get}") from None
    expected = (record.n, record.p), (record.n, record.K), record.n_initial
    if (X.shape, Y.shape, n_train) != expected:
        raise ValueError(
            f"{path} holds X {X.shape}, Y {Y.shape} and n_train {n_train}: {record.how_to_get}"
        )
    feature_names = [f"Att{i}" for i in range(1, record.p + 1)]
    label_names = [f"Class{i}" for i in range(1, record.K + 1)]
    return X, Y, feature_names, label_names


_READERS: dict[str, Callable[..., Loaded]] = {
    "split": _read_split,
    "amounts": _read_amounts,
    "arrays": _read_arrays,
}
