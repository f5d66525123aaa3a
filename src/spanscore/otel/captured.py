"""What is known of a decorated function before it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import attach, detach, get_current
from opentelemetry.trace import SpanKind

from spanscore.json_text import strict_json
from spanscore.otel.call import Call
from spanscore.otel.guard import EVALUATING, guarded_context
from spanscore.otel.log import log_once
from spanscore.otel.recording import EXPECTING, Recording, Refusal
from spanscore.step import MISSING

__all__ = ["Captured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What is known of a decorated function before it is called.

    Attributes:
        name: span name.
        static: attributes of every span.
        recording: how its calls are recorded.
        parameters: names of the positional parameters, without the object of a method.
        defaults: default values by parameter name.
        skipped: 1 for a method, whose first argument is not recorded, else 0.
        rest: name of the ``*args`` parameter.
        more: name of the ``**kwargs`` parameter, under which keywords stand that are also names of parameters.
        expected_of: gives the expected value of the arguments of a call.
    """

    name: str
    static: Mapping[str, str]
    recording: Recording
    parameters: tuple[str, ...]
    defaults: Mapping[str, Any]
    skipped: int
    rest: str
    more: str
    expected_of: Callable[..., Any] | None

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
            span = self.recording.tracer.start_span(self.name, context, SpanKind.INTERNAL, self.static)
            call = Call(self.recording, span, context, expected, name=self.name, static=self.static)
            if call.recording and self.recording.capture_content:
                call.record_input(self.inputs(arguments, keywords))
        except BaseException:  # the user's objects may raise anything; their program is not ours to break
            log_once("capture", "a call could not be captured; it runs without a span")
            return None
        return call

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
            return Refusal(error)
        finally:
            detach(token)
