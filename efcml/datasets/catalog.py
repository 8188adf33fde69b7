"""What a data set is, which published ones are known, and where their files are searched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.support.dense import densify
from efcml.support.extras import extra_for
from efcml.support.masks import fill_mask
from efcml.support.row_files import parts_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.support.aliases import Floats
    from efcml.tables import TableEncoder


class DatasetNotFound(ValueError):
    """The files of a known data set are in none of the searched folders."""


class FetchError(ValueError):
    """A data set could not be downloaded; the message says why and what to do."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows of features and labels, split into an initial part and a stream.

    Parameters
    ----------
    name : str
    X : array of shape (n, p)
        Features, NaN where one is missing, kept as float64 in C order.
    Y : array of shape (n, K)
        Labels 0 or 1, NaN where a label is unknown, kept as float64 in C order.
    n_initial : int
        The first `n_initial` rows are the initial part, the others the stream.
    feature_names, label_names : tuple of str
    description : str
    marks : dict of str to int
        Rows where something happens, such as a drift; empty for published data.
    table : TableEncoder, optional
        What was learned of a table of more than numbers; it encodes later ones.

    Examples
    --------
    >>> tiny = Dataset("tiny", [[1.0], [2.0]], [[0, 1], [1, 1]], 1, ["size"], ["a", "b"])
    >>> tiny
    Dataset('tiny': 2 rows (1 initial + 1 stream), 1 feature, 2 labels)
    >>> X, Y = tiny.stream
    >>> Y
    array([[1., 1.]])
    """

    name: str
    X: Floats
    Y: Floats
    n_initial: int
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    description: str = ""
    marks: dict[str, int] = field(default_factory=dict)
    table: TableEncoder | None = None

    if TYPE_CHECKING:  # more is taken than is kept

        def __init__(
            self,
            name: str,
            X: ArrayLike,
            Y: ArrayLike,
            n_initial: int,
            feature_names: Iterable[object],
            label_names: Iterable[object],
            description: str = "",
            marks: Mapping[str, int] = ...,
            table: TableEncoder | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        X = as_matrix(self.X, "X")
        Y = as_matrix(self.Y, "Y")
        if len(X) != len(Y):
            raise ValueError(f"X has {len(X)} rows and Y has {len(Y)}: give one label row per row")
        for part in parts_of(*X.shape):  # X may be larger than memory
            if np.isinf(X[part]).any():
                row, column = np.argwhere(np.isinf(X[part]))[0] + (part.start, 0)
                raise ValueError(
                    f"X[{row}, {column}] is {X[row, column]}: features are finite, or NaN where"
                    " missing"
                )
        wrong = ~((Y == 0) | (Y == 1) | np.isnan(Y))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"Y[{row}, {column}] is {Y[row, column]:g}: labels are 0, 1, or NaN where unknown"
            )
        check_initial(self.n_initial, len(X))
        set_field = object.__setattr__
        set_field(self, "X", X)
        set_field(self, "Y", Y)
        set_field(self, "n_initial", int(self.n_initial))
        set_field(self, "feature_names", _as_names(self.feature_names, X.shape[1], "feature"))
        set_field(self, "label_names", _as_names(self.label_names, Y.shape[1], "label"))
        set_field(self, "marks", dict(self.marks))

    @property
    def initial(self) -> tuple[Floats, Floats]:
        """X and Y of the initial part, as views."""
        return self.X[: self.n_initial], self.Y[: self.n_initial]

    @property
    def stream(self) -> tuple[Floats, Floats]:
        """X and Y of the rows after the initial part, as views."""
        return self.X[self.n_initial :], self.Y[self.n_initial :]

    def frames(self) -> tuple[tuple[DataFrame, DataFrame], tuple[DataFrame, DataFrame]]:
        """Return both parts as data frames: ``(X, Y)`` of the initial part, ``(X, Y)`` of the rest.

        A model that is fitted with them knows the names of its features and labels. pandas must be
        installed.

        Examples
        --------
        >>> tiny = Dataset("tiny", [[1.0], [2.0]], [[0, 1], [1, 1]], 1, ["size"], ["a", "b"])
        >>> initial, stream = tiny.frames()
        >>> stream[1]
             a    b
        1  1.0  1.0
        """
        with extra_for("frames"):
            import pandas

        X = pandas.DataFrame(self.X, columns=self.feature_names)
        Y = pandas.DataFrame(self.Y, columns=self.label_names)
        n = self.n_initial
        return (X.iloc[:n], Y.iloc[:n]), (X.iloc[n:], Y.iloc[n:])

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        n, p, K = len(self.X), self.X.shape[1], self.Y.shape[1]
        return (
            f"Dataset({self.name!r}: {n} rows ({self.n_initial} initial + {n - self.n_initial}"
            f" stream), {p} feature{'s' * (p != 1)}, {K} label{'s' * (K != 1)})"
        )


def as_matrix(values: Any, what: str) -> Floats:
    """Return a float64 table in C order, or say what is wrong with `what`; labels may be sparse."""
    values = densify(values) if what == "Y" else values
    if hasattr(values, "toarray"):
        raise ValueError(
            f"{what} is a sparse matrix: give a dense one, for example {what}.toarray()"
        )
    try:
        matrix = np.ascontiguousarray(fill_mask(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is no table of numbers: encode text as numbers first") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{what} has shape {matrix.shape}: give a table with at least one row and one column"
        )
    return matrix


def check_initial(n_initial: int, n: int) -> None:
    """Refuse a number of initial rows that n rows cannot have."""
    if not isinstance(n_initial, (int, np.integer)) or not 0 <= n_initial <= n:
        raise ValueError(f"n_initial is {n_initial!r}: choose a whole number of rows, 0 to {n}")


def initial_rows(n_initial: int | None, n: int) -> int:
    """Return n_initial, or 30 % of the rows if it is not given."""
    return n * 3 // 10 if n_initial is None else n_initial


def _as_names(names: Iterable[object], count: int, what: str) -> tuple[str, ...]:
    known = tuple(str(name) for name in names)
    if len(known) != count:
        raise ValueError(f"{len(known)} {what} names for {count} {what}s: give one name for each")
    if len(set(known)) != count:
        twice = next(name for name in known if known.count(name) > 1)
        raise ValueError(f"the {what} name {twice!r} occurs twice: give every {what} its own name")
    return known


@dataclass(frozen=True)
class Record:
    """One published data set: its files with their sha256, its size, and where it comes from.

    `files` starts with the data files in row order. `layout` says how they are read: a "split" is a
    training and a test file and an `.xml` that names the labels; the last columns of "amounts" are
    labels that are present above 0; "arrays" are those of an `.npz` file.
    `remote` is their folder below the base address of the MULAN repository, empty if they are not
    there; `renamed` lists the files that have another name there, `sizes` all lengths in bytes.
    """

    name: str
    title: str
    files: dict[str, str]
    n: int
    p: int
    K: int
    n_initial: int
    source: str
    licence: str
    layout: str = "split"
    how_to_get: str = ""
    remote: str = ""
    renamed: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.how_to_get:
            advice = f"get it with `efcml datasets fetch {self.name}` or datasets.fetch"
            object.__setattr__(self, "how_to_get", f'{advice}("{self.name}")')

    def remote_path(self, file: str) -> str:
        """Return the path of a file below the base address of the MULAN repository."""
        return f"{self.remote}/{self.renamed.get(file, file)}"


_MULAN = "MULAN project, github.com/tsoumakas/mulan, "
_NO_LICENCE = "none stated by the source"

CATALOG = {
    record.name: record
    for record in (
        Record(
            name="emotions",
            title="songs and the moods they evoke",
            files={
                "emotions-train.arff": (
                    "bbe704106c79bb8fb99c1d1d2e9bde081d6a2daeb01f100862f11fd91a3c1f98"
                ),
                "emotions-test.arff": (
                    "f13d4b746b7b5c8eb484bd751d6ac463d4560dff998a93516a5c1fe35daf6c8f"
                ),
                "emotions.xml": "dbce8e6ccbbb2fcbfd9e9edbb230d7ed12692c6e13f59fdbc0161fa9b6cf2dc0",
            },
            n=593,
            p=72,
            K=6,
            n_initial=391,
            source=_MULAN + "data/multi-label/emotions",
            licence=_NO_LICENCE,
            remote="data/multi-label/emotions",
            sizes={
                "emotions-train.arff": 252080,
                "emotions-test.arff": 132007,
                "emotions.xml": 323,
            },
        ),
        Record(
            name="yeast",
            title="genes and their functional classes",
            files={
                "yeast-train.arff": (
                    "e759dc991ff54694a4ff9c4314f3be0d6fd2b1994a4b563f57e416394c6aebbd"
                ),
                "yeast-test.arff": (
                    "4aaac102bff9669a765bf0b378602e5cc8c3b181048282e2f003117b496d552a"
                ),
                "yeast.xml": "c3056cc26444b5158b1588d1b73bec9c45429e10f0957ad085903423cb81f247",
            },
            n=2417,
            p=103,
            K=14,
            n_initial=1500,
            source=_MULAN + "data/multi-label/yeast",
            licence=_NO_LICENCE,
            remote="data/multi-label/yeast",
            sizes={
                "yeast-train.arff": 1501117,
                "yeast-test.arff": 918515,
                "yeast.xml": 526,
            },
        ),
        Record(
            name="birds",
            title="ten-second field recordings and the bird species heard in them",
            files={
                "birds-train.arff": (
                    "8f215db6ee163149901e753977f631ba8bea0e0e8e1abc42b234414822f8ae36"
                ),
                "birds-test.arff": (
                    "51ba6326d65ccdd7c755b6461280eb6d2769c7f59d8e12fd4250f91e6ca28326"
                ),
                "birds.xml": "0f4ea547b2b3d538c8402662daf689e0d4520cc8b4f5ba113c2e7c01700f010f",
            },
            n=645,
            p=260,
            K=19,
            n_initial=322,
            source=_MULAN + "data/multi-label/birds",
            licence=_NO_LICENCE,
            remote="data/multi-label/birds",
            sizes={
                "birds-train.arff": 539367,
                "birds-test.arff": 540883,
                "birds.xml": 889,
            },
        ),
        Record(
            name="water-quality",
            title="river samples and the species present in them (abundance > 0)",
            files={
                "water-quality.arff": (
                    "4a0906b4a51bf52c986790ddaf261ba51faa3da9cffe823badabd88d38d252fe"
                ),
            },
            n=1060,
            p=16,
            K=14,
            n_initial=530,
            source=_MULAN + "data/multi-target/wq.arff",
            licence=_NO_LICENCE,
            layout="amounts",
            remote="data/multi-target",
            renamed={"water-quality.arff": "wq.arff"},
            sizes={"water-quality.arff": 316219},
        ),
        Record(
            name="mediamill",
            title="video shots and the concepts seen in them",
            files={
                "mediamill.npz": "3379e50b582d3dd2a3add90da40e3686590940e6fe8ffde08308ac518f79579f",
            },
            n=43907,
            p=120,
            K=101,
            n_initial=30993,
            source="scikit-multilearn 0.0.1 source package on PyPI, published order of rows",
            licence=_NO_LICENCE,
            layout="arrays",
            how_to_get=(
                "it is not in the MULAN repository: take its train and test part from the"
                " scikit-multilearn 0.0.1 source package on PyPI and save them, train first, as"
                " mediamill.npz with X (43907, 120), Y (43907, 101) and n_train 30993"
            ),
        ),
    )
}


def cache_folder() -> Path:
    """Return the folder in the user's cache where fetched data sets are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "efcml"


