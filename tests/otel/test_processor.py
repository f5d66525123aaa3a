from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest
from opentelemetry import baggage
from opentelemetry.context import attach, detach
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Status, StatusCode

from spanscore import (
    Cases,
    ConfigurationError,
    EvaluatorSpanProcessor,
    ExactMatch,
    Expectations,
    JsonSimilarity,
    evaluate_output,
    evaluator,
)


def _expect(*evaluators, name="agent", **settings):
    expectations = Expectations()
    expectations.add(name, *(evaluators or (JsonSimilarity(),)), **settings)
    return expectations


def _span(pipeline, name="agent", status=None, **attributes):
    with pipeline.provider.get_tracer("foreign").start_as_current_span(name) as span:
        span.set_attributes({key.replace("__", "."): value for key, value in attributes.items()})
        if status is not None:
            span.set_status(status)
    return span


class _Recorder(SpanProcessor):
    def __init__(self):
        self.spans: list[ReadableSpan] = []
        self.shut_down = 0

    def on_end(self, span):
        self.spans.append(span)

    def shutdown(self):
        self.shut_down += 1

    def force_flush(self, timeout_millis=30_000):
        return True


@pytest.mark.parametrize(
    "attributes",
    [
        {"output__value": '{"a": 1}', "output__mime_type": "application/json"},
        {"output__value": '{"a": 1}'},
        {"gen_ai__tool__call__result": '{"a": 1}'},
        {"traceloop__entity__output": '{"a": 1}'},
        {"gen_ai__completion": '{"a": 1}'},
    ],
)
def test_a_span_of_another_instrumentation_is_scored(make_pipeline, attributes):
    pipeline = make_pipeline(_expect(expected={"a": 2}, threshold=0.5))
    _span(pipeline, **attributes)
    (span,) = pipeline.spans("agent")
    assert (span.attributes["spanscore.score"], span.attributes["spanscore.label"]) == (0.5, "pass")
    assert span.attributes["spanscore.expected"] == '{"a":2}'
    assert [event.name for event in span.events] == ["gen_ai.evaluation.result"]
    assert span.events[0].timestamp == span.end_time
    assert pipeline.processor.outcomes == {"pass": 1}


def test_a_span_that_nothing_is_expected_of_is_the_very_same_object():
    recorder = _Recorder()
    processor = EvaluatorSpanProcessor(recorder, _expect(expected=1))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    span = provider.get_tracer("x").start_span("other")
    readable = span._readable_span()
    processor.on_end(readable)
    assert recorder.spans == [readable]
    assert recorder.spans[0] is readable


def test_the_copy_keeps_everything_and_counts_what_was_dropped(make_pipeline):
    pipeline = make_pipeline(_expect(expected="1"))
    provider = TracerProvider(span_limits=SpanLimits(max_attributes=3, max_events=1), shutdown_on_exit=False)
    provider.add_span_processor(pipeline.processor)
    with provider.get_tracer("foreign", "1.2").start_as_current_span("agent") as span:
        for n in range(4):
            span.set_attribute(f"k{n}", n)
        span.add_event("one")
        span.add_event("two")
        span.set_attribute("output.value", "1")
    (copy,) = pipeline.spans("agent")
    assert (copy.dropped_attributes, copy.dropped_events, copy.dropped_links) == (2, 1, 0)
    assert copy.attributes["spanscore.score"] == 1.0
    assert [event.name for event in copy.events] == ["two", "gen_ai.evaluation.result"]
    assert (copy.context, copy.start_time, copy.end_time) == (span.context, span.start_time, span.end_time)
    assert (copy.resource, copy.instrumentation_scope.version) == (provider.resource, "1.2")


def test_without_content_a_span_is_skipped_and_one_log_line_names_the_switch(make_pipeline, caplog):
    pipeline = make_pipeline(_expect(expected=1))
    with caplog.at_level(logging.WARNING):
        _span(pipeline)
        _span(pipeline)
        found = pipeline.attributes("agent")
    assert (found["spanscore.label"], found["spanscore.json_similarity.reason"]) == ("skipped", "no_content")
    assert [r.message.count("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") for r in caplog.records] == [1]


