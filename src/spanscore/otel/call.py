"""One captured call: its span from start to end, with what went in, what came out, and the scores."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry.context import Context, attach, create_key, detach, get_current
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.trace import (
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    set_span_in_context,
)

from spanscore import attributes as names
from spanscore.checks import Bound
from spanscore.content import export_text, parse, serialise, sha256, strict_json
from spanscore.evaluation import Evaluation, evaluate_live, fail_step, skip_step
from spanscore.expectations import Expectation
from spanscore.otel import emit
from spanscore.otel.deferred import Begun, Deferred, Unread
from spanscore.otel.guard import EVALUATING, guarded_context
from spanscore.otel.late import follow
from spanscore.otel.log import log_once
from spanscore.otel.processor import WATCHERS, EvaluatorSpanProcessor, Events
from spanscore.score import SkipReason
from spanscore.step import MISSING, Step

__all__ = ["Call", "Captured", "EXPECTING"]

EXPECTING: Final = create_key("spanscore-expecting")
"""Context key of the expected value that `expecting` gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What is known of a decorated function before it is called.

    Attributes:
        name: span name.
        static: attributes of every span.
        tracer: makes the spans.
        parameters: names of the positional parameters, without the object of a method.
        defaults: default values by parameter name.
        skipped: 1 for a method, whose first argument is not recorded, else 0.
        rest: name of the ``*args`` parameter.
        expectation: what the decorator expects; None leaves it to the processor's registry.
        expected_of: gives the expected value of the arguments of a call.
        capture_content: whether values may stand on the span.
        inline_max_bytes: outputs up to this size, serialised, are scored on the caller's thread.
    """

    name: str
    static: Mapping[str, str]
    tracer: Tracer
    parameters: tuple[str, ...]
    defaults: Mapping[str, Any]
    skipped: int
    rest: str
    expectation: Expectation | None
    expected_of: Callable[..., Any] | None
    capture_content: bool
    inline_max_bytes: int

    def begin(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Call | None:
        """Start a span and return its Call, or None if the call is not to be captured; never raises."""
        try:
            context = get_current()
            if EVALUATING in context:
                return None
            call = Call(self, self.tracer.start_span(self.name, context, SpanKind.INTERNAL, self.static), context)
            if call.recording:
                call.record_input(arguments[1:] if self.skipped else arguments, keywords)
        except BaseException:  # the user's objects may raise anything; their program is not ours to break
            log_once("capture", "a call could not be captured; it runs without a span")
            return None
        return call

    def step(self, data: bytes) -> Step:
        """Return the Step of a call whose output is ``data``, serialised."""
        return Step(name=self.name, operation=self.static[names.OPERATION_NAME], output=parse(data))

    def inputs(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by parameter name."""
        found: dict[str, Any] = keywords
        if arguments:
            found = {**dict(zip(self.parameters, arguments, strict=False)), **keywords}
            if len(arguments) > len(self.parameters):
                found[self.rest] = arguments[len(self.parameters) :]
        missing = self.defaults.keys() - found.keys() if self.defaults else None
        return {**found, **{name: self.defaults[name] for name in missing}} if missing else found


