from __future__ import annotations

import asyncio
import copy
import itertools
import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spanscore import ConfigurationError, EvaluationError, OutputDecodeError, StructuredMatch
from tests.evaluators.pairs import PAIRS

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab ./~[]*é", max_size=6)
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~.[*", max_size=3), inner, max_size=4),
    max_leaves=15,
)
MATCHES = [
    StructuredMatch(lists=lists, extra_keys=extra, null_equals_missing=null)
    for lists, extra, null in itertools.product(
        ("ordered", "unordered", "set", "multiset"), ("penalise", "ignore", "fail"), (True, False)
    )
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_pairs_have_the_values_of_the_documentation(pair):
    assert StructuredMatch().evaluate(pair.output, pair.gold).value == pytest.approx(pair.value, abs=1e-12)
    if pair.other is not None:
        assert StructuredMatch(**pair.settings).evaluate(pair.output, pair.gold).value == pytest.approx(pair.other)


@pytest.mark.parametrize("match", MATCHES, ids=lambda m: f"{m.lists}-{m.extra_keys}-{m.null_equals_missing}")
@given(expected=JSON, output=JSON)
def test_the_laws_hold(match, expected, output):
    assume(not isinstance(output, str))  # text is read as JSON, which is another matter
    before = copy.deepcopy((expected, output))
    score = match.evaluate(output, expected)
    assert (expected, output) == before
    assert 0.0 <= score.value <= 1.0
    assert math.isfinite(score.value)
    assert all(0.0 <= figure and math.isfinite(figure) for figure in score.metrics.values())
    weight = math.fsum(field.weight for field in score.fields)
    lost = math.fsum(field.weight * (1.0 - field.value) for field in score.fields)
    assert lost / weight == pytest.approx(1.0 - score.value, abs=1e-9)
    assert (score.value == 1.0) == (score.metrics["strict_match"] == 1.0)
    perfect = match.evaluate(copy.deepcopy(expected), expected)
    assert (perfect.value, perfect.explanation) == (1.0, "")
    assert match.prepare(expected)(output) == score


@given(expected=st.lists(JSON, max_size=4), data=st.data())
def test_an_order_that_does_not_matter_does_not_matter(expected, data):
    output = data.draw(st.permutations(expected))
    for lists in ("unordered", "set", "multiset"):
        assert StructuredMatch(lists=lists).evaluate(output, expected).value == 1.0


@given(expected=st.lists(LEAVES, min_size=1, max_size=4), output=st.lists(LEAVES, min_size=1, max_size=4))
def test_small_lists_are_assigned_as_well_as_any_assignment(expected, output):
    found = StructuredMatch(lists="unordered").evaluate(output, expected).value
    ordered = StructuredMatch(lists="ordered").evaluate(output, expected).value
    assert found >= ordered - 1e-9


def test_unordered_rows_are_paired_so_that_most_is_kept():
    rows = [{"id": n, "name": f"item {n} of the list", "price": n * 3.5, "paid": n % 2 == 0} for n in range(200)]
    edited = copy.deepcopy(rows)
    shuffle = random.Random(3)
    for row in edited:
        row[shuffle.choice(["name", "paid"])] = "changed"
    shuffle.shuffle(edited)
    score = StructuredMatch(rules={"/rows": {"list": "unordered"}}).evaluate({"rows": edited}, {"rows": rows})
    assert score.value == pytest.approx(0.75)
    assert score.metrics["coverage"] == 1.0


def test_keyed_lists_are_paired_by_key():
    match = StructuredMatch(rules={"/rows": {"list": "keyed", "key": "/meta/id"}})
    gold = {"rows": [{"meta": {"id": n}, "v": n} for n in range(3)]}
    output = {"rows": [{"meta": {"id": 2}, "v": 2}, {"meta": {"id": 0}, "v": 7}, {"meta": {"id": 9}, "v": 1}]}
    score = match.evaluate(output, gold)
    wrong = {field.path: field.reason for field in score.fields if field.value < 1}
    assert wrong == {
        "/rows/0/v": "wrong",
        "/rows/1/meta/id": "missing",
        "/rows/1/v": "missing",
        "/rows/2/meta/id": "extra",
        "/rows/2/v": "extra",
    }
    with pytest.raises(EvaluationError, match="/rows/0 of the expected value has no key /meta/id"):
        match.evaluate(output, {"rows": [{"v": 1}]})


def test_the_most_specific_rule_wins_for_each_aspect():
    match = StructuredMatch(
        rules={
            "/**": {"weight": 2},
            "/items/*/price": {"abs": 1},
            "/items/0/price": {"weight": 5},
            "/items/*/*": {"type": "enum"},
        }
    )
    rows = {row["path"]: row for row in match.explain_config({"items": [{"price": 1, "id": "a"}, {"price": 2}]})}
    assert (rows["/items/0/price"]["comparator_from"], rows["/items/0/price"]["weight_from"]) == (
        "/items/*/price",
        "/items/0/price",
    )
    assert (rows["/items/0/id"]["comparator"], rows["/items/0/id"]["weight_from"]) == ("enum", "/**")
    assert rows["/items/1/price"]["comparator_from"] == "/items/*/price"


def test_keys_with_any_character_are_reached():
    match = StructuredMatch(
        rules={"/a~1b": "ignore", "/c.d[0]": "ignore", "/~2": "ignore", "/~0": "ignore", "/é": "ignore"}
    )
    gold = {"a/b": 1, "c.d[0]": 1, "*": 1, "~": 1, "é": 1, "other": 1}
    assert match.evaluate(dict.fromkeys(gold, 2) | {"other": 1}, gold).value == 1.0
    assert match.evaluate(dict.fromkeys(gold, 2), gold).value == 0.0


def test_rules_from_four_sources_give_the_same_scores():
    from typing import Annotated

    from pydantic import create_model

    from spanscore.evaluators import Match

    rules = {"/total": {"type": "number", "abs": 0.5, "weight": 3}, "/when": {"type": "date"}}
    gold = {"total": 50.0, "when": "2024-03-01", "who": "Ann"}
    schema = {
        "properties": {
            "total": {"type": "number", "x-spanscore-type": "number", "x-spanscore-abs": 0.5, "x-spanscore-weight": 3},
            "when": {"type": "string", "format": "date"},
        }
    }
    total = Annotated[float, Match("number", abs=0.5, weight=3)]
    model = create_model("Invoice", total=(total, ...), when=(Annotated[str, Match("date")], ...), who=(str, ...))
    matched = {
        "total": {"$match": rules["/total"], "value": 50.0},
        "when": {"$match": "date", "value": "2024-03-01"},
        "who": "Ann",
    }
    for output in (gold, {"total": 50.4, "when": "March 1, 2024", "who": "Bob"}, {"total": 51.2}, {}):
        scores = [
            StructuredMatch(rules=rules).evaluate(output, gold),
            StructuredMatch(schema=schema).evaluate(output, gold),
            StructuredMatch.from_model(model).evaluate(output, gold),
            StructuredMatch().evaluate(output, matched),
        ]
        assert all(score == scores[0] for score in scores), output


def test_a_schema_may_refer_to_itself():
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "properties": {
                    "price": {"x-spanscore-abs": 1},
                    "kind": {"enum": ["a", "b"]},
                    "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                }
            }
        },
    }
    assert StructuredMatch(schema=schema).evaluate({"price": 1.5}, {"price": 1}).value == 1.0
    with pytest.raises(ConfigurationError, match="leads nowhere in the schema"):
        StructuredMatch(schema={"$ref": "#/$defs/none"})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rules": {"total": "number"}}, "path 'total' must be .* start with '/', for example '/total'"),
        ({"rules": {"/a": "nmber"}}, "rule '/a': unknown comparator 'nmber'.*number"),
        ({"rules": {"/a": {"type": "number", "abss": 1}}}, "unknown key 'abss'; allowed are .*did you mean 'abs'"),
        ({"rules": {"/a": {"wieght": 1}}}, "unknown key 'wieght'.*did you mean 'weight'"),
        ({"rules": {"/a": {"weight": 0}}}, "weight 0 must be a number from 1e-06 to .*leave a field out with 'ignore'"),
        ({"rules": {"/a": {"weight": True}}}, "weight True must be"),
        ({"rules": {"/a": {"list": "sorted"}}}, "list 'sorted' must be one of ordered, unordered"),
        ({"rules": {"/a": {"list": "keyed"}}}, "'keyed' needs 'key'"),
        ({"rules": {"/a": {}}}, "an empty rule says nothing"),
        ({"lists": "keyed"}, "'keyed' needs a key for each list"),
        ({"lists": "any"}, "lists 'any' is not allowed; use one of ordered"),
        ({"extra_keys": "allow"}, "extra_keys 'allow' is not allowed; use one of ignore, penalise, fail"),
        ({"rules": [1]}, "rules is a list"),
        ({"rules": {"/a": {"weight": 1e308}}}, "weight 1e.308 must be a number from"),
        ({"rules": {"/a": {"weight": 10**400}}}, "must be a number from"),
        ({"schema": [1]}, "schema is a list"),
        ({"schema": {"properties": [1]}}, "'properties' is a list; JSON Schema wants a dict"),
        ({"schema": {"anyOf": 5}}, "'anyOf' is a int; JSON Schema wants a list"),
        ({"schema": {"$ref": 5}}, r"'\$ref' is a int"),
        ({"extract": "no"}, "extract 'no' is not allowed; use True or False"),
        ({"null_equals_missing": "false"}, "null_equals_missing 'false' is not allowed"),
    ],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(ConfigurationError, match=told):
        StructuredMatch(**settings)