def test_a_failed_span_is_skipped(make_pipeline):
    pipeline = make_pipeline(_expect(expected=1))
    _span(pipeline, status=Status(StatusCode.ERROR), output__value="1")
    assert pipeline.attributes("agent")["spanscore.json_similarity.reason"] == "exception"


def test_an_output_that_was_cut_by_a_length_limit_is_a_decode_error(make_pipeline, monkeypatch):
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "20")
    pipeline = make_pipeline(_expect(expected={"text": "x" * 100}))
    _span(pipeline, output__value='{"text": "' + "x" * 100 + '"}')
    found = pipeline.attributes("agent")
    assert (found["spanscore.label"], found["spanscore.json_similarity.error.type"]) == ("error", "OutputDecodeError")
    assert (
        "cut at 20 characters; raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
        in found["spanscore.json_similarity.explanation"]
    )


def test_an_output_that_is_no_json_is_an_error(make_pipeline):
    pipeline = make_pipeline(_expect(expected={"a": 1}))
    _span(pipeline, output__value="I am sorry")
    assert pipeline.attributes("agent")["spanscore.json_similarity.error.type"] == "OutputDecodeError"


@pytest.mark.parametrize("how", ["attribute", "baggage"])
def test_a_test_case_is_found_in_an_attribute_or_in_baggage(make_pipeline, how):
    expectations = _expect(cases=Cases({"one": {"a": 1}, "two": {"a": 2}}), case_key="test.case.id")
    pipeline = make_pipeline(expectations)
    agent = evaluate_output(name="agent", tracer_provider=pipeline.provider)(lambda: {"a": 2})
    for case, score in (("one", 0.0), ("two", 1.0)):
        token = attach(baggage.set_baggage("test.case.id", case))
        try:
            if how == "baggage":
                agent()
                _span(pipeline, output__value='{"a": 2}')
        finally:
            detach(token)
        if how == "attribute":
            _span(pipeline, output__value='{"a": 2}', test__case__id=case)
        spans = pipeline.spans("agent")
        assert [span.attributes["spanscore.score"] for span in spans] == [score] * len(spans)
        pipeline.clear()
    _span(pipeline, output__value="1", test__case__id="three")
    assert pipeline.attributes("agent")["spanscore.json_similarity.reason"] == "no_expected"


def test_a_span_is_scored_once(make_pipeline):
    pipeline = make_pipeline(_expect(ExactMatch(), expected=1))
    evaluate_output(expected=2, name="agent", tracer_provider=pipeline.provider)(lambda: 2)()
    found = pipeline.attributes("agent")
    assert (found["spanscore.json_similarity.score"], "spanscore.exact_match.score" in found) == (1.0, False)
    assert pipeline.processor.outcomes == {"scored": 1}


def test_several_expectations_share_a_span(make_pipeline):
    expectations = _expect(expected={"a": 1}, threshold=0.5)
    expectations.add("agen*", ExactMatch(), expected={"a": 1}, threshold=1.0, weight=3)
    pipeline = make_pipeline(expectations, openinference=True)
    _span(pipeline, output__value='{"a": 1.2}')
    found = pipeline.attributes("agent")
    assert found["spanscore.expectation"] == "agent,agen*"
    assert (found["spanscore.label"], found["spanscore.score"]) == ("fail", pytest.approx(0.8 / 4))
    assert found["evaluations.0.evaluation.name"] == "json_similarity"
    assert found["evaluations.1.evaluation.label"] == "fail"
    assert found["evaluations.1.evaluation.score"] == 0.0
    assert found["evaluations.1.evaluation.annotator_kind"] == "CODE"


def test_unsampled_spans_are_passed_on_unscored():
    recorder = _Recorder()
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    processor = EvaluatorSpanProcessor(recorder, _expect(expected=1))
    provider.add_span_processor(processor)
    provider.get_tracer("x").start_span("agent", attributes={"output.value": "1"}).end()
    assert (recorder.spans, processor.outcomes) == ([], {})


