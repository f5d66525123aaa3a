"""Scores that are still to be made when a span ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from spanscore import attributes as names
from spanscore.checks import Bound
from spanscore.content import from_attributes
from spanscore.errors import OutputDecodeError
from spanscore.evaluation import Evaluation, evaluate_step, fail_step, skip_step
from spanscore.otel.log import warn_once
from spanscore.score import SkipReason
from spanscore.step import MISSING, Step

__all__ = ["Begun", "Deferred", "Foreign", "Unread"]

_NO_CONTENT: Final = (
    "span %r matches an expectation but holds no output, so it is skipped. Content capture is off by default in most "
    "instrumentations: set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY, or the switch of yours"
)


class Deferred(Protocol):
    """Scores that are still to be made when a span ends."""

    @property
    def content(self) -> bool:
        """Whether values may stand on the span, as far as the capturing side has a say."""
        ...

    def evaluate(self) -> Evaluation:
        """Return the scores; runs on the worker's thread and never raises."""
        ...

    def refused(self, reason: SkipReason) -> Evaluation:
        """Return what stands on the span if they cannot be made."""
        ...


@dataclass(frozen=True, slots=True)
class Unread:
    """The scores of an output that is too large for the caller's thread."""

    read: Callable[[], Step]
    bounds: Sequence[Bound]
    content: bool

    def evaluate(self) -> Evaluation:
        """Return the scores."""
        return evaluate_step(self.read(), self.bounds)

    def refused(self, reason: SkipReason) -> Evaluation:
        """Return them as skipped."""
        return skip_step(self.bounds, reason)


@dataclass(frozen=True, slots=True)
class Begun:
    """Scores of which some are there and others must be awaited."""

    evaluation: Evaluation
    content: bool

    def evaluate(self) -> Evaluation:
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
    content: bool = True

    def evaluate(self) -> Evaluation:
        """Return the scores."""
        span, bounds = self.span, self.bounds()
        found = span.attributes or {}
        error = _error_type(span)
        try:
            step = from_attributes(span.name, found, error, self.max_length)
        except OutputDecodeError as undecodable:
            return fail_step(bounds, undecodable)
        if error is not None:
            return skip_step(bounds, "exception", f"the operation ended with {error}")
        if step.output is MISSING:
            warn_once("no_content", _NO_CONTENT, span.name)
            return skip_step(bounds, "no_content", "the span holds no output")
        return evaluate_step(step, bounds)

    def refused(self, reason: SkipReason) -> Evaluation:
        """Return them as skipped."""
        return skip_step(self.bounds(), reason)


def _error_type(span: ReadableSpan) -> str | None:
    if span.status.status_code is not StatusCode.ERROR:
        return None
    return str((span.attributes or {}).get(names.ERROR_TYPE, "an error"))
