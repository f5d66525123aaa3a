"""Trajectories: the spans of open traces, kept until the run that they are steps of can be scored."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from spanscore import attributes as names
from spanscore.errors import OutputDecodeError
from spanscore.otel.deferred import step_of
from spanscore.otel.emit import record_steps_dropped
from spanscore.otel.log import log_once
from spanscore.step import MISSING, Step, Trajectory

__all__ = ["OpenRun", "Trajectories"]

MAX_TRACES: Final = 1_024
MAX_SPANS: Final = 20_000  # of all traces together
MAX_SPANS_PER_TRACE: Final = 2_000
MAX_DROPPED: Final = 4_096  # traces that are remembered as dropped
MAX_IDLE_S: Final = 600.0
SETTLE_S: Final = 0.1  # some instrumentations make the spans of children after that of the root has ended
GRACE_S: Final = 2.0  # for children that are still open when the root ends


@dataclass(slots=True, eq=False)
class _Trace:
    """What is known of one trace.

    Attributes:
        parents: parent by span id.
        open: ids of the spans that have not ended -> whether a run is expected of the span.
        ended: the spans that have.
        lost: ids of those that could not be kept.
        runs: roots of runs that have ended and are to be scored.
        since_sweep: spans that ended since the unneeded ones were let go of.
    """

    parents: dict[int, int | None] = field(default_factory=dict)
    open: dict[int, bool] = field(default_factory=dict)
    ended: dict[int, ReadableSpan] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    last_used: float = 0.0
    since_sweep: int = 0
    is_swept: bool = False
    root_ended: bool = False
    is_dropped: bool = False

    def below(self, *roots: int) -> set[int]:
        """Return the ids of all spans below ``roots``, open ones too."""
        inside: dict[int, bool] = dict.fromkeys(roots, True)
        for span_id in self.parents:
            path: list[int] = []
            at: int | None = span_id
            while at is not None and at not in inside:
                path.append(at)
                inside[at] = False  # also ends a circle
                at = self.parents.get(at)
            for one in path:
                inside[one] = at is not None and inside[at]
        return {span_id for span_id, is_inside in inside.items() if is_inside}.difference(roots)

    def sweep(self) -> int:
        """Let go of what no run that is open or waits can need; return how many spans that were."""
        roots = [*self.runs, *(span_id for span_id, wants in self.open.items() if wants)]
        kept = self.below(*roots) | self.open.keys() | set(roots)
        before = len(self.ended)
        self.ended = {span_id: span for span_id, span in self.ended.items() if span_id in kept}
        self.parents = {span_id: parent for span_id, parent in self.parents.items() if span_id in kept}
        self.lost &= kept
        self.since_sweep, self.is_swept = 0, True
        return before - len(self.ended)


class Trajectories:
    """Keeps the spans of traces whose local root is open, within bounds; thread-safe, never blocks for long.

    What does not fit is dropped, counted as ``spanscore.trajectory.dropped``, and a run that lost
    steps says so in its Trajectory.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything; also in a forked child."""
        self._lock = threading.Lock()
        self._traces: OrderedDict[int, _Trace] = OrderedDict()
        self._dropped: OrderedDict[int, None] = OrderedDict()
        self._spans = 0

    @property
    def is_empty(self) -> bool:
        """Return True if no trace is followed."""
        return not self._traces

    def size(self) -> int:
        """Return how many ended spans are kept."""
        return self._spans

    def start(self, context: SpanContext, parent: SpanContext | None, *, wants: bool, follow: bool) -> None:
        """Take note of a span that starts.

        Args:
            context: the span.
            parent: its parent.
            wants: whether its run is to be scored, as far as its name tells.
            follow: whether its trace is followed from here on if it is not yet.
        """
        with self._lock:
            trace = self._trace(context.trace_id, make=follow or wants)
            if trace is not None:
                trace.parents[context.span_id] = _local(parent)
                trace.open[context.span_id] = wants
                self._keep_bounds()

    def end(self, span: ReadableSpan, context: SpanContext, *, follow: bool, is_run: bool) -> OpenRun | None:
        """Keep a span that has ended; return the run below it if ``is_run``."""
        with self._lock:
            trace = self._trace(context.trace_id, make=follow or is_run)
            if trace is None:
                return None
            span_id = context.span_id
            wanted = trace.open.pop(span_id, None)
            trace.parents[span_id] = parent = _local(span.parent)
            trace.root_ended |= parent is None
            if is_run:
                trace.runs.add(span_id)
            self._keep(trace, span_id, span)
            self._forget_if_over(context.trace_id, trace)
            self._keep_bounds()
            return OpenRun(self, context, trace, has_gaps=trace.is_swept and not wanted) if is_run else None

    def is_open_below(self, trace: _Trace, root: int) -> bool:
        """Return True if a span below ``root`` has not ended."""
        with self._lock:
            return bool(trace.open) and not trace.below(root).isdisjoint(trace.open)

    def take(self, context: SpanContext, trace: _Trace) -> tuple[list[ReadableSpan], int]:
        """Return the ended spans below a root, and how many were lost; the trace lets go of the run."""
        with self._lock:
            below = trace.below(context.span_id)
            found = [trace.ended[span_id] for span_id in below if span_id in trace.ended]
            late = len(below & trace.open.keys())
            trace.runs.discard(context.span_id)
            self._forget_if_over(context.trace_id, trace)
        if late:
            record_steps_dropped("late", late)
        return found, len(below & trace.lost) + trace.is_dropped

    def _trace(self, trace_id: int, *, make: bool) -> _Trace | None:
        trace = self._traces.get(trace_id)
        if trace is None:
            if not make:
                return None
            trace = self._traces[trace_id] = _Trace(is_dropped=trace_id in self._dropped)
        else:
            self._traces.move_to_end(trace_id)
        trace.last_used = time.monotonic()
        return trace

    def _keep(self, trace: _Trace, span_id: int, span: ReadableSpan) -> None:
        trace.since_sweep += 1
        if len(trace.ended) >= MAX_SPANS_PER_TRACE and trace.since_sweep > MAX_SPANS_PER_TRACE // 4:
            self._spans -= trace.sweep()
        if len(trace.ended) >= MAX_SPANS_PER_TRACE:
            trace.lost.add(span_id)
            record_steps_dropped("spans", 1)
        else:
            trace.ended[span_id] = span
            self._spans += 1

    def _forget_if_over(self, trace_id: int, trace: _Trace) -> None:
        if trace.root_ended and not trace.open and not trace.runs and self._traces.get(trace_id) is trace:
            del self._traces[trace_id]
            self._spans -= len(trace.ended)

    def _keep_bounds(self) -> None:
        """Drop the traces that nothing has happened in for longest, while there are too many or too old ones."""
        while self._traces:
            trace_id, oldest = next(iter(self._traces.items()))
            if len(self._traces) > MAX_TRACES:
                reason = "traces"
            elif self._spans > MAX_SPANS:
                reason = "spans"
            elif oldest.last_used < time.monotonic() - MAX_IDLE_S:
                reason = "age"
            else:
                return
            del self._traces[trace_id]
            self._dropped[trace_id] = None
            if len(self._dropped) > MAX_DROPPED:
                self._dropped.popitem(last=False)
            self._spans -= len(oldest.ended)
            record_steps_dropped(reason, len(oldest.ended))
            oldest.is_dropped = True
            oldest.ended.clear()


class OpenRun:
    """The run below one span that has ended: what the worker waits for and scores."""

    def __init__(self, kept: Trajectories, context: SpanContext, trace: _Trace, *, has_gaps: bool) -> None:
        self._kept = kept
        self._has_gaps = has_gaps
        self._context = context
        self._trace = trace
        self._ended = time.monotonic()

    def is_over(self) -> bool:
        """Return True if no more steps are waited for: all have ended, or the grace is over."""
        waited = time.monotonic() - self._ended
        if waited < SETTLE_S:
            return False
        return waited >= GRACE_S or not self._kept.is_open_below(self._trace, self._context.span_id)

    def trajectory(self) -> Trajectory:
        """Return the steps by start time, and let go of their spans."""
        spans, lost = self._kept.take(self._context, self._trace)
        spans.sort(key=lambda span: (span.start_time or 0, span.end_time or 0))
        steps = _with_arguments([step for span in spans for step in _steps(span)])
        return Trajectory(steps=tuple(steps), dropped=lost + self._has_gaps)


def _local(parent: SpanContext | None) -> int | None:
    return None if parent is None or parent.is_remote else parent.span_id


def _steps(span: ReadableSpan) -> Iterator[Step]:
    try:
        yield step_of(span)
    except OutputDecodeError:  # it was cut for export; that it happened is known all the same
        yield Step(name=span.name, operation=str((span.attributes or {}).get(names.OPERATION_NAME, "")))
    except Exception:  # a span of somebody else's may hold anything
        log_once("trajectory", "a span could not be read as a step; it counts without its content")
        yield Step(name=span.name)


def _with_arguments(steps: list[Step]) -> Iterator[Step]:
    """Give tool calls the arguments that the model asked for, where their own spans do not name them."""
    asked = {
        call["id"]: call["args"]
        for step in steps
        if isinstance(step.output, list)
        for call in step.output
        if isinstance(call, dict) and call.keys() == {"name", "args", "id"}
    }
    for step in steps:
        args = asked.get(step.attributes.get(names.TOOL_CALL_ID), MISSING)
        yield replace(step, input=args) if isinstance(args, dict) and not isinstance(step.input, dict) else step
