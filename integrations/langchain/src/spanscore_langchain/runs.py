"""The runs that have started and not ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from opentelemetry.trace import SpanContext

from spanscore import MISSING, Call
from spanscore_langchain.ambient import Ambient

__all__ = ["Run", "Runs"]

_GRACE_S: Final = 5.0
_MAX_WAITING: Final = 1_024


class Run:
    """One run that has started.

    Attributes:
        run_id: LangChain's id of it.
        call: its span; None where no span is made.
        parent: the run that it is part of.
        root: the run that has no parent, maybe this one.
        live: of a root, all runs below it that have not ended.
        expected: the expected value that its metadata give, also to the runs below it.
        agent: name of the agent that it is part of, or "".
        thread: id of the conversation, or None.
        interrupted: True once a part of it was interrupted.
        ambient: the current span while it runs, for tools and nodes.
        deadline: of a root, when it is given up.
        closed: True of a root that has ended before the runs below it.
        other: attributes for the span that another instrumentation makes for it; None where that is not done.
    """

    __slots__ = (
        "agent",
        "ambient",
        "call",
        "closed",
        "deadline",
        "expected",
        "interrupted",
        "live",
        "other",
        "parent",
        "root",
        "run_id",
        "thread",
    )

    def __init__(self, run_id: UUID, call: Call | None, parent: Run | None) -> None:
        self.run_id = run_id
        self.call = call
        self.parent = parent
        self.root: Run = self if parent is None else parent.root
        self.live: dict[UUID, Run] = {}
        self.expected: Any = MISSING
        self.agent = ""
        self.thread: str | None = None
        self.interrupted = False
        self.ambient: Ambient | None = None
        self.deadline = 0.0
        self.closed = False
        self.other: dict[str, Any] | None = None

    def leave(self) -> None:
        """Let go of the runs above and below it, and of the current span."""
        if self.ambient is not None:
            self.ambient.leave()
            self.ambient = None
        self.parent = None


class Runs:
    """The table of runs; safe for many threads. What never ends is given up by age and by number.

    Args:
        max_age_s: a root that has not ended after so many seconds is given up, with all below it.
        max_roots: so many roots are kept; beyond that the oldest is given up.
    """

    def __init__(self, *, max_age_s: float, max_roots: int) -> None:
        self._max_age_s = max_age_s
        self._max_roots = max_roots
        self._runs: dict[UUID, Run] = {}
        self._roots: dict[UUID, Run] = {}
        self._closing: dict[UUID, Run] = {}
        self._waiting: dict[str, SpanContext] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._runs) + len(self._roots) + len(self._closing)

    def get(self, run_id: UUID | None) -> Run | None:
        """Return a run that has not ended."""
        return None if run_id is None else self._runs.get(run_id)

    def add(self, run: Run) -> None:
        """Keep a run until it ends, and give up what is overdue."""
        self._runs[run.run_id] = run
        root = run.root
        if root is not run:
            root.live[run.run_id] = run
            return
        run.deadline = time.monotonic() + self._max_age_s
        with self._lock:
            self._roots[run.run_id] = run

    def pop(self, run_id: UUID) -> Run | None:
        """Take out a run that ends; None if it is not known."""
        run = self._runs.pop(run_id, None)
        if run is None:
            return None
        root = run.root
        if root is run:
            with self._lock:
                self._roots.pop(run_id, None)
        else:
            root.live.pop(run_id, None)
            if self._closing and not root.live:
                with self._lock:
                    self._closing.pop(root.run_id, None)
        return run

    def below(self, root: Run) -> Iterator[Run]:
        """Take out all that is left below a root."""
        for run_id, run in list(root.live.items()):
            root.live.pop(run_id, None)
            if self._runs.pop(run_id, None) is not None:
                yield run

    def close(self, root: Run) -> None:
        """Leave the runs below a stream that was left some seconds to report their own end."""
        root.deadline = time.monotonic() + _GRACE_S
        root.closed = True
        with self._lock:
            if root.live:
                self._closing[root.run_id] = root

    def overdue(self) -> list[Run]:
        """Take out the roots that are to be given up."""
        if not self._closing and not self._roots:
            return []
        found: list[Run] = []
        now = time.monotonic()
        with self._lock:
            for table, most in ((self._roots, self._max_roots), (self._closing, self._max_roots)):
                while table:
                    root = next(iter(table.values()))
                    if root.deadline > now and len(table) <= most:
                        break
                    del table[root.run_id]
                    self._runs.pop(root.run_id, None)
                    found.append(root)
        return found

    def wait(self, thread: str, span: SpanContext) -> None:
        """Remember the run of a conversation that waits for its user."""
        with self._lock:
            self._waiting.pop(thread, None)
            self._waiting[thread] = span
            if len(self._waiting) > _MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]

    def resumed(self, thread: str) -> SpanContext | None:
        """Return the run that waited in a conversation, once."""
        return self._waiting.pop(thread, None)
