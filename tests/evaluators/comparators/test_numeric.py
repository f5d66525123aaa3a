from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import ConfigurationError
from spanscore.evaluators.comparators.money import Money
from spanscore.evaluators.comparators.numeric import Number, Percent
from spanscore.evaluators.comparators.quantity import Quantity
from spanscore.evaluators.comparators.table import comparator_from

NAN = float("nan")


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "similarity"),
    [
        ({}, 100, 101, 0.0),
        ({"abs": 0.01}, 1.00, 1.01, 1.0),
        ({"abs": 0.01}, 1.00, 1.0101, 0.0),
        ({"rel": 0.1}, 0.3, 0.33, 1.0),
        ({"rel": 0.1}, 100, 110, 1.0),
        ({"rel": 0.1}, 110, 98.9, 0.0),
        ({"rel": 0.1}, 0, 1e-9, 0.0),
        ({"rel": 0.1, "abs": 0.5}, 0, 0.5, 1.0),
        ({"rel": 0.1, "abs": 0.5}, 0, -0.5, 1.0),
        ({"abs": 1}, 0.25, -0.25, 0.0),
        ({"rel": 5}, 1, -1, 0.0),
        ({"abs": 2, "decay": "linear"}, 10, 13, 0.5),
        ({"abs": 2, "decay": "linear"}, 10, 14, 0.0),
        ({"decay": "linear"}, 10, 11, 0.0),
        ({"decay": "banded", "bands": [(0.01, 0.9), (0.05, 0.7)]}, 100, 101, 0.9),
        ({"decay": "banded", "bands": [(0.01, 0.9), (0.05, 0.7)]}, 100, 105, 0.7),
        ({"decay": "banded", "bands": [(0.01, 0.9), (0.05, 0.7)]}, 100, 106, 0.0),
        ({"decay": "banded", "bands": [(0.01, 0.9)]}, 0, 1e-9, 0.0),
        ({"abs": 1}, 10**400, 10**400 + 1, 1.0),
        ({"abs": 1}, Decimal("1e999999"), 5, 0.0),
        ({}, 10**60 + 1, str(10**60), 0.0),
    ],
)
def test_a_number_within_its_tolerance_has_full_credit(settings, expected, actual, similarity):
    assert Number(**settings).compare(expected, actual).similarity == similarity


@pytest.mark.parametrize(
    ("locale", "text", "number"),
    [
        ("en", "1,200.00", 1200),
        ("en", " +1200. ", 1200),
        ("en", "\u22121,234,567.5", -1234567.5),
        ("en", ".5", 0.5),
        ("en", "1.5e3", 1500),
        ("de", "1.200,00", 1200),
        ("de", "1.200", 1200),
        ("fr", "1\u202f200,5", 1200.5),
        ("fr", "1 200,5", 1200.5),
        ("de_CH", "1'200.50", 1200.5),
        ("de-CH", "1\u2019200.50", 1200.5),
        ("en_IN", "1,00,000", 100000),
        ("en", "\u0661\u0662", 12),
    ],
)
def test_text_is_read_in_the_stated_locale(locale, text, number):
    assert Number(locale=locale).compare(number, text) == (1.0, "")


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("en", "1.200,00"),
        ("en", "1,2"),
        ("en", "12,00.0"),
        ("de", "1.5"),
        ("en", "1_000"),
        ("en", "--5"),
        ("en", "+-5"),
        ("en", "NaN"),
        ("en", "Infinity"),
        ("en", "1e9999"),
        ("en", "five"),
        ("en", ""),
        ("en", "9" * 201),
    ],
)
def test_text_that_is_no_number_in_the_locale_is_not_guessed(locale, text):
    assert Number(locale=locale).compare(1200, text) == (0.0, "no number")
    assert Number(locale=locale).compare(text, text) == (1.0, "no number")


