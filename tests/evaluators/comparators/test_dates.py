from __future__ import annotations

import datetime

import pytest

from spanscore import ConfigurationError
from spanscore.evaluators.comparators.dates import Date, DateTime
from spanscore.evaluators.comparators.table import comparator_from

AMBIGUOUS = (0.0, "ambiguous date")
INCOMPLETE = (0.0, "incomplete date")
NO_DATE = (0.0, "no date")


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "comparison"),
    [
        ({}, "2024-03-01", "March 1, 2024", (1.0, "")),
        ({}, "2024-03-01", "1st of March 2024", (1.0, "")),
        ({}, "2024-03-01", "20240301", (1.0, "")),
        ({}, "2024-03-01", "2024/03/01", (1.0, "")),
        ({}, "2024-03-01", "2024-03-01T23:00:00-05:00", (1.0, "")),
        ({"time_zone": "UTC"}, "2024-03-01", "2024-03-01T23:00:00-05:00", (0.0, "")),
        ({}, "2024-03-01", "Friday, March 1st, 2024 at 5pm", (1.0, "")),
        ({}, "2024-03-01", datetime.date(2024, 3, 1), (1.0, "")),
        ({}, "2024-03-01", "2024-03-02", (0.0, "")),
        ({}, "2024-04-13", "13/04/2024", (1.0, "")),
        ({}, "2024-04-03", "03/04/2024", AMBIGUOUS),
        ({}, "2024-03-04", "03/04/2024", AMBIGUOUS),
        ({}, "2024-05-04", "03/04/2024", (0.0, "")),
        ({}, "03/04/2024", "03/04/2024", (1.0, "")),
        ({}, "03/04/2024", "3.4.2024", AMBIGUOUS),
        ({}, "04/04/2024", "2024-04-04", (1.0, "")),
        ({"day_first": True}, "2024-04-03", "03/04/2024", (1.0, "")),
        ({"day_first": False}, "2024-04-03", "03/04/2024", (0.0, "")),
        ({"day_first": True}, "2024-04-03", "2024-04-03", (1.0, "")),
        ({"day_first": True}, "2024-04-03", "2024/04/03", (1.0, "")),
        ({}, "2024-03-04", "03-04-24", AMBIGUOUS),
        ({"day_first": True}, "1969-04-03", "03/04/69", (1.0, "")),
        ({"day_first": True}, "2068-04-03", "03/04/68", (1.0, "")),
        ({}, "2024-03", "March 2024", (1.0, "")),
        ({}, "2024-03-01", "March 2024", INCOMPLETE),
        ({}, "2024-03-01", "2024", INCOMPLETE),
        ({"granularity": "month"}, "2024-03-01", "March 2024", (1.0, "")),
        ({"granularity": "year"}, "2024-12-31", "03/04/2024", (1.0, "")),
        ({}, "2024-03-01", "March 1", NO_DATE),
        ({}, "2024-03-01", "Friday", NO_DATE),
        ({}, "2024-03-01", "10:30", NO_DATE),
        ({}, "2024-03-01", "1", NO_DATE),
        ({}, "2024-03-01", "240301", NO_DATE),
        ({}, "2024-03-01", 20240301, NO_DATE),
        ({}, "2024-03-01", None, NO_DATE),
        ({}, "2024-02-30", "2024-02-30T00:00", NO_DATE),
        ({}, "2024-03-01", "9" * 40, NO_DATE),
        ({}, "soon", "soon", (1.0, "")),
        ({}, None, None, (1.0, "no date")),
    ],
)
def test_date(settings, expected, actual, comparison):
    assert Date(**settings).compare(expected, actual) == comparison


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "comparison"),
    [
        ({}, "2024-03-01T10:00:00Z", "2024-03-01 11:00 +01:00", (1.0, "")),
        ({}, "2024-03-01T10:00:00Z", "2024-03-01T10:00:00.9Z", (1.0, "")),
        ({"granularity": "microsecond"}, "2024-03-01T10:00:00Z", "2024-03-01T10:00:00.9Z", (0.0, "")),
        ({}, "2024-03-01T10:00", "5 March 2024 10:00", (0.0, "")),
        ({}, "2024-03-01T17:00", "March 1, 2024 5pm", (1.0, "")),
        ({}, "2024-03-01T10:00Z", "2024-03-01T10:00", (0.0, "no time zone")),
        ({"time_zone": "Europe/Berlin"}, "2024-03-01T09:00Z", "2024-03-01T10:00", (1.0, "")),
        ({}, "2024-03-01T10:00Z", "2024-03-01 10:00 EST", NO_DATE),
        ({}, "2024-03-01T10:00Z", "2024-03-01 10:00 GMT", (1.0, "")),
        ({}, "2024-03-01T10:00Z", "2024-03-01 10:00 +25:00", NO_DATE),
        ({}, "2024-03-01T10:00", "2024-03-01", INCOMPLETE),
        ({"granularity": "day"}, "2024-03-01T10:00", "2024-03-01", (1.0, "")),
        ({"granularity": "day"}, "2024-03-01T23:00-05:00", "2024-03-02T04:00Z", (1.0, "")),
        ({"granularity": "day"}, "2024-03-01T23:00-05:00", "2024-03-02T06:00Z", (0.0, "")),
        ({"granularity": "hour"}, "2024-03-01T10:00", "2024-03-01T10:59", (1.0, "")),
        ({"tolerance_s": 60}, "2024-03-01T10:00", "2024-03-01T10:01", (1.0, "")),
        ({"tolerance_s": 60}, "2024-03-01T10:00", "2024-03-01T10:01:01", (0.0, "")),
        ({}, "2024-04-03T10:00", "03/04/2024 10:00", AMBIGUOUS),
        ({}, "0001-01-01T00:00+05:00", "9999-12-31T23:59-05:00", (0.0, "")),
        ({"time_zone": "America/New_York"}, "0001-01-01T00:00Z", "0001-01-01T00:00Z ", (1.0, "")),
    ],
)
def test_datetime(settings, expected, actual, comparison):
    assert DateTime(**settings).compare(expected, actual) == comparison


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "date", "granularity": "days"}, "Did you mean 'day'"),
        ({"type": "date", "granularity": "hour"}, "one of day, month, year"),
        ({"type": "date", "day_first": 1}, "day_first is 1"),
        ({"type": "datetime", "day_first": "yes"}, "true, false, or nothing"),
        ({"type": "date", "time_zone": "Europe/Berln"}, "Did you mean 'Europe/Berlin'"),
        ({"type": "date", "time_zone": "../x"}, "a zone such as"),
        ({"type": "date", "time_zone": "Europe"}, "a zone such as"),
        ({"type": "datetime", "time_zone": 3}, "time_zone is 3"),
        ({"type": "datetime", "tolerance_s": -1}, "tolerance_s is -1"),
    ],
)
def test_a_bad_setting_is_refused_with_what_is_allowed(spec, message):
    with pytest.raises(ConfigurationError, match=message):
        comparator_from(spec)


@pytest.mark.parametrize("zone", ["UTC+3", "GMT+3", "GMT+03:00", "UTC+03:00", "GMT+0300", "+03:00"])
def test_an_offset_behind_utc_or_gmt_has_the_sign_that_is_written(zone):
    compare = comparator_from("datetime").compare
    assert compare("2024-03-01T10:00:00Z", f"2024-03-01 13:00 {zone}").similarity == 1.0
    assert compare("2024-03-01T16:00:00Z", f"2024-03-01 13:00 {zone}").similarity == 0.0
