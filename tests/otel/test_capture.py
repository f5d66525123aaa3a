from __future__ import annotations

import asyncio
import functools
import inspect
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from spanscore import (
    ConfigurationError,
    EvaluatorSpanProcessor,
    ExactMatch,
    Expectations,
    JsonSimilarity,
    capture,
    evaluate_output,
    evaluator,
    expecting,
    in_current_context,
)


@pytest.fixture
def plain():
    """A provider with nothing of ours on it."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider, exporter
    provider.shutdown()


def test_scores_are_ordinary_attributes_under_any_provider(plain):
    provider, exporter = plain

    @evaluate_output(expected={"city": "Paris", "n": 4}, threshold=0.9, name="agent", tracer_provider=provider)
    def agent(country, *, n=4):
        return {"city": "Pari", "n": n}

    assert agent("France") == {"city": "Pari", "n": 4}
    (span,) = exporter.get_finished_spans()
    identity = span.attributes["spanscore.json_similarity.evaluator"]
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "agent",
        "input.value": '{"country":"France","n":4}',
        "input.mime_type": "application/json",
        "output.value": '{"city":"Pari","n":4}',
        "output.mime_type": "application/json",
        "spanscore.label": "pass",
        "spanscore.score": 0.9,
        "spanscore.expectation": "agent",
        "spanscore.expected": '{"city":"Paris","n":4}',
        "spanscore.json_similarity.label": "pass",
        "spanscore.json_similarity.score": 0.9,
        "spanscore.json_similarity.evaluator": identity,
        "spanscore.json_similarity.explanation": '/city: expected "Paris", got "Pari"',
    }
    assert identity.startswith("json_similarity@1+")
    (event,) = span.events
    assert (event.name, dict(event.attributes)) == (
        "gen_ai.evaluation.result",
        {
            "gen_ai.evaluation.name": "json_similarity",
            "gen_ai.evaluation.score.value": 0.9,
            "gen_ai.evaluation.score.label": "pass",
        },
    )


def test_our_processor_gives_the_same_span_as_any_provider(plain, pipeline):
    provider, exporter = plain
    for one in (provider, pipeline.provider):
        evaluate_output(expected={"a": 1}, name="agent", tracer_provider=one)(lambda: {"a": 2})()
    (live,) = exporter.get_finished_spans()
    (copied,) = pipeline.spans()
    assert dict(live.attributes) == dict(copied.attributes)
    assert [(e.name, dict(e.attributes)) for e in live.events] == [(e.name, dict(e.attributes)) for e in copied.events]
    assert (copied.kind, copied.status.status_code, copied.instrumentation_scope) == (
        live.kind,
        live.status.status_code,
        live.instrumentation_scope,
    )


def test_a_processor_beside_ours_sees_the_scores_of_captured_calls(pipeline):
    beside = InMemorySpanExporter()
    pipeline.provider.add_span_processor(SimpleSpanProcessor(beside))
    evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)(lambda: 1)()
    assert beside.get_finished_spans()[0].attributes["spanscore.json_similarity.score"] == 1.0
    assert beside.get_finished_spans()[0].events[0].name == "gen_ai.evaluation.result"
    assert pipeline.attributes("agent")["spanscore.json_similarity.score"] == 1.0


def _function(x: int, y: int = 2) -> int:
    """Adds."""
    return x + y


async def _coroutine(x: int) -> int:
    """Adds later."""
    return x


def _generator(x: int):
    """Counts."""
    yield x


async def _async_generator(x: int):
    """Counts later."""
    yield x


@pytest.mark.parametrize("function", [_function, _coroutine, _generator, _async_generator])
def test_signature_name_docstring_and_type_are_kept(function):
    decorated = evaluate_output(expected=1)(function)
    assert inspect.signature(decorated) == inspect.signature(function)
    assert (decorated.__name__, decorated.__doc__) == (function.__name__, function.__doc__)
    for kind in (
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
        inspect.isfunction,
    ):
        assert kind(decorated) == kind(function)


def test_methods_are_recorded_without_their_object(pipeline):
    captured = functools.partial(capture, tracer_provider=pipeline.provider)

    class Agent:
        @captured(name="plain")
        def plain(self, question):
            return question

        @captured(name="outer_static")
        @staticmethod
        def outer_static(question):
            return question

        @staticmethod
        @captured(name="inner_static")
        def inner_static(question):
            return question

        @captured(name="outer_class")
        @classmethod
        def outer_class(cls, question):
            return cls, question

        @classmethod
        @captured(name="inner_class")
        def inner_class(cls, question):
            return cls, question

    agent = Agent()
    assert agent.plain("q") == agent.outer_static("q") == Agent.inner_static("q") == "q"
    assert agent.outer_class("q") == Agent.inner_class("q") == (Agent, "q")
    for span in pipeline.spans():
        assert span.attributes["input.value"] == '{"question":"q"}', span.name


def test_every_kind_of_parameter_is_recorded_by_name(pipeline):
    @capture(name="agent", tracer_provider=pipeline.provider)
    def agent(a, /, b, *rest, c=3, **others):
        return None

    agent(1, 2, 4, 5, d=6)
    recorded = json.loads(pipeline.attributes("agent")["input.value"])
    assert recorded == {"a": 1, "b": 2, "rest": [4, 5], "c": 3, "d": 6}


def test_input_is_what_it_was_before_the_call_and_output_what_it_was_on_return(pipeline):
    kept = []

    @evaluate_output(expected=[1], name="agent", tracer_provider=pipeline.provider)
    def agent(items):
        items.append(1)
        kept.append(items)
        return items

    agent([]).append(2)
    found = pipeline.attributes("agent")
    assert (found["input.value"], found["output.value"], found["spanscore.score"]) == ('{"items":[]}', "[1]", 1.0)


def test_a_large_output_is_scored_in_full_as_it_was_on_return(pipeline):
    @evaluate_output(expected={"rows": ["x" * 50] * 5_000}, name="agent", tracer_provider=pipeline.provider)
    def agent():
        return {"rows": ["x" * 50] * 5_000}

    agent()["rows"].clear()
    found = pipeline.attributes("agent")
    assert found["spanscore.json_similarity.score"] == 1.0
    assert len(found["output.value"]) <= 32 * 1024
    assert found["spanscore.output.bytes"] == 265_010
    assert len(found["spanscore.output.sha256"]) == 64
    json.loads(found["output.value"])


@pytest.mark.parametrize("size", [0, 10, 65_536])
def test_the_inline_budget_changes_where_scores_are_made_but_not_what_they_are(pipeline, size):
    @evaluate_output(expected={"a": 1}, inline_max_bytes=size, name="agent", tracer_provider=pipeline.provider)
    def agent():
        return {"a": 1.25, "b": [1, 2, 3]}

    agent()
    found = pipeline.attributes("agent")
    assert (found["spanscore.score"], found["spanscore.label"]) == (0.75, "scored")
    assert len(pipeline.spans("agent")) == 1


def test_the_exception_of_the_user_passes_unchanged_and_is_recorded(pipeline):
    error = ValueError("no such order")

    @evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)
    def agent():
        raise error

    with pytest.raises(ValueError, match="no such order") as caught:
        agent()
    assert caught.value is error
    (span,) = pipeline.spans("agent")
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events if event.attributes.get("exception.type") == "ValueError"] == [
        "exception"
    ]
    found = span.attributes
    assert (found["spanscore.label"], found["spanscore.json_similarity.reason"]) == ("skipped", "exception")
    assert "spanscore.json_similarity.score" not in found
    assert found["error.type"] == "ValueError"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exceptions_that_end_programs_pass_and_end_the_span(pipeline, kind):
    @evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)
    def agent():
        raise kind

    with pytest.raises(kind):
        agent()
    assert pipeline.attributes("agent")["spanscore.label"] == "skipped"
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_an_exception_that_cannot_be_printed_passes_too(pipeline):
    class Unprintable(Exception):
        def __str__(self):
            raise RuntimeError("no")

    @evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)
    def agent():
        raise Unprintable

    with pytest.raises(Unprintable):
        agent()
    assert pipeline.attributes("agent")["spanscore.label"] == "skipped"


def test_expected_may_be_a_callable_of_the_arguments(pipeline):
    class Agent:
        @evaluate_output(expected=lambda n, k=1: {"n": n * k}, name="agent", tracer_provider=pipeline.provider)
        def run(self, n, k=1):
            return {"n": 6}

    Agent().run(3, k=2)
    assert pipeline.attributes("agent")["spanscore.score"] == 1.0
    assert pipeline.attributes("agent")["spanscore.expected"] == '{"n":6}'


@pytest.mark.parametrize("wrong", [lambda: {}["x"], object])
def test_a_callable_that_gives_no_expected_value_is_an_error_on_the_span(pipeline, wrong):
    agent = evaluate_output(expected=wrong, name="agent", tracer_provider=pipeline.provider)(lambda: 5)
    assert agent() == 5
    found = pipeline.attributes("agent")
    assert found["spanscore.label"] == "error"
    assert found["spanscore.json_similarity.error.type"] in ("KeyError", "ConfigurationError")


def test_without_expected_the_registry_decides(make_pipeline):
    expectations = Expectations()
    expectations.add("agent.*", JsonSimilarity(), expected={"a": 1}, threshold=0.5, where={"kind": "order"})
    pipeline = make_pipeline(expectations)

    @evaluate_output(name="agent.answer", tracer_provider=pipeline.provider)
    def agent(kind):
        trace.get_current_span().set_attribute("kind", kind)
        return {"a": 1}

    agent("order")
    assert pipeline.attributes("agent.answer")["spanscore.label"] == "pass"
    agent("other")
    assert "spanscore.label" not in pipeline.attributes("agent.answer")
    assert pipeline.processor.outcomes == {"pass": 1}


def test_expecting_holds_for_the_calls_directly_inside(make_pipeline):
    expectations = Expectations()
    expectations.add("tool", ExactMatch())
    pipeline = make_pipeline(expectations)
    tool = capture(name="tool", tracer_provider=pipeline.provider)(lambda: 1)

    @evaluate_output(expected=0, name="agent", tracer_provider=pipeline.provider)
    def agent():
        return tool() + 1

    with expecting(2):
        agent()
    assert pipeline.attributes("agent")["spanscore.score"] == 1.0
    assert pipeline.attributes("tool")["spanscore.exact_match.reason"] == "no_expected"
    with expecting(1):
        tool()
    assert pipeline.attributes("tool")["spanscore.exact_match.score"] == 1.0
    agent()
    assert pipeline.attributes("agent")["spanscore.score"] == 0.0
    with pytest.raises(ConfigurationError, match="the value given to expecting"):
        expecting(object())


@pytest.mark.anyio
async def test_parents_are_right_in_tasks_threads_and_nested_calls(pipeline):
    captured = functools.partial(capture, tracer_provider=pipeline.provider)

    @captured(name="leaf")
    def leaf(n):
        return n

    @captured(name="task")
    async def task(n):
        await asyncio.sleep(0)
        return leaf(n)

    @captured(name="root")
    async def root():
        with ThreadPoolExecutor() as pool:
            list(pool.map(in_current_context(leaf), range(3)))
        await asyncio.to_thread(leaf, 3)
        return await asyncio.gather(*(task(n) for n in range(4, 7)))

    assert await root() == [4, 5, 6]
    spans = {span.context.span_id: span for span in pipeline.spans()}
    (top,) = pipeline.spans("root")
    assert top.parent is None
    for span in pipeline.spans("task"):
        assert span.parent.span_id == top.context.span_id
    parents = [spans[span.parent.span_id].name for span in pipeline.spans("leaf")]
    assert sorted(parents) == ["root"] * 4 + ["task"] * 3
    assert len({span.context.trace_id for span in spans.values()}) == 1


@pytest.mark.anyio
async def test_a_cancelled_call_is_incomplete_and_leaves_no_span_current(pipeline, caplog):
    @evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)
    async def agent():
        await asyncio.sleep(60)

    task = asyncio.create_task(agent())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    coroutine = agent()
    coroutine.send(None)
    coroutine.close()
    for span in pipeline.spans("agent"):
        assert span.attributes["spanscore.json_similarity.reason"] == "incomplete"
        assert span.status.status_code is StatusCode.UNSET
    assert len(pipeline.spans("agent")) == 2
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert caplog.records == []


def test_an_evaluator_does_not_lengthen_the_span(pipeline):
    import time

    @evaluator
    def slow(output):
        time.sleep(0.2)
        return 1.0

    evaluate_output(evaluators=[slow], name="agent", tracer_provider=pipeline.provider)(lambda: 1)()
    (span,) = pipeline.spans("agent")
    assert span.end_time - span.start_time < 100_000_000
    assert span.attributes["spanscore.slow.score"] == 1.0


def test_what_an_evaluator_calls_is_neither_captured_nor_scored(pipeline):
    inner = evaluate_output(expected=1, name="inner", tracer_provider=pipeline.provider)(lambda: 1)

    @evaluator
    def nosy(output):
        assert not trace.get_current_span().get_span_context().trace_flags.sampled
        with pipeline.provider.get_tracer("other").start_as_current_span("foreign"):
            return float(inner())

    evaluate_output(evaluators=[nosy], name="outer", tracer_provider=pipeline.provider)(lambda: 1)()
    assert [span.name for span in pipeline.spans()] == ["outer"]
    assert pipeline.attributes("outer")["spanscore.nosy.score"] == 1.0


def test_a_call_that_is_not_sampled_is_neither_serialised_nor_scored():
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    seen = []
    watched = evaluator(name="watched")(lambda output: seen.append(output) or 1.0)
    agent = evaluate_output(evaluators=[watched], tracer_provider=provider)(lambda: object())
    agent()
    assert seen == []


def test_without_an_sdk_the_function_just_runs():
    agent = evaluate_output(expected=1, tracer_provider=trace.NoOpTracerProvider())(lambda: 7)
    assert agent() == 7


def test_a_broken_pipeline_never_reaches_the_caller(caplog):
    from opentelemetry.sdk.trace import SpanProcessor

    class Broken(SpanProcessor):
        def on_start(self, span, parent_context=None):
            raise RuntimeError("start")

    class BrokenEnd(SpanProcessor):
        def on_end(self, span):
            raise RuntimeError("end")

    for processor in (Broken(), BrokenEnd()):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        assert evaluate_output(expected=1, tracer_provider=provider)(lambda: 7)() == 7


@pytest.mark.parametrize("output", [object(), {"x": float("nan")}, {1: {2}}, b"\x00", "\ud800", iter([1])])
def test_no_output_breaks_the_call(pipeline, output):
    evaluate_output(expected={"a": 1}, name="agent", tracer_provider=pipeline.provider)(lambda: output)()
    assert pipeline.attributes("agent")["spanscore.label"] in ("scored", "error")


def test_user_attributes_are_kept_when_the_span_is_full(pipeline):
    def agent():
        span = trace.get_current_span()
        for n in range(126):
            span.set_attribute(f"mine.{n}", n)
        return 1

    evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)(agent)()
    found = pipeline.attributes("agent")
    assert sum(key.startswith("mine.") for key in found) == 126
    assert (found["gen_ai.operation.name"], found["spanscore.score"]) == ("invoke_agent", 1.0)


@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize("ours", [True, False])
def test_the_limits_of_a_provider_cost_neither_a_score_nor_what_the_user_wrote(ours, scored):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_span_attributes=6))
    inner = SimpleSpanProcessor(exporter)
    provider.add_span_processor(EvaluatorSpanProcessor(inner) if ours else inner)

    def agent():
        trace.get_current_span().set_attributes({"mine.1": 1, "mine.2": 2})
        return 1

    decorate = (
        evaluate_output(expected=1, name="agent", tracer_provider=provider)
        if scored
        else capture(name="agent", tracer_provider=provider)
    )
    decorate(agent)()
    (span,) = exporter.get_finished_spans()
    assert (span.attributes["mine.1"], span.attributes["mine.2"], span.dropped_attributes) == (1, 2, 0)
    if scored:
        assert (span.attributes["spanscore.label"], span.attributes["spanscore.score"]) == ("scored", 1.0)
    provider.shutdown()


def test_a_processor_added_during_a_call_sees_its_scores(pipeline):
    exporter = InMemorySpanExporter()

    @evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)
    def agent():
        pipeline.provider.add_span_processor(SimpleSpanProcessor(exporter))
        return 1

    agent()
    assert exporter.get_finished_spans()[0].attributes["spanscore.score"] == 1.0


def test_the_variable_keeps_content_at_home_under_a_plain_provider(plain, monkeypatch):
    monkeypatch.setenv("SPANSCORE_EXPORT_CONTENT", "false")
    provider, exporter = plain
    evaluate_output(expected="secret", name="agent", tracer_provider=provider)(lambda question: "secret")("secret")
    (span,) = exporter.get_finished_spans()
    assert span.attributes["spanscore.score"] == 1.0
    assert "secret" not in span.to_json()


def test_values_can_be_kept_off_the_span(plain):
    provider, exporter = plain

    @evaluate_output(expected={"a": "gold"}, name="agent", capture_content=False, tracer_provider=provider)
    def agent(secret):
        return {"a": secret}

    agent("silver")
    (span,) = exporter.get_finished_spans()
    assert "silver" not in str(dict(span.attributes))
    assert "gold" not in str(dict(span.attributes))
    assert span.attributes["spanscore.json_similarity.explanation"] == "1 similar"


def test_a_late_verdict_follows_as_a_carrier_where_nothing_of_ours_holds_the_span(plain):
    from spanscore.otel.late import flush_late

    provider, exporter = plain

    @evaluator
    async def judge(output, expected):
        return 0.25

    evaluate_output(expected=1, evaluators=[judge], threshold=0.5, name="agent", tracer_provider=provider)(lambda: 1)()
    assert flush_late(10.0)
    agent, carrier = exporter.get_finished_spans()
    assert agent.attributes["spanscore.label"] == "pending"
    assert carrier.name == "evaluation judge"
    assert carrier.parent.span_id == agent.context.span_id
    assert [link.context.span_id for link in carrier.links] == [agent.context.span_id]
    assert (carrier.attributes["spanscore.judge.score"], carrier.attributes["spanscore.judge.label"]) == (0.25, "fail")
    assert carrier.attributes["gen_ai.operation.name"] == "evaluation"
    assert carrier.attributes["openinference.span.kind"] == "EVALUATOR"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"threshold": 1.5}, "threshold 1.5 is not allowed"),
        ({"expected": object()}, "is not a JSON value"),
        ({"inline_max_bytes": None}, "inline_max_bytes None must be an integer"),
        ({"expected": asyncio.sleep}, "is a coroutine function; give a plain function"),
        ({"inline_max_bytes": -1}, "inline_max_bytes -1 must be an integer, 0 or more"),
        ({"evaluators": [JsonSimilarity]}, "is no evaluator"),
    ],
)
def test_bad_settings_are_refused_when_decorating(settings, told):
    with pytest.raises(ConfigurationError, match=told):
        evaluate_output(**settings)(lambda: 1)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ConfigurationError, match="5 cannot be captured"):
        evaluate_output(expected=1)(5)


def test_evaluators_of_the_decorator_take_the_expected_value_of_the_registry(make_pipeline):
    expectations = Expectations()
    expectations.add("agent", ExactMatch(), expected={"a": 4})
    pipeline = make_pipeline(expectations)
    evaluate_output(evaluators=[JsonSimilarity()], threshold=0.5, name="agent", tracer_provider=pipeline.provider)(
        lambda: {"a": 3}
    )()
    found = pipeline.attributes("agent")
    assert (found["spanscore.json_similarity.score"], found["spanscore.label"]) == (0.75, "pass")
    assert "spanscore.exact_match.label" not in found


def test_no_event_is_later_than_the_end_of_its_span(plain, pipeline):
    provider, exporter = plain

    def failing():
        raise ValueError

    for one in (provider, pipeline.provider):
        decorate = evaluate_output(expected=1, name="agent", tracer_provider=one)
        decorate(lambda: 2)()
        with pytest.raises(ValueError):
            decorate(failing)()
    for span in (*exporter.get_finished_spans(), *pipeline.spans()):
        assert span.events
        assert all(event.timestamp <= span.end_time for event in span.events)


@pytest.mark.parametrize("size", [0, 65_536])
@pytest.mark.parametrize("output", [{"a": "\ud800"}, {"a": 10**400}])
def test_values_that_are_hard_to_read_back_lose_no_span(pipeline, output, size):
    any_output = evaluator(name="any_output")(lambda output: 1.0)
    decorate = evaluate_output(
        evaluators=[any_output], inline_max_bytes=size, name="agent", tracer_provider=pipeline.provider
    )
    assert decorate(lambda: output)() is output
    assert pipeline.attributes("agent")["spanscore.label"] == "scored"


def test_nothing_that_user_code_raises_inside_ours_reaches_the_caller(pipeline):
    class Leaves:
        def __repr__(self):
            raise SystemExit(3)

    @evaluator
    def cancels(output):
        raise asyncio.CancelledError

    def expected():
        raise SystemExit(4)

    captured = functools.partial(evaluate_output, name="agent", tracer_provider=pipeline.provider)
    assert captured(expected=1)(lambda x: 7)(Leaves()) == 7
    assert captured(expected=expected)(lambda: 7)() == 7
    assert captured(evaluators=[cancels])(lambda: 7)() == 7
    assert len(pipeline.spans("agent")) == 3


def test_a_class_is_refused():
    with pytest.raises(ConfigurationError, match="cannot be captured"):
        capture(type("Agent", (), {}))


def test_an_expected_nan_is_refused():
    with pytest.raises(ConfigurationError, match="holds NaN or infinity"):
        Expectations().add("a", JsonSimilarity(), expected={"a": float("nan")})


@pytest.mark.parametrize("size", [0, 65_536])
def test_values_kept_off_the_span_stay_off_when_they_are_scored_later_or_raised(pipeline, size):
    captured = functools.partial(
        evaluate_output, expected={"gold": 1}, capture_content=False, name="agent", tracer_provider=pipeline.provider
    )
    captured(inline_max_bytes=size)(lambda q: {"gold": q})("silver")

    def failing(q):
        raise ValueError(q)

    with pytest.raises(ValueError):
        captured(inline_max_bytes=size)(failing)("silver")
    for span in pipeline.spans("agent"):
        assert "silver" not in span.to_json()
        assert "gold" not in span.to_json()


def test_the_variable_keeps_content_at_home_everywhere(make_pipeline, monkeypatch):
    monkeypatch.setenv("SPANSCORE_EXPORT_CONTENT", "false")
    pipeline = make_pipeline()
    evaluate_output(expected="gold", name="agent", tracer_provider=pipeline.provider)(lambda: "silver")()
    assert "silver" not in pipeline.spans("agent")[0].to_json()
    assert pipeline.attributes("agent")["spanscore.label"] == "scored"
