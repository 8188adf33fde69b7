"""Data sets by name: the published ones, where their files are searched, how they are fetched."""

import os
import tomllib
import warnings
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from platformdirs import user_cache_path

from efcml.support.aliases import Floats
from efcml.support.progress import is_watched

from .dataset import Dataset, from_arff
from .streams import GENERATORS

MULAN = "https://raw.githubusercontent.com/tsoumakas/mulan/master"


class DatasetNotFound(ValueError):
    """The files of a known data set are in none of the searched folders."""


class Published(NamedTuple):
    """One published data set: its size, and its files (published.toml).

    ``files`` has the sha256 of each, ``remote`` its path below the base address; else
    ``by_hand`` says how a person gets them.
    """

    name: str
    title: str
    n: int
    p: int
    K: int
    n_initial: int
    source: str
    files: dict[str, str]
    remote: dict[str, str] = {}
    by_hand: str = ""

    @property
    def how_to_get(self) -> str:
        """What to do if the files are nowhere."""
        fetch = f'get it with `efcml datasets fetch {self.name}` or datasets.fetch("{self.name}")'
        return self.by_hand or fetch


_TEXT = (Path(__file__).parent / "published.toml").read_text(encoding="utf-8")
CATALOG = {name: Published(name, **facts) for name, facts in tomllib.loads(_TEXT).items()}


def available() -> tuple[str, ...]:
    """Return the names `load` knows: the published sets, then the built-in streams."""
    return (*CATALOG, *GENERATORS)


def load(name: str, **options: Any) -> Dataset:
    """Load a data set by name, one of `available()`.

    ``n_initial`` sets the number of initial rows of any set. A built-in stream also takes the
    parameters of its maker in `efcml.datasets.streams`, such as ``n`` and ``seed``. If the files of
    a published set are nowhere, `DatasetNotFound` says how to get them.
    """
    known = find_name(name)
    if known in GENERATORS:
        return GENERATORS[known](**options)
    record = CATALOG[known]
    n_initial = options.pop("n_initial", record.n_initial)
    if options:
        others = ", ".join(options)
        raise TypeError(f"{known} has no option {others}: only n_initial can be set for it")
    folder = find_folder(record)
    if folder is None:
        searched = ", ".join(map(str, searched_folders()))
        raise DatasetNotFound(
            f"data set {known!r} was found in none of the folders {searched}: {record.how_to_get},"
            f" or set EFCML_DATA to the folder that holds {', '.join(record.files)}"
        )
    first, *more = (folder / file for file in record.files)
    about, p = f"{record.title}; {record.source}", record.p
    if more:
        test, xml = more
        ds = from_arff(first, xml, test=test, name=known, n_initial=0, description=about)
    else:
        names, values = read_whole(record, first)
        Y = values[:, p:] > 0  # some labels are amounts
        ds = Dataset(known, values[:, :p], Y, 0, names[:p], names[p:], about)
    if (len(ds), ds.X.shape[1], ds.Y.shape[1]) != (record.n, p, record.K):
        raise ValueError(f"{folder} has another {known}: delete its files; {record.how_to_get}")
    return replace(ds, n_initial=n_initial)


def read_whole(record: Published, path: Path) -> tuple[Any, Floats]:
    """Return names, if there are some, and values of features and labels in one file."""
    from efcml.tables.arff import read_arff  # not above: it loads pandas

    if path.suffix == ".arff":
        return read_arff(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            names = [f"Att{i + 1}" for i in range(record.p)]
            names += [f"Class{i + 1}" for i in range(record.K)]
            return names, np.hstack([arrays["X"], arrays["Y"]])
    except (OSError, KeyError, ValueError, BadZipFile):
        raise ValueError(f"{path} cannot be read: {record.how_to_get}") from None


def find_name(name: str) -> str:
    """Return the name of a data set as it is known, or refuse it."""
    known = str(name).strip().lower().replace("_", "-").replace(" ", "-")
    if known in available():
        return known
    near = get_close_matches(known, available(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(available())}"
    raise ValueError(f"there is no data set {str(name)!r}: {hint}")


def searched_folders() -> list[Path]:
    """Return the folders where data files are searched, in this order."""
    given, before = os.environ.get("EFCML_DATA"), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    beside_checkout = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    others = [one for one in (Path(before, "efcml").expanduser(), beside_checkout) if one.is_dir()]
    return [*([Path(given).expanduser()] if given else []), user_cache_path("efcml"), *others]


def find_folder(record: Published) -> Path | None:
    """Return the first folder that has all files of a record, or None."""
    folders = searched_folders()
    return next((one for one in folders if all((one / f).is_file() for f in record.files)), None)


def fetch(name: str) -> Path:
    """Download a published data set, unless its files are there already; return their folder.

    The files come from the repository of the MULAN project, or from a copy of it at the address in
    the environment variable EFCML_MULAN, and go to the user's cache folder. Each appears there only
    when its sha256 is right; one that differs is replaced.
    """
    known = find_name(name)
    if known in GENERATORS:
        raise ValueError(f"{known} is built in and has no files: use datasets.load({known!r})")
    record = CATALOG[known]
    here, target = find_folder(record), user_cache_path("efcml")
    if here is not None and (here != target or not record.remote):
        return here
    if not record.remote:
        raise ValueError(f"{known} cannot be fetched: {record.how_to_get}")
    base = (os.environ.get("EFCML_MULAN") or MULAN).rstrip("/")
    with warnings.catch_warnings(action="ignore"):  # tqdm's, of a notebook without widgets
        import pooch

    pooch.get_logger().setLevel("ERROR")
    registry = {file: f"sha256:{digest}" for file, digest in record.files.items()}
    urls = {file: f"{base}/{path}" for file, path in record.remote.items()}
    store = pooch.create(target, base, registry=registry, urls=urls, retry_if_failed=3)
    for file, url in urls.items():
        try:
            store.fetch(file, downloader=pooch.HTTPDownloader(progressbar=is_watched()))
        except Exception as error:  # of the network, the disk or the checksum
            reason = "its sha256 differs" if "hash" in str(error) else str(error)
            other = f"put {', '.join(record.files)} into {target}"
            raise ValueError(f"{url}: {reason}: check the connection, or {other}") from None
    return target
