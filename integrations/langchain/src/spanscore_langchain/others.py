"""Other instrumentations of LangChain in this program, and the spans that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackManager
from opentelemetry.trace import Span

__all__ = ["others_are_on", "span_of"]


def others_are_on() -> bool:
    """Return True if OpenInference's or Traceloop's instrumentor is on."""
    init: Any = BaseCallbackManager.__init__
    return hasattr(init, "_self_wrapper") and next(_finders(), None) is not None


def span_of(run_id: UUID) -> Span | None:
    """Return the span that another instrumentation has made for a run and not yet ended, or None."""
    for find in _finders():
        span = find(run_id)
        if isinstance(span, Span) and span.is_recording():
            return span
    return None


def _finders() -> Iterator[Callable[[UUID], Any]]:
    """Yield what finds a span by its run, for each handler that was put into every callback manager.

    Both instrumentors do that by wrapping its ``__init__``, and keep the handler on the wrapper.
    """
    init: Any = BaseCallbackManager.__init__
    while (wrapper := getattr(init, "_self_wrapper", None)) is not None:
        find = getattr(getattr(wrapper, "_tracer", None), "get_span", None)  # OpenInference
        if find is not None:
            yield find
        spans = getattr(getattr(wrapper, "_callback_handler", None), "spans", None)  # Traceloop
        if isinstance(spans, dict):
            yield lambda run_id, spans=spans: getattr(spans.get(run_id), "span", None)  # type: ignore[misc]
        init = init.__wrapped__
