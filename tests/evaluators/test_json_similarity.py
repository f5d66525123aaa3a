from __future__ import annotations

import copy
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import EvaluationError, JsonSimilarity, OutputDecodeError
from tests.evaluators.deviations import DEVIATIONS
from tests.vectors import load, settings

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5), max_leaves=30
)
CASES = load("uipath.json_similarity")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_compat_gives_the_reference_result(case):
    evaluator = JsonSimilarity(compat=True, **settings(case))
    wanted = case["result"]
    expected = None if case["case"] == "default_criteria_used" else case["expected"]
    if wanted.get("score_type") == "ERROR":
        with pytest.raises(EvaluationError):
            evaluator.evaluate(case["actual"], expected)
        return
    score = evaluator.evaluate(case["actual"], expected)
    if "score" in wanted:
        assert score.value == pytest.approx(wanted["score"], abs=1e-12)
    if "matched_leaves" in wanted:
        assert score.metrics["matched_leaves"] == pytest.approx(wanted["matched_leaves"], abs=1e-12)
        assert score.metrics["total_leaves"] == wanted["total_leaves"]
    if "line_scores" in wanted:
        assert [field.value for field in score.fields] == pytest.approx(wanted["line_scores"], abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_default_differs_from_the_reference_only_where_a_deviation_is_named(case):
    wanted = case["result"].get("score")
    if wanted is None or case["case"] == "default_criteria_used":
        return
    named = DEVIATIONS.get(("json_similarity", case["case"]))
    try:
        value = JsonSimilarity(**settings(case)).evaluate(case["actual"], case["expected"]).value
    except OutputDecodeError:
        value = None
    if named is None:
        assert value == pytest.approx(wanted, abs=1e-12)
    else:
        assert (value, wanted) == (named.value, pytest.approx(named.reference))
        assert value != wanted or case["result"]["score_type"] == "ERROR"


@given(JSON)
def test_equal_values_score_one(value):
    assert JsonSimilarity().evaluate(copy.deepcopy(value), value).value == 1.0


@given(JSON, JSON)
def test_score_is_in_range_and_equals_the_mean_of_its_fields(expected, output):
    try:
        score = JsonSimilarity().evaluate(output, expected)
    except OutputDecodeError:
        return
    assert score.value is not None
    assert 0.0 <= score.value <= 1.0
    total = sum(field.weight for field in score.fields)
    assert math.isclose(score.value, sum(field.weight * field.value for field in score.fields) / total, abs_tol=1e-9)
    assert math.isclose(
        sum(field.weight * (1 - field.value) for field in score.fields) / total, 1 - score.value, abs_tol=1e-9
    )
    assert {field.reason for field in score.fields if field.value == 1.0} <= {"match"}


@given(JSON, JSON)
def test_arguments_are_not_changed(expected, output):
    before = copy.deepcopy((expected, output))
    try:
        tuple(JsonSimilarity().evaluate(output, expected).fields)
    except OutputDecodeError:
        pass
    assert (expected, output) == before


@given(st.dictionaries(st.text(), JSON, min_size=1))
def test_key_order_does_not_matter(value):
    assert JsonSimilarity().evaluate(dict(reversed(value.items())), value).value == 1.0


@given(JSON, JSON)
def test_compat_and_default_agree_on_finite_values_without_empty_containers(expected, output):
    if _has_empty(expected) or isinstance(expected, str) is not isinstance(output, str) or _has_big(expected, output):
        return
    compat = JsonSimilarity(compat=True).evaluate(output, expected).value
    assert JsonSimilarity().evaluate(output, expected).value == pytest.approx(compat, abs=1e-9)


def _has_empty(value):
    if isinstance(value, (dict, list)):
        return not value or any(map(_has_empty, value.values() if isinstance(value, dict) else value))
    return False


def _has_big(*values):
    return any(
        _has_big(*(value.values() if isinstance(value, dict) else value))
        if isinstance(value, (dict, list))
        else isinstance(value, (int, float)) and abs(value) > 2**53
        for value in values
    )


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ({"a": float("nan")}, {"a": float("nan")}),
        ({"a": 5}, {"a": float("nan")}),
        ({"a": float("inf")}, {"a": float("inf")}),
        ({"a": float("inf")}, {"a": 7}),
        ({"a": 7}, {"a": float("-inf")}),
        ({"a": True}, {"a": 1}),
        ({"a": 0}, {"a": False}),
        ({"a": {}}, {"a": "text"}),
        ({"a": []}, {"a": [1]}),
        ({}, {"a": 1}),
        ({"a": None}, {}),
        ({"a": 10**400}, {"a": 0.5}),
    ],
)
def test_what_is_not_similar_at_all_scores_zero(expected, output):
    assert JsonSimilarity().evaluate(output, expected).value == 0.0


