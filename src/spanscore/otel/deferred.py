"""Scores that are still to be made when a span ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode, format_trace_id

from spanscore import attributes as names
from spanscore.checks import Bound
from spanscore.content import from_attributes
from spanscore.conventions import switch_of
from spanscore.errors import OutputDecodeError
from spanscore.evaluation import Evaluation, evaluate_step, fail_step, skip_step
from spanscore.otel.log import warn_once
from spanscore.score import SkipReason
from spanscore.step import MISSING, Step, Trajectory

__all__ = ["Begun", "Deferred", "Foreign", "Unread", "step_of"]

_NO_CONTENT: Final = (
    "span %r matches an expectation but holds no output, so it is skipped. "
    "To record what goes in and comes out, set for its instrumentation (%s): %s"
)
_ANY_SWITCH: Final = (
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY, or its own switch (docs/conventions.md)"
)


class Deferred(Protocol):
    """Scores that are still to be made when a span ends."""

    @property
    def content(self) -> bool:
        """Whether values may stand on the span, as far as the capturing side has a say."""
        ...

    @property
    def needs_trajectory(self) -> bool:
        """Whether the steps of the run must be gathered first."""
        ...

    def evaluate(self, trajectory: Trajectory | None = None) -> Evaluation:
        """Return the scores; runs on the worker's thread and never raises."""
        ...

    def refused(self, reason: SkipReason) -> Evaluation:
        """Return what stands on the span if they cannot be made."""
        ...


@dataclass(frozen=True, slots=True)
class Unread:
    """The scores of a captured output that is too large for the caller's thread, or needs more than itself."""

    read: Callable[[], Step]
    bounds: Sequence[Bound]
    content: bool

    @property
    def needs_trajectory(self) -> bool:
        """Whether the steps of the run must be gathered first."""
        return any(bound.needs_trajectory for bound in self.bounds)

    def evaluate(self, trajectory: Trajectory | None = None) -> Evaluation:
        """Return the scores."""
        return evaluate_step(replace(self.read(), trajectory=trajectory), self.bounds)

    def refused(self, reason: SkipReason) -> Evaluation:
        """Return them as skipped."""
        return skip_step(self.bounds, reason)


@dataclass(frozen=True, slots=True)
class Begun:
    """Scores of which some are there and others must be awaited."""

    evaluation: Evaluation
    content: bool
    needs_trajectory: bool = False

    def evaluate(self, trajectory: Trajectory | None = None) -> Evaluation:
        """Return the scores."""
        return self.evaluation

    def refused(self, reason: SkipReason) -> Evaluation:
        """Return them as skipped."""
        return self.evaluation.abandoned(reason)


@dataclass(frozen=True, slots=True)
class Foreign:
    """The scores of a span that another instrumentation made: from its attributes."""

    span: ReadableSpan
    bounds: Callable[[], Sequence[Bound]]
    max_length: int | None
    needs_trajectory: bool = False
    content: bool = True

    def evaluate(self, trajectory: Trajectory | None = None) -> Evaluation:
        """Return the scores."""
        span, bounds = self.span, self.bounds()
        try:
            step = step_of(span, self.max_length)
        except OutputDecodeError as undecodable:
            return fail_step(bounds, undecodable)
        if step.error is not None:
            told = f"the operation ended with {step.error}"
            return skip_step(bounds, "exception", told, convention=step.convention)
        if step.output is MISSING and not all(check.needs_trajectory for bound in bounds for check in bound.checks):
            _tell_switch(span.name, step.convention)
        return evaluate_step(replace(step, trajectory=trajectory), bounds)

    def refused(self, reason: SkipReason) -> Evaluation:
        """Return them as skipped."""
        return skip_step(self.bounds(), reason)


def _tell_switch(span_name: str, convention: str) -> None:
    """Log once a convention how content is recorded."""
    switch = switch_of(convention) or _ANY_SWITCH
    warn_once(f"no_content {convention}", _NO_CONTENT, span_name, convention or "not known", switch)


def step_of(span: ReadableSpan, max_length: int | None = None) -> Step:
    """Return the Step that a finished span describes.

    Raises:
        OutputDecodeError: its output was cut, by the length limit for attribute values or for export.
    """
    scope = span.instrumentation_scope
    return from_attributes(
        span.name,
        span.attributes or {},
        _error_type(span),
        max_length,
        events=[(event.name, event.attributes or {}) for event in span.events],
        scope="" if scope is None else scope.name,
        trace_id=None if span.context is None else format_trace_id(span.context.trace_id),
        duration_s=_duration_s(span),
    )


def _duration_s(span: ReadableSpan) -> float | None:
    if span.start_time is None or span.end_time is None:
        return None
    return (span.end_time - span.start_time) / 1e9


def _error_type(span: ReadableSpan) -> str | None:
    if span.status.status_code is not StatusCode.ERROR:
        return None
    return str((span.attributes or {}).get(names.ERROR_TYPE, "an error"))
