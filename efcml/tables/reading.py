"""Tables from CSV, TSV, Parquet and ARFF files and data frames, whole or in chunks.

`Fields` makes words, numbers and moments of what a column holds; nothing else reads a field.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from efcml.support.aliases import Array, Bools, Floats
from efcml.support.imports import extra_for
from efcml.support.masks import densify

GAPS = frozenset(("", "na", "n/a", "#n/a", "nan", "none", "null", "?", "-", "--", "<na>"))
YES_NO = (
    *(("1", "0"), ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off")),
    *(("ja", "nein"), ("j", "n"), ("wahr", "falsch"), ("oui", "non"), ("o", "n")),
    *(("vrai", "faux"), ("si", "no"), ("sí", "no"), ("s", "n")),
)
FLAGS = {no: 0.0 for _, no in YES_NO} | {yes: 1.0 for yes, _ in YES_NO} | {"x": 1.0}
TRUE_OR_FALSE = {"true": 1.0, "false": 0.0}  # also among numbers
OTHER_SIGN = {".": ",", ",": "."}
THOUSANDS = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?", re.ASCII),
}
MOSTLY = 0.9  # of the fields: the others are mistakes
ISO = "year-month-day"  # with or without a time, as ISO 8601 has it
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y")
_NAMED_DAYS = ("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
DATE_FORMATS = (ISO, *map("".join, product(_DAYS + _NAMED_DAYS, _TIMES)))
LOOKED_AT = 50  # texts by which it is seen whether there are dates at all
SEPARATORS = ("\t", ";", "|", ",")  # the comma last: it may be part of names and numbers
SAMPLE = 200  # rows by which separator, decimal signs and columns of text are found
CHUNK = 10_000  # rows that are read at once; the first of them say what each column is
GAPS_AS_WRITTEN = sorted({form for gap in GAPS for form in (gap, gap.upper(), gap.title())})
# Before pandas 3.1, numbers might differ in the last digit.
_OLD_PANDAS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _OLD_PANDAS else {}
INDEX = "__index_level_"  # how pandas names the numbers of rows that it has written
_SIGNED = {
    ",": re.compile(r"[+-]?\d*(\.\d{3})*,\d+([eE][+-]?\d+)?"),
    ".": re.compile(r"[+-]?\d*(,\d{3})*\.\d+([eE][+-]?\d+)?"),
}


# -- fields ---------------------------------------------------------------------------------


def is_gap(text: str) -> bool:
    """Tell whether a field says that nothing is known."""
    return text.casefold() in GAPS


def to_number(text: str, decimal: str = ".") -> float:
    """Return a number; NaN if the text is none.

    The decimal sign only tells what 1,234 is: the other sign may separate thousands.
    """
    if THOUSANDS[decimal].fullmatch(text):
        text = text.replace(OTHER_SIGN[decimal], "")
    elif "_" in text:
        return math.nan  # Python reads 1_000 as a number; in a data file it is more likely a slip
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return math.nan


def plain_word(word: str, decimal: str = ".") -> str:
    """Return a word; of a number its shortest text, so that a code is one word everywhere."""
    number = to_number(word, decimal)
    if math.isnan(number):
        return word
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def short(text: object, length: int = 40) -> str:
    """Return a text in quotes, without its end if it is long."""
    text = str(text)
    return repr(text if len(text) <= length else text[:length] + "...")


def in_words(names: Iterable[object], length: int = 200) -> str:
    """Return names as a list for a sentence, in quotes, cut if it is long."""
    return short(", ".join(map(str, names)), length)


def to_moments(texts: Any, how: str) -> pd.DatetimeIndex:
    """Return moments by the clock of Greenwich; NaT where a text is none."""
    how = "ISO8601" if how == ISO else how
    moments = pd.to_datetime(pd.Index(texts), format=how, errors="coerce", utc=True)
    return moments.tz_localize(None).as_unit("us")


def find_date_formats(texts: Sequence[str], least: float = MOSTLY) -> list[str]:
    """Return the formats of nearly all texts, or of a least share, the best one first."""
    few = texts[:LOOKED_AT]
    if not any(char.isdigit() for text in few for char in text):
        return []
    are_dates = {how: to_moments(few, how).notna() for how in DATE_FORMATS}
    likely = [how for how in DATE_FORMATS if are_dates[how].mean() >= least]
    if not likely and np.any([*are_dates.values()], axis=0).mean() >= least:
        raise ValueError("has dates in several formats: write all in one")
    shares = {how: to_moments(texts, how).notna().mean() for how in likely}
    return sorted((how for how in shares if shares[how] >= least), key=lambda how: -shares[how])


class Fields:
    """The fields of one column, whether they are text or have a type already."""

    def __init__(self, column: pd.Series, decimal: str = ".") -> None:
        self.is_category = isinstance(column.dtype, pd.CategoricalDtype)
        self.column = column = column.astype(object) if self.is_category else column
        self.are_moments = types.is_datetime64_any_dtype(column)
        self.are_numbers = types.is_any_real_numeric_dtype(column)
        self.decimal = "." if self.are_numbers else decimal

    def __len__(self) -> int:
        return len(self.column)

    @cached_property
    def numbers(self) -> Floats:
        """Numbers; NaN where a field is none."""
        if self.are_numbers:
            return self.column.to_numpy(dtype=np.float64, na_value=np.nan)
        return self._by_word(self._number)

    @cached_property
    def missing(self) -> Bools:
        """Where nothing is known."""
        if self.are_numbers or self.are_moments:
            return self.column.isna().to_numpy()
        return self._by_word(lambda word: word == "")

    def moments(self, how: str) -> pd.DatetimeIndex:
        """Return what is written in a format; NaT where a field is no such moment."""
        if self.are_moments:
            return to_moments(self.column, ISO)
        words, codes = self._distinct
        return to_moments(words, how)[codes]

    def map(self, function: Callable[[str], float]) -> Floats:
        """Return a number for the word of every row."""
        return self._by_word(lambda word: float(function(plain_word(word, self.decimal))))

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word is there, gaps not counted."""
        words, codes = self._distinct
        counts: Counter[str] = Counter()
        for word, count in zip(words, np.bincount(codes, minlength=len(words)), strict=True):
            if word and count:
                counts[plain_word(word, self.decimal)] += int(count)
        return counts

    def text(self, row: int) -> str:
        """Return a field as it is written."""
        text = str(self.column.iloc[row]).strip()
        return plain_word(text) if self.are_numbers else text

    def _number(self, word: str) -> float:
        number = to_number(word, self.decimal)
        return TRUE_OR_FALSE.get(word.casefold(), math.nan) if math.isnan(number) else number

    def _by_word(self, function: Callable[[str], Any]) -> Array:
        words, codes = self._distinct
        return np.array([function(word) for word in words])[codes]

    @cached_property
    def _distinct(self) -> tuple[Array, Array]:
        """The distinct texts, empty for a gap, and which of them each row has."""
        is_mixed = self.column.dtype == object  # perhaps with lists and the like
        column = self.column.map(str, na_action="ignore") if is_mixed else self.column
        codes, found = pd.factorize(column)
        texts = [str(text).strip() for text in found] + [""]  # the last one, -1, is that of a gap
        texts = ["" if is_gap(text) else text for text in texts]
        merged, words = pd.factorize(np.array(texts, dtype=object))
        return words, merged[codes]


