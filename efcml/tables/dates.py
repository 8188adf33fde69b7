"""Dates as they are written in tables, with or without a time of day.

`datetime.strptime` is asked only for formats that a person gives: it reads one format a call, and
which one a column has is the question here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
EPOCH = datetime(1970, 1, 1)
LONGEST = 60  # characters; what is longer is no date

_Y, _M, _D = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
_TIME = (
    r"(?:[T ] ?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?"
    r"(?: ?(?P<half>[AaPp][Mm]))?(?: ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}))?)?"
)
# A date that fits two of them, such as 03/04/2024, is of the first.
FORMATS = {
    "year-month-day": f"{_Y}-{_M}-{_D}",
    "year/month/day": f"{_Y}/{_M}/{_D}",
    "day.month.year": rf"{_D}\.{_M}\.{_Y}",
    "day/month/year": f"{_D}/{_M}/{_Y}",
    "month/day/year": f"{_M}/{_D}/{_Y}",
    "day-month-year": f"{_D}-{_M}-{_Y}",
    "day name year": f"{_D}[ -]{_NAME}[ -]{_Y}",
    "name day year": f"{_NAME} {_D},? {_Y}",
}
_PATTERNS = {name: re.compile(text + _TIME, re.ASCII) for name, text in FORMATS.items()}


class Moment(NamedTuple):
    """A date: days since 1970, by the clock of Greenwich; hour and weekday as they are written."""

    days: float
    hour: float
    weekday: int  # Monday is 0


def read_date(text: str, how: str) -> Moment | None:
    """Return the date that a text gives in one of the `FORMATS` or in one of strptime, or None.

    Examples
    --------
    >>> read_date("1970-01-03 12:00", "year-month-day")
    Moment(days=2.5, hour=12.0, weekday=5)
    >>> read_date("3.1.1970", "%d.%m.%Y")
    Moment(days=2.0, hour=0.0, weekday=5)
    >>> read_date("31.2.1970", "day.month.year") is None
    True
    """
    if len(text) > LONGEST:
        return None
    try:
        moment = datetime.strptime(text, how) if "%" in how else _by_pattern(text, how)
    except (ValueError, OverflowError):  # no such day, or none that Python knows
        return None
    if moment is None:
        return None
    clock = timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second)
    hour = (clock.total_seconds() + moment.microsecond / 1e6) / 3600.0
    seen = moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta())
    return Moment((seen - EPOCH) / timedelta(days=1), hour, moment.weekday())


def find_formats(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return the formats that each text could have, in the order of `FORMATS`."""
    return {text: {how for how in FORMATS if _fits(text, how)} for text in texts}


def say_day(days: float) -> str:
    """Return the day of a moment.

    Examples
    --------
    >>> say_day(2.5)
    '1970-01-03'
    """
    return (EPOCH + timedelta(days=days)).date().isoformat()


def _fits(text: str, how: str) -> bool:
    # Most words do not even look like it: no error is made of them.
    return _PATTERNS[how].fullmatch(text[:LONGEST]) is not None and read_date(text, how) is not None


def _by_pattern(text: str, how: str) -> datetime | None:
    found = _PATTERNS[how].fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    month = _find_month(parts["name"]) if "name" in parts else int(parts["month"])
    hour, second = int(parts["hour"] or 0), float(parts["second"] or 0.0)
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (parts["half"].lower() == "pm")
    day = datetime(int(parts["year"]), month, int(parts["day"]), hour, int(parts["minute"] or 0))
    if second >= 60.0:
        return None
    moment, zone = day + timedelta(seconds=second), parts["zone"]
    if zone in (None, "Z", "UTC"):
        return moment
    return moment.replace(tzinfo=datetime.strptime(zone, "%z").tzinfo)


def _find_month(name: str) -> int:
    """Return the number of a month by its name or the beginning of it; 0, which is none, else."""
    return next((i for i, month in enumerate(MONTHS, 1) if month.startswith(name.lower())), 0)