def test_wrong_matchers_are_refused():
    with pytest.raises(ConfigurationError, match=r"the matcher at /a has the keys .*write"):
        StructuredMatch().evaluate({}, {"a": {"$match": "number"}})


def test_ignoring_everything_is_no_way_to_pass():
    with pytest.raises(EvaluationError, match="every field of the expected value is ignored"):
        StructuredMatch(rules={"/**": "ignore"}).evaluate({"a": 1}, {"a": 2})


def test_a_function_or_a_judge_may_compare_one_field():
    async def judge(output, expected):
        await asyncio.sleep(0)
        return 0.5

    gold, output = {"reply": "yes", "n": 1, "code": "AB"}, {"reply": "indeed", "n": 1, "code": "ab"}
    match = StructuredMatch(
        rules={"/reply": {"compare": judge}, "/code": {"compare": lambda output, expected: output == expected.lower()}}
    )
    assert match.is_async
    assert match.prepare(gold) is None
    score = asyncio.run(_awaited(match.evaluate(output, gold)))
    assert score.value == pytest.approx(2.5 / 3)


async def _awaited(verdict):
    return await verdict


@pytest.mark.parametrize(
    ("text", "problem"), [('{"a": 1', "truncated"), ("no JSON here", "absent"), ('{"a": 1, b}', "invalid")]
)
def test_text_without_a_whole_value_is_told_apart(text, problem):
    with pytest.raises(OutputDecodeError, match=problem):
        StructuredMatch().evaluate(text, {"a": 1})


