from __future__ import annotations

import copy
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import ConfigurationError, EvaluationError, OutputDecodeError
from spanscore.evaluators.field_match import FieldMatch
from spanscore.step import MISSING
from tests.vectors import load

VARIANTS = {
    "galtea.json_field_match": {},
    "galtea.json_field_match_normalized": {"normalized": True},
    "galtea.json_field_match_strict": {"strict": True},
    "galtea.json_field_match_normalized_strict": {"normalized": True, "strict": True},
}
CASES = [(VARIANTS[system], case) for system in VARIANTS for case in load(system)]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c/d~"]) | st.text(), LEAVES | JSON, max_size=5)
SETTINGS = st.fixed_dictionaries({"normalized": st.booleans(), "strict": st.booleans(), "compat": st.booleans()})


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(("variant", "case"), CASES, ids=[f"{case['system']}-{case['case']}" for _, case in CASES])
def test_default_and_compat_give_what_the_documents_say(variant, case, compat):
    evaluator = FieldMatch(compat=compat, **variant)
    wanted = case["result"]
    if "raises" in wanted:
        kind = OutputDecodeError if case["case"].startswith("actual") else EvaluationError
        with pytest.raises(kind):
            evaluator.evaluate(case["actual"], case["expected"])
        return
    score = evaluator.evaluate(case["actual"], case["expected"])
    assert score.value == wanted["score"]
    assert {key: score.metrics[key] for key in wanted if key.endswith("_fields")} == {
        key: value for key, value in wanted.items() if key.endswith("_fields")
    }


@given(OBJECTS, SETTINGS)
def test_equal_values_score_one(value, settings):
    assert FieldMatch(**settings).evaluate(copy.deepcopy(value), value).value == 1.0


@given(OBJECTS, OBJECTS, SETTINGS)
def test_score_is_in_range_and_the_mean_of_its_fields(expected, output, settings):
    score = FieldMatch(**settings).evaluate(output, expected)
    assert 0.0 <= score.value <= 1.0
    if score.fields:
        assert score.value == pytest.approx(sum(field.value for field in score.fields) / len(score.fields), abs=1e-12)
        assert sum(1 - field.value for field in score.fields) == score.metrics["non_matching_fields"]
    else:
        assert score.value == 1.0


@given(OBJECTS, OBJECTS, SETTINGS)
def test_arguments_are_not_changed(expected, output, settings):
    before = copy.deepcopy((expected, output))
    FieldMatch(**settings).evaluate(output, expected)
    assert (expected, output) == before


@given(OBJECTS, OBJECTS)
def test_strict_never_scores_more_and_normalized_never_less(expected, output):
    plain = FieldMatch().evaluate(output, expected).value
    assert FieldMatch(strict=True).evaluate(output, expected).value <= plain + 1e-12
    assert FieldMatch(normalized=True).evaluate(output, expected).value >= plain


@given(OBJECTS, OBJECTS)
def test_strict_may_have_its_sides_exchanged(expected, output):
    evaluator = FieldMatch(strict=True)
    assert evaluator.evaluate(output, expected).value == evaluator.evaluate(expected, output).value


@pytest.mark.parametrize(
    ("expected", "output", "value"),
    [
        (30, 30.0, 1.0),
        (0, -0.0, 1.0),
        (2**63 + 1, float(2**63), 0.0),
        ("30", 30, 0.0),
        (True, 1, 0.0),
        (0, False, 0.0),
        (True, True, 1.0),
        (None, None, 1.0),
        (None, "", 0.0),
        (math.nan, math.nan, 0.0),
        (math.inf, math.inf, 0.0),
        (5, math.nan, 0.0),
        ({"x": [1, {"y": 2}]}, {"x": [1.0, {"y": 2}]}, 1.0),
        ({"x": 1}, {"x": 1, "y": 2}, 0.0),
        ({"x": True}, {"x": 1}, 0.0),
        ([1, 2], [2, 1], 0.0),
        ([1, 2], (1, 2), 1.0),
        ([], {}, 0.0),
        ("a", "a ", 0.0),
        ("é", "e\u0301", 0.0),
    ],
)
def test_values_are_equal_as_json(expected, output, value):
    assert FieldMatch().evaluate({"k": output}, {"k": expected}).value == value


@pytest.mark.parametrize(
    ("expected", "output", "value"),
    [
        ("é", "e\u0301", 1.0),
        ("Straße", "STRASSE", 1.0),
        ("İstanbul", "istanbul", 1.0),
        ("Ǆ", "ǆ", 1.0),
        ("o\u0323\u0302", "O\u0302\u0323", 1.0),
        ("a", "a ", 0.0),
        ("क\u093f", "क\u0941", 0.0),  # vowel signs are no accents
        (["Ñ", {"X": "É"}], ["n", {"X": "e"}], 1.0),
        ({"X": "é"}, {"x": "é"}, 0.0),
        ("true", True, 0.0),
    ],
)
def test_normalized_ignores_case_and_combining_marks_in_values_only(expected, output, value):
    assert FieldMatch(normalized=True).evaluate({"k": output}, {"k": expected}).value == value


def test_null_is_not_a_missing_key():
    assert FieldMatch().evaluate({}, {"a": None}).value == 0.0


