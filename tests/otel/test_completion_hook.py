"""The completion hook, called as opentelemetry-util-genai calls it: before the span ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib.metadata import entry_points

import orjson
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanscore import Expectations, JsonSimilarity, ToolCallOrder, evaluator
from spanscore.otel.completion_hook import CompletionHook
from spanscore.otel.guard import guarded_context

ANSWER = '{"city": "Paris"}'


@dataclass
class Text:
    content: str
    type: str = "text"


@dataclass
class Message:
    role: str
    parts: list
    finish_reason: str = "stop"


def _complete(provider, hook, answer=ANSWER, *, name="chat model", context=None, **attributes):
    span = provider.get_tracer("official").start_span(
        name, context, attributes={"gen_ai.operation.name": "chat", **attributes}
    )
    outputs = [] if answer is None else [Message("assistant", [Text(answer)])]
    hook.on_completion(
        inputs=[Message("user", [Text("Where?")])],
        outputs=outputs,
        system_instruction=[],
        tool_definitions=None,
        span=span,
        log_record=None,
    )
    span.end()
    return span


@pytest.fixture
def hook():
    (found,) = entry_points(group="opentelemetry_genai_completion_hook", name="spanscore")
    return found.load()()


@pytest.fixture
def plain(monkeypatch, tmp_path):
    """Return a pipeline without a processor of ours, and the hook with expectations from a file."""
    file = tmp_path / "expectations.json"
    wanted = [{"span": "chat *", "evaluators": ["json_similarity"], "expected": {"city": "Rome"}, "threshold": 0.9}]
    file.write_bytes(orjson.dumps({"expectations": wanted}))
    monkeypatch.setenv("SPANSCORE_EXPECTATIONS", str(file))
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider, CompletionHook(), exporter.get_finished_spans
    provider.shutdown()


def _expect(*evaluators, **settings):
    expectations = Expectations()
    expectations.add("chat *", *evaluators, **settings)
    return expectations


def test_the_processors_expectations_score_what_the_hook_saw_and_no_content_is_written(make_pipeline, hook):
    seen = []

    @evaluator
    def look(output, *, step):
        seen.append((output, step.input))
        return 1.0

    pipeline = make_pipeline(_expect(JsonSimilarity(), look, expected={"city": "Rome"}, threshold=0.9))
    _complete(pipeline.provider, hook)
    found = pipeline.attributes("chat model")
    assert (found["spanscore.json_similarity.label"], found["spanscore.convention"]) == ("fail", "gen_ai")
    assert seen == [({"city": "Paris"}, [{"role": "user", "content": "Where?"}])]
    assert not [value for value in found.values() if "Paris" in str(value) or "Rome" in str(value)]
    assert pipeline.processor.outcomes == {"fail": 1}


def test_content_that_is_captured_anyway_may_be_quoted(make_pipeline, hook):
    pipeline = make_pipeline(_expect(JsonSimilarity(), expected={"city": "Rome"}))
    _complete(pipeline.provider, hook, **{"gen_ai.output.messages": "[]"})
    assert "Rome" in pipeline.attributes("chat model")["spanscore.json_similarity.explanation"]


def test_a_judge_scores_through_the_processor(make_pipeline, hook):
    @evaluator
    async def judge(output):
        await asyncio.sleep(0)
        return 0.5

    pipeline = make_pipeline(_expect(judge))
    _complete(pipeline.provider, hook)
    assert pipeline.attributes("chat model")["spanscore.judge.score"] == 0.5


def test_a_run_is_gathered_for_the_hooks_span(make_pipeline, hook):
    pipeline = make_pipeline(_expect(ToolCallOrder(), expected=["find"]))
    tracer = pipeline.provider.get_tracer("x")
    with tracer.start_as_current_span("chat agent") as span:
        tracer.start_span("find", attributes={"gen_ai.operation.name": "execute_tool"}).end()
        hook.on_completion(inputs=[], outputs=[Message("assistant", [Text("done")])], span=span)
    assert pipeline.attributes("chat agent")["spanscore.tool_call_order.score"] == 1.0


def test_without_a_processor_the_file_of_the_environment_counts(plain):
    provider, hook, spans = plain
    _complete(provider, hook)
    (span,) = spans()
    assert span.attributes["spanscore.json_similarity.label"] == "fail"
    assert span.attributes["spanscore.score"] < 0.9
    assert [event.name for event in span.events] == ["gen_ai.evaluation.result"]
    assert "Paris" not in span.to_json()
    assert "Rome" not in span.to_json()


def test_what_nothing_is_expected_of_is_left_alone(plain):
    provider, hook, spans = plain
    _complete(provider, hook, name="embeddings model")
    _complete(provider, hook, None)
    _complete(provider, hook, context=None, **{"error.type": "Timeout"})
    assert not [span for span in spans() if "spanscore.label" in span.attributes]


def test_an_evaluators_own_completion_is_not_scored(plain):
    from opentelemetry.context import attach, detach

    provider, hook, spans = plain
    token = attach(guarded_context())
    try:
        _complete(provider, hook, context=None)
    finally:
        detach(token)
    assert not [span for span in spans() if "spanscore.label" in span.attributes]


@pytest.mark.parametrize("outputs", [[object()], [None], [{"role": "assistant", "parts": 5}], ["text"]])
def test_what_no_instrumentation_should_pass_breaks_nothing(plain, outputs):
    provider, hook, spans = plain
    span = provider.get_tracer("x").start_span("chat model")
    hook.on_completion(inputs=outputs, outputs=outputs, span=span, something_new=1)
    hook.on_completion(inputs=[], outputs=outputs, span=None)
    span.end()
    assert len(spans()) == 1


def test_no_expectations_are_told_once(hook, caplog):
    provider = TracerProvider(shutdown_on_exit=False)
    for _ in range(2):
        _complete(provider, hook)
    (line,) = [record.getMessage() for record in caplog.records]
    assert "SPANSCORE_EXPECTATIONS" in line
