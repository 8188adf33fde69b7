"""Published data sets: their files with checksums, where they are searched, how they are got."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from zipfile import BadZipFile

import numpy as np

from efcml.support.progress import progress_bar

from .dataset import Dataset
from .tabular import from_arff

if TYPE_CHECKING:
    from efcml.support.aliases import PathLike

MULAN = "https://raw.githubusercontent.com/tsoumakas/mulan/master"
RETRIES = 3
MAX_TIMEOUT = 600


class DatasetNotFound(ValueError):
    """The files of a known data set are in none of the searched folders."""


class FetchError(ValueError):
    """A data set could not be downloaded; the message says why and what to do."""


class Published(NamedTuple):
    """One published data set: its size, its files with their sha256, and where it comes from.

    ``remote`` is the path of each file below the base address, empty if they are not there.
    """

    name: str
    title: str
    n: int
    p: int
    K: int
    n_initial: int
    source: str
    files: dict[str, str]
    remote: dict[str, str]
    how: str = ""

    @property
    def how_to_get(self) -> str:
        """What to do if the files are nowhere."""
        fetch = f'`efcml datasets fetch {self.name}` or datasets.fetch("{self.name}")'
        return self.how or f"get it with {fetch}"


MULAN_NAME = "MULAN project, github.com/tsoumakas/mulan, "
NO_MEDIAMILL = (
    "it is not in the MULAN repository: take its train and test part from the scikit-multilearn"
    " 0.0.1 source package on PyPI and save them, train first, as mediamill.npz with"
    " X (43907, 120), Y (43907, 101) and n_train 30993"
)
SETS = {  # title, rows, features, labels, rows of the initial part, folder or source, further
    "emotions": ("songs and the moods they evoke", 593, 72, 6, 391, "data/multi-label/emotions"),
    "yeast": ("genes and their functional classes", 2417, 103, 14, 1500, "data/multi-label/yeast"),
    "birds": (
        "ten-second field recordings and the bird species heard in them",
        *(645, 260, 19, 322, "data/multi-label/birds"),
    ),
    "water-quality": (
        "river samples and the species present in them (abundance > 0)",
        *(1060, 16, 14, 530, "data/multi-target/wq.arff"),
    ),
    "mediamill": (
        "video shots and the concepts seen in them",
        *(43907, 120, 101, 30993),
        "scikit-multilearn 0.0.1 source package on PyPI, published order of rows",
    ),
}


def _read_catalog() -> dict[str, Published]:
    """Return the published sets; registry.txt has sha256 and remote path of each file."""
    lines = (Path(__file__).parent / "registry.txt").read_text(encoding="utf-8").splitlines()
    registry = [line.split() for line in lines]
    found = {}
    for name, (*told, source) in SETS.items():
        files = {file: digest for file, digest, *_ in registry if file.startswith(name)}
        remote = {file: rest[0] for file, _, *rest in registry if rest and file in files}
        told.append(MULAN_NAME + str(source) if remote else source)
        found[name] = Published._make([name, *told, files, remote, "" if remote else NO_MEDIAMILL])
    return found


CATALOG = _read_catalog()


def cache_folder() -> Path:
    """Return the folder in the user's cache where fetched data sets are kept."""
    import pooch

    return Path(pooch.os_cache("efcml"))


def searched_folders() -> list[Path]:
    """Return the folders where data files are searched, in this order."""
    folders = [Path(os.environ["EFCML_DATA"]).expanduser()] if os.environ.get("EFCML_DATA") else []
    folders.append(cache_folder())
    before = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "efcml"
    beside_checkout = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return folders + [
        one for one in (before, beside_checkout) if one.is_dir() and one not in folders
    ]


def find_files(record: Published) -> dict[str, Path]:
    """Return the paths of all files of a record, from the first folder that has every one."""
    folders = searched_folders()
    for folder in folders:
        paths = {name: folder / name for name in record.files}
        if all(path.is_file() for path in paths.values()):
            return paths
    raise DatasetNotFound(
        f"data set {record.name!r} was found in none of the folders"
        f" {', '.join(map(str, folders))}: {record.how_to_get}, or set EFCML_DATA to the folder"
        f" that holds {', '.join(record.files)}"
    )


