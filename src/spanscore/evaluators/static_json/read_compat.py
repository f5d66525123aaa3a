"""Answers of models as the reference implementation reads them, defects included."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from spanscore.errors import EvaluationError
from spanscore.evaluators.static_json.brackets import BRACKETS, OPENING, Scanner
from spanscore.step import MISSING

__all__ = ["after_marker", "fenced", "read_2026_06", "read_2026_08"]

_MARKERS: Final = ("<Answer>", "Final Answer", "Answer", "Output", "Result", "Response")
_ANYWHERE: Final = tuple(re.compile(rf"{marker}\s*:?\s*", re.IGNORECASE) for marker in _MARKERS)
_AT_LINE_START: Final = tuple(
    re.compile(rf"^[^\S\n]*{marker}\s*:?\s*", re.IGNORECASE | re.MULTILINE) for marker in _MARKERS
)
_FENCE_TAG: Final = re.compile(r"(?:json|python|py)?", re.IGNORECASE)
_MAX_LINE: Final = 1_000  # a longer last line is prose
_ANY_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_WHOLE_NUMBER: Final = re.compile(r"(?<![A-Za-z0-9_])-?\d+(?:\.\d+)?(?![A-Za-z0-9_])")
_LAST_LINE_NUMBER: Final = re.compile(
    r"(?:(?:final\s+answer|answer|count|result)\s*(?:is|:)?\s*)?(-?\d+(?:\.\d+)?)\s*\.?", re.IGNORECASE
)


def read_2026_06(value: Any) -> Any:
    """Return what the reference implementation of June 2026 reads, defects included."""
    if isinstance(value, (dict, list, tuple, int, float)) or value is None:
        return value
    text = fenced(after_marker(_as_text(value), at_line_start=False))
    count = _only_number(_ANY_NUMBER, text)
    if count is not None:
        return count
    text = _first_structure(text)
    found = _read_compat(text)
    if found is not MISSING:
        return found
    count = _only_number(_ANY_NUMBER, text)
    return text.strip() if count is None else count


def read_2026_08(value: Any, *, count: bool = True) -> Any:
    """Return what the reference implementation of August 2026 reads, defects included.

    Args:
        value: the answer, or a part of it.
        count: whether a number may be taken out of text; only of the answer as a whole.
    """
    if isinstance(value, (dict, list, tuple, int, float)) or value is None:
        return value
    text = fenced(after_marker(_as_text(value), at_line_start=True))
    for candidate in (text, *_structures(text)):
        found = _read_compat(candidate)
        if found is not MISSING:
            return found
    if not count:
        return text
    number = _only_number(_WHOLE_NUMBER, text)
    number = _last_line_number(text) if number is None else number
    return text if number is None else number


def after_marker(text: str, *, at_line_start: bool) -> str:
    """Return what follows the first marker, of the first kind that there is."""
    text = text.strip()
    for marker in _AT_LINE_START if at_line_start else _ANYWHERE:
        found = marker.search(text)
        if found:
            return text[found.end() :].strip()
    return text


def fenced(text: str) -> str:
    """Return the text of the first fenced block, or all of it."""
    start = text.find("```")
    if start < 0:
        return text
    tag = _FENCE_TAG.match(text, start + 3)
    inside = tag.end() if tag else start + 3
    end = text.find("```", inside)
    return text[inside:end].strip() if end >= 0 else text


def _as_text(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(repr, value))) + "}" if value else str(value)
    return str(value)


def _only_number(pattern: re.Pattern[str], text: str) -> int | float | None:
    found = [match.group() for match in islice(pattern.finditer(text), 2)]
    return _as_number(found[0]) if len(found) == 1 else None


def _as_number(digits: str) -> int | float:
    return float(digits) if "." in digits else int(digits)


def _last_line_number(text: str) -> int | float | None:
    lines = text.strip().splitlines()
    line = lines[-1].strip() if lines else ""
    found = _LAST_LINE_NUMBER.fullmatch(line) if len(line) <= _MAX_LINE else None
    return _as_number(found.group(1)) if found else None


def _first_structure(text: str) -> str:
    start = OPENING.search(text)
    if start is None:
        return text
    return text[start.start() : Scanner(text).end_of(start.start())].strip()


def _structures(text: str) -> Iterator[str]:
    """Yield objects, then lists, then tuples, the last of each kind first."""
    scanner = Scanner(text)
    for opening in BRACKETS:
        found = []
        start = text.find(opening)
        while start >= 0:
            end = scanner.end_of(start)
            if scanner.steps_left < 0:
                raise EvaluationError("the answer has too many unclosed brackets to find a structure in it")
            if end is not None:
                found.append(text[start:end])
            start = text.find(opening, start + 1 if end is None else end)
        yield from reversed(found)


def _read_compat(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return json.loads(text.replace("'", '"'))
    except json.JSONDecodeError:
        return MISSING
