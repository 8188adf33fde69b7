"""Data sets: rows of features and labels, of your own arrays, tables or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

from efcml.support.aliases import Floats, PathLike
from efcml.support.files import unpacked
from efcml.support.masks import densify, fill_mask, is_sparse

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.tables.encoder import TableEncoder

Columns: TypeAlias = Sequence[str] | str

FEW = 10  # rows from which little can be learned of a label
MOST_INITIAL = 10_000  # rows, if nobody says how many
LOOKED_AT, HARDLY = 2000, 0.02  # rows; share of rows with the rarer value


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows of features and labels, split into an initial part and a stream.

    Parameters
    ----------
    name : str
    X : array or data frame of shape (n, p)
        Features, NaN where one is missing, kept as float64 in C order; or sparse, kept as CSR.
    Y : array or data frame of shape (n, K)
        Labels 0 or 1, NaN where a label is unknown, kept as float64 in C order; may be sparse.
    n_initial : int, optional
        The first `n_initial` rows are the initial part, the others the stream. None stands for
        30 % of the rows, 10 000 at most.
    feature_names, label_names : sequence of str, optional
        Those of a data frame if not given, else x0, x1, ... and label0, label1, ...
    description : str
    marks : dict of str to int
        Rows where something happens, such as a drift; empty for published data.
    table : TableEncoder, optional
        What was learned of a table of more than numbers; it encodes later ones.
    notes : tuple of str
        What a person should know of the table: decimal commas, labels that are always the same.
    """

    name: str
    X: Floats
    Y: Floats
    n_initial: int = None  # type: ignore[assignment]  # more is taken than is kept
    feature_names: tuple[str, ...] = None  # type: ignore[assignment]
    label_names: tuple[str, ...] = None  # type: ignore[assignment]
    description: str = ""
    marks: dict[str, int] = field(default_factory=dict)
    table: TableEncoder | None = None
    notes: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(self, name: str, X: Any, Y: Any, *args: Any, **more: Any): ...

    def __post_init__(self) -> None:
        X, Y = _as_matrix(self.X, "X"), _as_matrix(self.Y, "Y")
        labels = _as_names(self.label_names, self.Y, Y.shape[1], "label")
        n, values = X.shape[0], X.data if is_sparse(X) else X
        if n != len(Y):
            raise ValueError(f"X has {n} rows and Y has {len(Y)}: give one label row per row")
        for at in np.argwhere(np.isinf(values))[:1].tolist():
            where = f"X{at}" if values is X else "a value of X"
            why = "features are finite, or NaN where missing"
            raise ValueError(f"{where} is {values[tuple(at)]}: {why}")
        for row, k in np.argwhere(~((Y == 0) | (Y == 1) | np.isnan(Y)))[:1]:
            why = f"label {labels[k]!r} is {Y[row, k]:g}"
            raise ValueError(
                f"{self.name}, row {row}: {why}: labels are 0, 1, or NaN where unknown"
            )
        kept = {
            "X": X,
            "Y": Y,
            "n_initial": choose_initial(self.n_initial, n),
            "feature_names": _as_names(self.feature_names, self.X, X.shape[1], "feature"),
            "label_names": labels,
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

        table = pandas.DataFrame.sparse.from_spmatrix if is_sparse(self.X) else pandas.DataFrame
        X = table(self.X, columns=self.feature_names)
        Y = pandas.DataFrame(self.Y, columns=self.label_names)
        n = self.n_initial
        return (X.iloc[:n], Y.iloc[:n]), (X.iloc[n:], Y.iloc[n:])

    def __len__(self) -> int:
        return len(self.Y)

    def __repr__(self) -> str:
        n, p, K = len(self), self.X.shape[1], self.Y.shape[1]
        return (
            f"Dataset({self.name!r}: {n} rows ({self.n_initial} initial + {n - self.n_initial}"
            f" stream), {p} feature{'s' * (p != 1)}, {K} label{'s' * (K != 1)})"
        )


def from_arrays(X: Any, Y: Any, *, name: str = "data", **more: Any) -> Dataset:
    """Make a data set of your own arrays or data frames (n, p) and (n, K), as `Dataset` does.

    Examples
    --------
    >>> from_arrays([[0.5, 1.0], [2.0, 3.0]], [[1], [0]], n_initial=1)
    Dataset('data': 2 rows (1 initial + 1 stream), 2 features, 1 label)
    """
    return Dataset(name, X, Y, **more)


def from_csv(
    path: PathLike | DataFrame,
    label_columns: Columns | int,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    yes: str | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: Columns = (),
    name: str | None = None,
    n_initial: int | None = None,
) -> Dataset:
    """Read a CSV or TSV file with a header row, or a Parquet file, in chunks.

    A file of numbers is taken as it is. In any other, dates, words, and yes and no become features,
    and columns that say nothing are left out; ``ds.table`` has what became of each column
    (docs/your_own_table.md). The first 10 000 rows say what each column is.

    Parameters
    ----------
    path : str or path
    label_columns : list of str, str or int
        Names, names separated by commas, or the number of labels if they are the last columns.
        All other columns are features. An empty field is an unknown label.
    delimiter, decimal : str, optional
        What separates columns, and the decimal sign. If not given, they are found in the file.
    yes : str, optional
        The word by which a label is there, if it is an unusual one; any other is no.
    kinds : dict of str to str, optional
        What columns are, if it is found wrong: ``"drop"``, ``"category"``, ``"date"``, or the
        format of a date, such as ``{"code": "category", "day": "%m/%d/%Y"}``.
    missing : str or list of str, optional
        Words that say that nothing is known, beside an empty field, ``NA`` and the like.
    name : str, optional
        That of the file without its ending if not given.
    n_initial : int, optional
        Rows of the initial part; 30 % of the rows if not given, 10 000 at most.
    """
    from efcml.tables import reading
    from efcml.tables.encoder import TableEncoder, find_labels
    from efcml.tables.reading import in_words

    kinds = {str(column): kind for column, kind in (kinds or {}).items()}
    gaps = [missing] if isinstance(missing, str) else missing
    as_text = reading.Dialect(texts=frozenset(kinds))
    chunks = reading.read_chunks(path, reading.CHUNK, delimiter, decimal, as_text)
    begun = [*islice(chunks, 4)]  # enough to know how many rows are the initial part
    first, n_begun = begun[0], sum(map(len, begun))
    labels = find_labels(first.names, label_columns, first.where)
    given = n_initial if isinstance(n_initial, (int, np.integer)) and n_initial > 0 else None
    n_learned = given or choose_initial(None, n_begun) or n_begun
    encoder = learned = TableEncoder.learn(first, labels, n_learned, kinds, yes or "", gaps)
    parts = []
    for chunk in chain(begun, chunks):
        *part, encoder = encoder.follow(chunk, labels, first=n_learned)
        parts.append(part)
    X, Y = (np.concatenate(blocks) for blocks in zip(*parts, strict=True))
    if yes and not (Y[:, [bool(label.yes) for label in encoder.labels]] == 1).any():
        words = in_words(first.fields(labels[0]).counts)
        why = f"label {labels[0]!r} is never {yes!r}, only {words}: say which of these is yes"
        raise ValueError(f"{first.where}: {why}")
    notes = [*notes_on_labels(labels, Y), *encoder.news(learned), *notes_on_tellers(encoder, X, Y)]
    if first.commas:
        commas = in_words(first.commas, 60)
        notes.insert(0, f"decimal commas in {commas}: say decimal='.' if that is wrong")
    name = Path(unpacked(path)).stem if name is None else name
    return Dataset(
        name, X, Y, n_initial, encoder.feature_names, labels, table=encoder, notes=tuple(notes)
    )


def from_frame(
    frame: DataFrame, label_columns: Columns | int, *, name: str = "data", **options: Any
) -> Dataset:
    """Make a data set of a pandas DataFrame that holds features and labels, as `from_csv` does.

    A missing value is an unknown label.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"tempo": [120, 80], "happy": [True, False]})
    >>> songs = from_frame(frame, "happy", n_initial=1)
    >>> songs.feature_names, songs.label_names
    (('tempo',), ('happy',))
    """
    return from_csv(frame, label_columns, name=name, **options)


def from_arff(
    arff: PathLike,
    xml: PathLike,
    *,
    test: PathLike | None = None,
    name: str | None = None,
    n_initial: int | None = None,
    description: str = "",
) -> Dataset:
    """Read an ARFF file of numbers, dense or sparse, whose labels are listed in a MULAN XML file.

    More than 300 features of a sparse file stay sparse.
    Rows of a second file with the same attributes, ``test``, follow those of the first, which are
    the initial part then if nothing else is said.
    """
    from efcml.tables.arff import read_mulan

    X, Y, features, labels = read_mulan(arff, xml)
    if test is not None:
        X_test, Y_test, *others = read_mulan(test, xml)
        if [features, labels] != others:
            raise ValueError(f"{test} has other attributes than {arff}: give files of one data set")
        n_initial = X.shape[0] if n_initial is None else n_initial
        join = vstack if is_sparse(X) else np.concatenate
        X, Y = join([X, X_test]), np.concatenate([Y, Y_test])
    name = Path(arff).stem if name is None else name
    notes = tuple(notes_on_labels(labels, Y))
    return Dataset(name, X, Y, n_initial, features, labels, description, notes=notes)


def notes_on_labels(names: Sequence[str], Y: Floats) -> list[str]:
    """Return a note about every label from which nothing or little can be learned, and on gaps."""
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


def notes_on_tellers(table: TableEncoder, X: Floats, Y: Floats) -> list[str]:
    """Return a note on every column that alone tells a label, and may not be known in time.

    Rows with the same value have the same label; and so have nearly all with values nearby.
    """
    notes, last, Y = [], 0, Y[:LOOKED_AT]
    for column in table.used:
        first, last = last, last + len(column.features)
        values = X[:LOOKED_AT, first : first + 1 if column.parts else last]
        values = values @ np.arange(1, values.shape[1] + 1)  # a row has one of several at most
        groups = np.unique(values, return_inverse=True)[1]
        ones, zeros = (
            np.array([np.bincount(groups[y == one], minlength=groups.max() + 1) for y in Y.T])
            for one in (1.0, 0.0)
        )
        rarer = np.minimum(ones.sum(axis=1), zeros.sum(axis=1))
        wrong = np.minimum(ones, zeros).sum(axis=1)
        if column.parts or not column.values:  # of numbers: not one that comes and goes
            wrong += np.diff(ones > zeros, axis=1).sum(axis=1) // 2
        for k in np.flatnonzero((wrong <= HARDLY * rarer) & (rarer >= FEW)):
            label = table.labels[k].name
            notes.append(
                f"column {column.name!r} alone tells label {label!r}: is it known in time? If not,"
                f" leave it out (--kind {column.name}=drop)"
            )
    return notes


def choose_initial(n_initial: int | None, n: int) -> int:
    """Return the number of initial rows, or refuse one that n rows cannot have."""
    if n_initial is None:
        return min(n * 3 // 10, MOST_INITIAL)
    if not isinstance(n_initial, (int, np.integer)) or not 0 <= n_initial <= n:
        raise ValueError(f"n_initial is {n_initial!r}: choose a whole number of rows, 0 to {n}")
    return int(n_initial)


def _as_matrix(values: Any, what: str) -> Floats:
    """Return a float64 table in C order, or say what is wrong with it; sparse features stay so."""
    values = densify(values) if what == "Y" else values
    try:
        if is_sparse(values):
            matrix = csr_array(values, dtype=np.float64)
        else:
            matrix = np.ascontiguousarray(fill_mask(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is no table of numbers: encode text as numbers first") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{what} has shape {matrix.shape}: give at least one row and one column")
    return matrix


def _as_names(names: Any, table: Any, count: int, what: str) -> tuple[str, ...]:
    """Return the names of columns, those of a data frame or numbered ones if none are given."""
    if names is None:
        numbered = [f"{'x' if what == 'feature' else what}{i}" for i in range(count)]
        names = getattr(table, "columns", numbered)
    known = tuple(str(name) for name in names)
    if len(known) != count or len(set(known)) != count:
        raise ValueError(
            f"{count} {what}s have the names {known}: give every {what} one of its own"
        )
    return known
