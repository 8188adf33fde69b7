"""The rows of a study: which are fitted, which are streamed, and in which orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import datasets
from efcml.datasets import CATALOG, Dataset
from efcml.studies.runs import Table
from efcml.studies.variants import is_share, refuse_twice
from efcml.support.masks import is_sparse

if TYPE_CHECKING:
    from efcml.support.aliases import Ints

MOST_ORDERS = 1000  # so that no two seeds of a study share a shuffle
BLOCK = 50  # rows that are drawn together where neighbours belong together
IN_TIME = ("mediamill",)  # published sets whose neighbouring rows belong together


@dataclass(eq=False)
class StudyData:
    """A data set of a study.

    Order 0 is that of the file. Others shuffle the stream, never the initial part. A built-in
    stream that was given by name is made anew instead, with another seed: a shuffle would destroy
    its drift.
    """

    name: str
    dataset: Dataset
    redrawn: bool = False
    frame: Any = None  # features as they were given, of any kind; the first step of a pipeline
    _draws: dict[int, Table] = field(default_factory=dict)

    @property
    def block(self) -> int:
        """Length of the blocks of samples that intervals are drawn from."""
        return BLOCK if self.redrawn or self.dataset.marks or self.name in IN_TIME else 1

    def table(self, order: int, seed: int) -> Table:
        """Return features and labels for one order, in the order of the file.

        They are always the same, unless the stream is made anew.
        """
        number = shuffle_seed(order, seed) if self.redrawn else 0
        if number not in self._draws:
            ds = datasets.load(self.name, seed=number) if number else self.dataset
            self._draws[number] = Table(ds.X if self.frame is None else self.frame, ds.Y)
        return self._draws[number]

    def n_initial(self, start: float | None) -> int:
        """Return how many rows are fitted; one sentence if nothing is left to fit or to stream."""
        n, found = len(self.dataset), self.dataset.n_initial
        if start is not None:
            found = int(start * n) if is_share(start) else int(start)
        if not 0 < found < n:
            raise ValueError(
                f"{self.name} has {n} rows, of which {found} are the initial part: leave some for"
                " both, the initial part and the stream."
            )
        return found

    def order(self, order: int, seed: int, n_initial: int) -> Ints:
        """Return the rows of the stream in the order in which they arrive."""
        rows = np.arange(n_initial, len(self.dataset))
        if order == 0 or self.redrawn:
            return rows
        return rows[np.random.default_rng(shuffle_seed(order, seed)).permutation(len(rows))]

    @property
    def fingerprint(self) -> str:
        """A short text that stands for rows and labels in the order of the file."""
        return self.table(0, 0).key[:12]


def shuffle_seed(order: int, seed: int) -> int:
    """Return the seed of one order of a study; 0 for the first order of seed 0.

    Examples
    --------
    >>> shuffle_seed(3, 0), shuffle_seed(3, 2)
    (3, 2003)
    """
    return MOST_ORDERS * seed + order


def read_data(data: Any) -> dict[str, StudyData]:
    """Return data sets by name: of a name, a Dataset, (X, Y), or several in a list or mapping."""
    if isinstance(data, Mapping):
        found = [read_one(one, name) for name, one in data.items()]
    elif isinstance(data, list) or (isinstance(data, tuple) and not is_pair(data)):
        found = [read_one(one) for one in data]
    else:
        found = [read_one(data)]
    if not found:
        raise ValueError("there is no data: give at least one data set.")
    help = 'name them, as in {"first": (X, Y), "second": (X2, Y2)}'
    refuse_twice([one.name for one in found], "data sets", help)
    return {one.name: one for one in found}


def read_one(one: Any, name: str | None = None) -> StudyData:
    """Return one data set; ``name`` replaces its own."""
    if isinstance(one, str):
        found = datasets.load(one)
        redrawn = name in (None, found.name) and found.name not in CATALOG
        return StudyData(name or found.name, found, redrawn)
    if isinstance(one, Dataset):
        return StudyData(str(name or one.name), one)
    if is_pair(one):
        return read_pair(one[0], one[1], str(name or "data"))
    if hasattr(one, "shape"):
        raise TypeError(
            "a table alone does not say which columns are labels: give (X, Y), or"
            " datasets.from_frame(table, labels)."
        )
    raise TypeError(f"{one!r:.60} is no data set: give names, datasets, or pairs (X, Y).")


def is_pair(one: Any) -> bool:
    """Tell whether something is a pair of features and labels: tables, or lists of rows."""
    return (
        isinstance(one, tuple)
        and len(one) == 2
        and all(hasattr(part, "shape") or isinstance(part, list) for part in one)
    )


def read_pair(X: Any, Y: Any, name: str) -> StudyData:
    """Return a data set of features and labels; data frames and sparse rows stay what they are."""
    X = X.tocsr() if is_sparse(X) else X
    frame = X if hasattr(X, "iloc") or is_sparse(X) else None
    words = is_sparse(X) or (
        frame is not None and len(frame.select_dtypes(exclude=["number", "bool"]).columns)
    )
    if words:
        X = np.arange(X.shape[0], dtype=float)[:, None]  # numbers of rows: nobody learns them
    return StudyData(name, datasets.from_arrays(X, Y, name=name), frame=frame)
