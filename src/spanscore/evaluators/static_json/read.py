"""Answers of models, read from text."""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, Final

from spanscore.errors import EvaluationError
from spanscore.evaluators.static_json.brackets import BRACKETS, OPENING, Scanner
from spanscore.json_text import plain
from spanscore.step import MISSING

__all__ = ["NUMBER", "read_answer", "read_structure"]

NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
"""A JSON number; the whole text must match."""

_LABELLED: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"<answer>",
        r"\bfinal answer[*_]*:[*_]*|^[\s>#*_]{0,9}final answer[*_:]*$",
        r"^[\s>#*_]{0,9}(?:the )?(?:answer|output|result|response)[*_]*(?::[*_]*|$)",
    )
)
_FENCE: Final = re.compile(r"```(?:[\w+-]{0,20}\n)?(.*?)```", re.DOTALL)
_CLOSING_TAG: Final = re.compile(r"</answer>", re.IGNORECASE)
_COUNT: Final = re.compile(
    r"\b(?:answer|count|number|total|result)(?: \w+){0,5}?(?: is| was| are|:| =| equals)[ *]{0,4}"
    r"(-?\d+(?:\.\d+)?)(?![\w%:/-]|\.\d|,\d)",
    re.IGNORECASE,
)
_MAX_LINE: Final = 1_000  # a longer last line is prose
_CHARACTERS_A_STEP: Final = 4  # reading in vain against looking at one bracket


def read_answer(value: Any) -> Any:
    """Return what an answer says, wherever in the text it says it.

    Text that is JSON, or a Python literal in brackets, is read as such. Otherwise what follows the
    last label at the start of a line ("Final Answer:", "Answer:", "Output:", "Result:",
    "Response:") counts, and in it the last object that can be read, or else the last list, or the
    last tuple. Without any of these it is a number if the text is one, calls one its answer,
    count, total or result, or ends in a line that is one; text otherwise.

    >>> read_answer("Draft: {'a': 1}. Final Answer: {'a': 2} (checked twice)")
    {'a': 2}
    >>> read_answer("The answer is 34."), read_answer("Chiller 6"), read_answer('{"output": "ok"}')
    (34, 'Chiller 6', {'output': 'ok'})
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    found = _read_whole(text)
    if found is not MISSING:
        return found
    body = _after_label(text)
    for part in (body,) if body == text else (body, text):
        found = _last_structure(part)
        if found is not MISSING:
            return found
    if "```" in body:
        fences = _FENCE.findall(body)
        body = fences[-1].strip() if fences else body
    found = _read_whole(body)
    if found is not MISSING:
        return found
    count = _count_of(body)
    return body if count is None else count


def read_structure(text: str) -> Any:
    """Return what the whole text is, in JSON or as a Python literal, or MISSING.

    Raises:
        EvaluationError: it is nested too deep to be read.
    """
    found = _json(text)
    if found is MISSING:
        found = _literal(text)
        found = found if found is MISSING else plain(found)
    return _json(text.replace("'", '"')) if found is MISSING else found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return MISSING
    except RecursionError:
        raise EvaluationError("the answer is nested too deep to be read; give a value of at most 200 levels") from None


def _literal(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes and numbers that Python finds odd
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return MISSING


def _read_whole(text: str) -> Any:
    if text[:1] in BRACKETS and text[-1:] in "}])":
        return read_structure(text)
    if text[:1] == '"' or text in ("true", "false", "null") or NUMBER.fullmatch(text):
        return _json(text)  # MISSING for more digits than Python turns into an integer
    return MISSING


def _after_label(text: str) -> str:
    for label in _LABELLED:
        end = max((match.end() for match in label.finditer(text)), default=None)
        if end is not None:
            return _CLOSING_TAG.split(text[end:], 1)[0].strip()
    return text


def _last_structure(text: str) -> Any:
    """Return the last object of the text, else the last list, else the last tuple, none inside another."""
    last: dict[str, Any] = {}
    scanner = Scanner(text)
    start = OPENING.search(text)
    while start is not None and scanner.steps_left > 0:
        end = scanner.end_of(start.start()) or start.end()
        found = read_structure(text[start.start() : end])
        if isinstance(found, (dict, list)):
            last[start.group()] = found
        else:
            scanner.steps_left -= (end - start.start()) // _CHARACTERS_A_STEP
            end = start.end()
        start = OPENING.search(text, end)
    return next((last[opening] for opening in BRACKETS if opening in last), MISSING)


def _count_of(text: str) -> int | float | None:
    labelled = [match.group(1) for match in _COUNT.finditer(text)]
    last_line = text[-_MAX_LINE:].rpartition("\n")[2].strip().strip("*").rstrip(".")
    number = last_line if NUMBER.fullmatch(last_line) else labelled[-1] if labelled else ""
    found = _json(number) if number else None
    return found if isinstance(found, (int, float)) else None
