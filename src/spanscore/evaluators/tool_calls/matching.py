"""Which call an expected call is: the pool of calls that are not taken yet, and the tests of args and outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from spanscore.evaluators.tool_calls.records import ToolCall, canonical, decoded, tool_key, tool_key_compat
from spanscore.step import MISSING

__all__ = [
    "Pool",
    "Wanted",
    "args_compat",
    "args_of",
    "contains_args",
    "contains_args_compat",
    "keys_of",
    "output_compat",
    "outputs_of",
    "same_output",
]

Key = tuple[str, str]
"""``("id", ...)`` or ``("name", ...)``: what a call goes by."""


class Wanted(NamedTuple):
    """One expected call: its tool, by name or id, and its arguments or its output."""

    name: str
    id: str | None
    value: Any


def keys_of(call: ToolCall, *, compat: bool) -> list[Key]:
    """Return what the call goes by: its ids and its name, with compat its name only if it has no id."""
    ids = [("id", one) for one in call.ids]
    if compat:
        return ids or [("name", tool_key_compat(call.name))]
    return [*ids, ("name", tool_key(call.name))]


class Pool:
    """The calls that no expected call has taken yet."""

    __slots__ = ("_by_key", "_compat", "_keys")

    def __init__(self, calls: Sequence[ToolCall], *, compat: bool) -> None:
        self._compat = compat
        self._keys = [keys_of(call, compat=compat) for call in calls]
        self._by_key: dict[Key, list[int]] = {}
        for index, keys in enumerate(self._keys):
            for key in dict.fromkeys(keys):
                self._by_key.setdefault(key, []).append(index)

    def candidates(self, wanted: Wanted) -> Iterator[int]:
        """Yield the places of the calls of that tool, in order."""
        lists = [self._by_key[key] for key in self._wanted_keys(wanted) if key in self._by_key]
        return iter(lists[0] if len(lists) == 1 else sorted({index for one in lists for index in one}))

    def take(self, wanted: Wanted, fits: Callable[[int], bool]) -> int | None:
        """Return the place of the first call of that tool that fits, and take it out; None if there is none."""
        index = next(filter(fits, self.candidates(wanted)), None)
        if index is not None:
            for key in dict.fromkeys(self._keys[index]):
                self._by_key[key].remove(index)
        return index

    def _wanted_keys(self, wanted: Wanted) -> list[Key]:
        if self._compat:
            stated = wanted.name if wanted.id is None else wanted.id
            return [("id", stated), ("name", tool_key_compat(wanted.name))]
        ids = [wanted.name] if wanted.id is None else [wanted.id, wanted.name]
        return [*dict.fromkeys(("id", one) for one in ids), ("name", tool_key(wanted.name))]


def args_of(call: ToolCall) -> dict[str, Any] | None:
    """Return name -> canonical argument; None where the input is not known, or no object."""
    found = decoded(call.input)
    return {str(key): canonical(value) for key, value in found.items()} if isinstance(found, dict) else None


def contains_args(wanted: dict[str, Any], found: dict[str, Any] | None, *, subset: bool) -> bool:
    """Return True if the arguments are the wanted ones, with ``subset`` also if there are more."""
    if found is None or (not subset and len(found) != len(wanted)):
        return False
    return all(name in found and found[name] == value for name, value in wanted.items())


def args_compat(call: ToolCall) -> dict[Any, Any]:
    """Return the arguments as the reference implementation reads them, none where it cannot."""
    found = decoded(call.input)
    return found if isinstance(found, dict) else {}


def contains_args_compat(wanted: dict[str, Any], found: dict[Any, Any]) -> bool:
    """Return True if all wanted arguments equal those found, by Python's equality."""
    return all(name in found and found[name] == value for name, value in wanted.items())


class Output(NamedTuple):
    """An output as text, if it is text, and as JSON."""

    text: str | None
    value: Any


def outputs_of(output: Any) -> list[Output]:
    """Return the output, and where it is an object with ``content`` also that; nothing if it is not known."""
    if output is MISSING:
        return []
    found = decoded(output)
    content = [found["content"]] if isinstance(found, dict) and "content" in found else []
    return [Output(one if isinstance(one, str) else None, canonical(decoded(one))) for one in [output, *content]]


def same_output(wanted: Output, found: Sequence[Output]) -> bool:
    """Return True if one is the wanted output: two texts by their characters, anything else as JSON."""
    return any(
        wanted.text == one.text if wanted.text is not None and one.text is not None else wanted.value == one.value
        for one in found
    )


def output_compat(call: ToolCall) -> str:
    """Return the text that the reference implementation takes for the output of the call."""
    output = "" if call.output is MISSING else call.output
    found = output
    if isinstance(output, str):
        try:
            found = json.loads(output)
        except (ValueError, RecursionError):
            return output
    if isinstance(found, dict):
        found = found.get("content", "")
        return str(found) if found else ""
    return str(output) if output else ""