SECRET = "s3cret"


def test_content_that_may_not_leave_is_scored_but_stripped_whoever_put_it_there(make_pipeline):
    expectations = _expect(expected={"token": "gold-" + SECRET}, threshold=0.9)
    expectations.add("captured.registry", JsonSimilarity(), expected=SECRET + "!")
    pipeline = make_pipeline(expectations, export_content=False, openinference=True)
    _span(
        pipeline,
        output__value=f'{{"token": "{SECRET}"}}',
        input__value=SECRET,
        gen_ai__input__messages=SECRET,
        gen_ai__prompt__0__content=SECRET,
        llm__input_messages__0__message__content=SECRET,
        ai__response__text=SECRET,
        mlflow__spanOutputs=SECRET,
        final_result=SECRET,
    )
    tracer = pipeline.provider.get_tracer("foreign")
    with pytest.raises(ValueError), tracer.start_as_current_span("unmatched") as span:
        span.add_event("gen_ai.choice", {"message": SECRET})
        raise ValueError(SECRET)

    @evaluate_output(expected="gold-" + SECRET, name="captured", tracer_provider=pipeline.provider)
    def captured(question):
        return SECRET

    captured(SECRET)
    evaluate_output(name="captured.registry", tracer_provider=pipeline.provider)(lambda: SECRET)()

    @evaluate_output(expected=1, name="failing", tracer_provider=pipeline.provider)
    def failing():
        raise ValueError(SECRET)

    with pytest.raises(ValueError):
        failing()
    spans = pipeline.spans()
    assert len(spans) == 5
    for span in spans:
        assert SECRET not in span.to_json(), span.name
    assert pipeline.attributes("agent")["spanscore.label"] == "fail"
    assert pipeline.attributes("agent")["spanscore.score"] > 0.5
    assert pipeline.attributes("captured")["spanscore.score"] > 0.5


def test_order_is_kept_within_a_trace_and_a_judge_holds_only_its_own_trace(make_pipeline):
    release = threading.Event()

    @evaluator
    async def judge(output):
        while not release.is_set():
            await asyncio.sleep(0.001)
        return 1.0

    expectations = _expect(judge, name="judged")
    expectations.add("quick", ExactMatch(), expected=1)
    pipeline = make_pipeline(expectations)
    tracer = pipeline.provider.get_tracer("foreign")
    with tracer.start_as_current_span("root"):
        tracer.start_span("judged", attributes={"output.value": "1"}).end()
        tracer.start_span("quick", attributes={"output.value": "1"}).end()
    tracer.start_span("quick", attributes={"output.value": "1", "other": True}).end()
    deadline = time.monotonic() + 10
    while len(pipeline._exporter.get_finished_spans()) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert [span.name for span in pipeline._exporter.get_finished_spans()] == ["root", "quick"]
    release.set()
    assert [span.name for span in pipeline.spans()] == ["root", "quick", "judged", "quick"]


def test_a_judge_that_is_too_slow_leaves_the_span_pending_and_follows_as_a_carrier(make_pipeline):
    release = threading.Event()

    @evaluator
    async def judge(output, expected):
        while not release.is_set():
            await asyncio.sleep(0.001)
        return 0.25

    pipeline = make_pipeline(_expect(judge, expected=1, threshold=0.5), hold_timeout_s=0.05)
    _span(pipeline, output__value="1", gen_ai__agent__name="support")
    assert not pipeline.processor.force_flush(300)
    (pending,) = pipeline._exporter.get_finished_spans()
    assert (pending.attributes["spanscore.label"], pending.attributes["spanscore.judge.label"]) == (
        "pending",
        "pending",
    )
    assert pipeline.processor.outcomes == {}
    release.set()
    (_, carrier) = pipeline.spans()
    assert (carrier.name, carrier.attributes["spanscore.judge.label"]) == ("evaluation judge", "fail")
    assert carrier.parent == pending.context
    assert carrier.context.trace_id == pending.context.trace_id
    assert [link.context for link in carrier.links] == [pending.context]
    assert carrier.attributes["gen_ai.agent.name"] == "support"
    assert carrier.resource == pending.resource
    assert pipeline.processor.outcomes == {"fail": 1}


