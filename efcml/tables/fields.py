"""From the fields of a column to words, numbers and moments. Nothing else reads a field."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from efcml.support.aliases import Array, Bools, Floats

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
