"""One captured call: its span from start to end, with what went in, what came out, and the scores."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.trace import (
    Span,
    SpanContext,
    Status,
    StatusCode,
    format_trace_id,
    set_span_in_context,
)

from spanscore import attributes as names
from spanscore.checks import Bound
from spanscore.content import export_text, from_attributes, sha256
from spanscore.evaluation import Evaluation, evaluate_live, fail_step, skip_step
from spanscore.expectations import Expectation
from spanscore.json_text import as_json, parse, serialise
from spanscore.otel import emit
from spanscore.otel.deferred import Begun, Deferred, Unread
from spanscore.otel.guard import guarded_context
from spanscore.otel.late import follow
from spanscore.otel.log import log_once
from spanscore.otel.processor import WATCHERS, EvaluatorSpanProcessor, Events, case_of
from spanscore.otel.recording import EXPECTING, Recording, Refusal
from spanscore.score import SkipReason
from spanscore.step import MISSING, Step

__all__ = ["Call"]


class Call:
    """A call that is running, and its span; `CallRecorder.begin` makes it. One of the three ends ends it.

    Attributes:
        context: the context to run the call in: its span is the current one.
        recording: False where the span is not sampled; then nothing is serialised or scored.
    """

    __slots__ = (
        "_aliases",
        "_end_time_ns",
        "_expected",
        "_found",
        "_name",
        "_recording",
        "_span",
        "_static",
        "context",
        "recording",
    )

    def __init__(
        self,
        recording: Recording,
        span: Span,
        context: Context,
        expected: Any,
        *,
        name: str,
        static: Mapping[str, Any],
        aliases: Sequence[str] = (),
    ) -> None:
        self._recording = recording
        self._span = span
        self._name = name
        self._static = static
        self._aliases = aliases
        self._found: dict[str, Any] = {}
        self._end_time_ns = 0
        self._expected = expected
        if EXPECTING in context:  # it is for this call, not for the calls inside
            context = Context({key: value for key, value in context.items() if key != EXPECTING})
        self.context = set_span_in_context(span, context)
        self.recording = span.is_recording()
        if WATCHERS and recording.needs_trajectory:
            watcher = WATCHERS.get(span.get_span_context().span_id)
            if watcher is not None:
                watcher.follow(span)

    @property
    def span_context(self) -> SpanContext:
        """Return the identity of the span."""
        return self._span.get_span_context()

    def stop_clock(self) -> None:
        """Take the end time now, for a caller that has work to do before it ends the call."""
        self._end_time_ns = time.time_ns()

    def record(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes to the span, at its end; expectations see them."""
        self._found.update(attributes)

    def record_input(self, inputs: Any) -> None:
        """Serialise what goes in, once and before the call can change it."""
        if self.recording and self._recording.capture_content:
            _record(self._found, inputs, serialise(inputs), _INPUT_KEYS)

    def finish(self, output: Any) -> None:
        """End the span with the output and its scores; never raises."""
        self._end_time_ns = self._end_time_ns or time.time_ns()
        if self.recording:
            try:
                value, data = as_json(output)
                if self._recording.capture_content:
                    _record(self._found, value, data, _OUTPUT_KEYS)
                self._score(value, data)
            except BaseException:  # the user's objects may raise anything; their program is not ours to break
                log_once("score", "a call could not be scored")
                self._span.set_attributes(self._found)
        self._end()

    def stop(
        self, reason: SkipReason, explanation: str, error: BaseException | None = None, output: Any = MISSING
    ) -> None:
        """End the span of a call that gave no whole output; never raises."""
        self._end_time_ns = self._end_time_ns or time.time_ns()
        if self.recording:
            try:
                self._stop(reason, explanation, error, output)
            except BaseException:  # the user's exception may not even have a text
                log_once("stop", "the end of a call could not be recorded in full")
        self._end()

    def fail(self, error: BaseException) -> None:
        """End the span of a call that raised or was cancelled; never raises."""
        if isinstance(error, (GeneratorExit, asyncio.CancelledError)):
            self.stop("incomplete", "the call was cancelled")
        else:
            self.stop("exception", f"the call raised {type(error).__name__}", error)

    def _stop(self, reason: SkipReason, explanation: str, error: BaseException | None, output: Any) -> None:
        found = self._found
        if error is not None:
            found[names.ERROR_TYPE] = type(error).__qualname__
        if output is not MISSING and self._recording.capture_content:
            _record(found, *as_json(output), _OUTPUT_KEYS)
        watcher = self._watcher()
        bounds = self._bounds(watcher)
        self._write(skip_step(bounds, reason, explanation) if bounds else None, watcher)
        if error is not None:
            if not self._recording.capture_content:  # the text of an exception may quote values
                self._span.set_status(Status(StatusCode.ERROR))
                return
            self._span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
            self._span.record_exception(error, timestamp=self._end_time_ns)

    def _score(self, output: Any, data: bytes) -> None:
        watcher = self._watcher()
        bounds = self._bounds(watcher)
        if not bounds:
            self._write(None, watcher)
        elif type(self._expected) is Refusal:
            self._write(fail_step(bounds, self._expected.error), watcher)
        elif self._is_long(len(data), bounds) or (
            watcher is not None and any(bound.needs_trajectory for bound in bounds)
        ):
            read = functools.partial(self._step, data)
            self._defer(Unread(read, bounds, self._recording.capture_content), bounds, watcher)
        else:
            evaluation = self._evaluated(output, data, bounds)
            if evaluation.awaited:
                self._defer(Begun(evaluation, self._recording.capture_content), bounds, watcher)
            else:
                self._write(evaluation, watcher)

    def _step(self, data: bytes) -> Step:
        """Return the Step of the call, whose output is ``data``, serialised; the input is what was recorded."""
        span = self._span.get_span_context()
        found = {**self._static, **self._found}
        started = getattr(self._span, "start_time", None)
        step = from_attributes(
            self._name,
            {key: value for key, value in found.items() if key not in _OUTPUT_KEYS},
            None,
            None,
            trace_id=format_trace_id(span.trace_id),
            duration_s=None if started is None else (self._end_time_ns - started) / 1e9,
        )
        return replace(step, output=parse(data), convention="")

    def _is_long(self, size: int, bounds: Sequence[Bound]) -> bool:
        """Return True if the caller would wait for the scores: comparing texts takes the product of their lengths."""
        if size > self._recording.inline_max_bytes:
            return True
        expected = bounds[0].expected_bytes if len(bounds) == 1 else max([bound.expected_bytes for bound in bounds])
        return size * expected > _MAX_INLINE_PRODUCT

    def _evaluated(self, output: Any, data: bytes, bounds: Sequence[Bound]) -> Evaluation:
        if not bounds[0].calls_user_code and len(bounds) == 1:
            return evaluate_live(output, bounds, lambda: self._step(data))
        token = attach(guarded_context())
        try:
            return evaluate_live(output, bounds, lambda: self._step(data))
        finally:
            detach(token)

    def _write(self, evaluation: Evaluation | None, watcher: EvaluatorSpanProcessor | None) -> None:
        """Put everything on the span: through the processor's copy where nobody else reads the live one."""
        span, found = self._span, self._found
        events: Events = ()
        if evaluation is not None:
            content, openinference = self._recording.capture_content, False
            if watcher is not None:
                watcher.count(evaluation.label)
                content, openinference = content and watcher.export_content, watcher.openinference
            found.update(emit.score_attributes(evaluation, content=content, openinference=openinference))
            events = emit.score_events(evaluation)
            emit.record(evaluation, self._static, self.context, content=content)
        if watcher is not None and ((events and watcher.is_alone_on(span)) or len(found) > _room(span)):
            watcher.give(span.get_span_context().span_id, found, events)
            return
        self._set_attributes()
        for name, attributes in events:
            span.add_event(name, attributes, self._end_time_ns)

    def _set_attributes(self) -> None:
        """Write to the live span. A full one evicts the oldest, so only what has room, verdict first."""
        found, room = self._found, _room(self._span)
        if len(found) > room:
            by_rank = sorted(found, key=lambda key: not key.startswith(names.PREFIX))
            found = {key: found[key] for key in by_rank[: max(int(room), _LEAST)]}
        self._span.set_attributes(found)

    def _defer(self, deferred: Deferred, bounds: Sequence[Bound], watcher: EvaluatorSpanProcessor | None) -> None:
        """Leave the scores to the processor, or where there is none, to a carrier span."""
        recording, context = self._recording, self._span.get_span_context()
        if watcher is not None:
            on_copy = watcher.is_alone_on(self._span) or len(self._found) > _room(self._span)
            watcher.give(context.span_id, self._found if on_copy else {}, (), deferred)
            if not on_copy:
                self._set_attributes()
        else:
            self._found[names.LABEL] = "pending"
            self._found[names.EXPECTATION] = ",".join(bound.id for bound in bounds)
            follow(recording.tracer, self._static, context, deferred, content=recording.capture_content)
            self._set_attributes()

    def _watcher(self) -> EvaluatorSpanProcessor | None:
        return WATCHERS.pop(self._span.get_span_context().span_id, None) if WATCHERS else None

    def _bounds(self, watcher: EvaluatorSpanProcessor | None) -> Sequence[Bound]:
        """Return what is expected of this call: by whoever captures it, else by the processor's registry."""
        expected, expectation = self._expected, self._recording.expectation
        if expectation is not None:
            if type(expected) is Refusal:
                return (expectation.bound(None),)
            if expected is not MISSING:
                return (expectation.bind(expected),)
            if watcher is not None and expectation.expected is MISSING:
                return (expectation.bind(watcher.expected(self._name, self._attributes())),)
            return (expectation.bound(None),)
        matched: Sequence[Expectation] = ()
        registry = self._recording.registry
        if registry is None and watcher is not None:
            registry = watcher.expectations
        if registry is not None and registry.candidates(self._name, *self._aliases):
            found = self._attributes()
            matched = registry.match(self._name, found, *self._aliases)
            if expected is MISSING:
                return [item.bound(case_of(found, item.case_key)) for item in matched]
        if expected is MISSING:
            return ()
        if not matched and self._recording.fallback is not None:
            matched = (self._recording.fallback,)
        if type(expected) is Refusal:
            return [item.bound(None) for item in matched]
        return [item.bind(expected) for item in matched]

    def _attributes(self) -> Mapping[str, Any]:
        on_span = getattr(self._span, "attributes", None) or self._static
        return {**on_span, **self._found} if self._aliases else on_span

    def _end(self) -> None:
        try:
            self._span.end(self._end_time_ns)
        except Exception:  # other processors may raise; the user's program is not ours to break
            log_once("end", "a span processor raised while a span ended")


_INPUT_KEYS: Final = (names.INPUT_VALUE, names.INPUT_MIME_TYPE, names.INPUT_BYTES, names.INPUT_SHA256)
_LIMITS: Final = SpanLimits()
_LEAST: Final = 2  # attributes that stand on the span even if others must go: label and score
_MAX_INLINE_PRODUCT: Final = 2**28  # about 5 ms for one pair of texts
_OUTPUT_KEYS: Final = (names.OUTPUT_VALUE, names.OUTPUT_MIME_TYPE, names.OUTPUT_BYTES, names.OUTPUT_SHA256)


def _record(found: dict[str, Any], value: Any, data: bytes, keys: tuple[str, str, str, str]) -> None:
    """Add the attributes of an input or an output; ``data`` is the value, serialised."""
    text, mime, cut = export_text(value, data)
    found[keys[0]] = text
    found[keys[1]] = mime
    if cut:
        found[keys[2]] = len(data)
        found[keys[3]] = sha256(data)


def _room(span: Span) -> float:
    """Return how many attributes fit on the live span."""
    found, limits = getattr(span, "attributes", None), getattr(span, "_limits", _LIMITS)
    if found is None or limits.max_span_attributes is None:
        return float("inf")
    return limits.max_span_attributes - len(found)
