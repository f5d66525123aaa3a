"""CompletionHook: scores what official GenAI instrumentations saw, with content capture off."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from opentelemetry.context import attach, detach, get_current
from opentelemetry.sdk.trace import Span as SDKSpan
from opentelemetry.trace import get_tracer, set_span_in_context

from spanscore import attributes as names
from spanscore.checks import Bound
from spanscore.conventions.messages import answer_of, messages_of, plain_messages
from spanscore.evaluation import evaluate_step
from spanscore.expectations import Expectations
from spanscore.json_text import serialise
from spanscore.otel import emit
from spanscore.otel.deferred import Begun, Deferred, Unread
from spanscore.otel.exporters import EXPECTATIONS_VARIABLE, expectations_of_environment
from spanscore.otel.guard import EVALUATING, guarded_context
from spanscore.otel.late import follow
from spanscore.otel.log import log_once, warn_once
from spanscore.otel.processor import EvaluatorSpanProcessor, case_of
from spanscore.step import MISSING, Step

__all__ = ["CompletionHook"]

_CONVENTION: Final = "gen_ai"
_MODEL_OPERATIONS: Final = ("chat", "generate_content", "text_completion")
_MAX_INLINE_BYTES: Final = 65_536


class CompletionHook:
    """Scores chat, agent and workflow spans before they end: ``OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK=spanscore``.

    The instrumentations of ``opentelemetry-util-genai`` call it with what went in and out, whether
    content is captured or not; nothing of that is put on the span. What is expected comes from the
    `EvaluatorSpanProcessor` of the span's provider, which then scores on its worker; without one,
    from the file that ``SPANSCORE_EXPECTATIONS`` names. Tool calls are not reported to hooks.

    Raises:
        ConfigurationError: ``SPANSCORE_EXPECTATIONS`` names a file that is not valid.
    """

    def __init__(self) -> None:
        self._expectations: Expectations | None = (
            expectations_of_environment() if os.environ.get(EXPECTATIONS_VARIABLE) else None
        )

    def on_completion(
        self,
        *,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        system_instruction: Sequence[Any] = (),
        tool_definitions: Sequence[Any] | None = None,
        span: Any = None,
        log_record: Any = None,
        **further: Any,
    ) -> None:
        """Score what a span that is about to end stands for; never raises."""
        try:
            if isinstance(span, SDKSpan) and span.is_recording() and EVALUATING not in get_current():
                self._complete(span, inputs, outputs)
        except Exception:  # the user's program is not ours to break
            log_once("completion", "a completion could not be scored")

    def _complete(self, span: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        found: Mapping[str, Any] = span.attributes or {}
        processor = _processor_of(span)
        if names.ERROR_TYPE in found or names.LABEL in found:
            return
        bounds = self._bounds(span.name, found, processor)
        if not bounds:
            return
        step = _step(span.name, found, inputs, outputs)
        if step.output is MISSING:
            return
        content = names.OUTPUT_MESSAGES in found  # else its owner wants no content on it
        deferred = Unread(lambda: step, bounds, content)
        if processor is not None:
            processor.give(span.get_span_context().span_id, {}, (), deferred)
        else:
            _score(span, step, deferred)

    def _bounds(self, name: str, found: Mapping[str, Any], processor: EvaluatorSpanProcessor | None) -> Sequence[Bound]:
        if processor is not None and len(processor.expectations):
            return processor.bounds(name, found)
        if self._expectations is None:
            warn_once(
                "completion hook",
                "the completion hook knows no expectations: set %s, or use an EvaluatorSpanProcessor",
                EXPECTATIONS_VARIABLE,
            )
            return ()
        return [item.bound(case_of(found, item.case_key)) for item in self._expectations.match(name, found)]


def _processor_of(span: Any) -> EvaluatorSpanProcessor | None:
    """Return our processor on the provider of a span; None also where the SDK's insides look otherwise."""
    present = getattr(getattr(span, "_span_processor", None), "_span_processors", ())
    return next((one for one in present if isinstance(one, EvaluatorSpanProcessor)), None)


def _step(name: str, found: Mapping[str, Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Step:
    operation = str(found.get(names.OPERATION_NAME, ""))
    return Step(
        name=name,
        operation=operation,
        input=plain_messages(messages_of([_plain(one) for one in inputs])) or MISSING,
        output=answer_of([_plain(one) for one in outputs], first=operation in _MODEL_OPERATIONS),
        attributes=dict(found),
        convention=_CONVENTION,
    )


def _plain(message: Any) -> Any:
    return asdict(message) if is_dataclass(message) and not isinstance(message, type) else message


def _score(span: Any, step: Step, unread: Unread) -> None:
    """Put the scores on the live span; what takes long or must be awaited follows as a carrier span."""
    context, found = span.get_span_context(), step.attributes
    deferred: Deferred = unread
    if len(serialise(step.output)) <= _MAX_INLINE_BYTES:
        token = attach(guarded_context())
        try:
            evaluation = evaluate_step(step, unread.bounds)
        finally:
            detach(token)
        if not evaluation.awaited:
            span.set_attributes(emit.score_attributes(evaluation, content=unread.content))
            for name, attributes in emit.score_events(evaluation):
                span.add_event(name, attributes)
            emit.record(evaluation, found, set_span_in_context(span), content=unread.content)
            return
        deferred = Begun(evaluation, unread.content)
    span.set_attribute(names.LABEL, "pending")
    span.set_attribute(names.EXPECTATION, ",".join(bound.id for bound in unread.bounds))
    follow(get_tracer(names.SCOPE, emit.VERSION), found, context, deferred, content=unread.content)
