"""What an OpenAI-compatible endpoint answers: a chat completion, or an error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pydantic import BaseModel, Field, ValidationError

from spanscore.errors import JudgeCallError, JudgeResponseError
from spanscore.evaluators.llm_judge.client import JudgeReply

__all__ = ["error_of", "reply_of", "retry_after_s"]

_TRANSIENT: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_HOPELESS: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Sent with status 429, and waiting does not help."""

_WORD: Final = re.compile(r"[A-Za-z0-9_.\-\[\]]{1,64}\Z")


class _Function(BaseModel):
    arguments: str


class _ToolCall(BaseModel):
    function: _Function


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1, max_length=1)
    usage: _Usage | None = None
    model: str | None = None


def reply_of(answer: bytes | Mapping[str, Any]) -> JudgeReply:
    """Return the reply that a chat completion holds, given as JSON or as an object.

    Raises:
        JudgeResponseError: it is no chat completion with exactly one choice.
    """
    try:
        found = (
            _Completion.model_validate_json(answer) if isinstance(answer, bytes) else _Completion.model_validate(answer)
        )
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        raise JudgeResponseError(f"the endpoint's answer is no chat completion (at {where or 'its start'})") from None
    choice, usage = found.choices[0], found.usage or _Usage()
    return JudgeReply(
        text=choice.message.content,
        arguments=tuple(call.function.arguments for call in choice.message.tool_calls or ()),
        finish_reason=choice.finish_reason,
        refusal=choice.message.refusal,
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        model=found.model,
    )


def error_of(status: int, body: Any, headers: Mapping[str, str]) -> JudgeCallError:
    """Return the error that a response with another status than 200 means.

    The endpoint's own message is left out, as it may quote the request.

    Args:
        status: HTTP status.
        body: the JSON value of the response's body, if it has one.
        headers: of the response; names are looked up in lower case.
    """
    told = body.get("error", body) if isinstance(body, Mapping) else None
    told = told if isinstance(told, Mapping) else {}
    code = _word(told.get("code")) or _word(told.get("type"))
    param = _word(told.get("param"))
    if param is None and "max_completion_tokens" in str(told.get("message")):
        param = "max_tokens"  # proxies drop the field
    return JudgeCallError(
        f"the judge's endpoint answered with status {status}" + (f" ({code})" if code else ""),
        status=status,
        code=code,
        param=param,
        retry_after_s=retry_after_s(headers),
        transient=status in _TRANSIENT and code not in _HOPELESS,
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``retry-after-ms`` or ``Retry-After`` asks for, a number or a date; None if it does not.

    >>> retry_after_s({"retry-after": "1.5"})
    1.5
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit_s
        except ValueError:
            try:
                until = parsedate_to_datetime(value)
            except ValueError:
                continue
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
            seconds = (until - datetime.now(UTC)).total_seconds()
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and _WORD.match(value) else None
