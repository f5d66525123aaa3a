from __future__ import annotations

import copy
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import ConfigurationError, EvaluationError
from spanscore.evaluators.tool_calls import ToolCallArgs, ToolCallCount, ToolCallOrder, ToolCallOutput
from spanscore.evaluators.tool_calls.common_subsequence import common_subsequence
from spanscore.step import Step, Trajectory
from tests.evaluators.deviations import DEVIATIONS
from tests.vectors import load

CLASSES = {
    "tool_call_order": ToolCallOrder,
    "tool_call_count": ToolCallCount,
    "tool_call_args": ToolCallArgs,
    "tool_call_output": ToolCallOutput,
}
CASES = [(name, case) for name in CLASSES for case in load(f"uipath.{name}")]
IDS = [f"{name}-{case['case']}" for name, case in CASES]
NAMES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=12)


def run(*calls):
    return Step(name="agent", operation="invoke_agent", trajectory=Trajectory(steps=tuple(map(as_step, calls))))


def as_step(call):
    if isinstance(call, Step):
        return call
    found = {"name": call} if isinstance(call, str) else dict(call)
    attributes = {"tool.name": found.pop("name"), **({"tool.id": found.pop("id")} if "id" in found else {})}
    io = {key.partition(".")[0]: value for key, value in found.items()}
    return Step(name="span", attributes={**attributes, **{k: v for k, v in found.items() if "." in k}}, **io)


def tool(name, **io):
    return Step(name=f"execute_tool {name}", operation="execute_tool", **io)


def settings(case):
    return {key: value for key, value in case["config"].items() if key in ("strict", "subset")}


def value_of(evaluator, expected, *calls):
    return evaluator.evaluate(None, expected, step=run(*calls)).value


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_compat_gives_the_reference_result(name, case):
    evaluator = CLASSES[name](compat=True, **settings(case))
    score = evaluator.evaluate(None, case["expected"], step=run(*case["actual"]))
    assert score.value == pytest.approx(case["result"]["score"], abs=1e-12)
    if "lcs" in case["result"]:
        assert [field.actual for field in score.fields if field.value] == case["result"]["lcs"]
        assert score.metrics["lcs_length"] == len(case["result"]["lcs"])


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_default_differs_only_where_a_deviation_is_named(name, case):
    named = DEVIATIONS.get((name, case["case"]))
    try:
        value = value_of(CLASSES[name](**settings(case)), case["expected"], *case["actual"])
    except EvaluationError:
        value = None
    wanted = case["result"]["score"]
    if named is None:
        assert value == pytest.approx(wanted, abs=1e-12)
    else:
        assert (value, wanted) == (named.value, named.reference)
        assert value != wanted


@given(expected=NAMES, actual=NAMES)
def test_order_is_the_longest_common_subsequence(expected, actual):
    score = ToolCallOrder().evaluate(None, expected, step=run(*actual))
    table = [[0] * (len(expected) + 1) for _ in range(len(actual) + 1)]
    for i, left in enumerate(actual):
        for j, right in enumerate(expected):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    assert score.value == table[-1][-1] / len(expected)
    taken = [field.actual for field in score.fields if field.value]
    rest = iter(actual)
    assert all(name in rest for name in taken)
    assert len(taken) == score.metrics["lcs_length"] == table[-1][-1]


@given(calls=NAMES)
def test_expected_calls_score_one(calls):
    for strict in (False, True):
        counts = {name: ["=", calls.count(name)] for name in calls}
        args = [{"name": name, "args": {"i": index}} for index, name in enumerate(calls)]
        outputs = [{"name": name, "output": index} for index, name in enumerate(calls)]
        steps = [tool(name, input={"i": index}, output=index) for index, name in enumerate(calls)]
        assert value_of(ToolCallOrder(strict=strict), calls, *steps) == 1.0
        assert value_of(ToolCallCount(strict=strict), counts, *steps) == 1.0
        assert value_of(ToolCallArgs(strict=strict), args, *reversed(steps)) == 1.0
        assert value_of(ToolCallOutput(strict=strict), outputs, *reversed(steps)) == 1.0


