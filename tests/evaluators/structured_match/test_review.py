"""Outputs and rules that were scored wrongly once."""

from __future__ import annotations

import asyncio
import datetime
import enum
import gc
import math
import random
import warnings
from typing import Annotated, Literal

import pytest
from pydantic import create_model

from spanscore import ConfigurationError, ExactMatch, FieldMatch, StructuredMatch
from spanscore.evaluators import Match
from spanscore.evaluators.structured_match import rules_of_model


def _value(output, expected, **settings):
    return StructuredMatch(**settings).evaluate(output, expected).value


@pytest.mark.parametrize("evaluator", [StructuredMatch(), ExactMatch(), FieldMatch()], ids=lambda one: one.name)
def test_integers_of_any_size_are_exact(evaluator):
    assert evaluator.evaluate({"id": 2**64 + 1}, {"id": 2**64 + 1}).value == 1.0
    assert evaluator.evaluate({"id": 2**64 + 1}, {"id": 2**64}).value < 1.0
    assert (
        evaluator.evaluate('{"id": 18446744073709551617}', {"id": 2**64 + 1}).value == 1.0
        or evaluator.name == "exact_match"
    )


@pytest.mark.parametrize("count", [50, 99, 100, 400])
def test_a_row_put_first_costs_one_row_however_many_follow(count):
    rows = [{"name": f"Item {n} of the list", "price": 10 * n + 5} for n in range(count)]
    output = [
        {"name": "gift", "price": 0},
        *[{"name": row["name"].upper(), "price": row["price"] + 0.001} for row in rows],
    ]
    found = _value(output, rows, rules={"/*/price": {"abs": 0.01}})
    assert found == pytest.approx((1.95 * count) / (2 * count + 2), abs=1e-9)


@pytest.mark.parametrize("count", [4_900, 6_000, 30_000])
def test_a_shift_in_a_long_list_costs_one_element(count):
    words = [f"w{n}" for n in range(count)]
    assert _value(["x", *words[:-1]], words) == pytest.approx(1 - 2 / (count + 1))


@pytest.mark.parametrize("at", range(9))
def test_an_inserted_element_costs_the_same_wherever_it_stands(at):
    letters = list("abcdefgh")
    output = [*letters[:at], "X", *letters[at:]][:8]
    assert _value(output, letters) == pytest.approx(7 / 9 if at < 7 else 7 / 8 if at == 7 else 1.0)


@pytest.mark.parametrize("count", [100, 101, 500])
def test_elements_that_are_equal_only_by_their_comparator_are_assigned(count):
    numbers = [10.0 * n + 5 for n in range(count)]
    output = [number + 0.001 for number in numbers]
    random.Random(1).shuffle(output)
    assert _value(output, numbers, lists="unordered", rules={"/*": {"abs": 0.01}}) == 1.0


