"""What a span records of its operation, by the conventions of those who made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spanscore import attributes as names
from spanscore.conventions.messages import answer_of, decoded, literal, messages_of, plain_messages, useful
from spanscore.conventions.table import CONVENTIONS, Convention
from spanscore.step import MISSING

__all__ = ["CONVENTIONS", "Convention", "Events", "Recorded", "read", "switch_of"]

Events = Sequence[tuple[str, Mapping[str, Any]]]

_REDACTED: Final = frozenset(
    {
        "__REDACTED__",
        "<REDACTED>",
        "[REDACTED]",
        "REDACTED",
        "<redacted>",
        "<elided>",
        "<fully masked due to failed mask function>",
    }
)
_MODEL_OPERATIONS: Final = ("chat", "generate_content", "text_completion")
_TOOL: Final = "execute_tool"
_NONE: Final = ("", MISSING)
_PREFIXES: Final = tuple(f"{prefix}." for one in CONVENTIONS for prefix in one.flattened or ())
_MIME_TYPES: Final = {names.OUTPUT_VALUE: names.OUTPUT_MIME_TYPE, names.INPUT_VALUE: names.INPUT_MIME_TYPE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a span records.

    Attributes:
        convention: the one whose keys hold the output, else the one that the span looks like; None if unknown.
        key: the key the output stands under; "" for none.
        input: JSON value: arguments, or messages as ``{"role", "content", "tool_calls"}``. MISSING if not recorded.
        output: the answer as text or JSON value, or the tool calls. MISSING if not recorded, or redacted.
        operation: ``gen_ai.operation.name``, or what the convention's kind of span amounts to.
        tool: name of the tool that was called; "" where none was.
        tool_call_id: id of that call; "" where it is not recorded.
    """

    convention: Convention | None
    key: str
    input: Any
    output: Any
    operation: str
    tool: str
    tool_call_id: str


def read(found: Mapping[str, Any], events: Events = (), scope: str = "") -> Recorded:
    """Return what a span with these attributes, events (name, attributes) and instrumentation scope records."""
    looks = [one for one in CONVENTIONS if one.is_of(found, scope)]
    flat = {key: value for key, value in found.items() if key.startswith(_PREFIXES)}
    operation, tool = _operation(found, looks)
    convention: Convention | None
    for convention in CONVENTIONS:
        key, output = (
            _output(convention, found, flat, operation) if convention in looks or not convention.shared else _NONE
        )
        if key:
            break
    else:
        convention, (key, output) = CONVENTIONS[-1], _event_output(events, operation)
    recorded = MISSING if _is_hidden(output) or (output == {} and convention.empty_is_hidden) else output
    if recorded is MISSING:  # whose switch is to be told: many look like GenAI's, which is asked first
        convention = looks[-1] if looks else convention if key else None
    return Recorded(
        convention=convention,
        key=key,
        input=_input(found, flat, events, looks),
        output=recorded if scope == names.SCOPE else _unwrapped(recorded, looks),
        operation=operation,
        tool=tool,
        tool_call_id=str(found.get(names.TOOL_CALL_ID) or _call_id(recorded)) if operation == _TOOL else "",
    )


def switch_of(convention: str) -> str:
    """Return what makes the instrumentations of a convention record content; "" for none that is known."""
    return next((one.switch for one in CONVENTIONS if one.name == convention), "")


def _operation(found: Mapping[str, Any], looks: Sequence[Convention]) -> tuple[str, str]:
    """Return the operation, and the tool's name where it is the call of one."""
    operation = str(found.get(names.OPERATION_NAME, ""))
    for one in looks:
        kind = one.operations.get(str(found.get(one.kind, "")))
        if kind is not None and (not operation or kind == _TOOL):
            operation = kind
    if operation != _TOOL:
        return operation, ""
    tools = (found.get(names.TOOL_NAME), *(found.get(one.tool_name) for one in looks))
    return operation, next((str(tool) for tool in tools if tool), "")


def _output(
    convention: Convention, found: Mapping[str, Any], flat: Mapping[str, Any], operation: str
) -> tuple[str, Any]:
    """Return the key of the output and its value; ("", MISSING) if the convention has none on this span."""
    for key in convention.output_messages:
        answer = _answer(found[key], operation) if key in found else MISSING
        if answer is not MISSING:
            return key, answer
    if flat and convention.flattened is not None:
        prefix = convention.flattened[0]
        answer = answer_of(_flattened(flat, prefix), first=True)
        if answer is not MISSING:
            return f"{prefix}.", answer
    key = _first(found, convention.output)
    return (key, _value(found, key, convention)) if key else _NONE


def _answer(value: Any, operation: str) -> Any:
    messages = decoded(value)
    if isinstance(messages, str):
        return messages
    return answer_of(messages, first=operation in _MODEL_OPERATIONS)


