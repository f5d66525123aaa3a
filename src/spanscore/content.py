"""What stands on a span of input and output: values to attributes, and attributes to a Step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from spanscore import attributes as names
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


def from_attributes(name: str, found: Mapping[str, Any], error: str | None, max_length: int | None) -> Step:
    """Return the Step that a span's attributes describe; input and output may be MISSING.

    Args:
        name: span name.
        found: attributes of the span.
        error: class name of the exception that ended the span, or None.
        max_length: the length limit for attribute values that was in force, in characters.

    Raises:
        OutputDecodeError: the output was cut by that limit.
    """
    output = _first(found, _OUTPUT_KEYS)
    if isinstance(output, str):
        if max_length is not None and len(output) >= max_length:
            raise OutputDecodeError(
                f"the recorded output was cut at {max_length} characters; raise "
                "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT or OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
            )
        if names.OUTPUT_SHA256 in found:
            raise OutputDecodeError("the recorded output was cut for export; score it where it was captured")
        output = _decoded(output, found.get(names.OUTPUT_MIME_TYPE))
    recorded = _first(found, _INPUT_KEYS)
    return Step(
        name=name,
        operation=str(found.get(names.OPERATION_NAME, "")),
        input=_decoded(recorded, None) if isinstance(recorded, str) else recorded,
        output=output,
        error=error,
        attributes=found,
    )


# First hit wins. Whole conventions are added here, a line each.
_OUTPUT_KEYS: Final = (
    names.OUTPUT_VALUE,
    names.TOOL_CALL_RESULT,
    "traceloop.entity.output",
    "gen_ai.completion",
)
_INPUT_KEYS: Final = (
    names.INPUT_VALUE,
    names.TOOL_CALL_ARGUMENTS,
    "traceloop.entity.input",
    "gen_ai.prompt",
)


def _first(found: Mapping[str, Any], keys: Sequence[str]) -> Any:
    for key in keys:
        if key in found:
            return found[key]
    return MISSING


def _decoded(text: str, mime: object) -> Any:
    """Parse what says it is JSON, or looks like an object or a list; leave the rest as text."""
    if mime == names.MIME_TEXT or not (mime == names.MIME_JSON or text[:1] in ("{", "[")):
        return text
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _valid(text: str) -> str:
    """Replace lone surrogates, which no exporter can encode."""
    return text.encode("utf-8", "replace").decode()
