"""Clients made of what users have: an object of the openai package, or a coroutine function."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spanscore.errors import JudgeCallError, JudgeError, JudgeResponseError, JudgeTimeoutError
from spanscore.evaluators.llm_judge.chat_completion import error_of, reply_of
from spanscore.evaluators.llm_judge.client import JudgeReply, JudgeRequest

__all__ = ["OpenAIJudgeClient", "ServiceJudgeClient"]


@dataclass(slots=True, eq=False)
class OpenAIJudgeClient:
    """Asks through an ``openai.AsyncOpenAI`` or ``AsyncAzureOpenAI`` object, without its own retries.

    The object stays the user's to close, and works on the event loop it was first used on.
    """

    client: Any
    """As given; its own retries would not know of deadlines and budgets."""

    def __post_init__(self) -> None:
        self.client = self.client.with_options(max_retries=0)

    @property
    def endpoint(self) -> str:
        """Return the base URL, without a slash at its end."""
        return str(self.client.base_url).rstrip("/")

    async def complete(self, request: JudgeRequest) -> JudgeReply:
        """Return the model's answer; see `JudgeClient.complete`."""
        import openai

        try:
            completion = await self.client.chat.completions.create(**request.body(), timeout=request.timeout_s)
        except openai.APITimeoutError:
            raise JudgeTimeoutError(f"the judge's endpoint did not answer within {request.timeout_s:g} s") from None
        except openai.APIStatusError as error:
            headers = {name.lower(): text for name, text in error.response.headers.items()}
            raise error_of(error.status_code, error.body, headers) from error
        except openai.APIConnectionError as error:
            sent = type(error.__cause__).__name__ not in ("ConnectError", "ConnectTimeout")  # of httpx or httpx2
            told = "the judge's endpoint was not reached, or closed the connection"
            raise JudgeCallError(told, transient=True, sent=sent) from error
        except openai.APIError as error:
            raise JudgeResponseError("the endpoint's answer is no chat completion") from error
        if not hasattr(completion, "model_dump"):  # a page that is no JSON comes back as text
            raise JudgeResponseError("the endpoint's answer is no chat completion")
        return reply_of(completion.model_dump(warnings=False))


@dataclass(frozen=True, slots=True, eq=False)
class ServiceJudgeClient:
    """Asks a coroutine function that takes the published request, a dict.

    The dict has ``model``, ``messages``, ``max_tokens``, ``temperature`` and mostly ``response_format``.
    The function returns the verdict as text or as an object, or a chat completion with ``choices`` as
    an object. What it raises is a `JudgeCallError`; one of its own may say what to do about it.
    """

    service: Callable[[dict[str, Any]], Awaitable[Any]]

    async def complete(self, request: JudgeRequest) -> JudgeReply:
        """Return the function's answer; see `JudgeClient.complete`."""
        try:
            answer = await self.service({"max_tokens": None, "temperature": None, **request.body()})
        except (JudgeError, TimeoutError):
            raise
        except Exception as error:  # a user's function may raise anything
            raise JudgeCallError(f"the judge's service raised {type(error).__name__}") from error
        if hasattr(answer, "model_dump"):
            answer = answer.model_dump()
        if isinstance(answer, Mapping) and "choices" in answer:
            return reply_of(answer)
        return JudgeReply(text=answer if isinstance(answer, str) else _text(answer))


def _text(answer: Any) -> str:
    try:
        return json.dumps(answer)
    except (TypeError, ValueError):
        raise JudgeResponseError(f"the judge's service returned {type(answer).__name__}, no JSON value") from None
