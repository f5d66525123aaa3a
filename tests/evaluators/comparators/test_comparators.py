from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import math
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanscore import ConfigurationError, EvaluationError, ExactMatch, MissingDependencyError, Score, evaluator
from spanscore.evaluators.comparators.table import COMPARATORS, Comparator, Comparison, comparator_from

# "regex" alone reads the expected value as something else than what is expected.
READERS = {name: comparator_from(name) for name in COMPARATORS if name != "regex"}
TYPED = st.sampled_from(
    ["1,200.00", "12 %", "$5", "EUR 5", "5 km", "20 \u00b0C", "2024-03-01", "03/04/2024", "March 2024", "(5)", "5pm"]
)
HOSTILE = st.text(st.characters()) | st.text("0123456789.,-+eE$%/*^()[] kmgTZ:W\u00b0\u00b2\u20ac", max_size=40) | TYPED
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | HOSTILE
)
ANYTHING = (
    LEAVES | st.floats() | st.lists(LEAVES, max_size=3) | st.dictionaries(st.text("amountcury"), LEAVES, max_size=3)
)
OBJECTS = st.fixed_dictionaries({}, optional=dict.fromkeys(("amount", "currency", "value", "unit"), ANYTHING))


@pytest.mark.parametrize("name", READERS)
@given(value=LEAVES | OBJECTS.filter(lambda one: "nan" not in repr(one) and "inf" not in repr(one)))
@settings(max_examples=60)
def test_equal_values_score_one(name, value):
    assert READERS[name].compare(copy.deepcopy(value), value).similarity == 1.0


@pytest.mark.parametrize("name", READERS)
@given(expected=ANYTHING | OBJECTS, actual=ANYTHING | OBJECTS)
@settings(max_examples=150)
def test_any_two_values_have_a_similarity_in_range_and_stay_as_they_are(name, expected, actual):
    before = repr((expected, actual))
    similarity, note = READERS[name].compare(expected, actual)
    assert isinstance(similarity, float) and 0.0 <= similarity <= 1.0
    assert isinstance(note, str)
    assert repr((expected, actual)) == before


@pytest.mark.parametrize("name", [name for name in READERS if name != "one_of"])
@given(left=LEAVES, right=LEAVES)
@settings(max_examples=100)
def test_without_tolerance_the_sides_may_be_swapped(name, left, right):
    assert READERS[name].compare(left, right).similarity == READERS[name].compare(right, left).similarity


@given(text=HOSTILE)
def test_a_regex_meets_any_text(text):
    assert comparator_from({"type": "regex", "pattern": "a+"}).compare(None, text).similarity in (0.0, 1.0)


@pytest.mark.parametrize("name", COMPARATORS)
def test_every_name_gives_a_comparator_that_cannot_change(name):
    comparator = comparator_from(name)
    assert isinstance(comparator, Comparator)
    assert comparator == comparator_from({"type": name})
    with pytest.raises((AttributeError, TypeError)):
        comparator.anything = 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mony", "unknown comparator 'mony'; known are auto, .*Did you mean 'money'"),
        ({"abs": 1}, "a comparator without 'type'; known are auto"),
        ({"type": ["x"]}, "unknown comparator"),
        ({"type": "number", "abz": 1}, "'number' has no setting 'abz'; it has locale, abs, .*Did you mean 'abs'"),
        ({"type": "number", "_format": 1}, "has no setting '_format'"),
        ({"type": "ignore", 3: 1}, "it has none"),
        ({"type": "one_of", "by": "nubmer"}, "Did you mean 'number'"),
        ({"type": "one_of", "values": []}, "a list of the accepted values"),
        (None, "a NoneType is no comparator"),
        (5, "is no comparator; give a name"),
        (int, "the class int, not an instance"),
        (ExactMatch, "the class ExactMatch, not an instance"),
    ],
)
def test_what_is_no_comparator_is_refused_with_what_is_allowed(spec, message):
    with pytest.raises(ConfigurationError, match=message):
        comparator_from(spec)


@pytest.mark.parametrize(
    ("settings", "expected", "actual", "comparison"),
    [
        ({}, ["a", "b"], "b", (1.0, "")),
        ({}, ["New York City", "Boston"], "New York", (2 / 3, "")),
        ({}, [], "b", (0.0, "no accepted value")),
        ({}, "b", "b", (1.0, "")),
        ({}, None, None, (1.0, "")),
        ({}, [[1], [2]], [2], (1.0, "")),
        ({}, [1, "x"], 5, (0.0, "")),
        ({"values": ["a", 1]}, "ignored", 1, (1.0, "")),
        ({"by": "number"}, [12, 13], "13.0", (1.0, "")),
        ({"by": {"type": "number", "abs": 1, "decay": "linear"}}, [10, 20], 11.5, (0.5, "")),
    ],
)
def test_one_of_takes_the_best(settings, expected, actual, comparison):
    found = comparator_from({"type": "one_of", **settings}).compare(expected, actual)
    assert found == (pytest.approx(comparison[0]), comparison[1])


