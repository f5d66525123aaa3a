"""Values to JSON text and back, and the attributes of a span to a Step.

`serialise` never raises, never hangs on a cycle and never walks an object that it does not know:
whatever an agent returns becomes JSON text.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import hashlib
import json
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any, Final

import orjson

from spanscore import attributes as names
from spanscore.errors import ConfigurationError, OutputDecodeError
from spanscore.step import MISSING, Step

__all__ = [
    "MAX_EXPORT_BYTES",
    "export_text",
    "from_attributes",
    "parse",
    "parse_json",
    "plain",
    "serialise",
    "strict_json",
]

MAX_EXPORT_BYTES: Final = 32 * 1024
"""A serialised value longer than this is cut for export; scoring sees all of it."""

_MAX_DEPTH: Final = 200  # orjson stops at 254; the rest is head-room for what wraps the value
_MAX_REPR: Final = 1_000
_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_CUTS: Final = ((20, 200, 4_000), (8, 50, 500), (5, 20, 100), (3, 10, 40))  # depth, items, characters


def serialise(value: object) -> bytes:
    """Return ``value`` as JSON text in UTF-8, on the calling thread, without raising.

    Dataclasses, pydantic models, datetimes, enums, UUIDs, sets, bytes (base64), Decimals, numpy
    scalars and arrays become JSON; NaN and infinities become null; an unknown object becomes its
    ``repr`` (at most 1,000 characters), or its class name where ``repr`` fails.

    >>> serialise({"total": 12.5, "tags": ("a", "b")})
    b'{"total":12.5,"tags":["a","b"]}'
    """
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return orjson.dumps(value, _known, _OPTIONS)
    except BaseException:  # objects may raise anything from their own code
        try:
            return _dump_plain(plain(value))
        except BaseException:  # even from what isinstance asks them
            return orjson.dumps(_class_name(value))


def parse(data: bytes) -> Any:
    """Return the JSON value that `serialise` wrote."""
    try:
        return orjson.loads(data)
    except ValueError:  # integers beyond 64 bits and lone surrogates
        return json.loads(data)


def plain(value: object) -> Any:
    """Return ``value`` as plain dicts, lists, text, numbers, booleans and None, copied in full.

    A cycle becomes the text ``<cycle>``, what lies deeper than 200 levels ``<too deep>``. NaN,
    infinities and integers of any size stay as they are.

    >>> plain({1: {"a"}, "b": float("inf")})
    {'1': ['a'], 'b': inf}
    """
    return _plain(value, _MAX_DEPTH, None, None, set())


def strict_json(value: object, what: str) -> Any:
    """Return ``value`` as a plain JSON value; raise ConfigurationError where it is none.

    For what people write down as expected: nothing may be guessed, shortened or turned to text.
    """
    try:
        found = orjson.loads(orjson.dumps(value, _model, orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError, RecursionError) as error:
        found = plain(value)
        if "Recursion" not in str(error) and _is_json(value):
            return found  # integers beyond 64 bits: JSON, though not orjson's
        raise ConfigurationError(
            f"{what} is not a JSON value: {error}. Allowed are dict, list, str, int, float, bool and None, "
            "dataclasses, pydantic models, dates, enums and UUIDs; convert anything else first."
        ) from error
    if not _all_finite(value):
        raise ConfigurationError(f"{what} holds NaN or infinity, which JSON has not; nothing is similar to them")
    return found


def parse_json(text: str, what: str = "the output") -> Any:
    """Return the JSON value of ``text``; raise OutputDecodeError where it is none.

    The message says where parsing stopped and how long the text is, never what it says.
    """
    try:
        return orjson.loads(text)
    except ValueError as error:
        position = getattr(error, "pos", 0)
        raise OutputDecodeError(f"{what} is not JSON: parsing stopped at character {position} of {len(text)}") from None


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
        short = _dump_plain(_plain(value, depth, items, characters, set()))
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


def _known(value: object) -> Any:
    """Return a JSON-ready form of one object; the `default` of orjson."""
    if isinstance(value, AbstractSet):
        return _ordered(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if isinstance(value, (str, int)):  # subclasses; integers beyond 64 bits go the slow way
        raise TypeError
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, deque):
        return list(value)
    if isinstance(value, PurePath):
        return str(value)
    return _model(value, _repr)


def _ordered(value: AbstractSet[Any]) -> list[Any]:
    """Return the elements in an order that does not depend on the hash seed."""
    return sorted(value, key=serialise)


def _model(value: object, otherwise: Any = None) -> Any:
    dump = getattr(type(value), "model_dump", None)
    if dump is not None:
        return dump(value)
    if otherwise is None:
        raise TypeError(f"Type is not JSON serializable: {type(value).__name__}")
    return otherwise(value)


def _number(value: decimal.Decimal) -> int | float:
    if value.is_finite() and value == value.to_integral_value():
        return int(value)
    return float(value)


def _repr(value: object) -> str:
    try:
        text = repr(value)
        return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + "..."
    except BaseException:  # a user's __repr__ may raise anything
        return _class_name(value)


def _class_name(value: object) -> str:
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _plain(value: object, depth: int, items: int | None, characters: int | None, above: set[int]) -> Any:
    """Copy ``value`` to plain JSON types within the given limits (None: no limit)."""
    if type(value) in _SCALARS:
        if type(value) is str and characters is not None and len(value) > characters:
            return f"{value[:characters]}... ({len(value)} characters)"
        return value
    if isinstance(value, (str, int, float)) and not isinstance(value, enum.Enum):
        return _base_value(value)
    if id(value) in above:
        return "<cycle>"
    if depth == 0:
        return "<too deep>"
    above.add(id(value))
    try:
        return _container(value, depth - 1, items, characters, above)
    except RecursionError:
        return "<too deep>"
    except BaseException:  # a user's __iter__, keys or fields may raise anything
        return _repr(value)
    finally:
        above.discard(id(value))


def _container(value: object, depth: int, items: int | None, characters: int | None, above: set[int]) -> Any:
    if isinstance(value, Mapping):
        pairs = list(value.items())
        cut = pairs if items is None else pairs[:items]
        copy = {_key(key): _plain(child, depth, items, characters, above) for key, child in cut}
        if len(cut) < len(pairs):
            copy["..."] = f"{len(pairs) - len(cut)} more"
        return copy
    if isinstance(value, (list, tuple, AbstractSet)):
        children = _ordered(value) if isinstance(value, AbstractSet) else list(value)
        kept = children if items is None else children[:items]
        copies = [_plain(child, depth, items, characters, above) for child in kept]
        if len(kept) < len(children):
            copies.append(f"... {len(children) - len(kept)} more")
        return copies
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth, items, characters, above)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _plain(fields, depth, items, characters, above)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    tolist = getattr(value, "tolist", None) if type(value).__module__ == "numpy" else None
    if tolist is not None:
        return _plain(tolist(), depth, items, characters, above)
    known = _known(value)
    return known if type(known) in _SCALARS else _plain(known, depth, items, characters, above)


def _base_value(value: str | float) -> Any:
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    return None


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bool) or key is None:
        return json.dumps(key)
    return str(key) if isinstance(key, (int, float)) else _repr(key)


def _dump_plain(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError, RecursionError):  # integers beyond 64 bits, lone surrogates
        return json.dumps(_finite(value), separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_finite(child) for child in value]
    return None if isinstance(value, float) and value - value != 0.0 else value


def _all_finite(value: object) -> bool:
    if isinstance(value, float):
        return value - value == 0.0
    if isinstance(value, dict):
        return all(map(_all_finite, value.values()))
    return all(map(_all_finite, value)) if isinstance(value, (list, tuple)) else True


def _is_json(value: object) -> bool:
    if type(value) in _SCALARS:
        return True
    if isinstance(value, dict):
        return all(type(key) is str and _is_json(child) for key, child in value.items())
    return isinstance(value, (list, tuple)) and all(_is_json(child) for child in value)


def _valid(text: str) -> str:
    """Replace lone surrogates, which no exporter can encode."""
    return text.encode("utf-8", "replace").decode()
