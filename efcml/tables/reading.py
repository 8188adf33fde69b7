"""Tables from CSV, TSV, Parquet and ARFF files and data frames, whole or in chunks.

`Fields` makes words, numbers and moments of what a column holds; nothing else reads a field.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import math
import re
import zlib
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import TextIOWrapper
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from efcml.support.aliases import Array, Bools, Floats
from efcml.support.files import PACKED, kind_of
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
_GROUPS = {".": r"[1-9]\d{0,2}(?:,\d{3})+", ",": r"[1-9]\d{0,2}(?:\.\d{3})+"}
THOUSANDS = {
    sign: re.compile(rf"[+-]?{groups}(?:[{sign}]\d+)?", re.ASCII)
    for sign, groups in _GROUPS.items()
}
UNKNOWN = frozenset(("unknown", "missing", "unbekannt", "inconnu", "n.a.", "n. a."))  # of a number
CODE, ZEROS = re.compile(r"\d+", re.ASCII), re.compile(r"0\d\d+", re.ASCII)  # 007 is no amount
_UNITS = "%|‰|[$€£¥₹]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK"
_UNIT = re.compile(rf"([+-]?)\s*({_UNITS})?\s*([+-]?[\d.,]+)\s*({_UNITS})?", re.ASCII | re.I)
_IN = rf"[ \t]*(?:{_UNITS})?[ \t]*"  # a unit, or none


def _in_lines(number: str) -> re.Pattern[str]:
    return re.compile(f"^{_IN}[+-]?{number}{_IN}$", re.M | re.A | re.I)


_SURE = {  # numbers that can have but this sign
    one: _in_lines(rf"(?!{_GROUPS[other]}{_IN}$)(?:{_GROUPS[one]}|\d*)[{one}]\d+(?:e[+-]?\d+)?")
    for one, other in OTHER_SIGN.items()
}
_DOUBT = {one: _in_lines(rf"[1-9]\d{{0,2}}[{one}]\d{{3}}") for one in OTHER_SIGN}  # or the other
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\n-?(?:0|[1-9]\d*))*", re.ASCII)  # whole numbers
_ZONE = {*"+-ZC"}  # one of them ends a moment with a time zone: +01:00, Z, UTC
MOSTLY = 0.9  # of the fields: the others are mistakes
ISO = "year-month-day"  # with or without a time, as ISO 8601 has it
_LETTERS = re.compile(r"%.")
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y")
_NAMED_DAYS = ("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p")  # of a time of day
DATE_FORMATS = (ISO, *map("".join, product(_DAYS + _NAMED_DAYS, _TIMES)), *CLOCKS)
LOOKED_AT = 50  # texts by which it is seen whether there are dates at all
SEPARATORS = ("\t", ";", "|", ",")  # the comma last: it may be part of names and numbers
OPEN: dict[str, Any] = dict(zip(PACKED, (gzip.open, bz2.open, lzma.open), strict=True))
SAMPLE = 200  # lines by which the separator is found
MOST_FIELDS = 1_000_000  # by which decimal signs and columns of text are found
CHUNK = 10_000  # rows that are read at once; the first of them say what each column is
GAPS_AS_WRITTEN = sorted({form for gap in GAPS for form in (gap, gap.upper(), gap.title())})
# Before pandas 3.1, numbers might differ in the last digit.
_OLD_PANDAS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _OLD_PANDAS else {}
INDEX = "__index_level_"  # how pandas names the numbers of rows that it has written
UNNAMED = "Unnamed: 0"  # and how it reads them from a CSV file


# -- fields ---------------------------------------------------------------------------------


def to_number(text: str, decimal: str = ".") -> float:
    """Return a number; NaN if the text is none. The other sign may separate thousands."""
    other = OTHER_SIGN[decimal]
    if other in text and THOUSANDS[decimal].fullmatch(text):
        text = text.replace(other, "")
    elif "_" in text or other in text:
        return math.nan  # Python reads 1_000 as a number; in a data file it is more likely a slip
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return math.nan


def split_unit(text: str) -> tuple[str, str]:
    """Return the unit of an amount, such as EUR or %, and the number, or nothing and the text."""
    found = _UNIT.fullmatch(text)
    if found is None or bool(found[2]) == bool(found[4]):
        return "", text
    return (found[2] or found[4]).upper(), found[1] + found[3]


def plain_word(word: str, decimal: str = ".") -> str:
    """Return a word; of a number its shortest text, so that a code is one word everywhere.

    Digits stay as they are: 01234 is not 1234, and long ones would be rounded.
    """
    number = math.nan if CODE.fullmatch(word) else to_number(word, decimal)
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
    signs = {*"".join(few)}
    if not any(map(str.isdigit, signs)):
        return []
    hows = [how for how in DATE_FORMATS if how == ISO or {*_LETTERS.sub("", how)} <= signs]
    are_dates = {how: to_moments(few, how).notna() for how in hows}
    likely = [how for how in hows if are_dates[how].mean() >= least]
    if not likely and np.any([*are_dates.values()], axis=0).mean() >= least:
        raise ValueError("has dates in several formats: write all in one")
    shares = {how: to_moments(texts, how).notna().mean() for how in likely}
    return sorted((how for how in shares if shares[how] >= least), key=lambda how: -shares[how])


class Fields:
    """The fields of one column, whether they are text or have a type already."""

    def __init__(
        self, column: pd.Series, decimal: str = ".", unit: str = "", gaps: Iterable[str] = ()
    ) -> None:
        self.unit, self.gaps = unit, frozenset(gaps)
        self.is_category = isinstance(column.dtype, pd.CategoricalDtype)
        self.column = column = column.astype(object) if self.is_category else column
        self.are_moments = types.is_datetime64_any_dtype(column)
        self.are_numbers = types.is_any_real_numeric_dtype(column)
        self.decimal = "." if self.are_numbers else decimal

    def __len__(self) -> int:
        return len(self.column)

    def read_as(self, unit: str, gaps: Iterable[str]) -> Fields:
        """Return the same fields, with this unit and with these words for gaps."""
        same = (unit, gaps) == (self.unit, self.gaps)
        return self if same else Fields(self.column, self.decimal, unit, gaps)

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
        words, codes = self._distinct
        return (words == "")[codes]

    @cached_property
    def zoned(self) -> Bools:
        """Where a moment is told with its time zone."""
        if self.are_moments:
            return np.full(len(self), self.column.dt.tz is not None)
        return self._by_word(lambda word: ":" in word and bool(_ZONE & {*word[-6:].upper()}))

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
    def tally(self) -> dict[str, int]:
        """How often each text is there as it is written, gaps not counted."""
        words, codes = self._distinct
        counts = np.bincount(codes, minlength=len(words)).tolist()
        return {word: n for word, n in zip(words, counts, strict=True) if word and n}

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word is there, gaps not counted."""
        counts: Counter[str] = Counter()
        for word, count in self.tally.items():
            counts[plain_word(word, self.decimal)] += count
        return counts

    def is_word(self, text: str) -> bool:
        """Tell whether a text is no number."""
        return math.isnan(self._number(text))

    def text(self, row: int) -> str:
        """Return a field as it is written."""
        text = str(self.column.iloc[row]).strip()
        return plain_word(text) if self.are_numbers else text

    def _number(self, word: str) -> float:
        unit, text = self.unit, word
        if unit and word.endswith(unit):  # as most are
            text = word[: -len(unit)].rstrip()
        elif unit and word.startswith(unit):
            text = word[len(unit) :].lstrip()
        elif unit:
            unit, text = split_unit(word)
        number = to_number(text, self.decimal) if unit == self.unit else math.nan
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
        texts = [str(text).strip() for text in np.asarray(found, dtype=object)]
        if self.are_numbers:  # a gap among whole numbers makes 20240305.0 of them
            texts = [plain_word(text) for text in texts]
        gaps = GAPS | self.gaps
        texts = ["" if text.casefold() in gaps else text for text in texts] + [""]  # -1 is a gap
        merged, words = pd.factorize(np.array(texts, dtype=object))
        return words, merged[codes]


