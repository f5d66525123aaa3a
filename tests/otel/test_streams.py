from __future__ import annotations

import asyncio
import gc

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from spanscore import evaluate_output

EXPECTED = "the answer"


@pytest.fixture
def words(pipeline):
    @evaluate_output(expected=EXPECTED, threshold=1.0, name="stream", tracer_provider=pipeline.provider)
    def words(fail=False):
        received = yield "the "
        yield received or "answer"
        if fail:
            raise ValueError("in the middle")
        return "returned"

    return words


@pytest.fixture
def async_words(pipeline):
    @evaluate_output(expected=EXPECTED, threshold=1.0, name="stream", tracer_provider=pipeline.provider)
    async def words(wait=0.0):
        yield "the "
        await asyncio.sleep(wait)
        yield "answer"

    return words


def _one(pipeline):
    (span,) = pipeline.spans("stream")
    return span, span.attributes


def test_the_output_of_a_stream_is_its_text_joined(pipeline, words):
    assert "".join(words()) == EXPECTED
    _, found = _one(pipeline)
    assert (found["output.value"], found["spanscore.label"]) == (EXPECTED, "pass")


def test_the_output_of_a_stream_of_objects_is_their_list_as_they_were(pipeline):
    @evaluate_output(expected=[{"n": 0}, {"n": 1}], name="stream", tracer_provider=pipeline.provider)
    def numbers():
        for n in range(2):
            yield {"n": n}

    for item in numbers():
        item["n"] = "changed"
    assert _one(pipeline)[1]["spanscore.score"] == 1.0


def test_an_empty_stream_is_an_empty_list(pipeline):
    @evaluate_output(expected=[], name="stream", tracer_provider=pipeline.provider)
    def nothing():
        yield from ()

    assert list(nothing()) == []
    assert _one(pipeline)[1]["spanscore.score"] == 1.0


def test_send_throw_and_the_return_value_work_as_without_us(pipeline, words):
    stream = words()
    assert next(stream) == "the "
    assert stream.send("answer") == "answer"
    with pytest.raises(StopIteration) as stopped:
        next(stream)
    assert stopped.value.value == "returned"

    stream = words()
    next(stream)
    with pytest.raises(KeyError, match="mine"):
        stream.throw(KeyError("mine"))
    with pytest.raises(StopIteration):
        next(stream)
    assert pipeline.spans("stream")[-1].status.status_code is StatusCode.ERROR


def test_the_span_is_current_inside_and_never_across_a_yield(pipeline):
    inside = []

    @evaluate_output(expected="ab", name="stream", tracer_provider=pipeline.provider)
    def stream():
        inside.append(trace.get_current_span())
        yield "a"
        inside.append(trace.get_current_span())
        yield "b"

    for _ in stream():
        assert trace.get_current_span() is trace.INVALID_SPAN
    assert inside[0] is inside[1]
    assert inside[0].get_span_context().span_id == _one(pipeline)[0].context.span_id


def test_a_span_kept_open_across_a_yield_is_the_parent_of_what_follows_it(pipeline):
    tracer = pipeline.provider.get_tracer("app")

    @evaluate_output(expected="ab", name="stream", tracer_provider=pipeline.provider)
    def stream():
        try:
            with tracer.start_as_current_span("section"):
                yield "a"
                tracer.start_span("inside").end()
                yield "b"
            yield "c"
        finally:
            tracer.start_span("cleaning").end()

    running = stream()
    next(running)
    next(running)
    assert trace.get_current_span() is trace.INVALID_SPAN
    next(running)
    running.close()
    spans = {span.name: span for span in pipeline.spans()}
    assert spans["inside"].parent.span_id == spans["section"].context.span_id
    assert spans["cleaning"].parent.span_id == spans["stream"].context.span_id
    assert spans["stream"].end_time >= spans["cleaning"].end_time


@pytest.mark.anyio
async def test_a_span_kept_open_across_an_async_yield_is_the_parent_of_what_follows_it(pipeline):
    tracer = pipeline.provider.get_tracer("app")

    @evaluate_output(expected="ab", name="stream", tracer_provider=pipeline.provider)
    async def stream():
        with tracer.start_as_current_span("section"):
            yield "a"
            tracer.start_span("inside").end()
            yield "b"

    async for _ in stream():
        assert trace.get_current_span() is trace.INVALID_SPAN
    spans = {span.name: span for span in pipeline.spans()}
    assert spans["inside"].parent.span_id == spans["section"].context.span_id
    assert spans["section"].parent.span_id == spans["stream"].context.span_id


def test_a_stream_beyond_the_byte_limit_is_incomplete(pipeline):
    @evaluate_output(expected="a", name="stream", tracer_provider=pipeline.provider)
    def stream():
        chunk = "a" * 1_000_000
        for _ in range(80):
            yield chunk

    assert sum(map(len, stream())) == 80_000_000
    assert pipeline.attributes("stream")["spanscore.json_similarity.reason"] == "incomplete"


