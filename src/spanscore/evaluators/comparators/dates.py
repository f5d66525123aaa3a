"""Date and DateTime: dates and times in any usual form."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from spanscore.evaluators.comparators.comparison import MATCH, MISS, Comparison, unread
from spanscore.evaluators.comparators.moments import (
    HOUR,
    PARTS,
    Moment,
    date_library,
    parts,
    read_moments,
    time_zone_of,
)
from spanscore.evaluators.comparators.settings import choice, number, refuse

__all__ = ["Date", "DateTime"]

_NO_DATE: Final = "no date"
_AMBIGUOUS: Final = Comparison(0.0, "ambiguous date")
_INCOMPLETE: Final = Comparison(0.0, "incomplete date")


@dataclass(frozen=True, slots=True, kw_only=True)
class Date:
    """Dates: "2024-03-01", "March 1, 2024", "1.3.2024"; 1 if they are the same day, else 0.

    A date with several meanings, of which one fits, is 0, note "ambiguous date", but equals the
    same text. A part that one side only states: 0, note "incomplete date". What is no date
    (numbers too): 0, note "no date", but 1 where both sides are the same. Names of months are English.

    Args:
        granularity: ``day``, ``month`` or ``year``.
        day_first: whether 03/04/2024 is 3 April; None: it is ambiguous.
        time_zone: IANA zone whose day counts where a time with an offset is written; None: the day as written.

    Raises:
        ConfigurationError: a bad setting.
        MissingDependencyError: python-dateutil is not installed.

    >>> Date().compare("2024-03-01", "March 1, 2024").similarity
    1.0
    >>> Date().compare("2024-03-04", "03/04/2024")
    Comparison(similarity=0.0, note='ambiguous date')
    """

    granularity: Literal["day", "month", "year"] = "day"
    day_first: bool | None = None
    time_zone: str | None = None
    _zone: datetime.tzinfo | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        date_library("date")
        choice("date", "granularity", self.granularity, PARTS[2::-1])
        _check_day_first("date", self.day_first)
        object.__setattr__(self, "_zone", time_zone_of("date", self.time_zone))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return 1.0 or 0.0 for two values read as dates."""
        if isinstance(expected, str) and expected == actual:
            return MATCH
        left, right = read_moments(expected, self.day_first), read_moments(actual, self.day_first)
        if not left or not right:
            return unread(expected, actual, _NO_DATE)
        return _decided({self._compare(one, other) for one in left for other in right})

    def _compare(self, expected: Moment, actual: Moment) -> Comparison:
        level = PARTS.index(self.granularity) + 1
        return _same_parts(_placed(expected, self._zone), _placed(actual, self._zone), level)


@dataclass(frozen=True, slots=True, kw_only=True)
class DateTime:
    """Instants: "2024-03-01T10:00:00Z", "March 1, 2024 11:00 +01:00"; 1 if they are the same, else 0.

    Seconds that are not written are zero; a time on one side only is 0, note "incomplete date".
    Beside a text with an offset, one without is 0, note "no time zone", unless ``time_zone`` says
    what it means. Abbreviations of zones other than UTC and GMT are not read. A date with
    several meanings, of which one fits, is 0, note "ambiguous date", but equals the same text. What
    is no date: 0, note "no date", but 1 where both sides are the same.

    Args:
        granularity: ``year`` to ``microsecond``; smaller parts are not looked at. ``second`` by default.
        day_first: whether 03/04/2024 is 3 April; None: it is ambiguous.
        time_zone: IANA zone of a text without an offset, and whose days count; None: the expected one's.
        tolerance_s: full credit up to this many seconds apart.

    Raises:
        ConfigurationError: a bad setting.
        MissingDependencyError: python-dateutil is not installed.

    >>> DateTime().compare("2024-03-01T10:00:00Z", "2024-03-01 11:00 +01:00").similarity
    1.0
    """

    granularity: Literal["year", "month", "day", "hour", "minute", "second", "microsecond"] = "second"
    day_first: bool | None = None
    time_zone: str | None = None
    tolerance_s: float = 0.0
    _zone: datetime.tzinfo | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        date_library("datetime")
        choice("datetime", "granularity", self.granularity, PARTS)
        _check_day_first("datetime", self.day_first)
        number("datetime", "tolerance_s", self.tolerance_s)
        object.__setattr__(self, "_zone", time_zone_of("datetime", self.time_zone))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return 1.0 or 0.0 for two values read as instants."""
        if isinstance(expected, str) and expected == actual:
            return MATCH
        left, right = read_moments(expected, self.day_first), read_moments(actual, self.day_first)
        if not left or not right:
            return unread(expected, actual, _NO_DATE)
        return _decided({self._compare(one, other) for one in left for other in right})

    def _compare(self, expected: Moment, actual: Moment) -> Comparison:
        level = PARTS.index(self.granularity) + 1
        expected, actual = self._assumed(expected), self._assumed(actual)
        if expected.stated < HOUR or actual.stated < HOUR:
            return _same_parts(_placed(expected, self._zone), _placed(actual, self._zone), level)
        if (expected.value.tzinfo is None) != (actual.value.tzinfo is None):
            return Comparison(0.0, "no time zone")
        if abs((expected.value - actual.value).total_seconds()) <= self.tolerance_s:
            return MATCH
        zone = self._zone or expected.value.tzinfo
        return _same_parts(_placed(expected, zone), _placed(actual, zone), level)

    def _assumed(self, moment: Moment) -> Moment:
        if self._zone is None or moment.stated < HOUR or moment.value.tzinfo is not None:
            return moment
        return Moment(moment.value.replace(tzinfo=self._zone), moment.stated)


def _check_day_first(comparator: str, given: Any) -> None:
    if given is not None and not isinstance(given, bool):
        refuse(comparator, "day_first", given, "true, false, or nothing")


def _decided(outcomes: set[Comparison]) -> Comparison:
    """Return the outcome if every meaning has the same; ambiguous if one of several fits."""
    if len(outcomes) == 1:
        return outcomes.pop()
    return _AMBIGUOUS if any(outcome.similarity for outcome in outcomes) else MISS


def _placed(moment: Moment, zone: datetime.tzinfo | None) -> Moment:
    """Return the moment in ``zone``; as it is where it has no time, no offset or lies at the ends of time."""
    if zone is None or moment.stated < HOUR or moment.value.tzinfo is None:
        return moment
    try:
        return Moment(moment.value.astimezone(zone), moment.stated)
    except OverflowError:
        return moment


def _same_parts(expected: Moment, actual: Moment, level: int) -> Comparison:
    left, right = parts(expected, level), parts(actual, level)
    if len(left) != len(right):
        return _INCOMPLETE
    return MATCH if left == right else MISS
