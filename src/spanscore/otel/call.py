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
from spanscore.content import export_text, sha256
from spanscore.evaluation import Evaluation, evaluate_live, fail_step, skip_step
from spanscore.expectations import Expectation
from spanscore.json_text import as_json, parse, serialise, strict_json
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
        more: name of the ``**kwargs`` parameter, under which keywords stand that are also names of parameters.
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
    more: str
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
            if self.skipped:
                arguments = arguments[1:]
            expected = context.get(EXPECTING, MISSING)
            if expected is MISSING and self.expected_of is not None:  # before the function can change its arguments
                expected = self._asked(self.expected_of, arguments, keywords)
            span = self.tracer.start_span(self.name, context, SpanKind.INTERNAL, self.static)
            call = Call(self, span, context, expected)
            if call.recording and self.capture_content:
                call.record_input(self.inputs(arguments, keywords))
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
            found = dict(zip(self.parameters, arguments, strict=False))
            if len(arguments) > len(self.parameters):
                found[self.rest] = arguments[len(self.parameters) :]
            if keywords:
                found = {**found, **keywords} if found.keys().isdisjoint(keywords) else {**found, self.more: keywords}
        missing = self.defaults.keys() - found.keys() if self.defaults else None
        return {**found, **{name: self.defaults[name] for name in missing}} if missing else found

    @staticmethod
    def _asked(expected_of: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the expected value that the user's function gives for a call, or why there is none."""
        token = attach(guarded_context())
        try:
            return strict_json(expected_of(*arguments, **keywords), "what the expected callable returned")
        except BaseException as error:  # the callable is the user's
            return _Refusal(error)
        finally:
            detach(token)


class _Refusal:
    """Stands in for an expected value that the user's function failed to give."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Call:
    """A captured call that is running.

    Attributes:
        context: the context to run the function in: its span is the current one.
        recording: False where the span is not sampled; then nothing is serialised or scored.
    """

    __slots__ = ("_captured", "_end_time_ns", "_expected", "_found", "_span", "context", "recording")

    def __init__(self, captured: Captured, span: Span, context: Context, expected: Any) -> None:
        self._captured = captured
        self._span = span
        self._found: dict[str, Any] = {}
        self._expected = expected
        if EXPECTING in context:  # it is for this call, not for the calls inside
            context = Context({key: value for key, value in context.items() if key != EXPECTING})
        self.context = set_span_in_context(span, context)
        self.recording = span.is_recording()

    def record_input(self, inputs: dict[str, Any]) -> None:
        """Serialise the arguments by name, once and before the function can change them."""
        _record(self._found, inputs, serialise(inputs), _INPUT_KEYS)

    def finish(self, output: Any) -> None:
        """End the span with the output and its scores; never raises."""
        self._end_time_ns = time.time_ns()
        if self.recording:
            try:
                value, data = as_json(output)
                if self._captured.capture_content:
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
            _record(found, *as_json(output), _OUTPUT_KEYS)
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
        bounds = self._bounds(watcher)
        if not bounds:
            self._write(None, watcher)
        elif type(self._expected) is _Refusal:
            self._write(fail_step(bounds, self._expected.error), watcher)
        elif self._is_long(len(data), bounds):
            read = functools.partial(self._captured.step, data)
            self._defer(Unread(read, bounds, self._captured.capture_content), bounds, watcher)
        else:
            evaluation = self._evaluated(output, data, bounds)
            if evaluation.awaited:
                self._defer(Begun(evaluation, self._captured.capture_content), bounds, watcher)
            else:
                self._write(evaluation, watcher)

    def _is_long(self, size: int, bounds: Sequence[Bound]) -> bool:
        """Return True if the caller would wait for the scores: comparing texts takes the product of their lengths."""
        if size > self._captured.inline_max_bytes:
            return True
        expected = bounds[0].expected_bytes if len(bounds) == 1 else max([bound.expected_bytes for bound in bounds])
        return size * expected > _MAX_INLINE_PRODUCT

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
        captured, context = self._captured, self._span.get_span_context()
        if watcher is not None:
            on_copy = watcher.is_alone_on(self._span) or len(self._found) > _room(self._span)
            watcher.give(context.span_id, self._found if on_copy else {}, (), deferred)
            if not on_copy:
                self._set_attributes()
        else:
            self._found[names.LABEL] = "pending"
            self._found[names.EXPECTATION] = ",".join(bound.id for bound in bounds)
            follow(captured.tracer, captured.static, context, deferred, content=captured.capture_content)
            self._set_attributes()

    def _watcher(self) -> EvaluatorSpanProcessor | None:
        return WATCHERS.pop(self._span.get_span_context().span_id, None) if WATCHERS else None

    def _bounds(self, watcher: EvaluatorSpanProcessor | None) -> Sequence[Bound]:
        """Return what is expected of this call: by the decorator, else by the processor's registry."""
        captured, expected = self._captured, self._expected
        expectation = captured.expectation
        if expectation is not None:
            if type(expected) is _Refusal:
                return (expectation.bound(None),)
            if expected is not MISSING:
                return (expectation.bind(expected),)
            if watcher is not None and expectation.expected is MISSING:
                return (expectation.bind(watcher.expected(captured.name, self._attributes())),)
            return (expectation.bound(None),)
        if watcher is None or not watcher.expectations.candidates(captured.name):
            return ()
        if expected is MISSING:
            return watcher.bounds(captured.name, self._attributes())
        return [item.bind(expected) for item in watcher.expectations.match(captured.name, self._attributes())]

    def _attributes(self) -> Mapping[str, Any]:
        return getattr(self._span, "attributes", None) or self._captured.static

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