@pytest.mark.parametrize("leave", [lambda stream: stream.close(), lambda stream: None])
def test_an_abandoned_stream_ends_its_span_as_incomplete(pipeline, words, leave):
    stream = words()
    next(stream)
    leave(stream)
    del stream
    gc.collect()
    span, found = _one(pipeline)
    assert (found["spanscore.label"], found["spanscore.json_similarity.reason"]) == ("skipped", "incomplete")
    assert found["output.value"] == "the "
    assert found["spanscore.json_similarity.explanation"] == "the stream was left after 1 items"
    assert span.status.status_code is StatusCode.UNSET


def test_a_stream_that_raises_is_skipped_and_the_exception_passes(pipeline, words):
    with pytest.raises(ValueError, match="in the middle"):
        list(words(fail=True))
    span, found = _one(pipeline)
    assert (found["spanscore.json_similarity.reason"], found["output.value"]) == ("exception", EXPECTED)
    assert span.status.status_code is StatusCode.ERROR


def test_a_stream_that_is_never_started_makes_no_span(pipeline, words):
    words().close()
    assert pipeline.spans() == []


@pytest.mark.anyio
async def test_an_async_stream_is_scored_when_it_is_exhausted(pipeline, async_words):
    assert [word async for word in async_words()] == ["the ", "answer"]
    assert _one(pipeline)[1]["spanscore.label"] == "pass"


@pytest.mark.anyio
async def test_an_async_stream_driven_from_another_task_logs_nothing(pipeline, async_words, caplog):
    stream = async_words()
    await asyncio.create_task(stream.__anext__())
    assert await asyncio.create_task(stream.__anext__()) == "answer"
    with pytest.raises(StopAsyncIteration):
        await stream.__anext__()
    assert caplog.records == []
    assert _one(pipeline)[1]["spanscore.label"] == "pass"


@pytest.mark.anyio
async def test_an_async_stream_that_is_left_is_incomplete(pipeline, async_words):
    async for _ in async_words():
        break
    stream = async_words()
    await stream.__anext__()
    await stream.aclose()
    gc.collect()
    for _ in range(3):
        await asyncio.sleep(0)
    assert [span.attributes["spanscore.json_similarity.reason"] for span in pipeline.spans("stream")] == [
        "incomplete"
    ] * 2


@pytest.mark.anyio
async def test_a_cancelled_async_stream_is_incomplete(pipeline, async_words):
    async def consume():
        async for _ in async_words(wait=60):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _, found = _one(pipeline)
    assert (found["spanscore.json_similarity.reason"], found["output.value"]) == ("incomplete", "the ")


@pytest.mark.anyio
async def test_asend_and_athrow_work_as_without_us(pipeline):
    @evaluate_output(expected="x", name="stream", tracer_provider=pipeline.provider)
    async def echo():
        received = "start"
        while True:
            try:
                received = yield received
            except KeyError:
                received = "caught"

    stream = echo()
    assert await stream.__anext__() == "start"
    assert await stream.asend("hello") == "hello"
    assert await stream.athrow(KeyError()) == "caught"
    await stream.aclose()
    assert _one(pipeline)[1]["output.value"] == "starthellocaught"


def test_a_generator_that_a_function_returns_is_handed_on_as_it_is(pipeline):
    source = (letter for letter in "ab")
    stream = evaluate_output(expected="ab", name="stream", tracer_provider=pipeline.provider)(lambda: source)
    assert stream() is source
    assert [next(stream()), next(stream())] == ["a", "b"]
    assert _one_reason(pipeline) == "incomplete"


def _one_reason(pipeline):
    return pipeline.spans("stream")[0].attributes["spanscore.json_similarity.reason"]


@pytest.mark.anyio
async def test_an_object_with_an_async_call_is_captured_to_its_end(pipeline):
    class Agent:
        async def __call__(self):
            return "x"

    decorate = evaluate_output(expected="x", name="stream", tracer_provider=pipeline.provider)
    assert await decorate(Agent())() == "x"
    assert _one(pipeline)[1]["spanscore.score"] == 1.0


@pytest.mark.parametrize("item", [{"a": "\ud800"}, 10**400])
def test_no_item_of_a_stream_breaks_it(pipeline, item):
    @evaluate_output(expected=[1], name="stream", tracer_provider=pipeline.provider)
    def stream():
        yield item

    assert list(stream()) == [item]
    assert len(pipeline.spans("stream")) == 1


def test_wrong_arguments_of_a_generator_leave_no_span_open(pipeline):
    from spanscore.otel.processor import WATCHERS

    @evaluate_output(expected=1, name="stream", tracer_provider=pipeline.provider)
    def stream(a):
        yield a

    with pytest.raises(TypeError):
        next(stream())
    assert WATCHERS == {}
