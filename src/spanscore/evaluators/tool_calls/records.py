"""The tool calls of a trajectory, and what an expectation says of them."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from spanscore import attributes as names
from spanscore.errors import EvaluationError
from spanscore.json_text import plain
from spanscore.step import MISSING, Step

__all__ = ["ToolCall", "calls_of", "canonical", "criteria", "decoded", "tool_key", "tool_key_compat"]

_NAMES: Final = (names.TOOL_NAME, names.OPENINFERENCE_TOOL_NAME)
_IDS: Final = (names.OPENINFERENCE_TOOL_ID, names.TOOL_CALL_ID)
_OPERATION: Final = "execute_tool"
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME: Final = 64


class ToolCall(NamedTuple):
    """One call: its tool, the ids it goes by, and what went in and came out, MISSING if not known."""

    name: str
    ids: tuple[str, ...]
    input: Any
    output: Any


def calls_of(step: Step | None, *, compat: bool) -> list[ToolCall]:
    """Return the tool calls of the step's trajectory, by start time.

    A call is a step whose operation is ``execute_tool`` or that has the attribute
    ``gen_ai.tool.name`` or ``tool.name``, unless ``tool.synthesized`` is set.

    Args:
        step: the step that is scored.
        compat: read, as the reference implementation, ``tool.name``, ``tool.id``, ``input.value`` and
            ``output.value`` alone, where a step has them.

    Raises:
        EvaluationError: there is no trajectory.
    """
    if step is None or step.trajectory is None:
        raise EvaluationError(
            "tool calls are read from the trajectory, and there is none; score the root step of a run "
            "whose steps were gathered"
        )
    return [call for one in step.trajectory.steps for call in _call(one, compat=compat)]


def _call(step: Step, *, compat: bool) -> Iterator[ToolCall]:
    found = step.attributes
    name = next((str(found[key]) for key in _NAMES if found.get(key)), "")
    if not name and step.operation == _OPERATION:
        name = step.name.removeprefix(f"{_OPERATION} ")
    if not name or found.get("tool.synthesized", False):
        return
    ids = tuple(str(found[key]) for key in _IDS[: 1 if compat else None] if found.get(key) is not None)
    if compat:
        yield ToolCall(name, ids, found.get(names.INPUT_VALUE, step.input), found.get(names.OUTPUT_VALUE, step.output))
    else:
        yield ToolCall(name, ids, step.input, step.output)


def criteria(expected: Any, key: str, kind: type, what: str) -> Any:
    """Return what ``expected`` holds under ``key`` or its camel-case form, or ``expected`` itself.

    Raises:
        EvaluationError: it is not of the kind asked for.
    """
    first, *rest = key.split("_")
    for each in (key, first + "".join(map(str.title, rest))):
        if isinstance(expected, Mapping) and isinstance(expected.get(each), kind) and len(expected) == 1:
            return expected[each]
    if isinstance(expected, tuple) and kind is list:
        expected = list(expected)
    if not isinstance(expected, kind):
        shown = "nothing" if expected is None or expected is MISSING else f"a {type(expected).__name__}"
        raise EvaluationError(f"the expected value must be {what}; {shown} was given")
    return expected


def tool_key(name: str) -> str:
    """Return the form in which names of tools are compared: blanks as underscores, as models write them.

    >>> tool_key("Search the web!"), tool_key("поиск")
    ('Search_the_web', 'поиск')
    """
    joined = "_".join(name.split())
    return (tool_key_compat(name) if joined.isascii() else "") or joined


def tool_key_compat(name: str) -> str:
    """Return the name as UiPath compares it; whatever is not ASCII is left out."""
    return _NOT_IN_NAMES.sub("", "_".join(name.split()))[:_MAX_NAME]


def decoded(value: Any) -> Any:
    """Return the value of JSON text, or of a Python literal of an object or a list; other values as they stand."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    if value.strip()[:1] not in ("{", "["):
        return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python finds odd
            return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return value


def canonical(value: Any) -> Any:
    """Return a value that hashes, and equals that of another if both are the same JSON.

    Numbers are equal by value, booleans are no numbers, key order does not matter; NaN and
    infinities equal nothing.

    >>> canonical({"a": 1, "b": [True]}) == canonical({"b": [True], "a": 1.0}) != canonical({"a": 1, "b": [1]})
    True
    """
    return _canonical(plain(value))


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return "object", frozenset((key, _canonical(child)) for key, child in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_canonical, value))
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, float) and not isfinite(value):
        return object()
    return value