def test_a_judged_field_in_a_list_scores_like_the_same_function_without_await():
    async def later(output, expected):
        await asyncio.sleep(0)
        return output == expected

    gold = [{"id": 1, "t": "a"}, {"id": 2, "t": "b"}, {"id": 3, "t": "c"}]
    output = [{"id": 9, "t": "z"}, {"id": 1, "t": "a"}, {"id": 2, "t": "b"}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged = asyncio.run(_awaited(StructuredMatch(rules={"/*/t": {"compare": later}}).evaluate(output, gold)))
        gc.collect()
    plain = StructuredMatch(rules={"/*/t": {"compare": lambda out, want: out == want}}).evaluate(output, gold)
    assert judged.value == plain.value


async def _awaited(verdict):
    return await verdict


def test_a_comparator_may_read_an_object_or_a_list():
    class Anything:
        def compare(self, expected, actual):
            from spanscore.evaluators.comparators.table import Comparison

            return Comparison(1.0)

    weight = {"w": {"value": 5, "unit": "km"}}
    assert _value({"w": "5000 m"}, weight, rules={"/w": "quantity"}) == 1.0
    assert _value({"w": ["a", "b", "z"]}, {"w": ["a", "b", "c"]}, rules={"/w": "enum"}) == 0.0
    assert _value({"w": ["a"]}, {"w": ["b"]}, rules={"/w": {"compare": Anything()}}) == 1.0
    assert _value({"w": [1.001]}, {"w": [1.0]}, rules={"/**": {"abs": 0.01}}) == 1.0


class Kind(enum.Enum):
    A = "a"


def test_annotations_of_optional_enum_and_literal_fields_are_kept():
    model = create_model(
        "M",
        d=(Annotated[datetime.date | None, Match("date", weight=5, granularity="month")], None),
        k=(Annotated[Kind, Match("text", weight=3)], ...),
        f=(Annotated[Literal["a", "b"] | None, Match(weight=2)], None),
    )
    assert rules_of_model(model) == {
        "/d": {"type": "date", "granularity": "month", "weight": 5},
        "/k": {"type": "text", "weight": 3},
        "/f": {"type": "enum", "weight": 2},
    }


def test_a_rule_adds_to_what_the_schema_says_of_the_same_path():
    schema = {"properties": {"total": {"x-spanscore-type": "number", "x-spanscore-abs": 0.5}}}
    assert _value({"total": "50.2"}, {"total": 50}, schema=schema, rules={"/total": {"weight": 3}}) == 1.0
    assert _value({"total": "50.2"}, {"total": 50}, schema=schema, rules={"/total": "enum"}) == 0.0


@pytest.mark.parametrize(
    "expected", [[math.inf], {"a": math.inf}, {"a": math.inf, "b": "q"}, {"a": math.nan, "b": "q"}]
)
def test_what_is_not_finite_equals_nothing_wherever_it_stands(expected):
    prepared = StructuredMatch().prepare(expected)
    assert prepared(expected).value < 1.0
    assert StructuredMatch().evaluate(expected, expected).value < 1.0


def test_fields_add_up_where_something_weighty_stands_in_an_empty_object():
    score = StructuredMatch(rules={"/a/b": {"weight": 5}}).evaluate({"a": {"b": 1, "c": 2}, "c": 1}, {"a": {}, "c": 1})
    weight = math.fsum(field.weight for field in score.fields)
    assert math.fsum(field.weight * (1 - field.value) for field in score.fields) / weight == pytest.approx(
        1 - score.value
    )


def test_a_null_that_a_comparator_accepts_counts():
    assert _value({"a": None}, {"a": ["x", None]}, rules={"/a": "one_of"}) == 1.0
    assert _value({"a": None}, {"a": "x"}, rules={"/a": {"type": "one_of", "values": ["x", None]}}) == 1.0
    assert _value({"a": None}, {"a": 2}, rules={"/a": {"compare": lambda output, expected: 1.0}}) == 1.0
    missing = StructuredMatch(rules={"/a": "number"}).evaluate({"a": None}, {"a": 2})
    assert [field.reason for field in missing.fields] == ["missing"]


def test_sets_and_keys_see_rules_and_matchers():
    ignored = {"": {"list": "set"}, "/*/ts": "ignore"}
    assert _value([{"id": 1, "ts": 5}], [{"id": 1, "ts": 6}], rules=ignored) == 1.0
    money = {"/p": {"list": "set"}, "/p/*": "money"}
    assert _value({"p": ["$1", "$2"]}, {"p": ["$2.00", "$1.00"]}, rules=money) == 1.0
    assert _value(["$5.00", 3], [3, {"$match": "money", "value": 5}], lists="multiset") == 1.0
    keyed = {"": {"list": "keyed", "key": "/id"}}
    assert _value([{"id": 1, "v": 9}], [{"id": {"$match": "number", "value": 1}, "v": 9}], rules=keyed) == 1.0
    assert _value([{"a": 10**17}], [{"a": 1e17}], lists="set") == 1.0


def test_a_matcher_may_stand_at_the_root_and_hold_data_that_looks_like_one():
    assert _value([2, 1], {"$match": {"list": "unordered"}, "value": [1, 2]}) == 1.0
    data = {"$match": "abc", "pos": 3}
    assert _value(data, {"$match": "auto", "value": data}) == 1.0


def test_fields_say_what_stood_in_the_output_and_where():
    score = StructuredMatch(rules={"/a": "money"}).evaluate({"a": "$5.00"}, {"a": 5})
    assert [(field.expected, field.actual) for field in score.fields] == [(5, "$5.00")]
    moved = StructuredMatch().evaluate([{"id": 1}], [{"id": 0}, {"id": 1}])
    assert [(field.path, field.actual_path, field.reason) for field in moved.fields] == [
        ("/0/id", None, "missing"),
        ("/1/id", "/0/id", "match"),
    ]


def test_a_schema_of_definitions_that_refer_to_each_other_ends():
    names = [f"d{n}" for n in range(12)]
    defs = {name: {"properties": {f"to_{other}": {"$ref": f"#/$defs/{other}"} for other in names}} for name in names}
    with pytest.raises(ConfigurationError, match="refers to itself in more than"):
        StructuredMatch(schema={"$ref": "#/$defs/d0", "$defs": defs})


def test_everything_but_one_field_may_be_ignored():
    rules = {"/**": "ignore", "/total": "number"}
    assert _value({"total": 1, "x": 2}, {"total": 1, "x": 3}, rules=rules) == 1.0
    assert _value({"total": 2, "x": 3}, {"total": 1, "x": 3}, rules=rules) == 0.0
    inner = {"/a": "ignore", "/a/b": "number"}
    assert _value({"a": {"b": 1, "z": 1}, "c": 1}, {"a": {"b": 2, "z": 2}, "c": 1}, rules=inner) == 0.5


def test_a_pattern_that_is_none_is_refused_at_set_up():
    with pytest.raises(ConfigurationError, match="pattern"):
        StructuredMatch(rules={"/t": "regex"}).prepare({"t": "A(("})


def test_one_evaluator_may_be_given_without_a_list(pipeline):
    from spanscore import evaluate_output

    @evaluate_output(expected=1, evaluators=StructuredMatch(), name="agent", tracer_provider=pipeline.provider)
    def agent():
        return 1

    agent()
    assert pipeline.attributes("agent")["spanscore.structured_match.score"] == 1.0