def check_files(record: Published, paths: dict[str, Path]) -> None:
    """Refuse files that are not, byte for byte, the published ones.

    A file that a person has put together holds the same arrays in other bytes.
    """
    for file, expected in record.files.items():
        if record.remote and sha256(paths[file].read_bytes()).hexdigest() != expected:
            raise ValueError(
                f"{paths[file]} is not the published file (its sha256 differs): delete it and"
                " fetch it again, or read your own version with datasets.from_arff"
            )


def read_published(record: Published, n_initial: int) -> Dataset:
    """Return a published data set from its files, wherever they are."""
    paths = find_files(record)
    check_files(record, paths)
    X, Y, features, labels = _READERS.get(record.name, _read_split)(record, *paths.values())
    description = f"{record.title}; {record.source}"
    return Dataset(record.name, X, Y, n_initial, features, labels, description)


def _read_split(record: Published, train: Path, test: Path, xml: Path) -> tuple[Any, ...]:
    both = from_arff(train, xml, test=test)
    return both.X, both.Y, both.feature_names, both.label_names


def _read_amounts(record: Published, path: Path) -> tuple[Any, ...]:
    from efcml.tables.arff import read_arff

    names, values, _ = read_arff(path)
    p = record.p
    return values[:, :p], values[:, p:] > 0, names[:p], names[p:]


def _read_arrays(record: Published, path: Path) -> tuple[Any, ...]:
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
    features = [f"Att{i}" for i in range(1, record.p + 1)]
    return X, Y, features, [f"Class{i}" for i in range(1, record.K + 1)]


_READERS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "water-quality": _read_amounts,
    "mediamill": _read_arrays,
}


def fetch_files(
    record: Published,
    base: str | None,
    folder: PathLike | None,
    timeout: float,
    progress: bool | None,
) -> Path:
    """Download the files of a record that are not there yet; return their folder."""
    if folder is None:
        try:
            paths = find_files(record)
        except DatasetNotFound:
            paths = {}
        found = next(iter(paths.values())).parent if paths else None
        if found and (not record.remote or found != cache_folder()):
            check_files(record, paths)  # a wrong file there would hide a right one in the cache
            return found
    if not record.remote:
        raise FetchError(f"{record.name} cannot be fetched: {record.how_to_get}")
    base = check_base(base or os.environ.get("EFCML_MULAN") or MULAN)
    if not 0 < timeout <= MAX_TIMEOUT:
        raise ValueError(f"timeout is {timeout!r}: give seconds, more than 0, up to {MAX_TIMEOUT}")
    target = cache_folder() if folder is None else Path(folder).expanduser()
    import pooch

    pooch.get_logger().setLevel("ERROR")
    store = pooch.create(
        target,
        base_url=base,
        registry={file: f"sha256:{digest}" for file, digest in record.files.items()},
        urls={file: f"{base}/{path}" for file, path in record.remote.items()},
        retry_if_failed=RETRIES,
    )
    label = f"fetching {record.name}"
    with progress_bar(len(record.files), label, unit="file", show=progress) as bar:
        for file in record.files:
            try:
                store.fetch(file, downloader=pooch.HTTPDownloader(timeout=timeout))
            except Exception as error:  # of the network, the disk or the checksum
                reason = (
                    "its sha256 differs" if "hash" in str(error) else " ".join(str(error).split())
                )
                raise FetchError(
                    f"{base}/{record.remote[file]}: {reason}: check the connection and the base"
                    f" address, or put {', '.join(record.files)} into {target}"
                ) from None
            bar.update()
    return target


def check_base(base: str) -> str:
    """Return a base address without its last slash, or refuse it."""
    try:
        parts = urlsplit(base)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        good = good and not (parts.query or parts.fragment or "@" in parts.netloc)
    except ValueError:
        good = False
    if not good or re.search(r"[^!-~]", base):
        shown = "with a user name" if "@" in base else repr(base)  # show no password
        raise FetchError(
            f"base address {shown} cannot be used: give one like {MULAN}, that is http:// or"
            " https://, a host and a path"
        )
    return base.rstrip("/")
