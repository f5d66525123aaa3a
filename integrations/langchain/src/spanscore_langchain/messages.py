"""LangChain's values as JSON values: what goes in, what comes out, and messages of the GenAI conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import Generation, LLMResult

__all__ = ["answer_of", "genai_messages", "json_text", "plain", "reply_of", "text_of"]

_ROLES: Final = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "system": "system", "tool": "tool"}
_MAX_BYTES: Final = 32 * 1024


def plain(value: Any) -> Any:
    """Return ``value`` with its messages as small dicts, two levels deep; anything else stays as it is."""
    kind = type(value)
    if kind is str:
        return value
    if kind is dict:
        return {key: _item(one) for key, one in value.items()}
    return _item(value)


def _item(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return _message(value)
    if type(value) in (list, tuple) and value and isinstance(value[0], BaseMessage):
        return [_item(one) for one in value]
    to_messages = getattr(value, "to_messages", None)  # a prompt value
    return [_message(one) for one in to_messages()] if to_messages is not None else value


def _message(message: BaseMessage) -> dict[str, Any]:
    found: dict[str, Any] = {"role": _role(message), "content": message.content}
    if isinstance(message, AIMessage) and message.tool_calls:
        found["tool_calls"] = _tool_calls(message)
    return found


def _tool_calls(message: AIMessage) -> list[dict[str, Any]]:
    return [{"name": call["name"], "args": call["args"], "id": call["id"]} for call in message.tool_calls]


def _role(message: BaseMessage) -> str:
    return _ROLES.get(message.type) or str(getattr(message, "role", message.type))


def text_of(content: Any) -> str:
    """Return the text of a message's content, which may be a list of blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = [one if isinstance(one, str) else one.get("text") for one in content if isinstance(one, (str, dict))]
    return "".join(text for text in texts if isinstance(text, str))


def answer_of(value: Any) -> Any:
    """Return what is scored of an output.

    A message counts by its text, or its tool calls where it has none; text that is JSON counts as
    the value it says. Of a graph's state that has a ``structured_response`` it is that, and of one
    that holds nothing but messages it is the last message.
    """
    if type(value) is str:
        return _decoded(value)
    if isinstance(value, BaseMessage):
        return _answer(value)
    if type(value) is dict:
        found = value.get("structured_response")
        if found is not None:
            return found
        messages = value.get("messages")
        if isinstance(messages, list) and messages and len(value) == 1 and isinstance(messages[-1], BaseMessage):
            return _answer(messages[-1])
    return plain(value)


def _answer(message: BaseMessage) -> Any:
    text = text_of(message.content)
    if not text and isinstance(message, AIMessage) and message.tool_calls:
        return {"tool_calls": _tool_calls(message)}
    if not text and message.content:
        return message.content
    return _decoded(text)


def _decoded(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return text
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def reply_of(response: LLMResult | None) -> tuple[Generation | None, BaseMessage | None]:
    """Return the first generation of a model's response and its message; None for what there is not."""
    generations = getattr(response, "generations", None)
    if not generations or not generations[0]:
        return None, None
    first: Generation = generations[0][0]
    message = getattr(first, "message", None)
    return first, message if isinstance(message, BaseMessage) else None


def genai_messages(messages: Sequence[BaseMessage], finish_reason: str | None = None) -> list[dict[str, Any]]:
    """Return messages in the form of the GenAI conventions."""
    found = []
    for message in messages:
        parts: list[dict[str, Any]] = []
        if isinstance(message, ToolMessage):
            parts.append({"type": "tool_call_response", "id": message.tool_call_id, "response": message.content})
        elif text := text_of(message.content):
            parts.append({"type": "text", "content": text})
        if isinstance(message, AIMessage):
            parts += [
                {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]}
                for call in message.tool_calls
            ]
        one: dict[str, Any] = {"role": _role(message), "parts": parts}
        if finish_reason is not None:
            one["finish_reason"] = finish_reason
        found.append(one)
    return found


def json_text(value: Any) -> str | None:
    """Return ``value`` as JSON text, or None where it is none or too long for an attribute; never raises."""
    try:
        data = orjson.dumps(value, None, orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        return None
    return data.decode() if len(data) <= _MAX_BYTES else None
