"""Limits: what all judges of one endpoint share: slots, rates, pauses, circuit breaker, retries."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from spanscore.errors import ConfigurationError, JudgeCallError, JudgeTimeoutError, MissingDependencyError

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

__all__ = ["Limits", "load", "shared_limits"]

_BURST_S: Final = 1.0  # so many seconds' worth may start at once
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 20.0
_TOO_MANY: Final = 429


@dataclass(slots=True, kw_only=True, eq=False)
class Limits:
    """How an endpoint is treated by all judges that are given this object, on any thread and event loop.

    A call that fails in a way that may pass (no connection, time-out, status 408, 409, 425, 429, 5xx) is
    made again after a random wait that grows, or after what ``Retry-After`` asks for; that pauses
    the other judges too. There is no further attempt where the wait would pass the verdict's deadline.

    Args:
        requests_per_minute: calls, evenly spread; None for no limit.
        tokens_per_minute: input and output tokens; until a call is answered, a quarter of its bytes
            and its ``max_tokens`` count. None for no limit.
        max_concurrency: verdicts under way at once, on each event loop.
        attempts: most calls for one answer.
        open_after: after so many failures in a row (status 429 is none) no call is made for
            ``cooldown_s`` seconds; then one, and the others if it succeeds.
        cooldown_s: see ``open_after``.

    Raises:
        ConfigurationError: a number that is not above 0.

    >>> Limits(requests_per_minute=600, tokens_per_minute=90_000).attempts
    4
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_concurrency: int = 64
    attempts: int = 4
    open_after: int = 20
    cooldown_s: float = 30.0
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _slots: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = field(default_factory=dict, init=False, repr=False)
    _requests_free_at: float = field(default=0.0, init=False, repr=False)
    _tokens_free_at: float = field(default=0.0, init=False, repr=False)
    _paused_until: float = field(default=0.0, init=False, repr=False)
    _failures: int = field(default=0, init=False, repr=False)
    _closed_until: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in (
            "requests_per_minute",
            "tokens_per_minute",
            "max_concurrency",
            "attempts",
            "open_after",
            "cooldown_s",
        ):
            value = getattr(self, name)
            if value is None and name.endswith("per_minute"):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
                raise ConfigurationError(f"Limits({name}={value!r}) is not allowed: give a number above 0")

    def slot(self) -> asyncio.Semaphore:
        """Return what bounds the verdicts under way on the running event loop; enter it for each."""
        loop = asyncio.get_running_loop()
        found = self._slots.get(loop)
        if found is None:
            with self._lock:
                for ended in [one for one in self._slots if one.is_closed()]:
                    del self._slots[ended]
                found = self._slots[loop] = asyncio.Semaphore(int(self.max_concurrency))
        return found

    async def turn(self, tokens: int, deadline: asyncio.Timeout) -> None:
        """Wait until a call of about ``tokens`` may be made; the wait for the own rates puts off the deadline.

        Raises:
            JudgeCallError: the endpoint is left alone: it failed too often, or asked for longer than
                the deadline allows.
        """
        self._check_circuit()
        if self._paused_until:
            await self._pause(deadline)
        if self.requests_per_minute is None and self.tokens_per_minute is None:
            return
        wait_s = self._reserve(tokens)
        if wait_s > 0:
            when = deadline.when()
            deadline.reschedule(None if when is None else when + wait_s)
            await asyncio.sleep(wait_s)

    def counted(self, reserved: int, used: int) -> None:
        """Correct the rate of tokens by what a call really used."""
        if self.tokens_per_minute is not None:
            with self._lock:
                self._tokens_free_at -= (reserved - used) * 60 / self.tokens_per_minute

    def succeeded(self) -> None:
        """Note that the endpoint answered."""
        self._failures = 0

    def failed(self, error: JudgeCallError | JudgeTimeoutError) -> None:
        """Note that a call failed, and how."""
        if isinstance(error, JudgeCallError):
            if error.retry_after_s is not None and error.transient:
                with self._lock:
                    self._paused_until = max(self._paused_until, time.monotonic() + error.retry_after_s)
            if error.status == _TOO_MANY:
                return
            if not error.transient:  # it is there, and refused this very request
                self.succeeded()
                return
        with self._lock:
            self._failures += 1
            if self._failures >= self.open_after:
                self._closed_until = time.monotonic() + self.cooldown_s

    def retrying(self, deadline: asyncio.Timeout) -> AsyncRetrying:
        """Return what calls a coroutine function again where that may help; it raises the last error."""
        tenacity = load()
        loop = asyncio.get_running_loop()

        def too_late(state: RetryCallState) -> bool:
            when = deadline.when()
            return when is not None and loop.time() + state.upcoming_sleep >= when

        retrying: AsyncRetrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_any(tenacity.stop_after_attempt(int(self.attempts)), too_late),
            wait=_wait_s,
            retry=tenacity.retry_if_exception(_may_pass),
            sleep=asyncio.sleep,
            reraise=True,
        )
        return retrying

    def _check_circuit(self) -> None:
        if self._failures < self.open_after:
            return
        with self._lock:
            now = time.monotonic()
            if now < self._closed_until:
                raise JudgeCallError(f"the judge's endpoint failed {self._failures} times in a row and is left alone")
            self._closed_until = now + self.cooldown_s  # this call finds out for all

    async def _pause(self, deadline: asyncio.Timeout) -> None:
        loop = asyncio.get_running_loop()
        while (wait_s := self._paused_until - time.monotonic()) > 0:
            when = deadline.when()
            if when is not None and loop.time() + wait_s >= when:
                told = (
                    f"the judge's endpoint asked to be left alone for {wait_s:.1f} s, longer than the deadline allows"
                )
                raise JudgeCallError(told, status=_TOO_MANY, retry_after_s=wait_s)
            await asyncio.sleep(wait_s * random.uniform(1.0, 1.1))  # noqa: S311 -- not all at once

    def _reserve(self, tokens: int) -> float:
        """Return the seconds to wait for a call's turn, which is taken."""
        with self._lock:
            now = time.monotonic()
            wait_s = 0.0
            if self.requests_per_minute is not None:
                begins = max(self._requests_free_at, now - _BURST_S)
                self._requests_free_at = begins + 60 / self.requests_per_minute
                wait_s = begins - now
            if self.tokens_per_minute is not None:
                begins = max(self._tokens_free_at, now - _BURST_S)
                self._tokens_free_at = begins + tokens * 60 / self.tokens_per_minute
                wait_s = max(wait_s, begins - now)
        return max(0.0, wait_s)


def load() -> Any:
    """Return tenacity; called at set-up, as loading it takes longer than an event loop may be kept waiting.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import tenacity
    except ImportError as error:
        raise MissingDependencyError("judges need tenacity: pip install 'spanscore[judge]'") from error
    return tenacity


@lru_cache(maxsize=256)
def shared_limits(endpoint: str) -> Limits:  # noqa: ARG001 -- it is the cache's key
    """Return the limits that all judges of an endpoint share that were given none."""
    return Limits()


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, JudgeTimeoutError) or (isinstance(error, JudgeCallError) and error.transient)


def _wait_s(state: RetryCallState) -> float:
    """Return the wait before the next attempt: a little more than was asked for, or a growing one."""
    error = state.outcome.exception() if state.outcome else None
    asked = getattr(error, "retry_after_s", None)
    if asked is not None:
        return float(asked) * random.uniform(1.0, 1.1)  # noqa: S311 -- not for secrets
    longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (state.attempt_number - 1))
    return random.uniform(longest / 2, longest)  # noqa: S311 -- not for secrets
