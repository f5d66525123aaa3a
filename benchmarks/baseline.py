"""The baseline of W1: the function traced by hand, and the pipeline it uses. Needs OpenTelemetry only."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import payload
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer

EXPECTED: dict[str, Any] = payload.answer()
OUTPUT: dict[str, Any] = payload.edited(EXPECTED)
ARGUMENTS: tuple[Any, ...] = tuple(payload.INPUT.values())


class Null(SpanExporter):
    """Counts spans, keeps the last, sends none."""

    def __init__(self) -> None:
        self.count = 0
        self.last: ReadableSpan | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.count += len(spans)
        self.last = spans[-1]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing is open."""


class Pipeline:
    """A provider of its own, a processor and a Null exporter."""

    def __init__(self, around: Callable[[SpanProcessor], SpanProcessor] | None = None) -> None:
        self.exporter = Null()
        processor: SpanProcessor = BatchSpanProcessor(self.exporter)
        self.processor = around(processor) if around else processor
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(self.processor)

    def delivered(self) -> int:
        """Return how many spans were exported."""
        return self.exporter.count


def answer(question: str, customer_id: int, locale: str, history: list[str], verbose: bool) -> dict[str, Any]:
    """Do what every contender does: nothing, but return the output."""
    return OUTPUT


async def answer_later(
    question: str, customer_id: int, locale: str, history: list[str], verbose: bool
) -> dict[str, Any]:
    """Do the same as a coroutine."""
    return OUTPUT


def by_hand(tracer: Tracer) -> Callable[[], Any]:
    """Return a call of the function, traced as people do by hand."""

    def traced(question: str, customer_id: int, locale: str, history: list[str], verbose: bool) -> dict[str, Any]:
        with tracer.start_as_current_span("answer") as span:
            given = {
                "question": question,
                "customer_id": customer_id,
                "locale": locale,
                "history": history,
                "verbose": verbose,
            }
            span.set_attribute("input.value", json.dumps(given))
            output = answer(question, customer_id, locale, history, verbose)
            span.set_attribute("output.value", json.dumps(output))
            return output

    return lambda: traced(*ARGUMENTS)


def by_hand_later(tracer: Tracer) -> Callable[[], Awaitable[Any]]:
    """Return the same of a coroutine function."""

    async def traced(question: str, customer_id: int, locale: str, history: list[str], verbose: bool) -> dict[str, Any]:
        with tracer.start_as_current_span("answer") as span:
            given = {
                "question": question,
                "customer_id": customer_id,
                "locale": locale,
                "history": history,
                "verbose": verbose,
            }
            span.set_attribute("input.value", json.dumps(given))
            output = await answer_later(question, customer_id, locale, history, verbose)
            span.set_attribute("output.value", json.dumps(output))
            return output

    return lambda: traced(*ARGUMENTS)