@given(expected=NAMES, actual=NAMES, subset=st.booleans())
def test_scores_are_the_mean_of_their_fields_and_change_nothing(expected, actual, subset):
    steps = run(*[tool(name, input={"n": name}, output=name) for name in actual])
    for evaluator, wanted in (
        (ToolCallOrder(), expected),
        (ToolCallCount(), {name: [">", 1] for name in expected}),
        (ToolCallArgs(subset=subset), [{"name": name, "args": {"n": "a"}} for name in expected]),
        (ToolCallOutput(), [{"name": name, "output": "a"} for name in expected]),
    ):
        before = copy.deepcopy(wanted)
        score = evaluator.evaluate(None, wanted, step=steps)
        assert 0.0 <= score.value <= 1.0
        assert score.value == pytest.approx(math.fsum(field.value for field in score.fields) / len(score.fields))
        assert wanted == before
        assert (score.explanation == "") is (score.value == 1.0)


@pytest.mark.parametrize("evaluator", [each() for each in CLASSES.values()], ids=CLASSES)
@pytest.mark.parametrize("step", [None, Step(name="agent")])
def test_a_missing_trajectory_is_an_error_that_says_so(evaluator, step):
    expected = {"a": ["=", 1]} if isinstance(evaluator, ToolCallCount) else []
    if not isinstance(evaluator, (ToolCallCount, ToolCallOrder)):
        expected = [{"name": "a", "args": {}, "output": 1}]
    with pytest.raises(EvaluationError, match="read from the trajectory, and there is none"):
        evaluator.evaluate(None, expected or ["a"], step=step)


@pytest.mark.parametrize(
    ("evaluator", "empty"),
    [(ToolCallOrder, []), (ToolCallCount, {}), (ToolCallArgs, []), (ToolCallOutput, [])],
)
def test_an_empty_expectation_is_an_error_and_in_compat_one_or_zero(evaluator, empty):
    with pytest.raises(EvaluationError, match="nothing is expected"):
        value_of(evaluator(), empty, "a")
    assert value_of(evaluator(compat=True), empty) == 1.0
    assert value_of(evaluator(compat=True), empty, "a") == 0.0


@pytest.mark.parametrize(
    ("evaluator", "expected", "told"),
    [
        (ToolCallOrder(), None, "list of tool names, in order; nothing was given"),
        (ToolCallOrder(), "search", "list of tool names, in order; a str was given"),
        (ToolCallOrder(), [1], "must be the name of a tool"),
        (ToolCallCount(), [], "an object: tool -> .*; a list was given"),
        (ToolCallCount(), {"a": ["~", 1]}, r"'a' must be \[comparator, n\] with one of >"),
        (ToolCallCount(), {"a": 1}, r"'a' must be \[comparator, n\]"),
        (ToolCallCount(), {"a": ["=", "x"]}, "must be an integer"),
        (ToolCallCount(), {"a": ["=", True]}, "must be an integer"),
        (ToolCallArgs(), ["a"], "must be an object with a 'name' and 'args'"),
        (ToolCallArgs(), [{"name": "a", "args": [1]}], "args of every expected call must be an object"),
        (ToolCallOutput(), [{"name": "a"}], "every expected call needs an output"),
    ],
)
def test_an_expectation_of_another_shape_is_an_error(evaluator, expected, told):
    with pytest.raises(EvaluationError, match=told):
        value_of(evaluator, expected, "a")


@pytest.mark.parametrize("evaluator", CLASSES.values(), ids=CLASSES)
def test_a_bad_name_is_refused(evaluator):
    with pytest.raises(ConfigurationError, match="name 'X' is not allowed"):
        evaluator(name="X")


