"""Scores are the same on the caller's thread, in the processor and under a foreign provider."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import fractions
import threading
import types
import uuid

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import ExactMatch, JsonSimilarity, evaluate_output
from spanscore.testing import MemoryPipeline


class Colour(enum.StrEnum):
    RED = "red"


class Always:
    """Equals everything, and remembers who asked."""

    asked = False

    def __eq__(self, other):
        Always.asked = True
        return True

    __hash__ = None


class Label(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Ratio(float):
    pass


@dataclasses.dataclass
class Node:
    name: str
    near: list = dataclasses.field(default_factory=list)


def _graph(size):
    nodes = [Node(str(n)) for n in range(size)]
    for node in nodes:
        node.near = nodes
    return nodes


def _scores(pipeline, output, expected, inline_max_bytes):
    @evaluate_output(
        expected=expected,
        evaluators=[JsonSimilarity(), ExactMatch(), ExactMatch(name="compat", compat=True)],
        threshold=0.5,
        name="agent",
        inline_max_bytes=inline_max_bytes,
        tracer_provider=pipeline.provider,
    )
    def agent():
        return output

    agent()
    found = dict(pipeline.attributes("agent"))
    pipeline.clear()
    return found


OUTPUTS = [
    {1: "a", None: "b", False: "c", 1.5: "d"},
    {Colour.RED: 1, datetime.date(2026, 1, 2): 2},
    {"a": Always(), "b": [Always()]},
    {"a": numpy.array([1.0]), "b": numpy.float32(0.1)},
    {"a": fractions.Fraction(1, 3), "b": 1j},
    Label('{"a": 1}'),
    {"a": Label("x"), "b": Ratio(0.5)},
    Ratio(2.0),
    Colour.RED,
    {"a": Colour.RED, "b": [uuid.UUID(int=1)], "1": uuid.UUID(int=2)},
    datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
    {"when": datetime.time(1, 2), "n": decimal.Decimal("1.10")},
    types.SimpleNamespace(a=1),
    types.MappingProxyType({"a": 1}),
    (1, (2,)),
    2**70,
    {"n": 2**70, "m": "\ud800"},
    Node("root", [Node("leaf")]),
]


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: type(output).__name__)
@pytest.mark.parametrize("expected", [{"a": 1, "b": "x"}, {"1": "a", "null": "b"}, "red", [1, [2]], 2, {"a": [1.0]}])
def test_an_output_of_any_type_has_one_score_wherever_it_is_made(pipeline, output, expected):
    assert _scores(pipeline, output, expected, 65_536) == _scores(pipeline, output, expected, 0)
    assert Always.asked is False


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(output=JSON, expected=JSON)
def test_a_json_output_has_one_score_wherever_it_is_made(output, expected):
    pipeline = MemoryPipeline()
    assert _scores(pipeline, output, expected, 65_536) == _scores(pipeline, output, expected, 0)
    pipeline.shutdown()


def test_objects_that_refer_to_each_other_neither_hang_nor_break_the_call(pipeline):
    assert _scores(pipeline, _graph(40), {"a": 1}, 65_536)["spanscore.label"] == "fail"


def test_long_texts_are_compared_off_the_callers_thread(pipeline):
    threads = []

    class Noting(JsonSimilarity):
        def prepare(self, expected):
            compare = super().prepare(expected)

            def run(output):
                threads.append(threading.current_thread().name)
                return compare(output)

            return run

    for expected in ("x" * 1_000_000, "x"):

        @evaluate_output(expected=expected, evaluators=[Noting()], name="agent", tracer_provider=pipeline.provider)
        def agent():
            return "y" * 30_000

        agent()
        assert pipeline.attributes("agent")["spanscore.label"] == "scored"
    assert threads == ["spanscore-worker", threading.current_thread().name]


def test_the_expected_callable_sees_the_arguments_before_the_function_changes_them(pipeline):
    @evaluate_output(expected=lambda rows: list(rows), name="agent", tracer_provider=pipeline.provider)
    def agent(rows):
        rows.append(3)
        return [1, 2]

    agent([1, 2])
    assert pipeline.attributes("agent")["spanscore.score"] == 1.0


def test_what_the_expected_callable_calls_is_not_traced(pipeline):
    @evaluate_output(expected=1, name="tool", tracer_provider=pipeline.provider)
    def tool():
        return 1

    @evaluate_output(expected=lambda: tool(), name="agent", tracer_provider=pipeline.provider)
    def agent():
        return 1

    agent()
    assert [span.name for span in pipeline.spans()] == ["agent"]


def test_clashing_names_of_arguments_lose_no_value(pipeline):
    @evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)
    def agent(a, /, *args, **rest):
        return 1

    agent(1, 2, a=3, args=4)
    assert pipeline.attributes("agent")["input.value"] == '{"a":1,"args":[2],"rest":{"a":3,"args":4}}'


def test_an_async_task_that_leaves_its_context_attached_does_not_leak_ours(pipeline):
    from opentelemetry import baggage, trace
    from opentelemetry.context import attach

    @evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)
    async def agent():
        attach(baggage.set_baggage("user", "1"))
        raise ValueError

    async def main():
        with pytest.raises(ValueError):  # the test's own
            await agent()
        return trace.get_current_span()

    assert asyncio.run(main()) is trace.INVALID_SPAN
