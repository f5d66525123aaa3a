"""Chat messages in the shapes that instrumentations record, as one: role, text, tool calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from spanscore.step import MISSING

__all__ = ["Message", "answer_of", "decoded", "literal", "messages_of", "plain_messages", "useful"]

_ROLES: Final = {"ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "human": "user"}
_KNOWN_ROLES: Final = {"assistant", "user", "system", "developer", "tool", "function", *_ROLES}
_LANGCHAIN_TYPES: Final = {"ai", "AIMessageChunk", "human", "system", "tool", "function", "chat"}
_LANGCHAIN_MARKS: Final = {"additional_kwargs", "response_metadata", "tool_call_id"}
_CHOICE_MARKS: Final = {"finish_reason", "usage"}
_MAX_LEVELS: Final = 8
_REASONING: Final = {"reasoning", "thinking", "redacted_thinking"}


class Message(NamedTuple):
    """One chat message.

    Attributes:
        role: ``assistant``, ``user``, ``system``, ``tool`` or what was recorded; "" if nothing was.
        content: its text, the JSON value recorded in its place, or MISSING.
        calls: the tool calls it asks for: ``{"name", "args", "id"}``, the id only where it is known.
    """

    role: str
    content: Any
    calls: tuple[dict[str, Any], ...]


def decoded(value: Any) -> Any:
    """Return the JSON object or list that a text holds; any other value as it stands."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def literal(value: Any) -> Any:
    """Return what ``decoded`` does, or the value of a Python literal of an object or a list."""
    found = decoded(value)
    if not isinstance(found, str) or found.lstrip()[:1] not in ("{", "["):
        return found
    try:
        return ast.literal_eval(found.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return value


def useful(value: Any, levels: int = _MAX_LEVELS) -> Any:
    """Return the answer in a recorded output: the text or the calls of its last message, else the value itself.

    Looks into chat completions, LangChain's generations, states with nothing but messages, and updates.
    """
    if levels and isinstance(value, Mapping):
        inner = _inner(value)
        if inner is not MISSING:
            return useful(inner, levels - 1)
        message = _message(value)
        return value if message is None else _answer(message)
    if levels and isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        if (
            len(value) == 1 and "graph" in value[0] and isinstance(value[0].get("update"), Mapping)
        ):  # LangGraph's Command
            return useful(value[0]["update"], levels - 1)
        if all("toolName" in one for one in value):  # Vercel's
            return list(_calls(value))
        found = answer_of(value, first=False)
        return value if found is MISSING else found
    return value


def _inner(value: Mapping[str, Any]) -> Any:
    """Return what stands inside a wrapper of messages, MISSING if it is none."""
    for key in ("choices", "generations"):
        held = value.get(key)
        if isinstance(held, list) and held:
            first = held[0][0] if isinstance(held[0], list) and held[0] else held[0]
            if isinstance(first, Mapping):
                return first.get("message", first.get("text", MISSING))
    if isinstance(value.get("combined_chunk_content"), str):  # Logfire's sum of a stream
        return value["combined_chunk_content"]
    if "messages" in value and value.keys() <= {"messages", "structured_response"}:
        return value.get("structured_response", value["messages"])
    if isinstance(value.get("content"), Mapping) and "parts" in value["content"]:  # Gemini's response
        return value["content"]
    return MISSING


def answer_of(messages: Any, *, first: bool) -> Any:
    """Return the text that ``messages`` end with, else the tool calls; MISSING if there is neither.

    Args:
        messages: a list of messages in any shape.
        first: whether they are the choices of one request, of which the first counts, and not a talk.
    """
    found = [one for one in messages_of(messages) if one.role in ("assistant", "") or not first]
    if not found:
        return MISSING
    return _answer(found[0] if first else found[-1])


def _answer(message: Message) -> Any:
    if message.content is not MISSING and message.content != "":
        return message.content
    return list(message.calls) if message.calls else message.content


def messages_of(value: Any) -> tuple[Message, ...]:
    """Return the messages of a list in which every item is one; () for anything else."""
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return ()
    found: list[Message] = []
    for item in value:
        if isinstance(item, (list, tuple)) and len(item) == 2 and item[0] in _KNOWN_ROLES:  # LangChain's short form
            found.append(Message(str(_ROLES.get(item[0], item[0])), item[1], ()))
            continue
        message = _message(item) if isinstance(item, Mapping) else None
        if message is None:
            return ()
        found.append(message)
    return tuple(found)


def plain_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return messages as JSON: ``{"role", "content"}`` and, where there are any, ``"tool_calls"``."""
    found = []
    for role, content, calls in messages:
        one: dict[str, Any] = {"role": role, "content": None if content is MISSING else content}
        if calls:
            one["tool_calls"] = list(calls)
        found.append(one)
    return found


def _message(value: Mapping[str, Any]) -> Message | None:
    """Return the message that an object is, or None."""
    held: Any = value.get("message") if len(value) == 1 or not _CHOICE_MARKS.isdisjoint(value) else None
    if isinstance(held, Mapping):  # a choice, or OpenInference
        return _message(held)
    if value.get("lc") and isinstance(value.get("kwargs"), Mapping):  # LangChain, dumped
        kind = value.get("id") or [""]
        return _langchain(value["kwargs"], str(kind[-1])) if str(kind[-1]).endswith(("Message", "Chunk")) else None
    if value.get("type") in _LANGCHAIN_TYPES:
        if isinstance(value.get("data"), Mapping):
            return _langchain(value["data"], "")
        if "content" in value and not _LANGCHAIN_MARKS.isdisjoint(value):
            return _langchain(value, "")
    if value.get("type") == "function_call" and "name" in value:  # OpenAI's responses
        return Message("assistant", MISSING, tuple(_calls([value])))
    role = value.get("role")
    if role not in _KNOWN_ROLES or not (value.keys() & {"content", "contents", "parts", "tool_calls", "function_call"}):
        return None
    return _of_parts(_ROLES.get(role, role), value)


def _langchain(value: Mapping[str, Any], kind: str) -> Message:
    role = str(value.get("type") or kind.removesuffix("Chunk").removesuffix("Message").lower())
    return _of_parts(_ROLES.get(role, role), value)


def _of_parts(role: str, value: Mapping[str, Any]) -> Message:
    content = value.get("parts", value.get("contents") or value.get("content", MISSING))
    calls = value.get("tool_calls") or ()
    if not calls and isinstance(value.get("function_call"), Mapping):
        calls = [value["function_call"]]
    texts: list[Any] = []
    found = list(_calls(calls if isinstance(calls, (list, tuple)) else ()))
    if isinstance(content, (list, tuple)):
        for part in content:
            texts.extend(_part(part, found))
        content = _joined(texts)
    return Message(role, MISSING if content is None else content, tuple(found))


def _part(part: Any, calls: list[dict[str, Any]]) -> Iterator[Any]:
    """Give the text of one part; a tool call is added to ``calls``."""
    if not isinstance(part, Mapping):
        yield part
        return
    if isinstance(part.get("message_content"), Mapping):  # OpenInference
        part = part["message_content"]
    kind = part.get("type", part.get("kind", ""))
    if kind in _REASONING:
        return
    if kind in ("tool_call", "tool_use", "tool-call") or "function_call" in part:
        known = {one.get("id") for one in calls if "id" in one}
        calls.extend(one for one in _calls([part]) if one.get("id") is None or one["id"] not in known)
        return
    for key in ("content", "text", "response", "result", "refusal"):
        if part.get(key) is not None:
            yield part[key]
            return


def _joined(texts: Sequence[Any]) -> Any:
    if not texts:
        return MISSING
    if len(texts) == 1:
        return texts[0]
    return "".join(text if isinstance(text, str) else orjson.dumps(text, default=str).decode() for text in texts)


def _calls(calls: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for call in calls:
        one: Any = call.get("tool_call", call) if isinstance(call, Mapping) else None
        if not isinstance(one, Mapping):
            continue
        held: Any = one.get("function", one.get("function_call"))
        inner: Mapping[str, Any] = held if isinstance(held, Mapping) else one
        name = inner.get("name", inner.get("toolName"))
        if not isinstance(name, str):
            continue
        args: Any = next((inner[key] for key in ("args", "arguments", "input", "parameters") if key in inner), {})
        found = {"name": name, "args": decoded(args)}
        own = next(
            (each[key] for each in (one, inner) for key in ("id", "call_id", "toolCallId") if each.get(key)), None
        )
        yield found if own is None else {**found, "id": str(own)}
