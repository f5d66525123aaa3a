"""extract_json: the JSON value in a text that a model sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn

from spanscore.evaluators.tolerant_json import (
    DOUBLE_QUOTED,
    FENCE,
    MAX_LEVELS,
    Problem,
    TolerantReader,
    UnreadableError,
)
from spanscore.step import MISSING

__all__ = ["Extracted", "MAX_LEVELS", "Problem", "Stage", "extract_json"]

Stage = Literal["json", "fenced", "embedded", "repaired", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The JSON value found in a text.

    Attributes:
        value: JSON value, MISSING if none was found.
        stage: ``json``: the whole text is the value; ``fenced``: it follows a code fence;
            ``embedded``: it stands in prose; ``repaired``: one of these, but it had to be read
            more freely than JSON allows; ``none``: there is no value.
        problem: why there is no value, None if there is one. ``truncated``: an object or a list
            begins, and the text or its fence ends before it does; ``invalid``: one begins, and
            cannot be read; ``absent``: none begins.
        duplicate_keys: an object of the value has a key twice; the last one counts.
    """

    value: Any
    stage: Stage
    problem: Problem | None = None
    duplicate_keys: bool = False


def extract_json(text: str) -> Extracted:
    """Return the JSON value in ``text``, and how it was found. Never raises, takes linear time.

    The whole text, where it is JSON. Else the last complete object or list that follows a code
    fence; else the last complete object outside of any other; else the only list. In prose, an
    empty container and a list of one whole number, which may be a footnote, are no JSON. A scalar
    is taken only where it is the whole text.

    Read freely are: trailing commas, single quotes, ``True``, ``False``, ``None``, NaN and
    infinities, tuples, line breaks and unknown escapes in text. Nothing is completed, and no part
    of a value that is truncated or invalid is taken for a value.

    >>> extract_json("Sure: {'total': 12.5, 'paid': True,} Anything else?").value
    {'total': 12.5, 'paid': True}
    >>> extract_json('{"items": [{"id": 1}, {"id"').problem
    'truncated'
    >>> extract_json("see COMP-01 and [1]").problem
    'absent'
    """
    whole = _whole(text)
    return whole if whole is not None else _Search(text).result()


def _whole(text: str) -> Extracted | None:
    repeats = _Repeats()
    try:
        value = _decoder(repeats).decode(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):  # too deep for this thread's stack: read step by step
        return None
    if _brackets(text) > MAX_LEVELS and _too_deep(value):
        return Extracted(value=MISSING, stage="none", problem="invalid")
    return Extracted(value=value, stage="json", duplicate_keys=repeats.found)


class _Repeats:
    """Builds objects, and remembers whether one of them had a key twice."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        self.found |= len(built) < len(pairs)
        return built


def _decoder(repeats: _Repeats) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=repeats, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _brackets(text: str, start: int = 0, end: int | None = None) -> int:
    return text.count("[", start, end) + text.count("{", start, end)


def _too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_LEVELS):
        level = [child for parent in level for child in _children(parent) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(parent: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return parent.values() if isinstance(parent, dict) else parent


# Possessive throughout: no text makes them go back over what they have passed.
# What cannot begin a value in prose is left out: {}, [], [1] and lists that begin with an unknown word.
_OPENING: Final = re.compile(
    r"(?:(?<!`)`{3,}+|(?<!~)~{3,}+)[ \t]*+[\w.+-]*+\s*+(?P<fenced>[{\[])|\{(?!\s*+[{}])"
    r"|\[(?!\s*+(?:\d*+\s*+\]|(?!true|false|null|True|False|None|NaN|nan|inf|Inf)[A-Za-z]))"
)
_LIKELY: Final = re.compile(r'\{\s*+"|\[\s*+["{\[\d-]')
_TRIES: Final = 64  # a failure of the fast parser costs time by its position
_SKIPPED: Final = re.compile(rf'{DOUBLE_QUOTED}"?|[\[\]{{}}]|(?P<fence>{FENCE.pattern})', re.DOTALL | re.MULTILINE)
_DEPTH: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


class _Search:
    """Goes through a text once and keeps the candidates that the rule chooses among."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = len(text) - len(text.lstrip("\ufeff \t\r\n"))
        self._end = len(text.rstrip())
        self._repeats = _Repeats()
        self._decoder = _decoder(self._repeats)
        self._tries = _TRIES
        self._fenced: Extracted | None = None
        self._object: Extracted | None = None
        self._list: Extracted | None = None
        self._found = 0
        self._problem: Problem = "absent"

    def result(self) -> Extracted:
        position = 0
        while (opening := _OPENING.search(self._text, position)) is not None:
            position = self._candidate(opening.end(opening.lastgroup or 0) - 1, opening["fenced"] is not None)
        only_list = self._list if self._found == 1 else None
        chosen = self._fenced or self._object or only_list
        return chosen or Extracted(value=MISSING, stage="none", problem=self._problem)

    def _candidate(self, start: int, fenced: bool) -> int:
        """Look at what begins at ``start``; return where to go on."""
        read = self._strictly(start)
        if read is None:
            reader = TolerantReader(self._text, start)
            try:
                read = (reader.read(), reader.position)
            except UnreadableError as error:
                return self._unreadable(error, reader)
            if reader.repaired:
                return self._keep(*read, "repaired", fenced, reader.duplicate_keys)
            self._repeats.found = reader.duplicate_keys
        is_all = start == self._begin and read[1] == self._end
        return self._keep(*read, "fenced" if fenced else "json" if is_all else "embedded", fenced, self._repeats.found)

    def _strictly(self, start: int) -> tuple[Any, int] | None:
        """Return the value and its end as the fast parser reads them, None if it is not for it."""
        if not self._tries or not _LIKELY.match(self._text, start):
            return None
        self._repeats.found = False
        try:
            value, end = self._decoder.raw_decode(self._text, start)
        except (ValueError, RecursionError):
            self._tries -= 1
            return None
        return (value, end) if _brackets(self._text, start, end) <= MAX_LEVELS or not _too_deep(value) else None

    def _keep(self, value: Any, end: int, stage: Stage, fenced: bool, duplicate_keys: bool) -> int:
        found = Extracted(value=value, stage=stage, duplicate_keys=duplicate_keys)
        self._found += 1
        if fenced:
            self._fenced = found
        elif isinstance(value, dict):
            self._object = found
        else:
            self._list = found
        return end

    def _unreadable(self, error: UnreadableError, reader: TolerantReader) -> int:
        if error.problem == "absent":  # a bracket of the prose
            return error.position
        self._problem = error.problem
        return error.position if error.problem == "truncated" else self._after(error.position, reader.depth)

    def _after(self, position: int, depth: int) -> int:
        """Return where a value that cannot be read ends: its last bracket, a fence or the end of the text."""
        for found in _SKIPPED.finditer(self._text, position):
            if found.lastgroup == "fence":
                return found.start()
            depth += _DEPTH.get(found[0], 0)
            if depth == 0:
                return found.end()
        return len(self._text)
