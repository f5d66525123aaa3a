"""Blocks of calls that alternate baseline and contender inside one process, and what came of them.

A machine's speed drifts; two blocks run one straight after the other drift together. So every ratio is
taken from such a pair, and what is shown is the median of the pairs' ratios with their spread.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

Block = Callable[[int, float], float]
"""Makes that many calls, that many seconds apart, and returns the seconds that the calls alone took."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Something to measure. ``delivered`` counts the spans that reached the exporter so far."""

    name: str
    block: Block
    flush: Callable[[], Any] = bool
    delivered: Callable[[], int] | None = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One block, in seconds: what the caller waited, and the CPU of all threads until all was flushed."""

    wall: float
    cpu: float


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Median, minimum and maximum over the rounds."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = 2 if self.median < 10 else 1
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}-{self.high:.{digits}f})"


def spread(values: Sequence[float]) -> Spread:
    """Return median, minimum and maximum."""
    return Spread(median=median(values), low=min(values), high=max(values))


@dataclass(kw_only=True)
class Result:
    """All rounds of one contender beside the baseline."""

    name: str
    calls: int
    pairs: list[tuple[Sample, Sample]] = field(default_factory=list)
    delivered: float | None = None

    def ratio(self, kind: str) -> Spread:
        """Return contender / baseline, for ``kind`` wall or cpu."""
        return spread([getattr(own, kind) / getattr(base, kind) for base, own in self.pairs])

    def added_us(self, kind: str) -> Spread:
        """Return contender - baseline in microseconds a call."""
        return spread([(getattr(own, kind) - getattr(base, kind)) / self.calls * 1e6 for base, own in self.pairs])

    def us(self, kind: str) -> float:
        """Return the contender's microseconds a call."""
        return median(getattr(own, kind) for _, own in self.pairs) / self.calls * 1e6


def calling(call: Callable[[], Any]) -> Block:
    """Return a block of calls of a function."""

    def block(calls: int, pause_s: float) -> float:
        clock, sleep = time.perf_counter, time.sleep
        if not pause_s:
            start = clock()
            for _ in range(calls):
                call()
            return clock() - start
        total = 0.0
        for _ in range(calls):
            sleep(pause_s)
            start = clock()
            call()
            total += clock() - start
        return total

    return block


def awaiting(call: Callable[[], Awaitable[Any]], loop: asyncio.AbstractEventLoop) -> Block:
    """Return a block of calls of a coroutine function, one after the other in one task."""

    async def run(calls: int, pause_s: float) -> float:
        clock, sleep = time.perf_counter, time.sleep  # asyncio.sleep cannot wait for less than a millisecond
        if not pause_s:
            start = clock()
            for _ in range(calls):
                await call()
            return clock() - start
        total = 0.0
        for _ in range(calls):
            sleep(pause_s)
            start = clock()
            await call()
            total += clock() - start
        return total

    return lambda calls, pause_s: loop.run_until_complete(run(calls, pause_s))


def interleave(
    baseline: Contender, contenders: Sequence[Contender], *, rounds: int = 15, calls: int = 1_500, pause_s: float = 0.0
) -> list[Result]:
    """Measure every contender in pairs with the baseline, which goes first in every other round.

    With ``pause_s`` the thread sleeps before each call, outside the measured wall time; the CPU of
    a loop that only sleeps, taken once a round, is subtracted from the CPU of both. Processors that
    idle change their speed more often, so the blocks of a pair then alternate in five slices, each
    long enough for the worker threads to wake in it.
    """
    slices = 5 if pause_s else 1
    idle = Contender(name="idle", block=calling(bool))
    for contender in (baseline, *contenders):
        _sample(contender, calls, 0.0)
    before = [contender.delivered() if contender.delivered else 0 for contender in contenders]
    results = [Result(name=contender.name, calls=calls) for contender in contenders]
    for number in range(rounds):
        sleeping = _sample(idle, calls, pause_s).cpu if pause_s else 0.0
        for contender, result in zip(contenders, results, strict=True):
            pair = [baseline, contender] if number % 2 else [contender, baseline]
            gc.collect()
            samples = [[_sample(one, calls // slices, pause_s) for one in pair] for _ in range(slices)]
            first, second = (_total(of_one, sleeping) for of_one in zip(*samples, strict=True))
            result.pairs.append((first, second) if number % 2 else (second, first))
    for contender, result, count in zip(contenders, results, before, strict=True):
        if contender.delivered:
            result.delivered = (contender.delivered() - count) / (rounds * calls)
    return results


def _sample(contender: Contender, calls: int, pause_s: float) -> Sample:
    cpu = time.process_time()
    wall = contender.block(calls, pause_s)
    contender.flush()
    return Sample(wall=wall, cpu=time.process_time() - cpu)


def _total(samples: Sequence[Sample], sleeping: float) -> Sample:
    return Sample(wall=sum(one.wall for one in samples), cpu=sum(one.cpu for one in samples) - sleeping)
