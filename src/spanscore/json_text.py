"""Values to JSON text and back.

`serialise` never raises, never hangs on a cycle and never walks an object that it does not know:
whatever an agent returns becomes JSON text.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import re
import uuid
from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any, Final

import orjson

from spanscore.errors import ConfigurationError, OutputDecodeError

__all__ = [
    "as_json",
    "parse",
    "parse_config",
    "parse_json",
    "plain",
    "serialise",
    "shortened",
    "strict_json",
]

_MAX_DEPTH: Final = 200  # orjson stops at 254; the rest is head-room for what wraps the value
_MAX_REPR: Final = 1_000
_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")
_LONG_NUMBER_TEXT: Final = re.compile(r"[0-9]{19}")
_MAX_BITS: Final = 14_000  # Python refuses to write integers of more than 4,300 digits
_MAX_REPEATS: Final = 100_000
_STRICT: Final = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_PLAIN: Final = _SCALARS | {dict, list, tuple}


def serialise(value: object) -> bytes:
    """Return ``value`` as JSON text in UTF-8, on the calling thread, without raising.

    Dataclasses, pydantic models, datetimes, enums, UUIDs, sets, bytes (base64), Decimals, numpy
    scalars and arrays become JSON; NaN and infinities become null; an unknown object becomes its
    ``repr`` (at most 1,000 characters), or its class name where ``repr`` fails.

    >>> serialise({"total": 12.5, "tags": ("a", "b")})
    b'{"total":12.5,"tags":["a","b"]}'
    """
    try:
        return orjson.dumps(value, None, _STRICT)
    except (TypeError, ValueError, RecursionError):
        return _serialise(value)


def as_json(value: object) -> tuple[Any, bytes]:
    """Return the JSON value to score for ``value``, and its text; does not raise either.

    That is the live object where it is made of plain JSON types, so that nothing is copied, and
    what its text says for any other, so that all places where scores are made see the same.
    """
    try:
        data = orjson.dumps(value, None, _STRICT)
    except (TypeError, ValueError, RecursionError):
        data = _serialise(value)
        return parse(data), data
    return (value if type(value) in _PLAIN else parse(data)), data  # enums and UUIDs are never passed through


def _serialise(value: object) -> bytes:
    """Do what `serialise` does for a value that is not made of plain JSON types."""
    try:
        return orjson.dumps(value, _Known(), _OPTIONS)
    except BaseException:  # objects may raise anything from their own code
        try:
            return _dump_plain(plain(value))
        except BaseException:  # even from what isinstance asks them
            return orjson.dumps(_class_name(value))


def parse(data: bytes) -> Any:
    """Return the JSON value that `serialise` wrote."""
    if _LONG_NUMBER.search(data) is None:  # orjson makes floats of integers beyond 64 bits
        try:
            return orjson.loads(data)
        except ValueError:  # lone surrogates
            pass
    return json.loads(data)


def plain(value: object) -> Any:
    """Return ``value`` as plain dicts, lists, text, numbers, booleans and None, copied in full.

    A cycle becomes the text ``<cycle>``, what lies deeper than 200 levels ``<too deep>``, and a
    container that was met before ``<repeated>`` once 100,000 of them were written out again. NaN,
    infinities and integers of any size stay as they are.

    >>> plain({1: {"a"}, "b": float("inf")})
    {'1': ['a'], 'b': inf}
    """
    return _Copier(None, None).copy(value, _MAX_DEPTH)


def shortened(value: object, *, depth: int, items: int, characters: int) -> bytes:
    """Return ``value`` as JSON text, with at most so many levels, items a container and characters a text."""
    return _dump_plain(_Copier(items, characters).copy(value, depth))


def strict_json(value: object, what: str) -> Any:
    """Return ``value`` as a plain JSON value; raise ConfigurationError where it is none.

    For what people write down as expected: nothing may be guessed, shortened or turned to text.
    """
    try:
        found = orjson.loads(orjson.dumps(value, _model, orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError, RecursionError) as error:
        if "Recursion" not in str(error) and _is_json(value, _MAX_DEPTH):
            return plain(value)  # integers beyond 64 bits: JSON, though not orjson's
        raise ConfigurationError(
            f"{what} is not a JSON value: {error}. Allowed are dict, list, str, int, float, bool and None, "
            "dataclasses, pydantic models, dates, enums and UUIDs; convert anything else first."
        ) from error
    if not _keeps_keys(value, found):
        raise ConfigurationError(f"{what} has two keys that are one in JSON, such as 1 and '1'")
    if not _all_finite(value):
        raise ConfigurationError(f"{what} holds NaN or infinity, which JSON has not; nothing is similar to them")
    return found


def parse_config(data: bytes) -> Any:
    """Return the JSON value of what people wrote into a file; ValueError for no JSON, or a repeated key."""
    return json.loads(data, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)


def parse_json(text: str, what: str = "the output") -> Any:
    """Return the JSON value of ``text``; raise OutputDecodeError where it is none.

    The message says where parsing stopped and how long the text is, never what it says.
    """
    try:
        return orjson.loads(text) if _LONG_NUMBER_TEXT.search(text) is None else json.loads(text)
    except ValueError as error:
        position = getattr(error, "pos", 0)
        raise OutputDecodeError(f"{what} is not JSON: parsing stopped at character {position} of {len(text)}") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index]))
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class _Known:
    """The `default` of orjson: gives a JSON-ready form of one object, and refuses what explodes."""

    def __init__(self) -> None:
        self._met = _Met()

    def __call__(self, value: object) -> Any:
        if isinstance(value, (str, int)) or self._met.too_often(value):  # integers beyond 64 bits, and subclasses
            raise TypeError
        return _known(value)


class _Met:
    """The objects that were met; objects that share parts can be endless when they are written out."""

    def __init__(self) -> None:
        self._alive: dict[int, object] = {}  # keeps them alive, so that no id is given twice
        self._repeats = 0

    def too_often(self, value: object) -> bool:
        if id(value) not in self._alive:
            self._alive[id(value)] = value
            return False
        self._repeats += 1
        return self._repeats > _MAX_REPEATS


def _known(value: object) -> Any:
    """Return a simpler form of one object that is no plain JSON type."""
    if isinstance(value, AbstractSet):
        return _ordered(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, deque):
        return list(value)
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
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


class _Copier:
    """Copies values to plain JSON types within limits of items and characters (None: no limit)."""

    def __init__(self, items: int | None, characters: int | None) -> None:
        self._items = items
        self._characters = characters
        self._above: set[int] = set()
        self._met = _Met()

    def copy(self, value: object, depth: int) -> Any:
        """Return a copy of ``value`` that is at most ``depth`` levels deep."""
        if type(value) in _SCALARS:
            if type(value) is str and self._characters is not None and len(value) > self._characters:
                return f"{value[: self._characters]}... ({len(value)} characters)"
            return value
        if isinstance(value, (str, int, float)) and not isinstance(value, enum.Enum):
            return _base_value(value)
        if id(value) in self._above:
            return "<cycle>"
        if depth == 0:
            return "<too deep>"
        if self._met.too_often(value):
            return "<repeated>"
        self._above.add(id(value))
        try:
            return self._container(value, depth - 1)
        except RecursionError:
            return "<too deep>"
        except BaseException:  # a user's __iter__, keys or fields may raise anything
            return _repr(value)
        finally:
            self._above.discard(id(value))

    def _container(self, value: object, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._object(list(value.items()), depth)
        if isinstance(value, (list, tuple, AbstractSet)):
            return self._list(_ordered(value) if isinstance(value, AbstractSet) else list(value), depth)
        if isinstance(value, enum.Enum):
            return self.copy(value.value, depth)
        if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
            return value.isoformat()
        if isinstance(value, uuid.UUID):
            return str(value)
        tolist = getattr(value, "tolist", None) if type(value).__module__ == "numpy" else None
        known = tolist() if tolist is not None else _known(value)
        return known if type(known) in _SCALARS else self.copy(known, depth)

    def _object(self, pairs: list[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        cut = pairs if self._items is None else pairs[: self._items]
        copy = {_key(key): self.copy(child, depth) for key, child in cut}
        if len(cut) < len(pairs):
            copy["..."] = f"{len(pairs) - len(cut)} more"
        return copy

    def _list(self, children: list[Any], depth: int) -> list[Any]:
        kept = children if self._items is None else children[: self._items]
        copies = [self.copy(child, depth) for child in kept]
        if len(kept) < len(children):
            copies.append(f"... {len(children) - len(kept)} more")
        return copies


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
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"<integer of {value.bit_length()} bits>"
    return None if isinstance(value, float) and value - value != 0.0 else value


def _all_finite(value: object) -> bool:
    if isinstance(value, float):
        return value - value == 0.0
    if isinstance(value, dict):
        return all(map(_all_finite, value.values()))
    return all(map(_all_finite, value)) if isinstance(value, (list, tuple)) else True


def _is_json(value: object, depth: int) -> bool:
    if type(value) in _SCALARS:
        return True
    if depth == 0:
        return False
    if isinstance(value, dict):
        return all(type(key) is str and _is_json(child, depth - 1) for key, child in value.items())
    return isinstance(value, (list, tuple)) and all(_is_json(child, depth - 1) for child in value)


def _keeps_keys(value: object, found: Any) -> bool:
    if isinstance(value, dict):
        return len(value) == len(found) and all(map(_keeps_keys, value.values(), found.values()))
    return all(map(_keeps_keys, value, found)) if isinstance(value, (list, tuple)) else True
