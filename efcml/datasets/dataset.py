"""Rows of features and labels, split into an initial part and a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.support.dense import densify
from efcml.support.masks import fill_mask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.support.aliases import Floats
    from efcml.tables import TableEncoder

FEW = 10  # rows from which little can be learned of a label
MOST_INITIAL = 10_000  # rows, if nobody says how many


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
    n_initial : int or None
        The first `n_initial` rows are the initial part, the others the stream. None stands for
        30 % of the rows, 10 000 at most.
    feature_names, label_names : tuple of str
    description : str
    marks : dict of str to int
        Rows where something happens, such as a drift; empty for published data.
    table : TableEncoder, optional
        What was learned of a table of more than numbers; it encodes later ones.
    notes : tuple of str
        What a person should know of the table: decimal commas, labels that are always the same.

    Examples
    --------
    >>> Dataset("tiny", [[1.0], [2.0]], [[0, 1], [1, 1]], 1, ["size"], ["a", "b"])
    Dataset('tiny': 2 rows (1 initial + 1 stream), 1 feature, 2 labels)
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
    notes: tuple[str, ...] = ()

    if TYPE_CHECKING:  # more is taken than is kept

        def __init__(self, name: str, X: Any, Y: Any, n_initial: Any, *args: Any, **more: Any): ...

    def __post_init__(self) -> None:
        X, Y = _as_matrix(self.X, "X"), _as_matrix(self.Y, "Y")
        if len(X) != len(Y):
            raise ValueError(f"X has {len(X)} rows and Y has {len(Y)}: give one label row per row")
        for row, j in np.argwhere(np.isinf(X))[:1]:
            why = "features are finite, or NaN where missing"
            raise ValueError(f"X[{row}, {j}] is {X[row, j]}: {why}")
        for row, k in np.argwhere(~((Y == 0) | (Y == 1) | np.isnan(Y)))[:1]:
            why = "labels are 0, 1, or NaN where unknown"
            raise ValueError(f"Y[{row}, {k}] is {Y[row, k]:g}: {why}")
        kept = {
            "X": X,
            "Y": Y,
            "n_initial": choose_initial(self.n_initial, len(X)),
            "feature_names": _as_names(self.feature_names, X.shape[1], "feature"),
            "label_names": _as_names(self.label_names, Y.shape[1], "label"),
            "marks": dict(self.marks),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    @property
    def initial(self) -> tuple[Floats, Floats]:
        """X and Y of the initial part, as views."""
        return self.X[: self.n_initial], self.Y[: self.n_initial]

    @property
    def stream(self) -> tuple[Floats, Floats]:
        """X and Y of the rows after the initial part, as views."""
        return self.X[self.n_initial :], self.Y[self.n_initial :]

    def frames(self) -> tuple[tuple[DataFrame, DataFrame], tuple[DataFrame, DataFrame]]:
        """Return ``(X, Y)`` of the initial part and of the rest as data frames, with names."""
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
    """Make a data set of your own arrays or data frames (n, p) and (n, K).

    Features are NaN where one is missing, labels 0 or 1, or NaN where unknown; Y may be sparse. The
    initial part is 30 % of the rows if ``n_initial`` is not given, 10 000 at most. Names are those
    of the columns of a data frame if not given, else x0, x1, ... and label0, label1, ...

    Examples
    --------
    >>> from_arrays([[0.5, 1.0], [2.0, 3.0]], [[1], [0]], n_initial=1)
    Dataset('data': 2 rows (1 initial + 1 stream), 2 features, 1 label)
    """
    features, labels = _as_matrix(X, "X"), _as_matrix(Y, "Y")
    if feature_names is None:
        feature_names = getattr(X, "columns", [f"x{i}" for i in range(features.shape[1])])
    if label_names is None:
        label_names = getattr(Y, "columns", [f"label{i}" for i in range(labels.shape[1])])
    return Dataset(name, features, labels, n_initial, feature_names, label_names, description)


def notes_on_labels(names: Sequence[str], Y: Floats) -> list[str]:
    """Return a note about every label from which nothing or little can be learned, and on gaps.

    Examples
    --------
    >>> notes_on_labels(["a", "b"], np.array([[0.0, np.nan]] * 20))
    ["label 'a' is never there, in 20 known rows", "label 'b' is not known in any of 20 rows",
     '50 % of the labels are unknown']
    """
    notes = []
    for name, column in zip(names, Y.T, strict=True):
        known = column[~np.isnan(column)]
        if not len(known):
            notes.append(f"label {name!r} is not known in any of {len(column)} rows")
        elif known.min() == known.max():
            often = "always" if known[0] else "never"
            notes.append(f"label {name!r} is {often} there, in {len(known)} known rows")
        elif len(known) < min(FEW, len(column)):
            notes.append(f"label {name!r} is known in only {len(known)} of {len(column)} rows")
    unknown = 100.0 * np.isnan(Y).mean()
    return [*notes, *([f"{unknown:.3g} % of the labels are unknown"] if unknown else [])]


def choose_initial(n_initial: int | None, n: int) -> int:
    """Return the number of initial rows, or refuse one that n rows cannot have."""
    if n_initial is None:
        return min(n * 3 // 10, MOST_INITIAL)
    if not isinstance(n_initial, (int, np.integer)) or not 0 <= n_initial <= n:
        raise ValueError(f"n_initial is {n_initial!r}: choose a whole number of rows, 0 to {n}")
    return int(n_initial)


def _as_matrix(values: Any, what: str) -> Floats:
    """Return a float64 table in C order, or say what is wrong with it; labels may be sparse."""
    values = densify(values) if what == "Y" else values
    if hasattr(values, "toarray"):
        raise ValueError(f"{what} is a sparse matrix: give a dense one, such as {what}.toarray()")
    try:
        matrix = np.ascontiguousarray(fill_mask(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is no table of numbers: encode text as numbers first") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{what} has shape {matrix.shape}: give at least one row and one column")
    return matrix


def _as_names(names: Iterable[object], count: int, what: str) -> tuple[str, ...]:
    known = tuple(str(name) for name in names)
    if len(known) != count or len(set(known)) != count:
        raise ValueError(
            f"{count} {what}s have the names {known}: give every {what} one of its own"
        )
    return known
