"""JudgeClient: one coroutine from a request to a model's reply, and what may be given in its place."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from spanscore.errors import ConfigurationError

__all__ = ["JudgeClient", "JudgeReply", "JudgeRequest", "as_client", "endpoint_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One chat completion to ask for.

    Attributes:
        model: name of the model, as the endpoint knows it.
        messages: each with ``role`` and ``content``.
        response_format: ``{"type": "json_schema", ...}`` or ``{"type": "json_object"}``; None for plain text.
        tool: the one tool that must be called, as in ``tools``; None for none.
        max_tokens: most tokens of the answer; None leaves it to the endpoint.
        temperature: None leaves it to the endpoint.
        timeout_s: the call is given up after so many seconds.
        newer_limit: send ``max_completion_tokens`` instead of ``max_tokens``, which some models refuse.
    """

    model: str
    messages: Sequence[Mapping[str, str]]
    response_format: Mapping[str, Any] | None = None
    tool: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    temperature: float | None = 0.0
    timeout_s: float = 60.0
    newer_limit: bool = False

    def body(self) -> dict[str, Any]:
        """Return the JSON object that is sent; settings that are None are left out.

        >>> JudgeRequest(model="m", messages=[{"role": "user", "content": "?"}], max_tokens=9).body()
        {'model': 'm', 'messages': [{'role': 'user', 'content': '?'}], 'max_tokens': 9, 'temperature': 0.0}
        """
        body: dict[str, Any] = {"model": self.model, "messages": list(self.messages)}
        if self.response_format is not None:
            body["response_format"] = self.response_format
        if self.tool is not None:
            body["tools"] = [self.tool]
            body["tool_choice"] = {"type": "function", "function": {"name": self.tool["function"]["name"]}}
        if self.max_tokens is not None:
            body["max_completion_tokens" if self.newer_limit else "max_tokens"] = self.max_tokens
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """What the model answered.

    Attributes:
        text: the answer; None if there is none.
        arguments: JSON text of the arguments, one for each tool call.
        finish_reason: ``stop``, ``length``, ``tool_calls``, ``content_filter`` or the endpoint's own word.
        refusal: the model's words of refusal.
        input_tokens, output_tokens: what the endpoint counted; None if it does not say.
        model: the model that answered.
    """

    text: str | None = None
    arguments: Sequence[str] = ()
    finish_reason: str | None = None
    refusal: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None


@runtime_checkable
class JudgeClient(Protocol):
    """Asks a model. May also have ``endpoint``, a text: clients of one endpoint share what is learned of it."""

    async def complete(self, request: JudgeRequest) -> JudgeReply:
        """Return the model's answer; runs on any event loop.

        Raises:
            JudgeCallError: the endpoint was not reached, or answered with an error; with its
                ``retry_after_s`` and whether it is ``transient``.
            JudgeTimeoutError: no answer within ``request.timeout_s``.
            JudgeResponseError: the answer is no chat completion.
        """
        ...


def endpoint_of(client: JudgeClient) -> str:
    """Return what tells the client's endpoint from others: its ``endpoint``, or else its identity."""
    named = getattr(client, "endpoint", None)
    return named if isinstance(named, str) else f"{type(client).__qualname__}@{id(client):x}"


def as_client(candidate: Any) -> JudgeClient:
    """Return a client for what a user may give.

    Args:
        candidate: None for the default `HttpJudgeClient`; a JudgeClient; an ``openai.AsyncOpenAI`` or
            ``AsyncAzureOpenAI`` object; or a coroutine function that takes the published request, a
            dict, and returns the answer (see `ServiceJudgeClient`).

    Raises:
        ConfigurationError: anything else.
    """
    from spanscore.evaluators.llm_judge import http_client, services

    if candidate is None:
        return http_client.HttpJudgeClient()
    if isinstance(candidate, JudgeClient) and inspect.iscoroutinefunction(candidate.complete):
        return candidate
    openai = sys.modules.get("openai")
    if openai is not None and isinstance(candidate, openai.AsyncOpenAI):
        return services.OpenAIJudgeClient(candidate)
    if inspect.iscoroutinefunction(candidate) or inspect.iscoroutinefunction(getattr(candidate, "__call__", None)):  # noqa: B004
        return services.ServiceJudgeClient(candidate)
    raise ConfigurationError(
        f"a judge's client cannot be {type(candidate).__name__}; give None for the default, an object with a "
        "coroutine complete(request), an openai.AsyncOpenAI or AsyncAzureOpenAI object, or a coroutine function"
    )