def _value(found: Mapping[str, Any], key: str, convention: Convention) -> Any:
    """Return a recorded value: what is written as JSON is read, what is text stays text."""
    value = found[key]
    if key in convention.texts:
        held = decoded(value)
        inner = useful(held)
        return value if inner is held else inner
    if key in _MIME_TYPES and found.get(_MIME_TYPES[key]) != names.MIME_JSON:
        return value
    if isinstance(value, str) and value[:1] == '"' and isinstance(text := decoded(f"[{value}]"), list):
        return text[0]
    return decoded(value)


def _first(found: Mapping[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        if key in found:
            return key
    return ""


def _input(found: Mapping[str, Any], flat: Mapping[str, Any], events: Events, looks: Sequence[Convention]) -> Any:
    for convention in CONVENTIONS:
        if convention.shared and convention not in looks:
            continue
        for key in convention.input_messages:
            messages = messages_of(decoded(found[key])) if key in found else ()
            if messages:
                return plain_messages(messages)
        messages = messages_of(_flattened(flat, convention.flattened[1])) if flat and convention.flattened else ()
        if messages:
            return plain_messages(messages)
        key = _first(found, convention.input)
        if key:
            value = _value(found, key, convention)
            return MISSING if _is_hidden(value) else _arguments(value, looks)
    said = [
        {"role": names.MESSAGE_EVENTS[name], **_fields(fields)}
        for name, fields in events
        if name in names.MESSAGE_EVENTS
    ]
    return plain_messages(messages_of(said)) if said else MISSING


def _arguments(value: Any, looks: Sequence[Convention]) -> Any:
    for convention in looks:
        value = _inside(value, convention)
    if isinstance(value, Mapping) and value.keys() == {"messages"} and (messages := messages_of(value["messages"])):
        return plain_messages(messages)
    return literal(value)


def _unwrapped(value: Any, looks: Sequence[Convention]) -> Any:
    for convention in looks:
        value = _inside(value, convention)
    return useful(value)


def _inside(value: Any, convention: Convention) -> Any:
    """Return the value itself where an instrumentation wraps it into an object of its own."""
    if not isinstance(value, Mapping):
        return value
    if convention.name == "traceloop" and not value.keys() & {"kwargs", "tags", "metadata"}:
        return value
    if convention.name == "langsmith" and len(value) != 1:
        return value
    return next((value[key] for key in convention.wrapped if value.get(key) is not None), value)


def _event_output(events: Events, operation: str) -> tuple[str, Any]:
    """Return the output that a span's message events hold."""
    for name, fields in events:
        if name == names.CHOICE_EVENT:
            return name, answer_of([_fields({"role": "assistant", **fields})], first=True)
        if names.OUTPUT_MESSAGES in fields:
            return name, _answer(fields[names.OUTPUT_MESSAGES], operation)
        if names.COMPLETION in fields:
            return name, useful(decoded(fields[names.COMPLETION]))
    return _NONE


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message event; its message may stand in one of them, as JSON."""
    held = decoded(fields.get("message", MISSING))
    if isinstance(held, Mapping):
        return {"role": "assistant", **held}
    if isinstance(held, str):
        return {**fields, "content": held}
    return {key: decoded(value) if key == "tool_calls" else value for key, value in fields.items()}


def _is_hidden(value: Any) -> bool:
    """Return True if a redaction left nothing of the value."""
    return isinstance(value, str) and value.strip() in _REDACTED


def _call_id(output: Any) -> str:
    """Return the id of the tool call that a recorded tool message answers."""
    if not isinstance(output, Mapping):
        return ""
    held = output.get("data", output.get("kwargs", output))
    return str(held.get("tool_call_id") or "") if isinstance(held, Mapping) else ""


def _flattened(found: Mapping[str, Any], prefix: str) -> list[Any]:
    """Return the list whose fields are written as ``prefix.0.message.content`` and so on."""
    root: dict[str, Any] = {}
    for key, value in found.items():
        if not key.startswith(f"{prefix}."):
            continue
        node, *path = root, *key[len(prefix) + 1 :].split(".")
        for part in path[:-1]:
            held = node.setdefault(part, {})
            if not isinstance(held, dict):
                break
            node = held
        else:
            node[path[-1]] = value
    return list(_items(_listed(root))) if root else []


def _listed(node: Any) -> Any:
    """Turn objects whose keys are all numbers into lists."""
    if not isinstance(node, dict):
        return node
    if node and all(key.isdigit() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=int)]
    return {key: _listed(value) for key, value in node.items()}


def _items(value: Any) -> Iterator[Any]:
    for item in value if isinstance(value, list) else ():
        held = item.get("message", item) if isinstance(item, dict) else item
        yield {"role": "assistant", **held} if isinstance(held, dict) else held
