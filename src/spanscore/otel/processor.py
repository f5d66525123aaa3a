"""EvaluatorSpanProcessor: match, evaluate, attach, forward."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Final

from opentelemetry import baggage
from opentelemetry.context import Context, get_value
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, Tracer, set_span_in_context

from spanscore import attributes as names
from spanscore.checks import Bound
from spanscore.errors import ConfigurationError
from spanscore.evaluation import Evaluation
from spanscore.expectations import Expectations
from spanscore.json_text import parse
from spanscore.otel import emit
from spanscore.otel.deferred import Deferred, Foreign
from spanscore.otel.guard import EVALUATING
from spanscore.otel.log import log_once, warn_once
from spanscore.otel.rebuild import rebuild, without_content
from spanscore.otel.trajectories import OpenRun, Trajectories
from spanscore.otel.worker import Job, Worker, reset_after_fork
from spanscore.score import SkipReason
from spanscore.step import MISSING

__all__ = ["EvaluatorSpanProcessor", "Events", "WATCHERS", "case_of"]

_logger = logging.getLogger(__name__)
Events = Sequence[tuple[str, Mapping[str, Any]]]
_Given = tuple[Mapping[str, Any], Events, Deferred | None]

WATCHERS: Final[dict[int, EvaluatorSpanProcessor]] = {}
"""Span id -> the processor that will hear of the end, for captured calls that are running."""


class EvaluatorSpanProcessor(SpanProcessor):
    """Scores spans on their way to the next processor.

    `on_end` hands a span that nothing is expected of straight to ``next``. Any other waits in a
    bounded queue, is scored on a worker thread, and goes on as a copy with its scores. Whatever
    goes wrong, the span goes on, with the reason on it.

    Args:
        next: the processor that exports, for example a BatchSpanProcessor.
        expectations: the registry.
        max_queue_size: spans that may wait at once; a further one goes on unscored, labelled
            ``skipped`` with the reason ``queue_full``.
        hold_timeout_s: how long a span waits for a judge; then it goes on labelled ``pending`` and
            the verdict follows as a carrier span.
        export_content: if False, or if ``SPANSCORE_EXPORT_CONTENT=false`` is set, input, output,
            expected values and explanations that quote them are scored but removed from what
            ``next`` is given, whoever recorded them.
        openinference: also write each score as an OpenInference annotation.

    Raises:
        ConfigurationError: a size or a time that is not above 0.
    """

    def __init__(
        self,
        next: SpanProcessor,
        expectations: Expectations | None = None,
        *,
        max_queue_size: int = 2048,
        hold_timeout_s: float = 30.0,
        export_content: bool = True,
        openinference: bool = False,
    ) -> None:
        if max_queue_size < 1 or hold_timeout_s <= 0:
            raise ConfigurationError(
                f"max_queue_size {max_queue_size!r} and hold_timeout_s {hold_timeout_s!r} must be above 0"
            )
        if not isinstance(next, SpanProcessor) or not isinstance(expectations, (Expectations, NoneType)):
            raise ConfigurationError(
                f"next {next!r} must be a SpanProcessor and expectations {expectations!r} Expectations or None; "
                "read a file with Expectations.load(path)"
            )
        self._next = next
        self.expectations = expectations if expectations is not None else Expectations()
        self.export_content = export_content and emit.export_content_of_environment()
        self.openinference = openinference
        self._worker = Worker(max_queue_size=max_queue_size, hold_timeout_s=hold_timeout_s)
        self._given: dict[int, _Given] = {}
        self._internal: set[int] = set()
        self._trajectories = Trajectories()
        self._outcomes: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._carrier_tracer: Tracer | None = None
        self._shut_down = False
        self._max_length = SpanLimits().max_span_attribute_length
        reset_after_fork(self._after_fork)
        emit.watch_queue(self._worker)

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How the matched spans ended: counts by ``pass``, ``fail``, ``scored``, ``error``, ``skipped``, ``dropped``.

        A span that went out ``pending`` is counted when its verdict has come.
        """
        with self._counting:
            return dict(self._outcomes)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Take note of a captured call and of its test case; never raises by itself."""
        try:
            self._note(span, parent_context)
        except Exception:  # the user's program is not ours to break
            log_once("on_start", "noting the start of a span failed")
        self._next.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Hand on or queue; neither waits nor raises by itself."""
        try:
            if self._queued(span):
                return
        except Exception:  # the user's program is not ours to break
            log_once("on_end", "matching a span failed; it goes on unscored")
        finally:
            if self._internal:
                self._internal.discard(span.context.span_id if span.context is not None else 0)
        self._forward(span)

    def _on_ending(self, span: Span) -> None:
        self._next._on_ending(span)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until what was queued is scored and exported; False if the time ran out."""
        deadline = time.monotonic() + timeout_millis / 1_000
        done = self._worker.flush(timeout_millis / 1_000)
        remaining = max(0, int((deadline - time.monotonic()) * 1_000))
        return done and self._next.force_flush(remaining) is not False

    def shutdown(self, timeout_millis: int = 30_000) -> None:
        """Score what is queued within the time, send on the rest unscored, then shut down ``next``."""
        if self._shut_down:
            return
        self._shut_down = True
        self._worker.shutdown(timeout_millis / 1_000)
        if self.expectations.unused:
            _logger.warning("these expectations matched no span: %s", ", ".join(self.expectations.unused))
        self._next.shutdown()

    def count(self, label: str) -> None:
        """Count the outcome of one matched span; for captured calls, which are scored before they end."""
        with self._counting:
            self._outcomes[label] += 1

    def give(
        self,
        span_id: int,
        added: Mapping[str, Any],
        events: Events = (),
        deferred: Deferred | None = None,
    ) -> None:
        """Take what a captured call adds to its span, which is about to end.

        Args:
            span_id: the span.
            added: attributes to add.
            events: events to add, as (name, attributes).
            deferred: the scores that are still to be made; None if they are among ``added``.
        """
        self._given[span_id] = (added, events, deferred)

    def is_alone_on(self, span: object) -> bool:
        """Return True if what the processor adds to its copy of the span is all that anyone exports.

        Then a captured call need not write to the live span, where each attribute and event costs
        more. Where the SDK's insides look otherwise than expected, it does.
        """
        try:
            limits, active = span._limits, span._span_processor  # type: ignore[attr-defined]  # private
            return active._span_processors == (self,) and limits.max_span_attribute_length is None
        except AttributeError:
            return False

    def wait_for_room(self, timeout_s: float = 30.0) -> None:
        """Wait until the queue has room; for callers that may wait, unlike `on_end`."""
        self._worker.wait_for_room(timeout_s)

    def bounds(self, span_name: str, found: Mapping[str, Any]) -> Sequence[Bound]:
        """Return what is expected of a span with these attributes.

        An instrumentation may give the expected value of a span itself, as JSON in ``spanscore.expected``.
        """
        matched = self.expectations.match(span_name, found)
        given = found.get(names.EXPECTED)
        if isinstance(given, str):
            return [item.bind(_decoded(given)) for item in matched]
        return [item.bound(case_of(found, item.case_key)) for item in matched]

    def expected(self, span_name: str, found: Mapping[str, Any]) -> Any:
        """Return the expected value that the registry has for a span, or MISSING."""
        checks = [bound.checks[0] for bound in self.bounds(span_name, found)]
        return next((check.expected for check in checks if check.expected is not MISSING), MISSING)

    def follow(self, span: object) -> None:
        """Keep the steps of the run below a captured call that has just begun."""
        context, parent = getattr(span, "context", None), getattr(span, "parent", None)
        if isinstance(context, SpanContext):
            self._trajectories.start(context, parent, wants=True, follow=True)

    def _note(self, span: Span, parent_context: Context | None) -> None:
        context = span.get_span_context()
        assert context is not None
        if get_value(EVALUATING, parent_context):
            self._internal.add(context.span_id)
            return
        scope = span.instrumentation_scope
        if scope is not None and scope.name == names.SCOPE:
            WATCHERS[context.span_id] = self
        if self.expectations.needs_trajectory or not self._trajectories.is_empty:
            wants = any(item.needs_trajectory for item in self.expectations.candidates(span.name))
            follow = self.expectations.needs_trajectory
            self._trajectories.start(context, span.parent, wants=wants, follow=follow)
        for key in self.expectations.case_keys:
            case = baggage.get_baggage(key, parent_context)
            if case is not None:
                span.set_attribute(names.CASE, str(case))

    def _queued(self, span: ReadableSpan) -> bool:
        """Queue the span if something is expected of it, or hand it on with what its call gave."""
        context = span.context
        if context is None:
            return False
        given = self._given.pop(context.span_id, None) if self._given else None
        deferred: Deferred | None
        if given is None:
            deferred = self._foreign(span, context)
        else:
            added, events, deferred = given
            if added or events:
                span = rebuild(span, added, events)
            if not context.trace_flags.sampled:
                deferred = None
        run = self._ended(span, context, deferred)
        if deferred is not None:
            self._submit(span, context, deferred, run)
        elif given is not None:
            self._forward(span)
        return deferred is not None or given is not None

    def _foreign(self, span: ReadableSpan, context: SpanContext) -> Foreign | None:
        """Return the scores to make of a span that nobody of ours captured, None if nothing is expected of it."""
        if not self.expectations.candidates(span.name) or not context.trace_flags.sampled:
            return None
        if context.span_id in self._internal:
            return None
        found = span.attributes or {}
        if names.LABEL in found or found.get(names.OPERATION_NAME) == names.EVALUATION_OPERATION:
            return None
        matched = self.expectations.match(span.name, found)
        if not matched:
            return None
        limit = getattr(getattr(span, "_attributes", None), "max_value_len", self._max_length)
        bounds = functools.partial(self.bounds, span.name, found)
        return Foreign(span, bounds, limit, any(item.needs_trajectory for item in matched))

    def _ended(self, span: ReadableSpan, context: SpanContext, deferred: Deferred | None) -> OpenRun | None:
        """Keep the span for the run it is a step of; return the run that it is the root of, if that is to be scored."""
        is_run = deferred is not None and deferred.needs_trajectory
        follow = self.expectations.needs_trajectory
        if not (is_run or follow) and self._trajectories.is_empty:
            return None
        if context.span_id in self._internal:
            return None
        return self._trajectories.end(span, context, follow=follow, is_run=is_run)

    def _submit(self, span: ReadableSpan, context: SpanContext, deferred: Deferred, run: OpenRun | None) -> None:
        content = self.export_content and deferred.content
        job = Job(
            trace_id=context.trace_id,
            deferred=deferred,
            deliver=lambda evaluation: self._attach(span, context, evaluation, content),
            deliver_late=lambda evaluation: self._follow(span, context, evaluation, content),
            run=run,
        )
        if self._worker.submit(job):
            return
        if run is not None:
            run.trajectory()
        reason: SkipReason = "shutdown" if self._shut_down else "queue_full"
        emit.record_dropped(reason)
        self.count("dropped")
        warn_once(reason, "the queue refused a span (%s); it goes on unscored", reason)
        refused = deferred.refused(reason)
        added = emit.score_attributes(refused, content=content, openinference=self.openinference)
        self._forward(rebuild(span, added, emit.score_events(refused)))

    def _attach(self, span: ReadableSpan, context: SpanContext, evaluation: Evaluation, content: bool) -> None:
        if not evaluation.awaited:
            self.count(evaluation.label)
        added = emit.score_attributes(evaluation, content=content, openinference=self.openinference)
        self._record(span, context, evaluation, content)
        self._forward(rebuild(span, added, emit.score_events(evaluation)))

    def _follow(self, span: ReadableSpan, context: SpanContext, evaluation: Evaluation, content: bool) -> None:
        self.count(evaluation.label)
        if self._carrier_tracer is None:
            provider = TracerProvider(resource=span.resource, shutdown_on_exit=False)
            provider.add_span_processor(self._next)
            self._carrier_tracer = provider.get_tracer(names.SCOPE, emit.VERSION)
        self._record(span, context, evaluation, content)
        emit.emit_carriers(self._carrier_tracer, context, evaluation, span.attributes or {}, content=content)

    def _record(self, span: ReadableSpan, context: SpanContext, evaluation: Evaluation, content: bool) -> None:
        target = set_span_in_context(NonRecordingSpan(context), Context())
        emit.record(evaluation, span.attributes or {}, target, content=content)

    def _forward(self, span: ReadableSpan) -> None:
        if not self.export_content:
            span = without_content(span)
        self._next.on_end(span)

    def _after_fork(self) -> None:
        self._counting = threading.Lock()
        self._outcomes.clear()
        self._given.clear()
        self._internal.clear()
        self._trajectories.reset()


def case_of(found: Mapping[str, Any], key: str | None) -> str | None:
    """Return the id of the test case that a span's attributes name, or None."""
    if key is None:
        return None
    case = found.get(key, found.get(names.CASE))
    return None if case is None else str(case)


def _decoded(text: str) -> Any:
    try:
        return parse(text.encode())
    except ValueError:
        return text