class Call:
    """A captured call that is running.

    Attributes:
        context: the context to run the function in: its span is the current one.
        recording: False where the span is not sampled; then nothing is serialised or scored.
    """

    __slots__ = (
        "_arguments",
        "_captured",
        "_end_time_ns",
        "_expected",
        "_found",
        "_keywords",
        "_span",
        "context",
        "recording",
    )

    def __init__(self, captured: Captured, span: Span, context: Context) -> None:
        self._captured = captured
        self._span = span
        self._found: dict[str, Any] = {}
        self._expected = context.get(EXPECTING, MISSING)
        if self._expected is not MISSING:  # it is for this call, not for the calls inside
            context = Context({key: value for key, value in context.items() if key != EXPECTING})
        self.context = set_span_in_context(span, context)
        self.recording = span.is_recording()

    def record_input(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Serialise the input, once and before the function can change it."""
        self._arguments = arguments
        self._keywords = keywords
        captured = self._captured
        if captured.capture_content:
            inputs = captured.inputs(arguments, keywords)
            _record(self._found, inputs, serialise(inputs), _INPUT_KEYS)

    def finish(self, output: Any) -> None:
        """End the span with the output and its scores; never raises."""
        self._end_time_ns = time.time_ns()
        if self.recording:
            try:
                data = serialise(output)
                if self._captured.capture_content:
                    _record(self._found, output, data, _OUTPUT_KEYS)
                self._score(output, data)
            except BaseException:  # the user's objects may raise anything; their program is not ours to break
                log_once("score", "a call could not be scored")
                self._span.set_attributes(self._found)
        self._end()

    def stop(
        self, reason: SkipReason, explanation: str, error: BaseException | None = None, output: Any = MISSING
    ) -> None:
        """End the span of a call that gave no whole output; never raises."""
        self._end_time_ns = time.time_ns()
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
        if output is not MISSING and self._captured.capture_content:
            _record(found, output, serialise(output), _OUTPUT_KEYS)
        watcher = self._watcher()
        bounds = self._bounds(watcher)
        self._write(skip_step(bounds, reason, explanation) if bounds else None, watcher)
        if error is not None:
            if not self._captured.capture_content:  # the text of an exception may quote values
                self._span.set_status(Status(StatusCode.ERROR))
                return
            self._span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
            self._span.record_exception(error, timestamp=self._end_time_ns)

    def _score(self, output: Any, data: bytes) -> None:
        watcher = self._watcher()
        try:
            bounds = self._bounds(watcher, expect=True)
        except BaseException as error:  # the callable that gives the expected value is the user's
            self._write(fail_step(self._bounds(None), error), watcher)
            return
        if not bounds:
            self._write(None, watcher)
        elif len(data) > self._captured.inline_max_bytes:
            self._defer(
                Unread(functools.partial(self._captured.step, data), bounds, self._captured.capture_content),
                bounds,
                watcher,
            )
        else:
            evaluation = self._evaluated(output, data, bounds)
            if evaluation.awaited:
                self._defer(Begun(evaluation, self._captured.capture_content), bounds, watcher)
            else:
                self._write(evaluation, watcher)

    def _evaluated(self, output: Any, data: bytes, bounds: Sequence[Bound]) -> Evaluation:
        if not bounds[0].calls_user_code and len(bounds) == 1:
            return evaluate_live(output, bounds, lambda: self._captured.step(data))
        token = attach(guarded_context())
        try:
            return evaluate_live(output, bounds, lambda: self._captured.step(data))
        finally:
            detach(token)

    def _write(self, evaluation: Evaluation | None, watcher: EvaluatorSpanProcessor | None) -> None:
        """Put everything on the span: through the processor's copy where nobody else reads the live one."""
        captured, span, found = self._captured, self._span, self._found
        events: Events = ()
        if evaluation is not None:
            content, openinference = captured.capture_content, False
            if watcher is not None:
                watcher.count(evaluation.label)
                content, openinference = content and watcher.export_content, watcher.openinference
            found.update(emit.score_attributes(evaluation, content=content, openinference=openinference))
            events = emit.score_events(evaluation)
            emit.record(evaluation, captured.static, self.context, content=content)
        if evaluation is not None and watcher is not None and (watcher.alone or not _has_room(span, len(found))):
            watcher.give(span.get_span_context().span_id, found, events)
            return
        span.set_attributes(found)
        for name, attributes in events:
            span.add_event(name, attributes, self._end_time_ns)

    def _defer(self, deferred: Deferred, bounds: Sequence[Bound], watcher: EvaluatorSpanProcessor | None) -> None:
        """Leave the scores to the processor, or where there is none, to a carrier span."""
        captured, context = self._captured, self._span.get_span_context()
        if watcher is not None:
            watcher.give(context.span_id, {}, (), deferred)
        else:
            self._found[names.LABEL] = "pending"
            self._found[names.EXPECTATION] = ",".join(bound.id for bound in bounds)
            follow(captured.tracer, captured.static, context, deferred, content=captured.capture_content)
        self._span.set_attributes(self._found)

    def _watcher(self) -> EvaluatorSpanProcessor | None:
        return WATCHERS.pop(self._span.get_span_context().span_id, None) if WATCHERS else None

    def _bounds(self, watcher: EvaluatorSpanProcessor | None, *, expect: bool = False) -> Sequence[Bound]:
        """Return what is expected of this call: by the decorator, else by the processor's registry."""
        captured = self._captured
        expectation = captured.expectation
        if expectation is not None:
            if self._expected is not MISSING:
                return (expectation.bind(self._expected),)
            if expect and captured.expected_of is not None:
                value = captured.expected_of(*self._arguments, **self._keywords)
                return (expectation.bind(strict_json(value, "what the expected callable returned")),)
            if expectation.expected is MISSING and captured.expected_of is None and watcher is not None:
                found = getattr(self._span, "attributes", None) or captured.static
                return (expectation.bind(watcher.expected(captured.name, found)),)
            return (expectation.bound(None),)
        if watcher is None or not watcher.expectations.candidates(captured.name):
            return ()
        found = getattr(self._span, "attributes", None) or captured.static
        if self._expected is MISSING:
            return watcher.bounds(captured.name, found)
        return [item.bind(self._expected) for item in watcher.expectations.match(captured.name, found)]

    def _end(self) -> None:
        try:
            self._span.end(self._end_time_ns)
        except Exception:  # other processors may raise; the user's program is not ours to break
            log_once("end", "a span processor raised while a span ended")


_INPUT_KEYS: Final = (names.INPUT_VALUE, names.INPUT_MIME_TYPE, names.INPUT_BYTES, names.INPUT_SHA256)
_OUTPUT_KEYS: Final = (names.OUTPUT_VALUE, names.OUTPUT_MIME_TYPE, names.OUTPUT_BYTES, names.OUTPUT_SHA256)


def _record(found: dict[str, Any], value: Any, data: bytes, keys: tuple[str, str, str, str]) -> None:
    """Add the attributes of an input or an output; ``data`` is the value, serialised."""
    text, mime, cut = export_text(value, data)
    found[keys[0]] = text
    found[keys[1]] = mime
    if cut:
        found[keys[2]] = len(data)
        found[keys[3]] = sha256(data)


_MAX_ATTRIBUTES: Final = SpanLimits().max_span_attributes


def _has_room(span: Span, count: int) -> bool:
    """Return True if so many attributes fit on the live span: a full one evicts the user's oldest."""
    found = getattr(span, "attributes", None)
    return found is None or _MAX_ATTRIBUTES is None or len(found) + count <= _MAX_ATTRIBUTES