# -- tables ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file or a data frame, and where they stand in it."""

    frame: pd.DataFrame
    where: str
    first: int  # the row of the source with which the frame begins
    decimal: str  # the sign
    commas: Sequence[str]  # where decimal commas were found
    csv: CsvFile | None

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return list(self.frame.columns)

    def fields(self, name: str) -> Fields:
        """Return the fields of a column."""
        return Fields(self.frame[name], self.decimal)

    def place(self, row: int) -> str:
        """Return where a row stands: the line of a CSV file, or the number of the row from 0."""
        row += self.first
        if self.csv is None:
            return f"row {row}"
        return f"line {next(islice(self.csv.records(), row + 1, None))[0]}"  # read again


def read_chunks(
    source: Any, rows: int | None = CHUNK, delimiter: str | None = None, decimal: str | None = None
) -> Iterator[Table]:
    """Yield tables of so many rows of a file or a data frame, or one of all rows.

    ``delimiter`` and ``decimal`` say how a file is written; if not given, they are found in it.
    """
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal is {decimal!r}: give '.' or ','")
    where, kind = "the frame", ".frame"
    if not isinstance(source, pd.DataFrame):
        where, kind = str(source), Path(source).suffix.lower()
    frames: Iterable[pd.DataFrame]
    file, sign, first = None, None, 0
    if kind == ".arff":
        from efcml.tables.arff import read_arff  # not above: it needs what is here

        names, values = read_arff(source)
        n, size = values.shape[0], rows or values.shape[0]
        blocks = (values[start : start + size] for start in range(0, n, size))
        frames = (pd.DataFrame(densify(block), columns=names) for block in blocks)
    elif kind == ".frame":
        size = rows or len(source) or 1
        frames = (source.iloc[start : start + size] for start in range(0, len(source), size))
    elif kind == ".parquet":
        frames = parquet_chunks(Path(source), rows)
    else:
        file = CsvFile(Path(source), delimiter, decimal)
        frames, sign, commas = file.chunks(rows), file.decimal, file.commas
    for frame in frames:
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        if sign is None:
            check_names(frame.columns, where)
            sign, commas = find_decimal(frame.iloc[:SAMPLE], decimal)
        yield Table(frame, where, first, sign, commas, file)
        first += len(frame)
    if not first:
        raise ValueError(f"{where} has no rows: give at least one")


