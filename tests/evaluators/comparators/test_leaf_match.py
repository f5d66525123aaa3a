from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore.evaluators.comparators.table import comparator_from, leaf_match

TEXT = st.text(st.characters()) | st.text("ab C.é", max_size=12)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.decimals() | TEXT
)
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("expected", "actual", "similarity"),
    [
        (1, 1.0, 1.0),
        (0, -0.0, 1.0),
        (2**53 + 1, float(2**53), 0.5),
        (2**53, float(2**53), 1.0),
        (10**30 + 1, 10**30, 0.5),
        (10**400, 10**400, 1.0),
        (10**400, 1e308, 0.0),
        (10**400, INF, 0.0),
        (Decimal("0.1"), 0.1, 1.0),
        (0.1, Decimal("0.1"), 1.0),
        (Decimal("1.00000000000000000000000000000000001"), 1, 0.5),
        (Decimal("1E+3"), 1000, 1.0),
        (Decimal("NaN"), Decimal("NaN"), 0.0),
        (Decimal("sNaN"), 1, 0.0),
        (NAN, NAN, 0.0),
        (INF, INF, 0.0),
        (-INF, 5, 0.0),
        (1, 2, 0.0),
        (1000, 1005, 0.475),
        (1000, 1100, 0.0),
        (0, 0.001, 0.0),
        (-5, 5, 0.0),
        (True, 1, 0.0),
        (0, False, 0.0),
        (True, True, 1.0),
        (True, False, 0.0),
        (None, None, 1.0),
        (None, "", 0.0),
        (None, False, 0.0),
        (1200, "1200", 0.0),
        ({}, {}, 1.0),
        ([], [], 1.0),
        ([], (), 1.0),
        ({}, [], 0.0),
        ([], None, 0.0),
        ({"a": [1]}, {"a": [1.0]}, 1.0),
        ({"a": [1]}, {"a": [True]}, 0.0),
        ({"a": 1}, {"b": 1}, 0.0),
        ([1], [1, 2], 0.0),
    ],
)
def test_values_are_equal_by_kind_and_value(expected, actual, similarity):
    assert leaf_match(expected, actual) == similarity


@pytest.mark.parametrize(
    ("expected", "actual", "similarity"),
    [
        ("New York", " new york ", 0.95),
        ("Acme Inc.", "Acme Inc", 0.95),
        ("a  b", "a b", 0.95),
        ("Stra\u00dfe", "STRASSE", 0.95),
        ("caf\u00e9", "cafe\u0301", 1.0),
        ("CAF\u00c9", "cafe\u0301", 0.95),
        ("", "", 1.0),
        ("", "abc", 0.0),
        ("approved", "unapproved", 0.0),
        ("approved", "not approved", 0.0),
        ("high risk", "low risk", 0.0),
        ("2024-03-01", "2024-03-02", 0.0),
        ("March 1, 2024", "March 2, 2024", 0.0),
        ("INV 0042", "INV 0043", 0.0),
        ("12 Main Street", "14 Main Street", 0.0),
        ("\u6279\u51c6", "\u4e0d\u6279\u51c6", 0.0),
        ("New York City", "New York", 2 / 3),
        ("the cat sat on the mat", "the cat sat on a mat", 5 / 6),
        ("the pump of line 3 has failed twice", "the pump of line 3 has failed once", 7 / 8),
        ("one two three four", "four three two one", 0.0),
    ],
)
def test_text_is_exact_unless_it_is_prose(expected, actual, similarity):
    assert leaf_match(expected, actual) == pytest.approx(similarity)
    assert leaf_match(actual, expected) == pytest.approx(similarity)


def test_prose_without_blanks_is_compared_by_character():
    expected = "\u6211\u4eec\u6628\u5929\u5728\u516c\u56ed\u91cc\u770b\u89c1\u4e86\u4e00\u53ea\u72d7"
    actual = expected[:-1] + "\u732b"
    assert leaf_match(expected, actual) == pytest.approx(13 / 14)


def test_very_long_prose_is_scored_without_order():
    words = [f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}" for n in range(20_001)]
    assert leaf_match(" ".join(words), " ".join([*words[:-1], "other"])) == 0.95


def test_a_deep_or_cyclic_value_gives_a_result():
    deep = []
    for _ in range(10_000):
        deep = [deep]
    other = []
    for _ in range(10_000):
        other = [other]
    assert leaf_match(deep, other) == 1.0
    assert leaf_match(deep, [1]) == 0.0
    cycle = []
    cycle.append(cycle)
    again = []
    again.append(again)
    assert leaf_match(cycle, again) == 1.0


def test_what_is_no_json_value_is_compared_in_its_json_form():
    import datetime

    import numpy as np

    assert leaf_match("2024-03-01", datetime.date(2024, 3, 1)) == 0.0  # another kind; convert first
    assert leaf_match(datetime.date(2024, 3, 1), datetime.date(2024, 3, 1)) == 1.0
    assert leaf_match(1.5, np.float64(1.5)) == 1.0


@given(LEAVES)
def test_equal_leaves_score_one(value):
    finite = not isinstance(value, Decimal) or value.is_finite()
    assert leaf_match(value, value) == (1.0 if finite else 0.0)


@given(LEAVES, LEAVES)
def test_any_two_leaves_have_a_symmetric_similarity_in_range(left, right):
    similarity = leaf_match(left, right)
    assert 0.0 <= similarity <= 1.0
    assert similarity == leaf_match(right, left)


@given(TEXT, TEXT)
def test_the_similarity_of_text_is_one_only_for_equal_text(left, right):
    from unicodedata import normalize

    assert (leaf_match(left, right) == 1.0) == (normalize("NFC", left) == normalize("NFC", right))


@given(LEAVES, LEAVES)
def test_auto_without_settings_is_leaf_match(left, right):
    assert comparator_from("auto").compare(left, right).similarity == leaf_match(left, right)


@pytest.mark.parametrize(
    ("expected", "actual", "note"),
    [(1200, "1200", "type"), (None, "", "type"), (True, 1, "type"), (5, -5, "sign"), (5, 6, ""), (NAN, NAN, "")],
)
def test_auto_says_why_there_is_no_credit(expected, actual, note):
    assert comparator_from("auto").compare(expected, actual) == (0.0, note)


def test_auto_takes_a_tolerance_for_numbers():
    auto = comparator_from({"type": "auto", "rel": 0.1, "decay": "linear"})
    assert auto.compare(100, 109).similarity == 1.0
    assert auto.compare(100, 115).similarity == 0.5
    assert auto.compare("approved", "unapproved").similarity == 0.0
    assert math.isfinite(auto.compare(10**400, 1e-300).similarity)