@pytest.mark.parametrize("value", [None, True, NAN, [], {}, float("inf")])
def test_what_is_no_number_is_noted(value):
    assert Number().compare(1, value) == (0.0, "no number")


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "similarity"),
    [
        ({}, "12.5 %", 12.5, 1.0),
        ({}, "12.5%", "12.5 percent", 1.0),
        ({}, "%12", "12 per cent", 1.0),
        ({}, "12.5 %", 0.125, 0.0),
        ({"bare": "fraction"}, "12.5 %", 0.125, 1.0),
        ({"bare": "fraction"}, 0.07, "7 %", 1.0),
        ({"locale": "de"}, "12,5 %", 12.5, 1.0),
        ({"abs": 1}, "12 %", "13 %", 1.0),
        ({}, "12 %", "-12 %", 0.0),
        ({}, "12 % 5", "125", 0.0),
        ({}, "%12%", "12", 0.0),
    ],
)
def test_percentages(settings, expected, actual, similarity):
    assert Percent(**settings).compare(expected, actual).similarity == similarity


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "comparison"),
    [
        ({}, "$1,200.00", "$1200", (1.0, "")),
        ({}, "USD 1200", "1,200.00 US dollars", (1.0, "")),
        ({}, "US$5", {"amount": "5.00", "currency": "usd"}, (1.0, "")),
        ({}, {"amount": 5, "currency": "\u20ac"}, "5 euros", (1.0, "")),
        ({}, "$5 USD", "USD 5", (1.0, "")),
        ({}, "(5 EUR)", "\u2212\u20ac5", (1.0, "")),
        ({}, "-$5", "$-5", (1.0, "")),
        ({}, "EUR 5", "EUR -5", (0.0, "sign")),
        ({}, "USD 5", "EUR 5", (0.0, "other currency")),
        ({}, "$5", "USD 5", (0.0, "ambiguous currency")),
        ({}, "$5", "CAD 5", (0.0, "ambiguous currency")),
        ({}, "$5", "EUR 5", (0.0, "other currency")),
        ({"currency": "USD"}, "$5", "USD 5", (1.0, "")),
        ({"currency": "USD"}, 5, "CAD 5", (0.0, "other currency")),
        ({}, "$1,200.00", 1200, (1.0, "no currency")),
        ({}, "$1,200.00", 1201, (0.0, "no currency")),
        ({}, "0.1 EUR", "0.10 EUR", (1.0, "")),
        ({}, "0.1 EUR", "0.1000000000000000000000000000000001 EUR", (0.0, "")),
        ({"abs": 0.01}, "EUR 19.99", "EUR 20.00", (1.0, "")),
        ({"locale": "de"}, "1.200,50 \u20ac", "EUR 1200,5", (1.0, "")),
        ({}, "5 apples", "5 EUR", (0.0, "no number")),
        ({}, "5 EUR", "EUR 5 USD", (0.0, "no number")),
        ({}, "-(5)", "5", (0.0, "no number")),
        ({}, {"amount": {"amount": 5}}, 5, (0.0, "no number")),
        ({}, {"amount": 5, "currency": 7}, 5, (0.0, "no number")),
        ({}, {"sum": 5}, {"sum": 5}, (1.0, "no number")),
        ({}, True, 1, (0.0, "no number")),
    ],
)
def test_money(settings, expected, actual, comparison):
    assert Money(**settings).compare(expected, actual) == comparison


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "comparison"),
    [
        ({}, "5 km", "5000 m", (1.0, "")),
        ({}, "5 km", "5,000.0 m", (1.0, "")),
        ({}, "100 km/h", "100000 m/h", (1.0, "")),
        ({}, "5 m\u00b2", "5 m^2", (1.0, "")),
        ({}, "0 \u00b0C", "32 \u00b0F", (1.0, "")),
        ({}, "20 degC", "68 degF", (1.0, "")),
        ({}, "1 day", {"value": 24, "unit": "h"}, (1.0, "")),
        ({}, "0.3 m", "30 cm", (1.0, "")),
        ({}, "5 km", "5001 m", (0.0, "")),
        ({"abs": 0.01}, "5 km", "5001 m", (1.0, "")),
        ({}, "-5 \u00b0C", "5 \u00b0C", (0.0, "sign")),
        ({}, "5 km", "5 kg", (0.0, "other unit")),
        ({}, "5 km", 5, (0.0, "no unit")),
        ({}, 5, "5.0", (1.0, "")),
        ({"unit": "km"}, 5, "5000 m", (1.0, "")),
        ({"locale": "de"}, "1,5 km", "1.500 m", (1.0, "")),
        ({}, "50 %", "50 percent", (1.0, "")),
        ({}, "5 mW", "5 MW", (0.0, "")),
        ({}, "5 parsnips", "5 m", (0.0, "no quantity")),
        ({}, "9**9**9 m", "5 m", (0.0, "no quantity")),
        ({}, "5 m**9**9**9", "5 m", (0.0, "no quantity")),
        ({}, "5 __import__('os')", "5 m", (0.0, "no quantity")),
        ({}, "1e999 km", "1 m", (0.0, "")),
        ({}, {"value": 5, "unit": 7}, "5 m", (0.0, "no quantity")),
        ({}, "five", "five", (1.0, "no quantity")),
    ],
)
def test_quantity(settings, expected, actual, comparison):
    assert Quantity(**settings).compare(expected, actual) == comparison


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "number", "abs": "1"}, r"number: abs is '1' \(str\); give a number from 0"),
        ({"type": "number", "abs": True}, "abs is True"),
        ({"type": "number", "rel": -1}, "rel is -1"),
        ({"type": "number", "rel": NAN}, "rel is nan"),
        ({"type": "number", "abs": float("inf")}, "abs is inf"),
        ({"type": "auto", "decay": "linaer"}, "Did you mean 'linear'"),
        ({"type": "number", "decay": "banded"}, "bands together with decay"),
        ({"type": "number", "bands": [[1, 1]]}, "bands together with decay"),
        ({"type": "number", "decay": "banded", "bands": [[0.1, 0.5], [0.05, 0.9]]}, "errors rising"),
        ({"type": "number", "decay": "banded", "bands": [[0.1, 0.5], [0.2, 0.9]]}, "credits falling"),
        ({"type": "number", "decay": "banded", "bands": [[0.1]]}, "pairs"),
        ({"type": "number", "decay": "banded", "bands": 3}, "pairs"),
        ({"type": "number", "decay": "banded", "bands": [[0.1, 2]]}, "a credit of bands is 2"),
        ({"type": "number", "locale": 7}, "locale is 7"),
        ({"type": "number", "locale": "xx_YY"}, "a locale such as 'en'"),
        ({"type": "money", "locale": "../x"}, "a locale such as 'en'"),
        ({"type": "money", "currency": "usd"}, "an ISO 4217 code"),
        ({"type": "money", "currency": 5}, "currency is 5"),
        ({"type": "percent", "bare": "fractions"}, "Did you mean 'fraction'"),
        ({"type": "quantity", "unit": "parsnip"}, "a unit that Pint knows"),
        ({"type": "quantity", "unit": ""}, "unit is ''"),
    ],
)
def test_a_bad_setting_is_refused_with_what_is_allowed(spec, message):
    with pytest.raises(ConfigurationError, match=message):
        comparator_from(spec)