def searched_folders() -> list[Path]:
    """Return the folders where data files are searched, in this order."""
    folders = [Path(os.environ["EFCML_DATA"]).expanduser()] if os.environ.get("EFCML_DATA") else []
    folders.append(cache_folder())
    beside_checkout = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    if beside_checkout.is_dir():
        folders.append(beside_checkout)
    return folders


def find_files(record: Record) -> dict[str, Path]:
    """Return the paths of all files of a record, from the first folder that has every one."""
    folders = searched_folders()
    for folder in folders:
        paths = {name: folder / name for name in record.files}
        if all(path.is_file() for path in paths.values()):
            return paths
    searched = ", ".join(str(folder) for folder in folders)
    raise DatasetNotFound(
        f"data set {record.name!r} was found in none of the folders {searched}:"
        f" {record.how_to_get}, or set EFCML_DATA to the folder that holds"
        f" {', '.join(record.files)}"
    )


def has_sha256(path: Path, expected: str) -> bool:
    """Tell whether there is such a file and it is, byte for byte, the published one."""
    return path.is_file() and sha256(path.read_bytes()).hexdigest() == expected


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file that is not, byte for byte, the published one."""
    if not has_sha256(path, expected):
        raise ValueError(
            f"{path} is not the published file (its sha256 differs): delete it and fetch it again,"
            " or read your own version with datasets.from_arff"
        )