def test_a_nan_in_the_same_object_scores_zero():
    same = {"a": float("nan"), "b": [math.inf, 1.5, 2.5]}
    assert JsonSimilarity().evaluate(same, same).value == 0.5


def test_live_python_values_are_compared_as_json():
    import dataclasses
    import datetime
    import decimal
    import enum

    class Colour(enum.Enum):
        RED = "red"

    @dataclasses.dataclass
    class Answer:
        colour: Colour
        day: datetime.date
        price: decimal.Decimal
        tags: tuple[str, ...]

    output = Answer(Colour.RED, datetime.date(2026, 1, 2), decimal.Decimal("1.5"), ("a", "b"))
    expected = {"colour": "red", "day": "2026-01-02", "price": 1.5, "tags": ["a", "b"]}
    assert JsonSimilarity().evaluate(output, expected).value == 1.0


def test_numpy_values_are_compared_as_json():
    numpy = pytest.importorskip("numpy")
    output = {"scores": numpy.array([1.0, 2.0]), "n": numpy.int64(5), "x": numpy.array([[1]])}
    assert JsonSimilarity().evaluate(output, {"scores": [1, 2], "n": 5, "x": [[1]]}).value == 1.0


def test_text_output_is_read_as_json_where_an_object_is_expected():
    assert JsonSimilarity().evaluate('{"a": 1}', {"a": 1}).value == 1.0


def test_text_that_is_no_json_is_a_decode_error_that_does_not_quote_it():
    with pytest.raises(OutputDecodeError, match="not JSON: parsing stopped at character") as caught:
        JsonSimilarity().evaluate("secret words", {"a": 1})
    assert "secret" not in str(caught.value)


def test_explanation_names_the_worst_fields_first():
    expected = {"a": "abcd", "b": 10, "c": {"d/e": True}, "f": "x"}
    score = JsonSimilarity().evaluate({"a": "abcx", "b": 5, "c": {}, "f": "y"}, expected)
    assert (
        score.explanation
        == '/f: expected "x", got "y"; /c/d~1e: expected true, missing; /b: expected 10, got 5; 1 more'
    )
    assert {field.path: field.reason for field in score.fields} == {
        "/a": "similar",
        "/b": "similar",
        "/c/d~1e": "missing",
        "/f": "wrong",
    }


def test_target_that_the_output_lacks_is_a_wrong_answer_and_not_an_error():
    score = JsonSimilarity(target_output_key="result").evaluate({"other": 1}, {"result": 1})
    assert (score.value, score.fields[0].reason) == (0.0, "missing")


def test_target_that_the_expected_value_lacks_is_an_error_that_names_the_keys():
    with pytest.raises(EvaluationError, match="'result' is not in the expected.*it has the keys other"):
        JsonSimilarity(target_output_key="result").evaluate({"result": 1}, {"other": 1})


@given(JSON, JSON, JSON)
def test_a_prepared_expectation_scores_every_output_like_a_fresh_one(expected, first, second):
    prepared = JsonSimilarity().prepare(expected)
    for output in (first, second, expected, first, *[expected] * 20, first, second):  # made into code on the way
        try:
            fresh = JsonSimilarity().evaluate(output, expected)
        except OutputDecodeError:
            with pytest.raises(OutputDecodeError):
                prepared(output)
            continue
        assert prepared(output) == fresh