def test_what_was_read_from_text_says_how():
    assert StructuredMatch().evaluate('Sure! {"a": 2}', {"a": 1}).explanation.startswith("read as embedded JSON; /a:")


def test_the_figures_are_what_they_are_called():
    gold = {"a": 1, "b": "x", "c": None, "d": [1, 2]}
    score = StructuredMatch().evaluate({"a": 1, "b": "y", "d": [1], "e": 5}, gold)
    figures = score.metrics
    assert score.value == pytest.approx(3 / 6)
    assert figures["expected_weight"] == 5.0
    assert figures["recall"] == pytest.approx(3 / 5)
    assert figures["precision"] == pytest.approx(3 / 5)
    assert figures["coverage"] == pytest.approx(4 / 5)
    assert figures["all_null_score"] == pytest.approx(1 / 5)
    assert figures["extra_weight"] == 1.0


def test_an_unexpected_key_fails_the_whole_where_that_is_asked_for():
    score = StructuredMatch(extra_keys="fail").evaluate({"a": 1, "b": 2}, {"a": 1})
    assert (score.value, [field.path for field in score.fields]) == (0.0, ["/b"])


@given(expected=JSON, key=st.text("xy", min_size=1, max_size=2), value=LEAVES)
def test_an_invented_key_never_helps(expected, key, value):
    assume(isinstance(expected, dict) and key not in expected and expected)
    match = StructuredMatch()
    assert match.evaluate({**expected, key: value}, expected).value <= match.evaluate(expected, expected).value


class _Deep:
    @staticmethod
    def nested(levels):
        value: dict = {}
        for _ in range(levels):
            value = {"a": value}
        return value


def _cyclic():
    value: dict = {"a": [1]}
    value["a"].append(value)
    return value


HOSTILE = [
    _Deep.nested(10_000),
    _cyclic(),
    list(range(1_000_000)),
    "x" * 10_000_000,
    {"a": float("nan"), "b": float("inf")},
    {str(n): n for n in range(100_000)},
    [[{"a": n}] for n in range(20_000)],
    [True] * 50_000,
    {1: "a", None: 2},
    object(),
]


@pytest.mark.parametrize("output", HOSTILE, ids=lambda output: type(output).__name__)
@pytest.mark.parametrize("lists", ["ordered", "unordered"])
def test_hostile_outputs_end_in_a_score_or_a_clear_error(output, lists):
    for gold in ({"a": {"a": 1}}, "x", [{"a": 1}] * 50):
        try:
            score = StructuredMatch(lists=lists).evaluate(output, gold)
        except EvaluationError:
            continue
        assert 0.0 <= score.value < 1.0


@pytest.mark.parametrize("gold", HOSTILE[:-1], ids=lambda gold: type(gold).__name__)
@pytest.mark.parametrize("lists", ["ordered", "unordered"])
def test_hostile_expected_values_end_in_a_score_or_a_clear_error(gold, lists):
    try:
        score = StructuredMatch(lists=lists).evaluate([1] * 3000, gold)
    except EvaluationError:
        return
    assert 0.0 <= score.value < 1.0
