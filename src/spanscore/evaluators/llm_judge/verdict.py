"""ask: one verdict of a model as a validated object, or a JudgeError."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from spanscore.errors import ConfigurationError, JudgeCallError, JudgeError, JudgeResponseError, JudgeTimeoutError
from spanscore.evaluators.llm_judge.budget import Budget, Price, Usage
from spanscore.evaluators.llm_judge.calls import Calls
from spanscore.evaluators.llm_judge.client import JudgeClient, JudgeReply, JudgeRequest, endpoint_of
from spanscore.evaluators.llm_judge.ladder import (
    MODES,
    Ladder,
    Mode,
    StepDown,
    instructions,
    ladder_of,
    shape_of,
    text_of,
)
from spanscore.evaluators.llm_judge.limits import Limits, load, shared_limits

if TYPE_CHECKING:
    from spanscore.evaluators.llm_judge.schema import VerdictSchema

__all__ = ["JudgeSettings", "Mode", "Prompt", "StepDown", "Verdict", "ask"]

SchemaT = TypeVar("SchemaT", bound="VerdictSchema")

_REFUSED: Final = frozenset({400, 422, 501})
_PARAMETERS: Final = frozenset({"max_tokens", "max_completion_tokens", "temperature"})
_FORMS: Final = frozenset({"", "response_format", "tools", "tool_choice"})
_LONGER: Final = 4
_QUOTED: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the judge is told.

    Attributes:
        system: what to do and how.
        user: what to judge, with the envelope.
        nonce: the random text that the verdict must echo in its field ``nonce``; new for every verdict.
    """

    system: str
    user: str
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How a judge is asked.

    Attributes:
        model: name of the model, as the endpoint knows it.
        temperature: None leaves it to the endpoint.
        max_tokens: most tokens of an answer; a cut one is asked for again, once, with four times as many.
        timeout_s: deadline of a verdict, retries included; what waits for `Limits` does not count.
        limits: retries, rates, circuit breaker; None for the ones that all judges of the endpoint share.
        budget: what may be spent, over all judges that were given the same object.
        price: makes cost of tokens; needed for a budget in US dollars.
    """

    model: str
    temperature: float | None = 0.0
    max_tokens: int | None = 1024
    timeout_s: float = 60.0
    limits: Limits | None = None
    budget: Budget | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        if not self.model or not isinstance(self.model, str):
            raise ConfigurationError(
                f"a judge's model {self.model!r} is not allowed: name one as the endpoint knows it"
            )
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise ConfigurationError(
                f"temperature={self.temperature!r} is not allowed: give a number of 0 or more, or None"
            )
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ConfigurationError(f"max_tokens={self.max_tokens!r} is not allowed: give 1 or more, or None")
        if not 0 < self.timeout_s < math.inf:
            raise ConfigurationError(f"timeout_s={self.timeout_s!r} is not allowed: give seconds above 0")
        if self.budget is not None and self.budget.is_hard and self.max_tokens is None:
            raise ConfigurationError("a budget with a hard limit needs max_tokens, or one answer may be of any length")
        if self.budget is not None and self.budget.usd is not None and self.price is None:
            raise ConfigurationError("a budget in US dollars needs the model's price: give price=Price(...)")
        load()
        from spanscore.evaluators.llm_judge import schema  # noqa: F401 -- loads pydantic, before a loop has to wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Generic[SchemaT]):
    """A verdict that passed every check.

    Attributes:
        answer: the validated object.
        mode: how it was asked for.
        steps_down: the modes above that do not work there, known from before or found now.
        repaired: whether it took the repair turn.
        usage: tokens, cost and calls of the whole verdict.
        model: the model that answered, as the endpoint says.
    """

    answer: SchemaT
    mode: Mode
    steps_down: Sequence[StepDown] = ()
    repaired: bool = False
    usage: Usage
    model: str | None = None


async def ask(client: JudgeClient, prompt: Prompt, schema: type[SchemaT], settings: JudgeSettings) -> Verdict[SchemaT]:
    """Return the model's verdict on a prompt.

    It is asked for by structured output, or where the endpoint refuses that, by a tool call, by JSON
    mode or as tagged text; what is refused is remembered for the endpoint and the model. An answer
    that is no valid verdict is sent back with what is wrong, once, and if it is no JSON, in the next
    of these ways; one that was cut is asked for again with four times as many tokens, once. A
    refusal or a wrong nonce ends it.

    Args:
        client: who to ask; see `as_client`.
        prompt: what to say, and the nonce that the verdict must echo.
        schema: what a verdict is; a subclass of `VerdictSchema`.
        settings: model, limits, budget.

    Raises:
        JudgeResponseError: the answer is no valid verdict.
        JudgeTimeoutError: none in time.
        JudgeCallError: the endpoint was not reached, or answered with an error.
        JudgeBudgetError: a call might have passed the budget.
        ConfigurationError: no endpoint was named.
    """
    endpoint = endpoint_of(client)
    limits = settings.limits or shared_limits(endpoint)
    async with limits.slot():
        deadline = asyncio.timeout(settings.timeout_s)
        calls = Calls(
            client=client, limits=limits, budget=settings.budget, price=settings.price, deadline=deadline, usage=Usage()
        )
        asking = _Asking(calls, prompt, schema, settings, ladder_of(endpoint, settings.model))
        try:
            async with deadline:
                return await asking.verdict()
        except TimeoutError:
            error: JudgeError = JudgeTimeoutError(f"the judge gave no verdict within {settings.timeout_s:g} s")
            error.usage = calls.usage
            raise error from None
        except JudgeError as error:
            error.usage = calls.usage
            raise


class _Asking(Generic[SchemaT]):
    """The turns that lead to one verdict."""

    def __init__(
        self, calls: Calls, prompt: Prompt, schema: type[SchemaT], settings: JudgeSettings, ladder: Ladder
    ) -> None:
        self._calls = calls
        self._prompt = prompt
        self._schema = schema
        self._settings = settings
        self._ladder = ladder
        self._steps_down = tuple(ladder.steps_down)
        self._ignored: Sequence[StepDown] = ()
        self._max_tokens = settings.max_tokens
        self._lengthened = False
        self._repair: Sequence[Mapping[str, str]] = ()

    async def verdict(self) -> Verdict[SchemaT]:
        """Return the verdict; raises JudgeError."""
        while True:
            mode = self._mode()
            try:
                reply = await self._calls.reply(self._request(mode))
            except JudgeCallError as error:
                self._step_down(error, mode)
                continue
            if reply.finish_reason == "length":
                self._lengthen()
                continue
            if reply.refusal or reply.finish_reason == "content_filter":
                raise JudgeResponseError("the judge refused to answer")
            try:
                answer = self._read(reply, mode)
            except JudgeResponseError as error:
                if self._repair:
                    raise
                self._repair = self._repair_turn(reply, error)
                continue
            if answer.nonce != self._prompt.nonce:
                raise JudgeResponseError("the judge's answer does not echo the nonce; it may not be the judge's")
            self._ladder.learn(self._steps_down)
            return Verdict(
                answer=answer,
                mode=mode,
                steps_down=(*self._steps_down, *self._ignored),
                repaired=bool(self._repair),
                usage=self._calls.usage,
                model=reply.model,
            )

    def _without(self, what: str) -> bool:
        return any(step.what == what for step in (*self._steps_down, *self._ignored))

    def _mode(self) -> Mode:
        return next((mode for mode in MODES if not self._without(mode)), MODES[-1])

    def _request(self, mode: Mode) -> JudgeRequest:
        prompt, settings = self._prompt, self._settings
        told = mode in ("json_object", "text")
        system = f"{prompt.system}\n\n{instructions(mode, self._schema)}" if told else prompt.system
        return JudgeRequest(
            model=settings.model,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt.user}, *self._repair],
            max_tokens=self._max_tokens,
            temperature=None if self._without("temperature") else settings.temperature,
            timeout_s=settings.timeout_s / 2,  # leaves time for another attempt
            newer_limit=self._without("max_tokens"),
            **shape_of(mode, self._schema),
        )

    def _step_down(self, error: JudgeCallError, mode: Mode) -> None:
        """Go on without what the endpoint refused; raise the error if that is not the reason."""
        if error.status not in _REFUSED:
            raise error
        param = (error.param or "").split(".")[0]
        if param in _PARAMETERS:
            what = "max_tokens" if param == "max_completion_tokens" else param
        elif mode != MODES[-1] and param in _FORMS:
            what = mode
        else:
            raise error
        if self._without(what):
            raise error
        self._steps_down = (*self._steps_down, StepDown(what=what, reason="unsupported"))

    def _lengthen(self) -> None:
        if self._lengthened or self._max_tokens is None:
            raise JudgeResponseError("the judge's answer was cut: it is longer than max_tokens")
        self._lengthened, self._max_tokens = True, self._max_tokens * _LONGER

    def _read(self, reply: JudgeReply, mode: Mode) -> SchemaT:
        from spanscore.evaluators.llm_judge.schema import object_of, verdict_of

        text = text_of(reply, mode)
        found = None if text is None else object_of(text)
        if not self._repair:
            self._ladder.read(mode, readable=found is not None)
        if found is None:
            if mode != MODES[-1]:  # the repair turn asks in another way
                self._ignored = (StepDown(what=mode, reason="ignored"),)
            raise JudgeResponseError("the judge's answer is no JSON object")
        return verdict_of(found, self._schema)

    def _repair_turn(self, reply: JudgeReply, error: JudgeError) -> Sequence[Mapping[str, str]]:
        given = (reply.text or "".join(reply.arguments) or "(nothing)")[:_QUOTED]
        told = f"That cannot be used: {error}. {instructions(self._mode(), self._schema)}"
        return [{"role": "assistant", "content": given}, {"role": "user", "content": told}]
