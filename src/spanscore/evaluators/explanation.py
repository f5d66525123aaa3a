"""Words for a field that is not as expected; short enough for a span."""

from __future__ import annotations

from typing import Any, Final

from spanscore.json_text import serialise
from spanscore.step import MISSING

__all__ = ["SHOWN_CHARACTERS", "shown", "told"]

SHOWN_CHARACTERS: Final = 80
"""What is longer is cut."""

_SHOWN_BITS: Final = 256
_WORDS: Final = {True: "true", False: "false", None: "null"}


def told(path: str, expected: Any, actual: Any) -> str:
    """Return what is wrong at a path; MISSING stands for what is not there, or was not expected.

    >>> told("/total", 50, 49.5)
    '/total: expected 50, got 49.5'
    """
    place = path or "(whole)"
    found = "missing" if actual is MISSING else f"got {shown(actual)}"
    return f"{place}: not expected, {found}" if expected is MISSING else f"{place}: expected {shown(expected)}, {found}"


def shown(value: Any) -> str:
    """Return a JSON value as text of at most 80 characters and three dots."""
    kind = type(value)
    if kind is str:
        return f'"{value}"' if len(value) <= SHOWN_CHARACTERS else f'"{value[:SHOWN_CHARACTERS]}..."'
    if kind is float or (kind is int and value.bit_length() <= _SHOWN_BITS):
        return repr(value)
    if kind is bool or value is None:
        return _WORDS[value]
    text = serialise(value).decode()
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."
