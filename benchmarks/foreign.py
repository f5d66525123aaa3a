"""A span that another instrumentation made, scored by the processor, beside the same span unscored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import report
from baseline import EXPECTED, OUTPUT, Pipeline
from interleave import Contender, calling, interleave
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import Tracer

import spanscore

ABOUT = """\
A plain tracer's span with eight attributes, one of them `output.value` = JSON (40 leaves, 1.5 kB, 4 leaves wrong).
Baseline: BatchSpanProcessor on an exporter that only counts. Contender: EvaluatorSpanProcessor in front of it, with an
expectation for the span's name, so the worker parses, scores and rebuilds each span. `json.dumps` is part of the
call in the second pair of rows, as it is in an instrumentation."""

TEXT = json.dumps(OUTPUT)


def run(*, quick: bool) -> str:
    """Return the tables."""
    rounds, calls = (3, 300) if quick else (15, 1_500)
    apart_rounds, apart_calls = (3, 100) if quick else (10, 1_000)
    saturated, apart = [], []
    for what, make in (("text at hand", _text), ("json.dumps in the call", _dump)):
        baseline = _contender("unscored", make, None)
        contenders = [
            _contender(f"unscored, against itself, {what}", make, None),
            _contender(f"scored, {what}", make, _scoring),
        ]
        saturated += interleave(baseline, contenders, rounds=rounds, calls=calls)
        apart += interleave(baseline, contenders, rounds=apart_rounds, calls=apart_calls, pause_s=0.0005)
    return report.section(
        "Foreign spans, scored by the processor",
        ABOUT,
        f"Saturated loop, {rounds} rounds of {calls} spans:",
        report.ratios(saturated),
        f"Spans 0.5 ms apart, {apart_rounds} rounds of {apart_calls} spans:",
        report.ratios(apart),
    )


def _scoring(next: SpanProcessor) -> SpanProcessor:
    expectations = spanscore.Expectations()
    expectations.add("chat gpt", spanscore.JsonSimilarity(), expected=EXPECTED, threshold=0.8)
    return spanscore.EvaluatorSpanProcessor(next, expectations)


def _contender(
    name: str,
    make: Callable[[Tracer], Callable[[], Any]],
    around: Callable[[SpanProcessor], SpanProcessor] | None,
) -> Contender:
    pipeline = Pipeline(around)
    call = make(pipeline.provider.get_tracer("instrumentation"))
    call()
    pipeline.provider.force_flush()
    assert pipeline.exporter.last is not None
    label = (pipeline.exporter.last.attributes or {}).get("spanscore.label")
    assert label == ("pass" if around else None), f"{name}: the span has the label {label!r}"
    return Contender(name=name, block=calling(call), flush=pipeline.provider.force_flush, delivered=pipeline.delivered)


def _attributes(text: str) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.response.id": "r-1",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 480,
        "input.value": "Where is my order, and what will it cost me in the end?",
        "output.value": text,
    }


def _text(tracer: Tracer) -> Callable[[], Any]:
    return lambda: tracer.start_span("chat gpt", attributes=_attributes(TEXT)).end()


def _dump(tracer: Tracer) -> Callable[[], Any]:
    return lambda: tracer.start_span("chat gpt", attributes=_attributes(json.dumps(OUTPUT))).end()