# -- tables ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dialect:
    """How a table is written: "" where that is not known, or does not matter."""

    delimiter: str = ""
    decimal: str = ""  # the sign, but for some columns
    signs: Mapping[str, str] = field(default_factory=dict)  # of these columns
    texts: frozenset[str] = frozenset()  # columns that are words, even if all look like numbers

    def sign_of(self, name: str = "") -> str:
        """Return the decimal sign of a column, or of most of them."""
        return self.signs.get(name) or self.decimal or "."


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file or a data frame, and where they stand in it."""

    frame: pd.DataFrame
    where: str
    first: int  # the row of the source with which the frame begins
    dialect: Dialect  # as it was found
    commas: Sequence[str]  # where decimal commas were found
    csv: CsvFile | None
    made: dict[Any, Fields] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return list(self.frame.columns)

    def part(self, first: int, last: int) -> Table:
        """Return some of the rows."""
        rows = self.frame.iloc[first:last]
        return replace(self, frame=rows, first=self.first + first, made={})

    def fields(self, name: str, unit: str = "", gaps: Iterable[str] = ()) -> Fields:
        """Return the fields of a column, as they were made first."""
        which = name, unit, frozenset(gaps)
        if which not in self.made:
            self.made[which] = Fields(self.frame[name], self.dialect.sign_of(name), unit, gaps)
        return self.made[which]

    def place(self, row: int) -> str:
        """Return where a row stands: the line of a CSV file, or the number of the row from 0."""
        row += self.first
        if self.csv is None:
            return f"row {row}"
        return f"line {next(islice(self.csv.records(), row + 1, None))[0]}"  # read again


def read_chunks(
    source: Any,
    rows: int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    known: Dialect = Dialect(),
) -> Iterator[Table]:
    """Yield tables of so many rows of a file or a data frame, or one of all rows.

    ``delimiter`` and ``decimal`` say how a file is written; if not given, they are those that are
    ``known``, else found in it. What contradicts what is known is refused.
    """
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal is {decimal!r}: give '.' or ','")
    known = replace(known, decimal=decimal, signs={}) if decimal else known
    where, kind = "the frame", ".frame"
    if not isinstance(source, pd.DataFrame):
        where, kind = str(source), kind_of(source)
    frames: Iterable[pd.DataFrame]
    file, commas, first, dialect = None, list[str](), 0, None
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
        file = CsvFile(Path(source), delimiter, known, strict=not decimal)
        frames, dialect, commas = file.chunks(rows), file.dialect, file.commas
    for frame in frames:
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        if dialect is None:
            check_names(frame.columns, where)
            dialect, commas = find_decimals(frame.iloc[:CHUNK], known)
        yield Table(frame, where, first, dialect, () if decimal else commas, file)
        first += len(frame)
    if not first:
        raise ValueError(f"{where} has no rows: give at least one")


def open_text(path: Path, encoding: str) -> TextIOWrapper:
    """Open a file, which may be compressed, as text with line ends as they are."""
    file = OPEN.get(path.suffix.lower(), open)(path, "rb")
    return TextIOWrapper(file, encoding, newline="")


def parquet_chunks(path: Path, rows: int | None) -> Iterator[pd.DataFrame]:
    """Yield data frames of so many rows of a Parquet file."""
    with extra_for("a Parquet file"):
        import pyarrow
        from pyarrow.parquet import ParquetFile

    whole = {pyarrow.int64(): pd.Int64Dtype(), pyarrow.uint64(): pd.UInt64Dtype()}  # with gaps, too
    held: Any = None
    try:
        with ParquetFile(path) as file:
            names = [one for one in file.schema_arrow.names if not one.startswith(INDEX)]
            size = rows or max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(size, columns=names):
                part = pyarrow.Table.from_batches([batch])
                held = part if held is None else pyarrow.concat_tables([held, part])
                while len(held) >= size:
                    frame = held.slice(0, size)
                    yield frame.to_pandas(ignore_metadata=True, types_mapper=whole.get)
                    held = held.slice(size)
    except pyarrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path} cannot be read as Parquet ({reason}): get it again") from None
    if held is not None and len(held):
        yield held.to_pandas(ignore_metadata=True, types_mapper=whole.get)


class CsvFile:
    """A CSV file, and how it is written: encoding, separator, decimal signs and names."""

    def __init__(self, path: Path, sep: str | None, known: Dialect, *, strict: bool) -> None:
        if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n'):
            raise ValueError(f"delimiter is {sep!r}: give one character, such as ';' or '\\t'")
        self.path, self.encoding = path, find_encoding(path)
        with open_text(path, self.encoding) as file:
            self.sep = sep or find_separator(list(islice(file, 2 * SAMPLE)), known.delimiter)
        numbered = self.records()
        line, self.names = next(numbered, (0, []))
        if not line:
            raise ValueError(f"{path}: the file is empty: give one with a header row")
        most = max(SAMPLE, min(CHUNK, MOST_FIELDS // len(self.names)))
        rows = [fields for _, fields in islice(numbered, most)]
        where = f"{path}, line {line}"
        if known.delimiter not in ("", self.sep) and len(self.names) > 1 and strict:
            raise ValueError(
                f"{where}: {self.sep!r} separates columns, and {known.delimiter!r} those of the"
                " table that was learned: say which decimal sign it has, decimal='.' or decimal=','"
            )
        if self.names[0] == "" and len(self.names) > 1:
            self.names[0] = UNNAMED
        if not any(math.isnan(to_number(name)) for name in self.names):
            raise ValueError(f"{where}: numbers instead of names: put a header row before the data")
        check_names(self.names, where)
        if not rows:
            raise ValueError(f"{path}: no rows after the header: the file is cut, get it again")
        if any(len(row) != len(self.names) for row in rows):
            self.check_lengths()
        columns = dict(zip(self.names, zip(*rows, strict=True), strict=True))
        self.dialect, self.commas = find_decimals(columns, known, self.sep)
        self.text_names = [
            name
            for name, column in columns.items()
            if name in known.texts
            or self.dialect.sign_of(name) != self.dialect.sign_of()
            or not are_numbers(column, self.dialect.sign_of())
        ]

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of every row that is not blank, header first, and its last line."""
        spaced = self.sep != " "
        with open_text(self.path, self.encoding) as file:
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
                decimal=self.dialect.sign_of(),
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
    decoder, first, encoding = getincrementaldecoder("utf-8")(), b"", "utf-8-sig"
    try:
        with OPEN.get(path.suffix.lower(), open)(path, "rb") as file:
            while block := file.read(2**20):  # as a whole: a packed file may be cut
                first = first or block[:2]
                if encoding == "utf-8-sig":
                    try:
                        decoder.decode(block)
                    except UnicodeDecodeError:
                        encoding = "cp1252"
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:  # of the system
            raise
        raise ValueError(f"{path}: it cannot be unpacked ({error}): get it again") from None
    return "utf-16" if first in (b"\xff\xfe", b"\xfe\xff") else encoding


