"""Runs: which spans belong to the span that is scored, how long they are waited for, and what is dropped."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.trace import set_span_in_context

from spanscore import (
    ExactMatch,
    Expectations,
    ToolCallArgs,
    ToolCallCount,
    ToolCallOrder,
    capture,
    evaluate_output,
    evaluator,
    in_current_context,
)
from spanscore.otel import emit, trajectories
from spanscore.otel.exporters import ScoringSpanExporter

TOOLS = ["find", "count"]


def _order(*names, name="agent", **more):
    expectations = Expectations()
    expectations.add(name, ToolCallOrder(), expected=list(names or TOOLS), **more)
    return expectations


def _tool(tracer, name, context=None, **arguments):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    if arguments:
        attributes["gen_ai.tool.call.arguments"] = repr(arguments)
    return tracer.start_span(f"execute_tool {name}", context, attributes=attributes)


def _agent(tracer, *tools, name="agent"):
    with tracer.start_as_current_span(name, attributes={"output.value": "done"}) as span:
        for tool in tools:
            with tracer.start_as_current_span("step"):
                _tool(tracer, tool).end()
    return span


def _score(pipeline, name="agent", key="tool_call_order"):
    return [span.attributes.get(f"spanscore.{key}.score") for span in pipeline.spans(name)]


def test_the_root_is_scored_with_the_steps_of_its_run(make_pipeline):
    pipeline = make_pipeline(_order(threshold=1.0))
    _agent(pipeline.provider.get_tracer("x"), *TOOLS)
    _agent(pipeline.provider.get_tracer("x"), "find")
    assert _score(pipeline) == [1.0, 0.5]
    assert [span.name for span in pipeline.spans()][-1] == "agent"
    assert pipeline.processor.outcomes == {"pass": 1, "fail": 1}


def test_an_agent_inside_a_request_is_scored_with_its_own_steps(make_pipeline):
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("request"):
        _tool(tracer, "other").end()
        _agent(tracer, *TOOLS)
        _agent(tracer, "count", "find")
    assert _score(pipeline) == [1.0, 0.5]


def test_a_run_inside_a_run_counts_for_both(make_pipeline):
    expectations = _order(name="inner")
    expectations.add("agent", ToolCallOrder(), expected=["plan", *TOOLS])
    pipeline = make_pipeline(expectations)
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("agent", attributes={"output.value": "done"}):
        _tool(tracer, "plan").end()
        _agent(tracer, *TOOLS, name="inner")
    assert _score(pipeline) == _score(pipeline, "inner") == [1.0]


def test_calls_are_ordered_by_their_start(make_pipeline):
    pipeline = make_pipeline(_order("slow", "quick"))
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("agent", attributes={"output.value": "done"}):
        slow = _tool(tracer, "slow")
        _tool(tracer, "quick").end()
        slow.end()
    assert _score(pipeline) == [1.0]


def test_steps_of_other_threads_belong_to_the_run(make_pipeline):
    expectations = Expectations()
    expectations.add("agent", ToolCallCount(), expected={"find": ["=", 8]})
    pipeline = make_pipeline(expectations)
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("agent", attributes={"output.value": "done"}), ThreadPoolExecutor(4) as pool:
        for _ in range(8):
            pool.submit(in_current_context(lambda: _tool(tracer, "find").end()))
    assert _score(pipeline, key="tool_call_count") == [1.0]


def test_a_child_that_ends_late_belongs_to_the_run(make_pipeline):
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    root = tracer.start_span("agent", attributes={"output.value": "done"})
    within = set_span_in_context(root)
    _tool(tracer, "find", within).end()
    late = _tool(tracer, "count", within)
    root.end()
    assert not pipeline.processor.force_flush(3 * int(trajectories.SETTLE_S * 1_000))
    late.end()
    assert _score(pipeline) == [1.0]


def test_a_child_whose_span_is_made_after_the_root_has_ended_belongs_to_the_run(make_pipeline):
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    root = tracer.start_span("agent", attributes={"output.value": "done"})
    root.end()
    for tool in TOOLS:
        _tool(tracer, tool, set_span_in_context(root)).end()
    assert _score(pipeline) == [1.0]


def test_a_child_that_does_not_end_is_not_waited_for_beyond_the_grace_and_counted(make_pipeline, monkeypatch, dropped):
    monkeypatch.setattr(trajectories, "GRACE_S", 0.2)
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    root = tracer.start_span("agent", attributes={"output.value": "done"})
    background = _tool(tracer, "count", set_span_in_context(root))
    _tool(tracer, "find", set_span_in_context(root)).end()
    root.end()
    assert _score(pipeline) == [0.5]
    background.end()
    assert dropped() == {"late": 1}
    assert pipeline.processor._trajectories.size() == 0


def test_captured_calls_are_steps_with_their_arguments_and_may_be_the_root(make_pipeline):
    expectations = Expectations()
    expectations.add("registered", ToolCallArgs(), expected=[{"name": "find", "args": {"city": "Paris"}}])
    pipeline = make_pipeline(expectations)
    find = capture(name="find", operation="execute_tool", tracer_provider=pipeline.provider)(lambda city: city)

    @evaluate_output(
        expected=["find", "find"], evaluators=[ToolCallOrder()], name="decorated", tracer_provider=pipeline.provider
    )
    def decorated():
        return [find("Paris"), find("Rome")]

    @capture(name="registered", tracer_provider=pipeline.provider)
    def registered():
        return find(city="Paris")

    assert decorated() == ["Paris", "Rome"]
    registered()
    assert _score(pipeline, "decorated") == [1.0]
    assert _score(pipeline, "registered", "tool_call_args") == [1.0]


def test_a_decorator_gathers_without_a_registry(make_pipeline):
    pipeline = make_pipeline()
    tracer = pipeline.provider.get_tracer("x")

    @evaluate_output(expected=TOOLS, evaluators=[ToolCallOrder()], name="agent", tracer_provider=pipeline.provider)
    async def agent():
        for tool in TOOLS:
            _tool(tracer, tool).end()
        return "done"

    asyncio.run(agent())
    assert _score(pipeline) == [1.0]
    assert pipeline.processor._trajectories.is_empty


def test_other_evaluators_of_the_span_see_its_output_as_before(make_pipeline):
    expectations = _order()
    expectations.add("agent", ExactMatch(), expected="done")
    pipeline = make_pipeline(expectations)
    _agent(pipeline.provider.get_tracer("x"), *TOOLS)
    assert pipeline.attributes("agent")["spanscore.exact_match.score"] == 1.0


def test_a_root_without_output_is_still_scored_by_its_run(make_pipeline):
    expectations = _order(threshold=1.0)
    expectations.add("agent", ExactMatch(), expected="done")
    pipeline = make_pipeline(expectations)
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("agent"):
        for tool in TOOLS:
            _tool(tracer, tool).end()
    found = pipeline.attributes("agent")
    assert (found["spanscore.tool_call_order.score"], found["spanscore.exact_match.reason"]) == (1.0, "no_content")


def test_an_evaluator_of_the_users_own_sees_the_run(make_pipeline):
    class Steps:
        name, version, needs_trajectory = "steps", "1", True

        def evaluate(self, output, expected, *, step=None):
            return evaluator(lambda _: len(step.trajectory.steps) / 10, name="steps").evaluate(output, expected)

    expectations = Expectations()
    expectations.add("agent", Steps(), expected=1)
    pipeline = make_pipeline(expectations)
    _agent(pipeline.provider.get_tracer("x"), *TOOLS)
    assert _score(pipeline, key="steps") == [0.4]


def test_tool_calls_get_the_arguments_that_the_model_asked_for_where_their_span_names_none(make_pipeline):
    expectations = Expectations()
    expectations.add("agent", ToolCallArgs(), expected=[{"name": "find", "args": {"city": "Paris"}}])
    pipeline = make_pipeline(expectations)
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("agent", attributes={"output.value": "done"}):
        said = '[{"role": "assistant", "tool_calls": [{"id": "7", "name": "find", "args": {"city": "Paris"}}]}]'
        tracer.start_span("chat", attributes={"gen_ai.output.messages": said}).end()
        span = _tool(tracer, "find")
        span.set_attributes({"gen_ai.tool.call.id": "7", "input.value": "Paris"})
        span.end()
    assert _score(pipeline, key="tool_call_args") == [1.0]


def test_nothing_is_gathered_where_no_expectation_needs_it(make_pipeline):
    expectations = Expectations()
    expectations.add("agent", ExactMatch(), expected="done")
    pipeline = make_pipeline(expectations)
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("agent"):
        _tool(tracer, "find").end()
        assert pipeline.processor._trajectories.is_empty


def test_spans_reach_the_exporter_scored_by_an_exporter_that_sees_only_ends(memory):
    inner, spans = memory
    exporter = ScoringSpanExporter(inner, _order())
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    _agent(provider.get_tracer("x"), *TOOLS)
    provider.shutdown()
    (agent,) = [span for span in spans() if span.name == "agent"]
    assert agent.attributes["spanscore.tool_call_order.score"] == 1.0
    assert len(spans()) == 5


@pytest.fixture
def memory():
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    return exporter, exporter.get_finished_spans


@pytest.fixture
def dropped(monkeypatch):
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    counter = provider.get_meter("x").create_counter("spanscore.trajectory.dropped")
    monkeypatch.setattr(emit, "_dropped_steps", counter)

    def counts():
        data = reader.get_metrics_data()
        if data is None:
            return {}
        points = data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points
        return {point.attributes["reason"]: point.value for point in points}

    yield counts
    provider.shutdown()


def test_a_run_with_more_steps_than_are_kept_is_skipped_not_scored_low(make_pipeline, monkeypatch, dropped):
    monkeypatch.setattr(trajectories, "MAX_SPANS_PER_TRACE", 10)
    expectations = _order()
    expectations.add("agent", ExactMatch(), expected="done")
    pipeline = make_pipeline(expectations)
    _agent(pipeline.provider.get_tracer("x"), *(["noise"] * 20), *TOOLS)
    found = pipeline.attributes("agent")
    assert (found["spanscore.tool_call_order.label"], found["spanscore.tool_call_order.reason"]) == (
        "skipped",
        "incomplete",
    )
    assert "steps of the run were not kept" in found["spanscore.tool_call_order.explanation"]
    assert found["spanscore.exact_match.score"] == 1.0
    assert dropped()["spans"] == 44 - 10 + 1
    assert pipeline.processor._trajectories.is_empty


def test_runs_go_on_being_scored_in_a_trace_that_has_many_more_spans_than_are_kept(make_pipeline, monkeypatch):
    monkeypatch.setattr(trajectories, "MAX_SPANS_PER_TRACE", 20)
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("experiment"):
        for n in range(60):
            _agent(tracer, *TOOLS)
            if n % 3 == 0:
                pipeline.spans()
        assert pipeline.processor._trajectories.size() <= 20
    assert _score(pipeline) == [1.0] * 60


@pytest.mark.parametrize(("bound", "reason"), [("MAX_TRACES", "traces"), ("MAX_SPANS", "spans"), ("MAX_IDLE_S", "age")])
def test_traces_whose_root_never_ends_are_dropped_and_their_runs_skipped(
    make_pipeline, monkeypatch, dropped, bound, reason
):
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    root = tracer.start_span("agent", attributes={"output.value": "done"})
    for tool in TOOLS:
        _tool(tracer, tool, set_span_in_context(root)).end()
    monkeypatch.setattr(trajectories, bound, -1.0 if bound == "MAX_IDLE_S" else 1)
    others = [tracer.start_span("agent") for _ in range(4)]
    _tool(tracer, "find", set_span_in_context(others[0])).end()
    assert dropped()[reason] >= len(TOOLS)
    monkeypatch.undo()
    root.end()
    assert pipeline.attributes("agent")["spanscore.tool_call_order.reason"] == "incomplete"


def test_many_runs_at_once_are_scored_each_with_its_own_steps_and_none_is_left(make_pipeline):
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")

    def runs():
        for n in range(50):
            _agent(tracer, *(TOOLS if n % 2 else TOOLS[:1]))

    threads = [threading.Thread(target=runs) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(_score(pipeline)) == [0.5] * 200 + [1.0] * 200
    assert len(pipeline.spans()) == 400 + 200 * 4 + 200 * 2
    assert pipeline.processor._trajectories.is_empty
    assert pipeline.processor._trajectories.size() == 0


def test_shutdown_waits_for_the_grace_of_runs_and_loses_none(make_pipeline, monkeypatch):
    monkeypatch.setattr(trajectories, "GRACE_S", 0.2)
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    root = tracer.start_span("agent", attributes={"output.value": "done"})
    _tool(tracer, "find", set_span_in_context(root))
    root.end()
    started = time.monotonic()
    pipeline.shutdown()
    assert time.monotonic() - started < 5
    (span,) = pipeline._exporter.get_finished_spans()
    assert span.attributes["spanscore.tool_call_order.score"] == 0.0


def test_a_full_queue_lets_a_run_out_and_keeps_nothing_of_it(make_pipeline):
    pipeline = make_pipeline(_order(), max_queue_size=1)
    tracer = pipeline.provider.get_tracer("x")
    for _ in range(3):
        _agent(tracer, *TOOLS)
    spans = pipeline.spans("agent")
    assert [span.attributes.get("spanscore.tool_call_order.reason") for span in spans].count("queue_full") == 2
    assert pipeline.processor._trajectories.is_empty


def test_a_forked_child_gathers_its_own_runs(make_pipeline):
    pipeline = make_pipeline(_order())
    tracer = pipeline.provider.get_tracer("x")
    tracer.start_span("agent")
    pid = os.fork()
    if pid == 0:
        fresh = pipeline.processor._trajectories.is_empty
        _agent(tracer, *TOOLS)
        ok = fresh and _score(pipeline) == [1.0]
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
