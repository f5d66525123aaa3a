"""What keeps the evaluators' own calls from being traced and judged."""

from __future__ import annotations

from typing import Final

from opentelemetry import context as context_api
from opentelemetry.context import Context, create_key, get_current, set_value
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

__all__ = ["EVALUATING", "guarded_context"]

EVALUATING: Final = create_key("spanscore-evaluating")
"""Context key that is set while an evaluator runs."""

_SUPPRESS: Final = tuple(
    key
    for key in (getattr(context_api, "_SUPPRESS_INSTRUMENTATION_KEY", None), "suppress_instrumentation")
    if key is not None
)


def guarded_context() -> Context:
    """Return a context in which an evaluator's own calls are neither traced nor scored.

    Instrumentations that honour suppression stay quiet; for the others the current span is one
    that is not sampled, so parent-based samplers drop what they start; and what is recorded all
    the same bears `EVALUATING`, by which capture and the processor know it.
    """
    ids = RandomIdGenerator()
    unsampled = SpanContext(ids.generate_trace_id(), ids.generate_span_id(), False, TraceFlags(TraceFlags.DEFAULT))
    context = set_span_in_context(NonRecordingSpan(unsampled), get_current())
    for key in (EVALUATING, *_SUPPRESS):
        context = set_value(key, True, context)
    return context
