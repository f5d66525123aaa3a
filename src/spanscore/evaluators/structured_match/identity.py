"""Identity of a JSON value: what is equal for equal values, and can be looked up."""

from __future__ import annotations

from typing import Any, Final

import orjson

from spanscore.json_text import plain

__all__ = ["identity"]

_WHOLE: Final = 2**53


def identity(value: Any) -> Any:
    """Return something hashable that equals the identity of an equal JSON value and no other's.

    Numbers are equal by value, booleans are no numbers, NaN and infinities equal nothing but
    themselves, the order of keys does not matter.
    """
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is bool:
        return (value,)
    if kind is int or kind is float:
        return ("number", value)
    try:
        return orjson.dumps(_whole(value), None, orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        return ("repr", repr(plain(value)))


def _whole(value: Any) -> Any:
    """Write a float without a fraction as the integer it equals."""
    kind = type(value)
    if kind is dict:
        return {key: _whole(child) for key, child in value.items()}
    if kind is list or kind is tuple:
        return [_whole(child) for child in value]
    return int(value) if kind is float and -_WHOLE < value < _WHOLE and value == int(value) else value