def test_criteria_may_be_wrapped_as_in_an_evaluation_set():
    call = tool("a", input={"x": 1}, output="r")
    assert value_of(ToolCallOrder(), {"toolCallsOrder": ["a"]}, call) == 1.0
    assert value_of(ToolCallCount(), {"tool_calls_count": {"a": ["==", 1]}}, call) == 1.0
    assert value_of(ToolCallArgs(), {"toolCalls": [{"name": "a", "args": {"x": 1}}]}, call) == 1.0
    assert value_of(ToolCallOutput(), {"tool_outputs": [{"name": "a", "output": "r"}]}, call) == 1.0


def test_strict_order_wants_exactly_the_expected_calls():
    assert value_of(ToolCallOrder(), ["a", "b"], "a", "x", "b") == 1.0
    assert value_of(ToolCallOrder(strict=True), ["a", "b"], "a", "x", "b") == 0.0
    assert value_of(ToolCallOrder(strict=True), ["a", "b"], "b", "a") == 0.0


def test_a_call_is_meant_by_its_name_or_its_id_and_in_compat_by_one_of_them():
    call = {"name": "my tool", "id": "t-1"}
    assert value_of(ToolCallOrder(), ["t-1"], call) == value_of(ToolCallOrder(), ["my_tool"], call) == 1.0
    assert value_of(ToolCallOrder(compat=True), ["t-1"], call) == 1.0
    assert value_of(ToolCallOrder(compat=True), ["my tool"], call) == 0.0
    assert value_of(ToolCallCount(), {"t-1": ["=", 1], "my tool": ["=", 1]}, call) == 1.0
    assert value_of(ToolCallCount(compat=True), {"t-1": ["=", 1], "my tool": ["=", 1]}, call) == 0.5
    wanted = [{"name": "other", "id": "t-1", "args": {}}]
    assert value_of(ToolCallArgs(), wanted, {**call, "input": {}}) == 1.0


def test_names_are_compared_with_blanks_as_underscores_and_letters_of_any_script():
    assert value_of(ToolCallOrder(), ["search the web"], "search_the_web") == 1.0
    assert value_of(ToolCallOrder(), ["поиск"], "запись") == 0.0
    assert value_of(ToolCallOrder(compat=True), ["поиск"], "запись") == 1.0


