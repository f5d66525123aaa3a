"""What the processor adds to a span that nothing is expected of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import report
from baseline import Pipeline
from interleave import Contender, calling, interleave
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import Tracer

import spanscore

ABOUT = """\
`EvaluatorSpanProcessor.on_end`, with 100 expectations and one glob that fit none of the spans (ten names), beside the
`on_end` of the processor behind it called directly; then start and end of whole spans. "added" is the difference in
microseconds a span. Bar: 1 µs for `on_end`."""

COLUMNS = ("what", "next processor", "alone µs", "added µs, call (min-max)", "added µs, CPU (min-max)", "delivered")


class NoOp(SpanProcessor):
    """Does nothing; its methods are the cheapest that there can be."""


def run(*, quick: bool) -> str:
    """Return the table."""
    rounds, calls = (3, 300) if quick else (25, 1_500)
    rows = []
    for what, make in (("`on_end`", _on_end), ("span start + end", _start_end)):
        for name, plain in (("no-op", lambda _: NoOp()), ("BatchSpanProcessor", None)):
            pair = [_contender("alone", make, plain), _contender("behind ours", make, _around(plain))]
            pair[1:1] = [_contender("alone, again", make, plain)]
            control, result = interleave(pair[0], pair[1:], rounds=rounds, calls=calls)
            for label, one in (("against itself", control), ("", result)):
                rows.append(
                    [
                        f"{what} {label}".strip(),
                        name,
                        f"{(one.us('wall') - one.added_us('wall').median):.2f}",
                        one.added_us("wall"),
                        one.added_us("cpu"),
                        report.delivered(one.delivered) if plain is None else "-",
                    ]
                )
    return report.section("Unmatched spans", ABOUT, f"{rounds} rounds of {calls} spans:", report.table(COLUMNS, rows))


def _around(plain: Callable[[SpanProcessor], SpanProcessor] | None) -> Callable[[SpanProcessor], SpanProcessor]:
    expectations = spanscore.Expectations()
    for number in range(100):
        expectations.add(f"agent.{number}", spanscore.JsonSimilarity(), expected={"number": number})
    expectations.add("tool.*", spanscore.JsonSimilarity(), expected={"found": True})
    return lambda other: spanscore.EvaluatorSpanProcessor(plain(other) if plain else other, expectations)


def _contender(
    name: str,
    make: Callable[[Pipeline], Callable[[], Any]],
    around: Callable[[SpanProcessor], SpanProcessor] | None,
) -> Contender:
    pipeline = Pipeline(around)
    return Contender(
        name=name, block=calling(make(pipeline)), flush=pipeline.provider.force_flush, delivered=pipeline.delivered
    )


def _on_end(pipeline: Pipeline) -> Callable[[], Any]:
    spans: Iterator[ReadableSpan] = cycle([_ended(number) for number in range(10)])
    on_end = pipeline.processor.on_end
    return lambda: on_end(next(spans))


def _ended(number: int) -> ReadableSpan:
    span = Pipeline().provider.get_tracer("app").start_span(f"query.{number}", attributes={"db.rows": number})
    span.end()
    assert isinstance(span, Span)
    return span._readable_span()


def _start_end(pipeline: Pipeline) -> Callable[[], Any]:
    tracer: Tracer = pipeline.provider.get_tracer("app")
    names = cycle([f"query.{number}" for number in range(10)])
    return lambda: tracer.start_span(next(names), attributes={"db.rows": 1}).end()