def test_a_judge_that_never_answers_keeps_no_room_and_becomes_an_error(make_pipeline):
    @evaluator
    async def judge(output, expected):
        await asyncio.Event().wait()

    pipeline = make_pipeline(_expect(judge, expected=1), hold_timeout_s=0.02, max_queue_size=2)
    for _ in range(6):
        _span(pipeline, output__value="1")
        pipeline.processor.wait_for_room()
    assert pipeline.processor.force_flush(10_000)
    spans = pipeline.spans("agent")
    assert len(spans) == 6
    errors = [span for span in pipeline.spans() if span.attributes.get("spanscore.judge.error.type") == "TimeoutError"]
    assert len(errors) == 6
    assert pipeline.processor.outcomes == {"error": 6}


def test_a_limit_of_the_provider_that_cuts_an_output_is_a_decode_error():
    recorder = _Recorder()
    provider = TracerProvider(span_limits=SpanLimits(max_span_attribute_length=20), shutdown_on_exit=False)
    provider.add_span_processor(EvaluatorSpanProcessor(recorder, _expect(expected={"text": "x" * 100})))
    with provider.get_tracer("foreign").start_as_current_span("agent") as span:
        span.set_attribute("output.value", '{"text": "' + "x" * 100 + '"}')
    provider.force_flush()
    assert recorder.spans[0].attributes["spanscore.json_similarity.error.type"] == "OutputDecodeError"
    provider.shutdown()


def test_the_thread_of_an_idle_processor_ends_and_comes_back(make_pipeline, monkeypatch):
    monkeypatch.setattr("spanscore.otel.worker._IDLE_S", 0.0)
    pipeline = make_pipeline(_expect(expected=1))
    for count in (1, 2, 3):
        _span(pipeline, output__value="1")
        assert len(pipeline.spans()) == count
        deadline = time.monotonic() + 5
        while any(thread.name == "spanscore-worker" for thread in threading.enumerate()):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_judge_runs_on_a_loop_of_its_own_with_nothing_to_trace(make_pipeline):
    seen = {}

    @evaluator
    async def judge(output):
        seen["thread"] = threading.current_thread().name
        with pipeline.provider.get_tracer("llm client").start_as_current_span("chat") as span:
            seen["recording"] = span.is_recording()
        return 1.0

    pipeline = make_pipeline(_expect(judge))

    @evaluate_output(name="agent", tracer_provider=pipeline.provider)
    async def agent():
        return 1

    asyncio.run(agent())
    assert [span.name for span in pipeline.spans()] == ["agent"]
    assert seen == {"thread": "spanscore-judges", "recording": False}


def test_a_full_queue_lets_spans_out_unscored_and_counts_them(make_pipeline, caplog):
    entered, release = threading.Event(), threading.Event()

    @evaluator
    def stuck(output):
        entered.set()
        release.wait(10)
        return 1.0

    pipeline = make_pipeline(_expect(stuck), max_queue_size=2)
    _span(pipeline, output__value="1")
    assert entered.wait(10)
    for _ in range(5):
        _span(pipeline, output__value="1")
    release.set()
    spans = pipeline.spans("agent")
    reasons = [span.attributes.get("spanscore.stuck.reason") for span in spans]
    assert len(spans) == 6
    assert reasons.count("queue_full") == 4
    assert pipeline.processor.outcomes == {"scored": 2, "dropped": 4}


def _shut_down_with_three_spans(one):
    recorder = _Recorder()
    processor = EvaluatorSpanProcessor(recorder, _expect(one))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    for _ in range(3):
        provider.get_tracer("x").start_span("agent", attributes={"output.value": "1"}).end()
    started = time.monotonic()
    processor.shutdown(200)
    assert time.monotonic() - started < 2
    return recorder, processor, provider


