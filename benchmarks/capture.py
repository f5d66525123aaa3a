"""W1: a decorated function, captured and scored, beside the same function traced by hand without a score."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import report
from baseline import ARGUMENTS, EXPECTED, Null, Pipeline, answer, answer_later, by_hand, by_hand_later
from interleave import Block, Contender, awaiting, calling, interleave
from opentelemetry.sdk.trace import TracerProvider

import spanscore

ABOUT = """\
Baseline: `start_as_current_span`, `json.dumps` of input (5 keys) and output (40 leaves, 1.5 kB) as two attributes,
BatchSpanProcessor, exporter that only counts; no score. Scored rows compare all 40 leaves (4 are wrong) with
`JsonSimilarity`. "call" is what the caller waits, "CPU" all threads until everything is flushed. "Spaced": the thread
sleeps 0.5 ms before each call; the CPU of a loop that only sleeps is subtracted. Async rows have an async baseline."""


def run(*, quick: bool) -> str:
    """Return the tables."""
    rounds, calls = (3, 300) if quick else (15, 1_500)
    apart_rounds, apart_calls = (3, 100) if quick else (10, 1_000)
    loop = asyncio.new_event_loop()
    saturated, apart = [], []
    for baseline, contenders in (_sync(), _async(loop)):
        saturated += interleave(baseline, contenders, rounds=rounds, calls=calls)
        apart += interleave(baseline, contenders, rounds=apart_rounds, calls=apart_calls, pause_s=0.0005)
    loop.close()
    return report.section(
        "W1: capture and score",
        ABOUT,
        f"Saturated loop, {rounds} rounds of {calls} calls:",
        report.ratios(saturated),
        f"Calls spaced 0.5 ms apart, {apart_rounds} rounds of {apart_calls} calls:",
        report.ratios(apart),
    )


def _sync() -> tuple[Contender, list[Contender]]:
    scored = {"expected": EXPECTED, "threshold": 0.8, "name": "answer"}
    return _by_hand("by hand"), [
        _by_hand("by hand, against itself"),
        _decorated("capture, plain provider", _plain(), lambda p: spanscore.capture(tracer_provider=p)(answer)),
        _decorated("capture, `configure`", _ours(), lambda p: spanscore.capture(tracer_provider=p)(answer)),
        _decorated(
            "capture + score, plain provider",
            _plain(),
            lambda p: spanscore.evaluate_output(**scored, tracer_provider=p)(answer),
        ),
        _decorated(
            "capture + score, `configure`",
            _ours(),
            lambda p: spanscore.evaluate_output(**scored, tracer_provider=p)(answer),
        ),
    ]


def _async(loop: asyncio.AbstractEventLoop) -> tuple[Contender, list[Contender]]:
    pipeline = Pipeline()
    block = awaiting(by_hand_later(pipeline.provider.get_tracer("app")), loop)
    baseline = Contender(
        name="by hand, async", block=block, flush=pipeline.provider.force_flush, delivered=pipeline.delivered
    )
    return baseline, [
        _decorated(
            "async capture + score, `configure`",
            _ours(),
            lambda p: spanscore.evaluate_output(expected=EXPECTED, threshold=0.8, tracer_provider=p)(answer_later),
            lambda call: awaiting(call, loop),
        )
    ]


def _by_hand(name: str) -> Contender:
    pipeline = Pipeline()
    call = by_hand(pipeline.provider.get_tracer("app"))
    return Contender(name=name, block=calling(call), flush=pipeline.provider.force_flush, delivered=pipeline.delivered)


def _plain() -> tuple[TracerProvider, Null]:
    pipeline = Pipeline()
    return pipeline.provider, pipeline.exporter


def _ours() -> tuple[TracerProvider, Null]:
    exporter = Null()
    return spanscore.configure(exporter=exporter, set_global=False), exporter


def _decorated(
    name: str,
    pipeline: tuple[TracerProvider, Null],
    decorate: Callable[[TracerProvider], Callable[..., Any]],
    block: Callable[[Callable[[], Any]], Block] = calling,
) -> Contender:
    provider, exporter = pipeline
    function = decorate(provider)
    measured = block(lambda: function(*ARGUMENTS))
    measured(1, 0.0)
    provider.force_flush()
    assert exporter.last is not None
    label = (exporter.last.attributes or {}).get("spanscore.label")
    assert label == ("pass" if "score" in name else None), f"{name}: the span has the label {label!r}"
    return Contender(name=name, block=measured, flush=provider.force_flush, delivered=lambda: exporter.count)
