"""The rows of a study: which are fitted, which are streamed, and in which orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import datasets
from efcml.datasets import CATALOG, Dataset
from efcml.studies.runs import Table
from efcml.studies.variants import by_name, is_share
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
        number = MOST_ORDERS * seed + order if self.redrawn else 0
        if number not in self._draws:
            ds = datasets.load(self.name, seed=number) if number else self.dataset
            self._draws[number] = Table(ds.X if self.frame is None else self.frame, ds.Y)
        return self._draws[number]

    def n_initial(self, start: float | None) -> int:
        """Return how many rows are fitted; one sentence if nothing is left to fit or to stream."""
        n, count = len(self.dataset), self.dataset.n_initial
        if start is not None:
            count = int(start * n) if is_share(start) else int(start)
        if not 0 < count < n:
            raise ValueError(
                f"{self.name} has {n} rows, of which {count} are the initial part: leave some for"
                " both, the initial part and the stream."
            )
        return count

    def order(self, order: int, seed: int, n_initial: int) -> Ints:
        """Return the rows of the stream in the order in which they arrive."""
        rows = np.arange(n_initial, len(self.dataset))
        if order == 0 or self.redrawn:
            return rows
        return np.random.default_rng(MOST_ORDERS * seed + order).permutation(rows)

    @property
    def fingerprint(self) -> str:
        """A short text that stands for rows and labels in the order of the file."""
        return self.table(0, 0).key[:12]


def read_data(data: Any) -> dict[str, StudyData]:
    """Return data sets by name: of a name, a Dataset, (X, Y), or several in a list or mapping."""
    if isinstance(data, Mapping):
        sets = [read_one(one, name) for name, one in data.items()]
    elif isinstance(data, list) or (isinstance(data, tuple) and not is_pair(data)):
        sets = [read_one(one) for one in data]
    else:
        sets = [read_one(data)]
    if not sets:
        raise ValueError("there is no data: give at least one data set.")
    help = 'name them, as in {"first": (X, Y), "second": (X2, Y2)}'
    return by_name([(one.name, one) for one in sets], "data sets", help)


def read_one(one: Any, name: str | None = None) -> StudyData:
    """Return one data set; ``name`` replaces its own."""
    if isinstance(one, str):
        ds = datasets.load(one)
        redrawn = name in (None, ds.name) and ds.name not in CATALOG
        return StudyData(name or ds.name, ds, redrawn)
    if isinstance(one, Dataset):
        return StudyData(str(name or one.name), one)
    if hasattr(one, "shape"):
        raise TypeError(
            "a table alone does not say which columns are labels: give (X, Y), or"
            " datasets.from_frame(table, labels)."
        )
    if not is_pair(one):
        raise TypeError(f"{one!r:.60} is no data set: give names, datasets, or pairs (X, Y).")
    X, Y = one  # data frames and sparse rows stay what they are
    X, name = X.tocsr() if is_sparse(X) else X, str(name or "data")
    frame = X if hasattr(X, "iloc") or is_sparse(X) else None
    if is_sparse(X) or (
        hasattr(X, "iloc") and X.select_dtypes(exclude=["number", "bool"]).shape[1]
    ):
        X = np.arange(X.shape[0], dtype=float)[:, None]  # numbers of rows: nobody learns them
    return StudyData(name, datasets.from_arrays(X, Y, name=name), frame=frame)


def is_pair(one: Any) -> bool:
    """Tell whether something is a pair of features and labels: tables, or lists of rows."""
    pair = isinstance(one, tuple) and len(one) == 2
    return pair and all(hasattr(part, "shape") or isinstance(part, list) for part in one)