def test_an_empty_expected_object_is_told():
    score = FieldMatch().evaluate({"a": 1}, {})
    assert (score.value, score.explanation) == (1.0, "no field is expected")
    assert FieldMatch(strict=True).evaluate({"a": 1}, {}).value == 0.0
    assert FieldMatch(strict=True).evaluate({}, {}).value == 1.0


def test_fields_say_where_and_why_points_were_lost():
    score = FieldMatch(strict=True).evaluate(
        {"a": 1, "b/~": "x", "d": "1", "e": 0}, {"a": 1, "b/~": "y", "c": 1, "d": 1}
    )
    assert {field.path: field.reason for field in score.fields} == {
        "/a": "match",
        "/b~1~0": "wrong",
        "/c": "missing",
        "/d": "type",
        "/e": "extra",
    }
    assert score.explanation == "/b~1~0 wrong, /c missing, /d type, /e extra"
    assert score.value == 0.2


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ('{"a": 1}', ""),
        ('Sure:\n```json\n{"a": 1}\n```', "output read from text: fenced"),
        ('Draft {"a": 2}, final {"a": 1}.', "output read from text: embedded"),
        ("{'a': 1,}", "output read from text: repaired"),
    ],
)
def test_text_is_read_leniently_and_how_is_told(output, told):
    score = FieldMatch().evaluate(output, {"a": 1})
    assert (score.value, score.explanation) == (1.0, told)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ('{"secret": [1, 2', "16 characters without an object: an object or a list begins in it, and is cut off"),
        ('{"secret": COMP-01}', "what begins in it cannot be read"),
        ("no secret here", "there is none in it"),
        ("", "there is none in it"),
        ("[1, 2]", "its JSON is no object"),
        ('"secret"', "its JSON is no object"),
        (None, "must be a JSON object; it is nothing"),
        (MISSING, "must be a JSON object; it is nothing"),
        (7, "must be a JSON object; it is a int"),
        ([{"a": 1}], "must be a JSON object; it is a list"),
    ],
)
def test_an_output_that_is_no_object_is_a_decode_error_that_does_not_quote_it(output, told):
    with pytest.raises(OutputDecodeError, match=told) as caught:
        FieldMatch().evaluate(output, {"a": 1})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "expected", ["[1]", "text", '```json\n{"a": 1}\n```', "{'a': 1}", '{"a": 1', None, [1], 7, MISSING]
)
def test_an_expected_value_that_is_no_object_is_an_error_of_the_test_and_not_of_the_output(expected):
    with pytest.raises(EvaluationError, match="the expected value must be a JSON object; it is") as caught:
        FieldMatch().evaluate({"a": 1}, expected)
    assert not isinstance(caught.value, OutputDecodeError)


def test_expected_text_that_is_one_json_object_is_read():
    assert FieldMatch().evaluate({"a": 1}, '{"a": 1}').value == 1.0


def test_compat_repairs_nothing():
    assert FieldMatch(compat=True).evaluate('so ```json\n{"a": 1}```', {"a": 1}).value == 1.0
    with pytest.raises(OutputDecodeError, match="must be repaired to be read, which compat does not"):
        FieldMatch(compat=True).evaluate("{'a': 1}", {"a": 1})


def test_live_python_values_are_compared_as_json():
    import dataclasses
    import decimal
    import enum

    class Colour(enum.Enum):
        RED = "red"

    @dataclasses.dataclass
    class Answer:
        colour: Colour
        price: decimal.Decimal
        tags: tuple[str, ...]

    output = Answer(Colour.RED, decimal.Decimal("1.5"), ("a",))
    assert FieldMatch().evaluate(output, {"colour": "red", "price": 1.5, "tags": ["a"]}).value == 1.0
    assert FieldMatch().evaluate({1: Colour.RED}, {"1": "red"}).value == 1.0


def test_deep_and_cyclic_values_end_in_a_result_or_a_clear_error():
    deep: dict = {}
    other: dict = {"x": 1}
    for _ in range(10_000):
        deep, other = {"a": deep}, {"a": other}
    assert FieldMatch().evaluate({"k": deep}, {"k": deep}).value == 1.0
    assert FieldMatch().evaluate({"k": other}, {"k": deep}).value == 0.0
    cycle: list = []
    cycle += [cycle, cycle]
    assert FieldMatch().evaluate({"k": cycle}, {"k": 1}).value == 0.0
    with pytest.raises(EvaluationError, match="nested deeper than 20,000 levels, or in itself"):
        FieldMatch().evaluate({"k": cycle}, {"k": cycle})


def test_a_million_elements_are_compared():
    assert FieldMatch().evaluate({"k": list(range(1_000_000))}, {"k": list(range(1_000_000))}).value == 1.0


def test_a_bad_name_is_told():
    with pytest.raises(ConfigurationError, match="name 'Field Match' is not allowed"):
        FieldMatch(name="Field Match")


def test_the_same_output_may_be_scored_again():
    prepared = FieldMatch().prepare({"a": 1})
    assert prepared({"a": 1}) == prepared({"a": 1}) == FieldMatch().evaluate({"a": 1}, {"a": 1})
