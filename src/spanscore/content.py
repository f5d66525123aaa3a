"""What stands on a span of input and output: values to attributes, and attributes to a Step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from spanscore import attributes as names
from spanscore.conventions import Events, read
from spanscore.errors import OutputDecodeError
from spanscore.json_text import shortened
from spanscore.step import MISSING, Step

__all__ = ["MAX_EXPORT_BYTES", "export_text", "from_attributes", "sha256"]

MAX_EXPORT_BYTES: Final = 32 * 1024
"""A serialised value longer than this is cut for export; scoring sees all of it."""

_CUTS: Final = ((20, 200, 4_000), (8, 50, 500), (5, 20, 100), (3, 10, 40))  # depth, items, characters


def export_text(value: object, data: bytes) -> tuple[str, str, bool]:
    """Return the text to export for ``value``, its MIME type, and whether it was cut.

    ``data`` is ``serialise(value)``. A str is exported as it stands, anything else as JSON. What
    is longer than ``MAX_EXPORT_BYTES`` is shortened in depth, items and text until it fits, and
    stays valid JSON.
    """
    if type(value) is str:
        if len(data) <= MAX_EXPORT_BYTES:
            return (value if value.isascii() else _valid(value)), names.MIME_TEXT, False
        return _valid(value[: MAX_EXPORT_BYTES // 4]), names.MIME_TEXT, True
    if len(data) <= MAX_EXPORT_BYTES:
        return data.decode(), names.MIME_JSON, False
    for depth, items, characters in _CUTS:
        short = shortened(value, depth=depth, items=items, characters=characters)
        if len(short) <= MAX_EXPORT_BYTES:
            return short.decode(), names.MIME_JSON, True
    return f'"<{type(value).__name__}, {len(data)} bytes as JSON>"', names.MIME_JSON, True


def sha256(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of ``data``: the identity of a value that was cut."""
    return hashlib.sha256(data).hexdigest()


def from_attributes(
    name: str,
    found: Mapping[str, Any],
    error: str | None,
    max_length: int | None,
    *,
    events: Events = (),
    scope: str = "",
    trace_id: str | None = None,
    duration_s: float | None = None,
) -> Step:
    """Return the Step that a span describes; input and output may be MISSING.

    Args:
        name: span name.
        found: attributes of the span.
        error: class name of the exception that ended the span, or None.
        max_length: the length limit for attribute values that was in force, in characters.
        events: events of the span, as (name, attributes).
        scope: name of its instrumentation scope.
        trace_id: id of the trace, hexadecimal.
        duration_s: how long the operation took.

    Raises:
        OutputDecodeError: the output was cut, by that limit or for export.

    >>> said = '[{"role": "assistant", "parts": [{"type": "text", "content": "Paris"}]}]'
    >>> from_attributes("chat", {"gen_ai.output.messages": said}, None, None).output
    'Paris'
    """
    copy = getattr(found, "copy", None)  # the SDK's own mapping takes a lock at each look
    found = copy() if copy is not None else dict(found)
    recorded = read(found, events, scope)
    raw = found.get(recorded.key, recorded.output)
    if isinstance(raw, str) and max_length is not None and len(raw) >= max_length:
        raise OutputDecodeError(
            f"the recorded output was cut at {max_length} characters; raise "
            "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT or OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
        )
    if recorded.key == names.OUTPUT_VALUE and names.OUTPUT_SHA256 in found:
        raise OutputDecodeError("the recorded output was cut for export; score it where it was captured")
    told = {names.TOOL_NAME: recorded.tool, names.TOOL_CALL_ID: recorded.tool_call_id}
    missing = {key: value for key, value in told.items() if value and key not in found}
    return Step(
        name=name,
        operation=recorded.operation,
        input=MISSING if names.INPUT_SHA256 in found else recorded.input,  # what was cut is not what went in
        output=recorded.output,
        error=error,
        attributes={**found, **missing} if missing else found,
        convention="" if recorded.convention is None else recorded.convention.name,
        trace_id=trace_id,
        duration_s=duration_s,
    )


def _valid(text: str) -> str:
    """Replace lone surrogates, which no exporter can encode."""
    return text.encode("utf-8", "replace").decode()
