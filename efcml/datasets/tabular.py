"""Data sets of tables: CSV, TSV, Parquet and ARFF files, and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .dataset import MOST_INITIAL, Dataset, choose_initial, notes_on_labels

if TYPE_CHECKING:
    from pandas import DataFrame

    from efcml.support.aliases import PathLike

Columns: TypeAlias = Sequence[str] | str


def from_csv(
    path: PathLike | DataFrame,
    label_columns: Columns | int,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    yes: str | None = None,
    name: str | None = None,
    n_initial: int | None = None,
    description: str = "",
    drop: Columns = (),
    text_as_category: Columns = (),
    date: Columns | Mapping[str, str] = (),
) -> Dataset:
    r"""Read a CSV or TSV file with a header row, in chunks; or a Parquet file, or a data frame.

    A file of numbers is taken as it is. In any other, dates, words, and yes and no become features,
    and columns that say nothing are left out; ``ds.table`` has what became of each column
    (docs/your_own_table.md). The first 10 000 rows say what each column is.

    Parameters
    ----------
    path : str, path or DataFrame
    label_columns : list of str, str or int
        Names, names separated by commas, or the number of labels if they are the last columns.
        All other columns are features. An empty field is an unknown label.
    delimiter, decimal : str, optional
        What separates columns, and the decimal sign. If not given, they are found in the file.
    yes : str, optional
        The word by which a label is there, if it is an unusual one; any other is no.
    name, description : str, optional
        The name is that of the file without its ending if not given.
    n_initial : int, optional
        Rows of the initial part; 30 % of the rows if not given, 10 000 at most.
    drop, text_as_category, date : list of str, or names separated by commas
        Features to leave out, to take as words, or to take as dates. Instead of ``"day"``,
        ``"day=%m/%d/%Y"`` or ``{"day": "%m/%d/%Y"}`` gives the format of a date.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "songs.csv"
    ...     _ = path.write_text("tempo,loud,happy,calm\n120,0.5,1,0\n80,0.25,,1\n")
    ...     songs = from_csv(path, ["happy", "calm"], n_initial=1)
    >>> songs
    Dataset('songs': 2 rows (1 initial + 1 stream), 2 features, 2 labels)
    """
    from efcml.tables.encoder import TableEncoder, choose_kinds, find_labels
    from efcml.tables.reading import CHUNK, read_chunks
    from efcml.tables.words import in_words

    chunks, begun = read_chunks(path, CHUNK, delimiter, decimal), []
    for chunk in chunks:  # until the size of the initial part is known
        begun.append(chunk)
        if 3 * sum(map(len, begun)) >= 10 * MOST_INITIAL:
            break
    first, n_begun = begun[0], sum(map(len, begun))
    labels = find_labels(first.names, label_columns, first.where)
    kinds = choose_kinds(first, labels, drop=drop, category=text_as_category, date=date)
    given = n_initial if isinstance(n_initial, (int, np.integer)) and n_initial > 0 else None
    n_learned = given or choose_initial(None, n_begun) or n_begun
    encoder = TableEncoder.learn(first, labels, n_learned, kinds, yes or "")
    parts = []
    while begun:
        parts.append(encoder.encode_with_labels(begun.pop(0), labels))
    parts += (encoder.encode_with_labels(chunk, labels) for chunk in chunks)
    X, Y = (np.concatenate(blocks) for blocks in zip(*parts, strict=True))
    if yes and not (Y[:, [bool(label.yes) for label in encoder.labels]] == 1).any():
        words = in_words(first.fields(labels[0]).counts)
        raise ValueError(
            f"{first.where}: label {labels[0]!r} is never {yes!r}, only {words}: say which of these"
            " is yes"
        )
    commas = in_words(first.commas, 60)
    notes = (
        [f"decimal commas in {commas}: say decimal='.' if that is wrong"] if first.commas else []
    )
    return Dataset(
        Path(path).stem if name is None else name,
        X,
        Y,
        n_initial,
        encoder.feature_names,
        labels,
        description,
        table=encoder if encoder.special or np.isnan(X).any() else None,
        notes=(*notes, *notes_on_labels(labels, Y)),
    )


def from_parquet(path: PathLike, label_columns: Columns | int, **options: Any) -> Dataset:
    """Read a Parquet file, in chunks, as `from_csv` does; pyarrow must be installed."""
    return from_csv(path, label_columns, **options)


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
    if not hasattr(frame, "iloc"):
        raise ValueError(
            f"from_frame takes a pandas DataFrame, not {type(frame).__name__}: use from_arrays for"
            " other tables"
        )
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

    Rows of a second file with the same attributes, ``test``, follow those of the first, which are
    the initial part then if nothing else is said.
    """
    from efcml.tables.arff import read_mulan

    X, Y, features, labels = read_mulan(arff, xml)
    if test is not None:
        X_test, Y_test, *others = read_mulan(test, xml)
        if [features, labels] != others:
            raise ValueError(f"{test} has other attributes than {arff}: give files of one data set")
        n_initial = len(X) if n_initial is None else n_initial
        X, Y = np.concatenate([X, X_test]), np.concatenate([Y, Y_test])
    name = Path(arff).stem if name is None else name
    notes = tuple(notes_on_labels(labels, Y))
    return Dataset(name, X, Y, n_initial, features, labels, description, notes=notes)