def test_shutdown_keeps_its_deadline_and_loses_no_span():
    @evaluator
    async def never(output):
        await asyncio.sleep(3_600)
        return 1.0

    recorder, processor, provider = _shut_down_with_three_spans(never)
    assert [span.attributes["spanscore.never.reason"] for span in recorder.spans] == ["shutdown"] * 3
    assert processor.outcomes == {"skipped": 3}
    processor.shutdown()
    provider.shutdown()
    assert recorder.shut_down == 1
    provider.get_tracer("x").start_span("agent", attributes={"output.value": "1"}).end()
    assert recorder.spans[-1].attributes["spanscore.never.reason"] == "shutdown"


def test_an_evaluator_that_hangs_keeps_neither_the_shutdown_nor_its_spans():
    release = threading.Event()

    @evaluator
    def hangs(output):
        release.wait(30)
        return 1.0

    recorder, processor, _ = _shut_down_with_three_spans(hangs)
    release.set()
    assert [span.attributes["spanscore.hangs.reason"] for span in recorder.spans] == ["shutdown"] * 3
    assert processor.outcomes == {"skipped": 3}


@pytest.mark.parametrize("kind", [SystemExit, BaseException])
def test_an_evaluator_that_would_end_the_program_is_an_error(make_pipeline, kind):
    @evaluator
    def leaves(output):
        raise kind

    @evaluator
    async def leaves_later(output):
        raise kind

    pipeline = make_pipeline(_expect(leaves, leaves_later))
    _span(pipeline, output__value="1")
    assert evaluate_output(name="agent", tracer_provider=pipeline.provider)(lambda: 7)() == 7
    for span in pipeline.spans("agent"):
        assert span.attributes["spanscore.leaves.error.type"] == kind.__name__
        assert span.attributes["spanscore.leaves_later.error.type"] == kind.__name__
    assert pipeline.processor.outcomes == {"error": 2}


def test_force_flush_keeps_its_deadline(make_pipeline):
    @evaluator
    async def slow(output):
        await asyncio.sleep(1.0)
        return 1.0

    pipeline = make_pipeline(_expect(slow))
    _span(pipeline, output__value="1")
    started = time.monotonic()
    assert pipeline.processor.force_flush(50) is False
    assert time.monotonic() - started < 0.5
    assert pipeline.processor.force_flush(30_000) is True
    assert pipeline.attributes("agent")["spanscore.slow.score"] == 1.0


def test_expectations_that_matched_nothing_are_reported_once(make_pipeline, caplog):
    pipeline = make_pipeline(_expect(expected=1, name="never.seen"))
    with caplog.at_level(logging.WARNING):
        pipeline.shutdown()
        pipeline.shutdown()
    assert [r.getMessage() for r in caplog.records] == ["these expectations matched no span: never.seen"]


def test_an_exception_of_the_next_processor_does_not_stop_the_worker(make_pipeline, caplog):
    class Broken(_Recorder):
        def on_end(self, span):
            super().on_end(span)
            raise RuntimeError("broken")

    broken = Broken()
    provider = TracerProvider(shutdown_on_exit=False)
    processor = EvaluatorSpanProcessor(broken, _expect(expected=1))
    provider.add_span_processor(processor)
    for _ in range(3):
        provider.get_tracer("x").start_span("agent", attributes={"output.value": "1"}).end()
    assert processor.force_flush()
    assert len(broken.spans) == 3
    provider.shutdown()


@pytest.mark.parametrize("settings", [{"max_queue_size": 0}, {"hold_timeout_s": 0}])
def test_bad_sizes_are_refused(settings):
    with pytest.raises(ConfigurationError, match="must be above 0"):
        EvaluatorSpanProcessor(_Recorder(), **settings)


@pytest.mark.parametrize("wrong", [(None, None), (_Recorder(), "expectations.yaml"), (_Recorder(), [1])])
def test_what_is_no_processor_or_no_registry_is_refused(wrong):
    with pytest.raises(ConfigurationError, match=r"read a file with Expectations.load\(path\)"):
        EvaluatorSpanProcessor(*wrong)