def find_separator(lines: Sequence[str], known: str = "") -> str:
    r"""Return the first separator that splits header and rows into as many fields."""
    widths = dict.fromkeys((*known, *SEPARATORS), [0])
    for sep in widths:
        with suppress(csv.Error):  # told when the file is read
            rows = csv.reader(lines, delimiter=sep, skipinitialspace=True)
            widths[sep] = [len(row) for row in rows if row] or [0]
        first, *_ = widths[sep]
        if first > 1 and widths[sep].count(first) >= MOSTLY * len(widths[sep]):
            return sep
    return max(reversed(SEPARATORS), key=lambda sep: widths[sep][0])


def find_decimals(table: Any, known: Dialect, sep: str = "") -> tuple[Dialect, list[str]]:
    """Return how numbers are written, and the columns that have decimal commas.

    The sign of a column is that of the fields which can have but one. Elsewhere 1,234 is read by
    the sign of other columns, or as it stands there most, but never where commas separate columns.
    """
    texts = {name: [one.strip() for one in table[name] if isinstance(one, str)] for name in table}
    if known.decimal:
        dialect = replace(known, delimiter=sep)
    else:
        sure, doubts, signs = Counter[str](), Counter[str](), dict[str, str]()
        for name, column in texts.items():
            joined = "\n".join(column)
            there = [sign for sign in OTHER_SIGN if sign in joined]
            own = Counter({sign: len(_SURE[sign].findall(joined)) for sign in there})
            signs |= {name: own.most_common(1)[0][0]} if own.total() else {}
            sure += own
            doubts += Counter({sign: len(_DOUBT[sign].findall(joined)) for sign in there})
        doubts[","] *= sep != ","
        counts = (+sure or +doubts).most_common(1)
        dialect = replace(known, delimiter=sep, decimal=counts[0][0] if counts else "", signs=signs)
    commas = [
        name
        for name, column in texts.items()
        if dialect.sign_of(name) == ","
        and any("," in one for one in column)
        and are_numbers(column, ",")
    ]
    return dialect, commas


def are_numbers(texts: Iterable[str], decimal: str) -> bool:
    """Tell whether all fields that are no gaps are numbers, and there are some."""
    if _PLAIN.fullmatch("\n".join(texts)):
        return True
    known = [text for text in {*texts} if text.casefold() not in GAPS]
    return bool(known) and not any(
        math.isnan(to_number(text, decimal)) or ZEROS.fullmatch(text) for text in known
    )


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse columns without a name, or with that of another one."""
    names = list(names)
    if "" in names:
        raise ValueError(f"{where}: column {names.index('') + 1} has no name: give it one")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{where}: two columns are called {short(twice[0])}: rename one")