def test_ignore_accepts_anything():
    assert comparator_from("ignore").compare("a", None) == (1.0, "")


def test_a_comparator_is_taken_as_it_is():
    number = comparator_from("number")
    assert comparator_from(number) is number


@pytest.mark.parametrize(
    ("function", "comparison"),
    [
        (lambda output, expected: output > expected, (1.0, "")),
        (lambda output, expected: 0.25, (0.25, "")),
        (lambda output, expected: 1, (1.0, "")),
        (lambda output, expected: Comparison(0.5, "half"), (0.5, "half")),
        (lambda output, expected: Score(evaluator="x", value=0.5, explanation="so so"), (0.5, "so so")),
    ],
)
def test_a_function_compares(function, comparison):
    found = comparator_from(function).compare(1, 2)
    assert found == comparison
    assert type(found.similarity) is float


@pytest.mark.parametrize("result", [None, "1", 2, -0.1, math.nan, math.inf, Decimal(1), Comparison(7.0)])
def test_a_function_that_returns_no_similarity_is_an_error(result):
    with pytest.raises(EvaluationError, match="return a number in 0..1"):
        comparator_from(lambda output, expected: result).compare(1, 1)


def test_an_evaluator_scores_one_field():
    assert comparator_from(ExactMatch()).compare("Paris", "PARIS").similarity == 1.0
    assert comparator_from(ExactMatch()).compare("Paris", "Rome") == (0.0, "expected Paris")


def test_an_evaluator_without_a_score_is_an_error():
    @evaluator
    def judge(output, expected):
        return Score(evaluator="judge", value=None, label="error", explanation="no answer")

    with pytest.raises(EvaluationError, match="'judge' gave no score .error.: no answer"):
        comparator_from(judge).compare(1, 1)


def test_a_coroutine_function_is_awaited():
    @evaluator
    async def judge(output, expected):
        return output == expected

    async def function(output, expected):
        return 0.5

    class Callable:
        async def __call__(self, output, expected):
            return 0.75

    for spec, value in ((judge, 1.0), (function, 0.5), (Callable(), 0.75)):
        comparator = comparator_from(spec)
        assert comparator.is_async
        found = comparator.compare(1, 1)
        assert inspect.isawaitable(found)
        assert asyncio.run(_awaited(found)) == (value, "")
    assert not comparator_from(lambda output, expected: 1).is_async
    assert not comparator_from(ExactMatch()).is_async


def test_one_of_awaits_what_it_compares_by():
    async def near(output, expected):
        return 1.0 - abs(output - expected) / 10

    one_of = comparator_from({"type": "one_of", "by": near})
    assert one_of.is_async
    assert asyncio.run(_awaited(one_of.compare([1, 4, 9], 5))).similarity == 0.9
    assert one_of.compare([], 5) == (0.0, "no accepted value")
    assert not comparator_from("one_of").is_async


async def _awaited(awaitable):
    return await awaitable


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("number", "babel"),
        ("percent", "babel"),
        ("money", "babel"),
        ("quantity", "pint"),
        ("date", "dateutil.parser"),
        ("datetime", "dateutil.parser"),
    ],
)
def test_a_library_that_is_not_installed_is_named_with_its_extra(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"'{name}' needs .*pip install 'spanscore\[structured\]'"):
        comparator_from(name)


@pytest.mark.parametrize("name", ["auto", "enum", "ignore", "one_of", "regex", "text"])
def test_plain_comparators_need_no_library(name, monkeypatch):
    for module in ("babel", "pint", "dateutil", "dateutil.parser"):
        monkeypatch.setitem(sys.modules, module, None)
    comparator_from(name)


def test_the_documentation_names_every_comparator_and_setting():
    document = (Path(__file__).parents[3] / "docs" / "comparators.md").read_text()
    rows = {row.split("|")[1].strip(" `"): row for row in document.splitlines() if row.startswith("| `")}
    assert set(rows) == set(COMPARATORS)
    for name, kind in COMPARATORS.items():
        names = {one.name for one in dataclasses.fields(kind) if one.init}
        tolerance = {"abs", "rel", "decay", "bands"}
        assert ("tolerance" in rows[name].split("|")[2].replace("tolerance_s", "")) == (tolerance <= names)
        assert all(f"`{setting}`" in rows[name] for setting in names - tolerance)