@given(
    st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.sampled_from([{}, {"abs": 0.1}, {"rel": 0.1, "decay": "linear"}]),
    st.floats(),
)
def test_a_wider_difference_never_scores_more(expected, settings, step):
    number = Number(**settings)
    step = abs(Decimal(repr(step))) if step - step == 0 else Decimal(1)
    with localcontext(prec=1_500):  # the sums must be exact
        others = [Decimal(expected) + step * k for k in (0, 1, 2, 4)]
    similarities = [number.compare(expected, other).similarity for other in others]
    assert similarities == sorted(similarities, reverse=True)
    assert similarities[0] == 1.0


def test_quantities_compare_from_many_threads():
    from concurrent.futures import ThreadPoolExecutor

    quantity = Quantity()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: quantity.compare(f"{n} km", f"{n * 1000} m").similarity, range(1, 200)))
    assert set(found) == {1.0}


@pytest.mark.parametrize("name", ["auto", "number", "percent", "money", "quantity"])
def test_numbers_of_any_size_give_a_result(name):
    huge = [Decimal("1e999999999999999999"), Decimal("-1e-999999999"), 10**100_000, 1e308, 5e-324, Decimal("sNaN")]
    for settings in ({"rel": 0.1, "decay": "linear"}, {"rel": 0.1, "decay": "banded", "bands": [(0.5, 0.5)]}):
        comparator = comparator_from({"type": name, **settings})
        for index, expected in enumerate(huge):
            for other, actual in enumerate(huge):
                similarity = comparator.compare(expected, actual).similarity
                assert similarity == (1.0 if index == other < 5 else 0.0)


def test_long_fractions_are_not_rounded():
    digits = "0." + "1" * 150
    assert Percent(bare="fraction").compare(digits + "1", digits + "2").similarity == 0.0
    assert Number().compare(digits + "1", digits + "2").similarity == 0.0


@pytest.mark.parametrize("text", ["top 5", "5 all", "cup 5", "try 5"])
def test_words_that_look_like_currency_codes_are_none(text):
    assert comparator_from("money").compare(5, text).similarity == 0.0


def test_an_amount_that_contradicts_its_currency_is_none():
    compare = comparator_from("money").compare
    assert compare("EUR 5", {"amount": "$5", "currency": "EUR"}).similarity == 0.0
    assert compare("USD 5", {"amount": "$5", "currency": "USD"}).similarity == 1.0