def parquet_chunks(path: Path, rows: int | None) -> Iterator[pd.DataFrame]:
    """Yield data frames of so many rows of a Parquet file, which is in memory as a whole."""
    with extra_for("a Parquet file"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            names = [one for one in file.schema_arrow.names if not one.startswith(INDEX)]
            whole = file.read(names)
    except ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path} cannot be read as Parquet ({reason}): get it again") from None
    size = rows or len(whole) or 1
    for start in range(0, len(whole), size):
        yield whole.slice(start, size).to_pandas(ignore_metadata=True)


class CsvFile:
    """A CSV file, and how it is written: encoding, separator, decimal signs and names."""

    def __init__(self, path: Path, sep: str | None, decimal: str | None) -> None:
        if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n'):
            raise ValueError(f"delimiter is {sep!r}: give one character, such as ';' or '\\t'")
        self.path, self.encoding = path, find_encoding(path)
        with path.open(encoding=self.encoding, newline="") as file:
            self.sep = sep or find_separator(list(islice(file, 2 * SAMPLE)))
        numbered = list(islice(self.records(), SAMPLE + 1))
        if not numbered:
            raise ValueError(f"{path}: the file is empty: give one with a header row")
        (line, self.names), rows = numbered[0], [fields for _, fields in numbered[1:]]
        where = f"{path}, line {line}"
        if not any(math.isnan(to_number(name)) for name in self.names):
            raise ValueError(f"{where}: numbers instead of names: put a header row before the data")
        check_names(self.names, where)
        if not rows:
            raise ValueError(f"{path}: no rows after the header: the file is cut, get it again")
        if any(len(row) != len(self.names) for row in rows):
            self.check_lengths()
        sample = pd.DataFrame(rows, columns=self.names, dtype=object)
        self.decimal, self.commas = find_decimal(sample, decimal, self.sep)
        self.text_names = [n for n in self.names if not are_numbers(sample[n], self.decimal)]

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of every row that is not blank, header first, and its last line."""
        spaced = self.sep != " "
        with self.path.open(encoding=self.encoding, newline="") as file:
            reader = csv.reader(file, delimiter=self.sep, skipinitialspace=spaced, strict=True)
            try:
                for row in reader:
                    fields = [text.strip() for text in row]
                    if fields not in ([], [""]):
                        yield reader.line_num, fields
            except csv.Error as error:
                raise ValueError(
                    f"{self.path}, line {reader.line_num}: no well-formed CSV ({error}): correct"
                    " the quotes"
                ) from None

    def chunks(self, rows: int | None) -> Iterator[pd.DataFrame]:
        """Yield data frames of so many rows, or one of all rows.

        pandas fills rows that are cut with gaps: where the last column has one, rows are counted.
        """
        counted = False
        try:
            with pd.read_csv(
                self.path,
                sep=self.sep,
                decimal=self.decimal,
                encoding=self.encoding,
                header=0,
                names=self.names,
                index_col=False,
                dtype=dict.fromkeys(self.text_names, str),  # or a chunk may have another type
                na_values=GAPS_AS_WRITTEN,
                keep_default_na=False,
                skipinitialspace=self.sep != " ",
                low_memory=False,
                chunksize=rows or 2**62,
                **EXACT,
            ) as reader:
                for frame in reader:
                    if not counted and frame.iloc[:, -1].isna().any():
                        self.check_lengths()
                        counted = True
                    yield frame
        except pd.errors.ParserError as error:
            self.check_lengths()
            raise ValueError(f"{self.path}: it cannot be read as CSV ({error})") from None

    def check_lengths(self) -> None:
        """Refuse rows with more or fewer fields than there are names."""
        n = len(self.names)
        for line, fields in self.records():
            if len(fields) != n:
                raise ValueError(
                    f"{self.path}, line {line}: {len(fields)} fields for {n} columns: the row is"
                    " cut or has a delimiter too many, correct it"
                )


def find_encoding(path: Path) -> str:
    """Return UTF-8, or UTF-16 if the file says so, or what Windows writes in Western Europe."""
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    with suppress(UnicodeDecodeError), path.open(encoding="utf-8-sig") as text:
        while text.read(2**20):
            pass
        return "utf-8-sig"
    return "cp1252"


def find_separator(lines: Sequence[str]) -> str:
    r"""Return the first separator that splits header and rows into as many fields."""
    widths = dict.fromkeys(SEPARATORS, [0])
    for sep in SEPARATORS:
        with suppress(csv.Error):  # told when the file is read
            rows = csv.reader(lines, delimiter=sep, skipinitialspace=True)
            widths[sep] = [len(row) for row in rows if row] or [0]
        first, *_ = widths[sep]
        if first > 1 and widths[sep].count(first) >= MOSTLY * len(widths[sep]):
            return sep
    return max(reversed(SEPARATORS), key=lambda sep: widths[sep][0])


def find_decimal(sample: pd.DataFrame, given: str | None, sep: str = ";") -> tuple[str, list[str]]:
    """Return the decimal sign that decides of 1,234, and the columns that have decimal commas.

    It is that of the fields which can have but one; without any 1,234 counts as it stands there
    most, but never where commas separate columns.
    """
    texts = {n: [one.strip() for one in sample[n] if isinstance(one, str)] for n in sample}
    sure, doubts = Counter[str](), Counter[str]()
    for text in chain(*texts.values()):
        for sign, pattern in _SIGNED.items():
            if pattern.fullmatch(text):
                (doubts if THOUSANDS[OTHER_SIGN[sign]].fullmatch(text) else sure)[sign] += 1
    doubts[","] *= sep != ","
    counts = sure or doubts
    sign = given or ("," if counts[","] > counts["."] else ".")
    commas = [
        name
        for name, column in texts.items()
        if are_numbers(column, sign)
        and any("," in one and not THOUSANDS[sign].fullmatch(one) for one in column)
    ]
    return sign, [] if given else commas


def are_numbers(texts: Iterable[str], decimal: str) -> bool:
    """Tell whether all fields that are no gaps are numbers, and there are some."""
    known = [text for text in texts if not is_gap(text)]
    return bool(known) and not any(math.isnan(to_number(text, decimal)) for text in known)


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse columns without a name, or with that of another one."""
    names = list(names)
    if "" in names:
        raise ValueError(f"{where}: column {names.index('') + 1} has no name: give it one")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{where}: two columns are called {short(twice[0])}: rename one")
