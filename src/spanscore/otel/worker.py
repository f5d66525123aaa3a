"""Worker: scores spans off the caller's thread, holds them for judges, and loses none.

One thread runs deterministic evaluators and hands spans on; an event loop of its own, in a second
thread that starts with the first verdict to await, runs the others. Both are daemons: what is
still under way when the process ends is finished or given up by `shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Protocol

from opentelemetry.context import attach, detach

from spanscore.evaluation import Evaluation
from spanscore.otel.deferred import Deferred
from spanscore.otel.guard import guarded_context
from spanscore.step import Trajectory

__all__ = ["Job", "Run", "Worker", "reset_after_fork"]

_logger = logging.getLogger(__name__)
_TICK_S: Final = 0.1
_IDLE_S: Final = 5.0
_LATE_FACTOR: Final = 10  # a verdict is given up after so many times the time that a span is held for it
_BATCH: Final = 64
_CLOSING_S: Final = 1.0  # judges close their connections; one that hangs keeps its thread


class Run(Protocol):
    """The run that a span is the root of: its steps may still be coming in."""

    def is_over(self) -> bool:
        """Return True if no more steps are waited for."""
        ...

    def trajectory(self) -> Trajectory:
        """Return the steps that came in, and let go of them."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One span to score.

    Attributes:
        trace_id: jobs of one trace are delivered in the order they came.
        deferred: makes the scores, on the worker's thread.
        deliver: sends the span on with its scores; called exactly once, whatever happens.
        deliver_late: sends verdicts that came after the span had to go.
        run: the run whose steps are waited for before the scores are made, or None.
    """

    trace_id: int
    deferred: Deferred
    deliver: Callable[[Evaluation], None]
    deliver_late: Callable[[Evaluation], None]
    run: Run | None = None
    evaluation: Evaluation | None = None
    verdict: Future[Evaluation] | None = None
    deadline: float = 0.0


class Worker:
    """A bounded queue of jobs and the threads that work on them.

    Args:
        max_queue_size: spans that may wait at once, for judges too; the newest is refused when full.
            As many verdicts may be awaited beyond that for spans that went out as ``pending``.
        hold_timeout_s: a span waits this long for a verdict, then goes out as ``pending``. After ten
            times as long the verdict is given up: an error of the type ``TimeoutError``.
    """

    def __init__(self, *, max_queue_size: int, hold_timeout_s: float) -> None:
        self._max_queue_size = max_queue_size
        self._hold_timeout_s = hold_timeout_s
        self._closed = False
        self._reset()
        reset_after_fork(self._reset)

    def _reset(self) -> None:
        """Start empty; also in a forked child, whose parent goes on with what was queued."""
        self._queue: deque[Job] = deque()
        self._held: dict[int, deque[Job]] = {}
        self._undelivered: set[Job] = set()
        self._late: set[Job] = set()
        self._busy = False
        self._wake = threading.Event()
        self._changed = threading.Condition()
        self._starting = threading.Lock()
        self._pumping = threading.RLock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._judging: threading.Thread | None = None

    def size(self) -> int:
        """Return how many jobs wait, judges' included."""
        return len(self._undelivered) + len(self._late)

    def submit(self, job: Job) -> bool:
        """Queue a job without waiting; return False if the queue is full or closed."""
        if self._closed or len(self._undelivered) >= self._max_queue_size:
            return False
        self._undelivered.add(job)
        self._queue.append(job)
        if self._thread is None:
            self._start()
        if len(self._queue) >= _BATCH:
            self._wake.set()
        return True

    def wait_for_room(self, timeout_s: float) -> None:
        """Wait until a job can be submitted, or the time is over."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while len(self._undelivered) >= self._max_queue_size and time.monotonic() < deadline:
                self._wake.set()
                self._changed.wait(_TICK_S)

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything queued is delivered, verdicts included; False if time ran out."""
        deadline = time.monotonic() + timeout_s
        if self._thread is None or not self._thread.is_alive() or self._thread is threading.current_thread():
            self._pump(at_once=True)
        self._wake.set()
        with self._changed:
            while self.size() or self._busy:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self._changed.wait(min(remaining, _TICK_S))  # the worker looks by itself; waking it here would spin
        return True

    def shutdown(self, timeout_s: float) -> None:
        """Refuse new jobs, wait for the others, then send out what is left without its verdict."""
        if self._closed:
            return
        self._closed = True
        self.flush(timeout_s)
        self._give_up()
        self._wake.set()
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
        if self._judging is not None and self._judging is not threading.current_thread():
            self._judging.join(_CLOSING_S)

    def _start(self) -> None:
        with self._starting:
            if self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="spanscore-worker", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is shutting down; flush does the work
                return
            self._thread = thread

    def _run(self) -> None:
        used = time.monotonic()
        while not (self._closed and not self.size()):
            self._wake.wait(_TICK_S)
            self._wake.clear()
            if self.size():
                used = time.monotonic()
                try:
                    self._pump()
                except BaseException:  # an evaluator that calls sys.exit must not end the thread
                    _logger.exception("scoring a span failed")
            elif time.monotonic() - used > _IDLE_S and self._retired():
                return

    def _retired(self) -> bool:
        """Let go of the thread of a worker that has nothing to do; the next job starts another."""
        self._thread = None  # before the look at the queue: `submit` looks here after it has queued
        return not self.size() or not self._resumed()

    def _resumed(self) -> bool:
        with self._starting:
            if self._thread is not None:
                return False
            self._thread = threading.current_thread()
            return True

    def _pump(self, *, at_once: bool = False) -> None:
        """Work off the queue and hand on whatever is ready; ``at_once`` without waiting for the steps of runs."""
        with self._pumping:
            self._busy = True
            token = attach(guarded_context())
            done = 0
            try:
                while self._queue:
                    job = self._queue.popleft()
                    if job not in self._undelivered:  # given up meanwhile
                        continue
                    if job.run is None or at_once or job.run.is_over():
                        self._evaluate(job)
                    self._hand_on(job)
                    done += 1
                    if self._held and done % _BATCH == 0:  # it looks at all that is held
                        self._release(at_once=at_once)
                self._release(at_once=at_once)
            finally:
                detach(token)
                self._busy = False
        with self._changed:
            self._changed.notify_all()

    def _evaluate(self, job: Job) -> None:
        try:
            job.evaluation = job.deferred.evaluate(None if job.run is None else job.run.trajectory())
        except BaseException:  # values may fail to be read back; the span goes on
            _logger.exception("scoring a span failed")
            job.evaluation = job.deferred.refused("incomplete")
        if job.evaluation.awaited:
            loop = self._running_loop()
            if loop is None:
                job.evaluation = job.evaluation.abandoned("shutdown")
            else:
                job.deadline = time.monotonic() + self._hold_timeout_s
                job.verdict = asyncio.run_coroutine_threadsafe(job.evaluation.settled(), loop)
                job.verdict.add_done_callback(lambda _: self._wake.set())

    def _hand_on(self, job: Job) -> None:
        """Deliver a job that nothing stands before in its trace, or hold it."""
        if job.evaluation is not None and job.verdict is None and job.trace_id not in self._held:
            self._deliver(job, job.evaluation)
        else:
            self._held.setdefault(job.trace_id, deque()).append(job)

    def _running_loop(self) -> asyncio.AbstractEventLoop | None:
        if self._loop is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_run_loop, args=(loop,), name="spanscore-judges", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is shutting down
                loop.close()
                return None
            self._loop, self._judging = loop, thread
        return self._loop

    def _release(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        for trace_id, jobs in list(self._held.items()):
            for job in jobs:
                if job.evaluation is None and job.run is not None and (at_once or job.run.is_over()):
                    self._evaluate(job)
            while jobs and (evaluation := _ready(jobs[0], now)) is not None:
                self._deliver(jobs.popleft(), evaluation)
            if not jobs:
                del self._held[trace_id]
        for job in list(self._late):
            if job.verdict is not None and job.verdict.done():
                self._deliver_late(job, _verdict(job))
            elif now >= job.deadline + (_LATE_FACTOR - 1) * self._hold_timeout_s:
                self._deliver_late(job, _timed_out(job))

    def _give_up(self) -> None:
        """Send out what is left; without the lock, which an evaluator that hangs keeps."""
        for job in list(self._undelivered):
            given_up = (
                job.deferred.refused("shutdown") if job.evaluation is None else job.evaluation.abandoned("shutdown")
            )
            self._deliver(job, given_up)
        for job in list(self._late):
            assert job.evaluation is not None
            self._deliver_late(job, job.evaluation.abandoned("shutdown"))

    def _deliver(self, job: Job, evaluation: Evaluation) -> None:
        try:
            self._undelivered.remove(job)  # whoever removes it delivers it
        except KeyError:
            return
        if evaluation.awaited and len(self._late) >= self._max_queue_size:
            evaluation = _timed_out(job)
        if evaluation.awaited:
            self._late.add(job)
        elif job.verdict is not None:
            job.verdict.cancel()
        _call(job.deliver, evaluation)

    def _deliver_late(self, job: Job, evaluation: Evaluation) -> None:
        try:
            self._late.remove(job)
        except KeyError:
            return
        if job.verdict is not None:
            job.verdict.cancel()
        _call(job.deliver_late, evaluation)


def reset_after_fork(method: Callable[[], None]) -> None:
    """Call a bound method in every forked child, for as long as its object lives."""
    if hasattr(os, "register_at_fork"):
        found = weakref.WeakMethod(method)
        os.register_at_fork(after_in_child=lambda: (alive := found()) and alive())


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.run_until_complete(asyncio.sleep(0))  # lets cancelled verdicts end
    loop.run_until_complete(loop.shutdown_asyncgens())  # closes a judge's connections
    loop.close()


def _ready(job: Job, now: float) -> Evaluation | None:
    """Return what the job's span goes out with, or None while it is held."""
    if job.evaluation is None:
        return None
    if job.verdict is None:
        return job.evaluation
    if job.verdict.done():
        return _verdict(job)
    return job.evaluation if now >= job.deadline else None


def _timed_out(job: Job) -> Evaluation:
    assert job.evaluation is not None
    return job.evaluation.failed(TimeoutError("no verdict in time"))


def _verdict(job: Job) -> Evaluation:
    assert job.verdict is not None
    assert job.evaluation is not None
    if job.verdict.cancelled() or job.verdict.exception() is not None:
        return job.evaluation.abandoned("shutdown")
    return job.verdict.result()


def _call(deliver: Callable[[Evaluation], None], evaluation: Evaluation) -> None:
    try:
        deliver(evaluation)
    except Exception:  # the next processor is not ours
        _logger.exception("handing on a scored span failed")
