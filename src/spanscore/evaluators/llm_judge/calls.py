"""Calls: the requests of one verdict, each within its limits and budget, and what they used."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, replace
from typing import Final

import orjson

from spanscore.errors import JudgeCallError, JudgeResponseError, JudgeTimeoutError, SpanscoreError
from spanscore.evaluators.llm_judge.budget import Budget, Price, Reservation, Usage
from spanscore.evaluators.llm_judge.client import JudgeClient, JudgeReply, JudgeRequest
from spanscore.evaluators.llm_judge.limits import Limits

__all__ = ["Calls"]

_BUSY_S: Final = 0.001
_REST_S: Final = 0.00002
_rested_at = 0.0


@dataclass(slots=True, kw_only=True)
class Calls:
    """The requests of one verdict.

    Attributes:
        deadline: of the verdict; `Limits.turn` may put it off.
        usage: what they used so far.
    """

    client: JudgeClient
    limits: Limits
    budget: Budget | None
    price: Price | None
    deadline: asyncio.Timeout
    usage: Usage

    async def reply(self, request: JudgeRequest) -> JudgeReply:
        """Return the answer to a request, which is made again where that may help.

        Raises:
            JudgeError: there is none.
        """
        try:
            return await self._attempt(request)
        except (JudgeCallError, JudgeTimeoutError) as error:
            failures = [error]

        async def attempt() -> JudgeReply:
            if failures:
                raise failures.pop()
            return await self._attempt(request)

        # The first failure is handed to tenacity instead of the first attempt: 0.1 ms less for what succeeds.
        reply: JudgeReply = await self.limits.retrying(self.deadline)(attempt)
        return reply

    async def _attempt(self, request: JudgeRequest) -> JudgeReply:
        size = self._size(request)
        expected = size // 4 + (request.max_tokens or 0)
        await self.limits.turn(expected, self.deadline)
        reservation = self._reserved(size + (request.max_tokens or 0), request.max_tokens or 0)
        self.usage = replace(self.usage, calls=self.usage.calls + 1)
        _let_others_run()
        try:
            reply = await self._completed(request)
        except BaseException as error:
            refused = isinstance(error, JudgeCallError) and (error.status is not None or not error.sent)
            self._settle(reservation, 0 if refused else None)
            if isinstance(error, (JudgeCallError, JudgeTimeoutError)):
                self.limits.failed(error)
            raise
        _let_others_run()
        self.limits.succeeded()
        self._count(reply, reservation, expected)
        return reply

    async def _completed(self, request: JudgeRequest) -> JudgeReply:
        try:
            reply = await self.client.complete(request)
        except SpanscoreError:
            raise
        except TimeoutError:
            raise JudgeTimeoutError(f"the judge did not answer within {request.timeout_s:g} s") from None
        except Exception as error:  # a client of the user's may raise anything
            raise JudgeCallError(f"the judge's client raised {type(error).__name__}") from error
        if not isinstance(reply, JudgeReply):
            raise JudgeResponseError(f"the judge's client returned {type(reply).__name__}, not a JudgeReply")
        return reply

    def _size(self, request: JudgeRequest) -> int:
        """Return the bytes of a request, which are more than its tokens; 0 where nobody wants to know."""
        if self.budget is None and self.limits.tokens_per_minute is None:
            return 0
        return len(orjson.dumps(request.body()))

    def _reserved(self, tokens: int, output_tokens: int) -> Reservation | None:
        if self.budget is None:
            return None
        cost = self.price.cost_usd(tokens - output_tokens, output_tokens) if self.price else 0.0
        return self.budget.reserve(tokens, cost)

    def _count(self, reply: JudgeReply, reservation: Reservation | None, expected: int) -> None:
        known = reply.input_tokens is not None and reply.output_tokens is not None
        input_tokens, output_tokens = reply.input_tokens or 0, reply.output_tokens or 0
        used = input_tokens + output_tokens
        cost = self.price.cost_usd(input_tokens, output_tokens) if self.price else None
        self._settle(reservation, used if known else None, cost or 0.0)
        if known:
            self.limits.counted(expected, used)
        before = self.usage
        self.usage = Usage(
            calls=before.calls,
            input_tokens=before.input_tokens + input_tokens,
            output_tokens=before.output_tokens + output_tokens,
            cost_usd=None if cost is None else (before.cost_usd or 0.0) + cost,
        )

    def _settle(self, reservation: Reservation | None, tokens: int | None, cost_usd: float = 0.0) -> None:
        """Count what a call used; None if nobody knows: then all that it could have used."""
        if self.budget is None or reservation is None:
            return
        if tokens is None:
            self.budget.settle(reservation, reservation.tokens, reservation.cost_usd)
        else:
            self.budget.settle(reservation, tokens, cost_usd)


def _let_others_run() -> None:
    """Give up the interpreter's lock for a moment, once in a millisecond of work.

    Verdicts come in bursts, and a thread that sends and receives all the time gets the lock back
    before one that waits for it wakes up: the user's event loop then stands still for 10 ms and more.
    """
    global _rested_at  # noqa: PLW0603 -- of the thread that judges; a race costs a moment's rest
    now = time.perf_counter()
    if now - _rested_at > _BUSY_S:
        if threading.active_count() > 1:
            time.sleep(_REST_S)
        _rested_at = time.perf_counter()
