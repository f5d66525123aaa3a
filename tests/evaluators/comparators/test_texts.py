from __future__ import annotations

import pytest

from spanscore import ConfigurationError
from spanscore.evaluators.comparators.table import comparator_from
from spanscore.evaluators.comparators.texts import Enumerated, Regex, Text


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "similarity"),
    [
        ({}, "Jon Smith", "John Smith", 0.9),
        ({}, "  ABC  d", "abc d", 1.0),
        ({"case_sensitive": True}, "ABCD", "ABCd", 0.75),
        ({}, "abcd", "abxy", 0.5),
        ({}, "abcd", "axyz", 0.0),
        ({"cutoff": 0}, "abcd", "axyz", 0.25),
        ({"cutoff": 0}, "abcd", "wxyz", 0.0),
        ({"cutoff": 1}, "abcd", "abce", 0.0),
        ({}, "\ufb01ne", "fine", 1.0),
        ({"normalize": "nfc", "case_sensitive": True, "cutoff": 0}, "\ufb01ne", "fine", 0.5),
        ({"normalize": "accents"}, "Br\u00fbl\u00e9e", "brulee", 1.0),
        ({"normalize": "none"}, "caf\u00e9", "cafe\u0301", 0.6),
        ({"normalize": "none", "case_sensitive": True}, "ab ", "ab", 2 / 3),
        ({"method": "token_set"}, "b a", "a b b", 1.0),
        ({"method": "token_set"}, "not approved", "approved", 0.5),
        ({"method": "token_set", "normalize": "none"}, " ", "", 0.0),
        ({"method": "exact"}, "ABC", "abc", 1.0),
        ({"method": "exact"}, "abc", "abd", 0.0),
        ({}, "", "", 1.0),
        ({}, "", "abc", 0.0),
    ],
)
def test_text(settings, expected, actual, similarity):
    assert Text(**settings).compare(expected, actual).similarity == pytest.approx(similarity)


def test_text_beside_another_kind_is_noted():
    assert Text().compare("5", 5) == (0.0, "type")
    assert Text().compare(5, 5) == (1.0, "type")


def test_very_long_text_is_compared_by_word():
    words = ["word"] * 30_000
    assert Text().compare(" ".join(words), " ".join([*words[:-3000], *["xxxx"] * 3000])).similarity == 0.9


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "comparison"),
    [
        ({}, "approved", "approved", (1.0, "")),
        ({}, "approved", "unapproved", (0.0, "")),
        ({}, "approved", "Approved", (0.0, "")),
        ({"case_sensitive": False}, "approved", "Approved", (1.0, "")),
        ({}, 1, 1.0, (1.0, "")),
        ({}, True, 1, (0.0, "type")),
        ({}, None, None, (1.0, "")),
        ({"values": ["a", "b"]}, "a", "b", (0.0, "")),
        ({"values": ["a", "b"]}, "a", "c", (0.0, "not allowed")),
        ({"values": ["a", None]}, "a", None, (0.0, "type")),
    ],
)
def test_enum(settings, expected, actual, comparison):
    assert Enumerated(**settings).compare(expected, actual) == comparison


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "comparison"),
    [
        ({}, r"INV-\d{4}", "INV-0042", (1.0, "")),
        ({}, r"INV-\d{4}", "INV-00421", (0.0, "")),
        ({"full": False}, r"INV-\d{4}", "see INV-0042.", (1.0, "")),
        ({"pattern": "[a-z]+"}, "ignored", "abc", (1.0, "")),
        ({"pattern": "[a-z]+"}, None, "ABC", (0.0, "")),
        ({"pattern": "[a-z]+", "case_sensitive": False}, None, "ABC", (1.0, "")),
        ({"pattern": "5"}, None, 5, (0.0, "type")),
        ({"pattern": ".*"}, None, "a" * 10_000, (1.0, "")),
        ({"pattern": ".*"}, None, "a" * 10_001, (0.0, "too long")),
    ],
)
def test_regex(settings, expected, actual, comparison):
    assert Regex(**settings).compare(expected, actual) == comparison


@pytest.mark.parametrize("expected", ["(", 5, None])
def test_an_expected_value_that_is_no_expression_is_refused(expected):
    with pytest.raises(ConfigurationError, match="expression"):
        Regex().compare(expected, "a")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "text", "method": "levenstein"}, "Did you mean 'levenshtein'"),
        ({"type": "text", "normalize": None}, "one of none, nfc, nfkc, accents"),
        ({"type": "text", "cutoff": 2}, "a number from 0 to 1"),
        ({"type": "text", "case_sensitive": "no"}, "true or false"),
        ({"type": "enum", "values": "ab"}, "a list of the allowed values"),
        ({"type": "enum", "values": []}, "a list of the allowed values"),
        ({"type": "regex", "pattern": "("}, "a valid regular expression"),
        ({"type": "regex", "pattern": 5}, "pattern is 5"),
    ],
)
def test_a_bad_setting_is_refused_with_what_is_allowed(spec, message):
    with pytest.raises(ConfigurationError, match=message):
        comparator_from(spec)
