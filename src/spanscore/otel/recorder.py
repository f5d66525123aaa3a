"""CallRecorder: spans with scores for integrations, which see a call's start and its end but do not make the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.context import get_current
from opentelemetry.trace import Link, SpanContext, SpanKind, TracerProvider, get_tracer

from spanscore import attributes as names
from spanscore.errors import ConfigurationError
from spanscore.evaluators import JsonSimilarity
from spanscore.expectations import Expectation, Expectations
from spanscore.json_text import strict_json
from spanscore.otel.call import Call
from spanscore.otel.emit import VERSION, export_content_of_environment
from spanscore.otel.guard import EVALUATING
from spanscore.otel.log import log_once
from spanscore.otel.recording import EXPECTING, Recording, Refusal
from spanscore.step import MISSING

__all__ = ["CallRecorder"]


_FALLBACK: Final = Expectation(span_name="*", evaluators=(JsonSimilarity(),), id="given")


class CallRecorder:
    """Starts the spans of calls that somebody else makes; `Call` ends them, with the same scores as a decorator's.

    For integrations with frameworks that report start and end. Nothing is attached to the current
    context: parents are given. Safe for many threads and event loops at once.

    Args:
        expectations: what is expected of the calls; None leaves it to the processor's registry.
        tracer_provider: the global one by default.
        capture_content: if False, or if ``SPANSCORE_EXPORT_CONTENT=false`` is set, values are scored
            but never stand on the span.
        inline_max_bytes: outputs up to this size, serialised, are scored before the span ends.

    Raises:
        ConfigurationError: ``expectations`` are none, or ``inline_max_bytes`` is below 0.

    >>> from spanscore.testing import MemoryPipeline
    >>> pipeline = MemoryPipeline()
    >>> expectations = Expectations()
    >>> from spanscore.evaluators import ExactMatch
    >>> _ = expectations.add("capital", ExactMatch(), expected="Paris", threshold=1.0)
    >>> call = CallRecorder(expectations, tracer_provider=pipeline.provider).begin("capital")
    >>> if call is not None:
    ...     call.finish("Paris")
    >>> pipeline.attributes("capital")["spanscore.label"]
    'pass'
    """

    __slots__ = ("_recording", "_start_span", "capture_content")

    def __init__(
        self,
        expectations: Expectations | None = None,
        *,
        tracer_provider: TracerProvider | None = None,
        capture_content: bool = True,
        inline_max_bytes: int = 65_536,
    ) -> None:
        if expectations is not None and not isinstance(expectations, Expectations):
            raise ConfigurationError(
                f"expectations {expectations!r} must be Expectations or None; read a file with Expectations.load(path)"
            )
        if not isinstance(inline_max_bytes, int) or inline_max_bytes < 0:
            raise ConfigurationError(f"inline_max_bytes {inline_max_bytes!r} must be an integer, 0 or more")
        self.capture_content = capture_content and export_content_of_environment()
        self._recording = Recording(
            tracer=get_tracer(names.SCOPE, VERSION, tracer_provider),
            registry=expectations,
            fallback=_FALLBACK,
            capture_content=self.capture_content,
            inline_max_bytes=inline_max_bytes,
        )
        self._start_span = self._recording.tracer.start_span

    def begin(
        self,
        name: str,
        attributes: Mapping[str, Any] | None = None,
        *,
        parent: Call | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        expected: Any = MISSING,
        aliases: Sequence[str] = (),
        follows: Sequence[SpanContext] = (),
    ) -> Call | None:
        """Start a span and return its Call, or None where an evaluator's own call is not to be recorded; never raises.

        Args:
            name: span name.
            attributes: attributes of the span, at its start.
            parent: the call that this one is part of; the current span by default.
            kind: span kind.
            expected: JSON value for this call, before that of any expectation; `JsonSimilarity`
                compares where no expectation fits the call.
            aliases: further names by which expectations find the call.
            follows: spans to link to.
        """
        try:
            context = get_current()
            if EVALUATING in context:
                return None
            if parent is not None:
                context = parent.context
            elif expected is MISSING:
                expected = context.get(EXPECTING, MISSING)
            if expected is not MISSING:
                expected = _checked(expected)
            links = [Link(one) for one in follows] if follows else None
            span = self._start_span(name, context, kind, attributes, links)
            return Call(self._recording, span, context, expected, name=name, static=attributes or {}, aliases=aliases)
        except Exception:  # the user's program is not ours to break
            log_once("capture", "a call could not be captured; it runs without a span")
            return None


def _checked(expected: Any) -> Any:
    """Return the JSON value, or what makes its score an error where it is none."""
    try:
        return strict_json(expected, "the expected value of a call")
    except ConfigurationError as error:
        return Refusal(error)
