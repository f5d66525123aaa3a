"""Scores of captured calls that no processor of ours holds: they follow as carrier spans."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, Tracer, set_span_in_context

from spanscore.evaluation import Evaluation
from spanscore.otel import emit
from spanscore.otel.deferred import Deferred
from spanscore.otel.log import log_once
from spanscore.otel.worker import Job, Worker

__all__ = ["flush_late", "follow"]


@functools.cache
def _worker() -> Worker:
    worker = Worker(max_queue_size=2_048, hold_timeout_s=30.0)
    atexit.register(worker.shutdown, 5.0)
    return worker


def follow(tracer: Tracer, span: Mapping[str, Any], context: SpanContext, deferred: Deferred, *, content: bool) -> None:
    """Score later, with no processor of ours to hold the span: the scores follow as carrier spans."""

    def deliver(evaluation: Evaluation) -> None:
        if evaluation.awaited:
            return
        target = set_span_in_context(NonRecordingSpan(context), Context())
        emit.record(evaluation, span, target, content=content)
        emit.emit_carriers(tracer, context, evaluation, span, content=content)

    if not _worker().submit(Job(trace_id=context.trace_id, deferred=deferred, deliver=deliver, deliver_late=deliver)):
        deferred.refused("queue_full")
        emit.record_dropped("queue_full")
        log_once("late", "the queue for late scores is full; a score was dropped")


def flush_late(timeout_s: float = 30.0) -> bool:
    """Wait for the scores of calls that no processor of ours holds; False if the time ran out."""
    return _worker().flush(timeout_s)