def test_steps_that_are_no_tool_calls_and_synthesized_ones_are_left_out():
    steps = [
        Step(name="chat", operation="chat"),
        Step(name="x", attributes={"tool.name": "a", "tool.synthesized": True}),
        Step(name="execute_tool b", operation="execute_tool", attributes={"gen_ai.tool.name": "b"}),
    ]
    score = ToolCallOrder(strict=True).evaluate(None, ["b"], step=run(*steps))
    assert (score.value, score.metrics["actual_calls"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("sign", "n", "holds"), [(">", 1, 1), ("<", 2, 0), (">=", 2, 1), ("<=", 1, 0), ("=", 2.0, 1), ("!=", 2, 0)]
)
def test_count_compares_the_number_of_calls(sign, n, holds):
    assert value_of(ToolCallCount(), {"a": [sign, n]}, "a", "a", "b") == holds


def test_no_calls_at_all_fulfil_an_expected_zero():
    assert value_of(ToolCallCount(), {"a": ["=", 0]}) == 1.0
    assert value_of(ToolCallCount(compat=True), {"a": ["=", 0]}) == 0.0
    assert value_of(ToolCallCount(strict=True), {"a": ["=", 0], "b": [">", 0]}) == 0.0


@pytest.mark.parametrize(
    ("wanted", "found", "exact", "subset", "compat"),
    [
        ({"x": 1}, {"x": 1, "y": 2}, 0, 1, 1),
        ({}, {"x": 1}, 0, 1, 1),
        ({}, {}, 1, 1, 1),
        ({"x": True}, {"x": 1}, 0, 0, 1),
        ({"x": 1}, {"x": 1.0}, 1, 1, 1),
        ({"x": [1, {"a": 2}]}, "{'x': [1, {'a': 2}]}", 1, 1, 1),
        ({"x": math.nan}, {"x": math.nan}, 0, 0, None),
        ({}, "oops {", 0, 0, 1),
        ({}, ["a"], 0, 0, 1),
    ],
)
def test_args_of_a_call(wanted, found, exact, subset, compat):
    expected = [{"name": "f", "args": wanted}]
    assert value_of(ToolCallArgs(), expected, tool("f", input=found)) == exact
    assert value_of(ToolCallArgs(subset=True), expected, tool("f", input=found)) == subset
    if compat is not None:
        for flag in (True, False):
            assert value_of(ToolCallArgs(compat=True, subset=flag), expected, tool("f", input=found)) == compat


def test_a_call_is_found_once_and_the_most_specific_expectation_chooses_first():
    one, other = tool("f", input={"x": 1}), tool("f", input={"y": 1})
    wanted = [{"name": "f", "args": {}}, {"name": "f", "args": {"x": 1}}]
    assert value_of(ToolCallArgs(subset=True), wanted, one, other) == 1.0
    assert value_of(ToolCallArgs(compat=True), wanted, one, other) == 0.5
    score = ToolCallArgs().evaluate(None, [wanted[1], wanted[1], {"name": "g"}], step=run(one, other))
    assert [field.reason for field in score.fields] == ["match", "wrong", "missing"]
    assert score.fields[1].actual == {"y": 1}
    assert value_of(ToolCallArgs(strict=True), [wanted[1], wanted[1]], one) == 0.0


@pytest.mark.parametrize(
    ("wanted", "found", "value", "compat"),
    [
        ("r", {"content": "r"}, 1, 1),
        ("r", '{"content": "r"}', 1, 1),
        ({"a": 1}, {"a": 1.0}, 1, 0),
        ({"a": 1}, {"a": True}, 0, 0),
        ("1", "1.0", 0, 0),
        ("", {"a": 1}, 0, 1),
        ([1, 2], "[1, 2]", 1, 0),
        ("[1, 2]", [1, 2], 1, 1),
        ("r", "s", 0, 0),
    ],
)
def test_output_of_a_call(wanted, found, value, compat):
    expected = [{"name": "f", "output": wanted}]
    assert value_of(ToolCallOutput(), expected, tool("f", output=found)) == value
    assert value_of(ToolCallOutput(compat=True), expected, tool("f", output=found)) == compat


def test_strict_output_finds_a_later_call_and_in_compat_stops_at_the_first():
    calls = [tool("f", output="a"), tool("f", output="b")]
    assert value_of(ToolCallOutput(strict=True), [{"name": "f", "output": "b"}], *calls) == 1.0
    assert value_of(ToolCallOutput(strict=True, compat=True), [{"name": "f", "output": "b"}], *calls) == 0.0
    assert value_of(ToolCallOutput(), [{"name": "f", "output": "a"}], tool("f")) == 0.0


def test_thousands_of_calls_are_compared():
    chosen = random.Random(7)
    actual = [chosen.choice("abcdefgh") for _ in range(5_000)]
    expected = [chosen.choice("abcdefgh") for _ in range(5_000)]
    assert 0.5 < value_of(ToolCallOrder(), expected, *actual) < 1.0
    wanted = [{"name": "f", "args": {"i": index}} for index in range(3_000)]
    steps = [tool("f", input={"i": index}) for index in reversed(range(3_000))]
    assert value_of(ToolCallArgs(), wanted, *steps) == 1.0


def test_the_subsequence_of_nothing_is_empty():
    assert common_subsequence([], 3) == common_subsequence([0, 0], 0) == []


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def cyclic():
    value = {}
    value["self"] = value
    return value


@pytest.mark.parametrize("deep", [nested(10_000), cyclic(), "{" * 10_000, "[" * 50_000], ids=range(4))
def test_extreme_inputs_and_outputs_do_not_match(deep):
    step = tool("f", input=deep, output=deep)
    assert value_of(ToolCallArgs(), [{"name": "f", "args": {"x": deep}}], step) == 0.0
    assert value_of(ToolCallOutput(), [{"name": "f", "output": 1}], step) == 0.0
