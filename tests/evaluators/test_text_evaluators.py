from __future__ import annotations

import pytest

from spanscore import ConfigurationError, Contains, EvaluationError, ExactMatch, JsonSimilarity, evaluator
from spanscore.evaluators import BUILTIN, create
from tests.evaluators.deviations import DEVIATIONS
from tests.vectors import load, settings

CLASSES = {"exact_match": ExactMatch, "contains": Contains}
CASES = [(name, case) for name in CLASSES for case in load(f"uipath.{name}")]
IDS = [f"{name}-{case['case']}" for name, case in CASES]


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_compat_gives_the_reference_result(name, case):
    score = CLASSES[name](compat=True, **settings(case)).evaluate(case["actual"], case["expected"])
    assert score.value == case["result"]["score"]


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_default_differs_only_where_a_deviation_is_named(name, case):
    named = DEVIATIONS.get((name, case["case"]))
    try:
        value = CLASSES[name](**settings(case)).evaluate(case["actual"], case["expected"]).value
    except EvaluationError:
        value = None
    wanted = case["result"]["score"]
    if named is None:
        assert value == wanted
    else:
        assert (value, wanted) == (named.value, named.reference)
        assert value != wanted


@pytest.mark.parametrize(
    ("expected", "output", "settings", "value"),
    [
        ({"a": True}, {"a": 1}, {}, 0.0),
        ({"a": True}, {"a": 1}, {"compat": True}, 1.0),
        ("None", None, {}, 0.0),
        ("none", None, {"compat": True}, 1.0),
        ("8.0", 8, {"compat": True}, 1.0),
        ("8", 8, {}, 1.0),
        ({"a": ["X"]}, {"a": ["x"]}, {}, 1.0),
        ({"a": ["X"]}, {"a": ["x"]}, {"case_sensitive": True}, 0.0),
        ({"a": 1}, {"a": 1.0}, {}, 1.0),
        ([1, 2], [1], {}, 0.0),
        ({"a": 1}, {"a": 1}, {"negated": True}, 0.0),
    ],
)
def test_exact_match(expected, output, settings, value):
    assert ExactMatch(**settings).evaluate(output, expected).value == value


@pytest.mark.parametrize(
    ("expected", "output", "settings", "value"),
    [
        ("paris", {"r": "Paris"}, {}, 1.0),
        ("paris", {"r": "Paris"}, {"case_sensitive": True}, 0.0),
        ('"a": 1', {"a": 1}, {}, 1.0),
        ('"a":1', {"a": 1}, {}, 1.0),
        ({"search_text": "x"}, "abc", {"negated": True}, 1.0),
    ],
)
def test_contains(expected, output, settings, value):
    assert Contains(**settings).evaluate(output, expected).value == value


@pytest.mark.parametrize("target", ["a.b[1].c", "/a/b/1/c"])
def test_a_path_and_a_pointer_select_the_same_part(target):
    output = {"a": {"b": [0, {"c": "x"}]}}
    assert ExactMatch(target_output_key=target).evaluate(output, output).value == 1.0


def test_a_key_with_dots_slashes_and_brackets_is_reached():
    value = {"a.b": 1, "x/y~z": {"[0]": 2}}
    assert JsonSimilarity(target_output_key="a.b").evaluate(value, value).metrics["total_leaves"] == 1
    assert JsonSimilarity(target_output_key="/x~1y~0z/[0]").evaluate(value, value).value == 1.0


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: create("json_similarty", {}), "unknown evaluator 'json_similarty'.*Did you mean 'json_similarity'"),
        (
            lambda: create("contains", {"casesensitive": True}),
            "'contains' has no 'casesensitive'.*Did you mean 'case_sensitive'",
        ),
        (lambda: JsonSimilarity(name="Bad Name"), "name 'Bad Name' is not allowed.*for example 'json_similarity'"),
        (lambda: ExactMatch(target_output_key=""), "target_output_key is empty"),
        (lambda: JsonSimilarity(default_evaluation_criteria={"x": 1}), "needs 'expected_output'"),
        (lambda: JsonSimilarity(line_delimiter=""), "line_delimiter is empty"),
        (lambda: evaluator(lambda: 1), "takes 0 positional parameters; write it as"),
    ],
)
def test_bad_settings_name_what_was_given_and_what_is_allowed(make, told):
    with pytest.raises(ConfigurationError, match=told):
        make()


def test_every_builtin_is_created_by_its_name():
    needed = {"llm_judge": {"model": "m"}, "strict_json_judge": {"model": "m"}, "trajectory_judge": {"model": "m"}}
    assert {create(kind, needed.get(kind, {})).name for kind in BUILTIN} == set(BUILTIN)


def test_a_function_may_return_a_number_a_bool_or_a_score():
    half = evaluator(name="half", version="2")(lambda output: 0.5)
    assert (half.evaluate(1, None).value, half.version) == (0.5, "2")
    assert evaluator(name="flag")(lambda output, expected: output == expected).evaluate(1, 1).value == 1.0
    with pytest.raises(EvaluationError, match="returned str"):
        evaluator(name="text")(lambda output: "good").evaluate(1, None)
