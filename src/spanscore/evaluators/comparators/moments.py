"""Moments: what a text may mean as a date or a time. dateutil reads it, its guesses are not taken."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from spanscore.evaluators.comparators.settings import missing_library, nearest, refuse

__all__ = ["HOUR", "Moment", "PARTS", "date_library", "parts", "read_moments", "time_zone_of"]

PARTS: Final = ("year", "month", "day", "hour", "minute", "second", "microsecond")
HOUR: Final = 4
"""A moment that states this many parts has a time; minutes and seconds that are not written are zero."""

_MAX_TEXT: Final = 64
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?|\d{8}(T.*)?")
_YEAR_FIRST: Final = re.compile(r"\d{4}(?!\d)")
_YEAR: Final = re.compile(r"(?<!\d)\d{4}(?!\d)")
_OFFSET: Final = re.compile(r"\b(?:UTC|GMT)\s*(?=[+-]\d)", re.IGNORECASE)  # dateutil turns the sign of what follows
_DIGITS: Final = re.compile(r"\d+")
_STAMP: Final = re.compile(r"\d{4}(\d{4}(\d{4}(\d\d)?)?)?")
_READING: Final = (AttributeError, ArithmeticError, LookupError, TypeError, ValueError)
# Parsed twice: dateutil fills what is not written from the default, so that only that differs. A
# weekday moves the day by six at most, the days of the defaults are further apart.
_DEFAULTS: Final = (datetime.datetime(2000, 1, 1), datetime.datetime(2001, 2, 15, 1))  # noqa: DTZ001 - no zone is meant


class Moment(NamedTuple):
    """One meaning of a text.

    Attributes:
        value: the moment; parts that are not stated are the least.
        stated: how many of ``PARTS`` the text states, from the year on; at least 1.
    """

    value: datetime.datetime
    stated: int


def date_library(comparator: str) -> None:
    """Raise MissingDependencyError if dateutil is not installed."""
    try:
        import dateutil.parser  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise missing_library(comparator, "python-dateutil") from error


def time_zone_of(comparator: str, name: Any) -> datetime.tzinfo | None:
    """Return the zone of a setting; raise ConfigurationError for no zone of the IANA data."""
    if name is None:
        return None
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, TypeError, ValueError, OSError):
        near = nearest(name, zoneinfo.available_timezones())
        refuse(comparator, "time_zone", name, f"a zone such as 'UTC' or 'Europe/Berlin', or nothing{near}")


def parts(moment: Moment, level: int) -> tuple[int, ...]:
    """Return the parts that are stated, at most ``level`` of them."""
    return tuple(getattr(moment.value, name) for name in PARTS[: min(level, moment.stated)])


def read_moments(value: Any, day_first: bool | None) -> frozenset[Moment]:
    """Return every meaning of a text, or of a Python date; none if it is no date or no time zone is known.

    Two-digit years are 1969 to 2068. A text that begins with the year is year, month, day.
    """
    if isinstance(value, (datetime.datetime, datetime.date)):
        value = value.isoformat()
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return frozenset()
    return _read(value.strip(), day_first)


@lru_cache(maxsize=4096)
def _read(text: str, day_first: bool | None) -> frozenset[Moment]:
    iso = _ISO.fullmatch(text)
    if iso is not None:
        try:
            stated = len(PARTS) if iso[1] or iso[2] else 3
            return frozenset({Moment(datetime.datetime.fromisoformat(text), stated)})
        except ValueError:
            pass
    if _DIGITS.fullmatch(text) and not _STAMP.fullmatch(text):
        return frozenset()
    found = {_parse(text, *order) for order in _orders(text, day_first)}
    return frozenset(moment for moment in found if moment is not None)


def _orders(text: str, day_first: bool | None) -> list[tuple[bool, bool]]:
    """Return the orders to read figures in, as (day first, year first)."""
    if _YEAR_FIRST.match(text) or _DIGITS.fullmatch(text):
        return [(False, True)]
    if day_first is not None:
        return [(day_first, False)]
    return [(False, False), (True, False)] + ([] if _YEAR.search(text) else [(False, True)])


def _parse(text: str, day_first: bool, year_first: bool) -> Moment | None:
    parse = _parser().parse
    text = _OFFSET.sub("", text)
    try:
        low, high = (
            parse(text, default=default, dayfirst=day_first, yearfirst=year_first, tzinfos=_zone)
            for default in _DEFAULTS
        )
    except _READING:
        return None
    stated = 0
    while stated < HOUR and getattr(low, PARTS[stated]) == getattr(high, PARTS[stated]):
        stated += 1
    stated = len(PARTS) if stated == HOUR else stated
    return Moment(low, stated) if stated else None


def _zone(name: str | None, offset_s: int | None) -> datetime.tzinfo | None:
    """Return a zone for what dateutil found; raise ValueError for an abbreviation, which may mean several."""
    if offset_s is not None:
        return datetime.timezone(datetime.timedelta(seconds=offset_s))
    if name in ("UTC", "GMT", "Z", None):
        return datetime.UTC if name else None
    raise ValueError("time zone abbreviation")


@lru_cache(maxsize=1)
def _parser() -> Any:
    from dateutil.parser import parser, parserinfo

    class _Info(parserinfo):
        def convertyear(self, year: int, century_specified: bool = False) -> int:
            """Return a fixed century, where dateutil's moves with the day it runs on."""
            if year < 100 and not century_specified:
                return year + (1900 if year >= 69 else 2000)
            return year

    return parser(_Info())
