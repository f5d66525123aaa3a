"""TolerantReader: one object or list from a text, read more freely than JSON allows."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final, Literal, NoReturn

from spanscore.step import MISSING

__all__ = ["DOUBLE_QUOTED", "FENCE", "MAX_LEVELS", "Problem", "TolerantReader", "UnreadableError"]

Problem = Literal["truncated", "invalid", "absent"]

MAX_LEVELS: Final = 1_000
"""A value nested deeper than this is not read: its problem is ``invalid``."""

FENCE: Final = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
"""A code fence at the start of a line."""

# Possessive throughout: no text makes them go back over what they have passed.
_INSIDE: Final = r"(?:[^'\\\n]++|\\.|\n(?![ \t]*+(?:```|~~~)))*+"  # a fence ends any text
DOUBLE_QUOTED: Final = '"' + _INSIDE.replace("'", '"')
_TOKEN: Final = re.compile(
    rf"""\s*+(?:(?P<text>{DOUBLE_QUOTED}"|'{_INSIDE}')|(?P<mark>[\[\](){{}}:,])|(?P<word>[^\s"'\[\](){{}}:,]++)|(?P<cut>.))?""",
    re.DOTALL,
)
_UNQUOTED_KEY: Final = re.compile(r"\s*+[^\s:{}\[\],]{1,80}+\s*+:")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_PYTHON: Final = {"True": True, "False": False, "None": None} | {
    word: float(word) for word in ("NaN", "nan", "Infinity", "-Infinity", "inf", "-inf")
}
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED: Final = dict(zip("nrtbf'\"\\/", "\n\r\t\b\f'\"\\/", strict=True)) | {"\n": ""}


class UnreadableError(Exception):
    """What begins here is no value: ``absent`` is a bracket of the prose, the rest is broken JSON."""

    def __init__(self, problem: Problem, position: int) -> None:
        super().__init__(problem)
        self.problem: Problem = problem
        self.position = position


class _Frame:
    """An object, list or tuple that is open."""

    __slots__ = ("built", "close", "key", "state")

    def __init__(self, opening: str) -> None:
        self.built: Any = {} if opening == "{" else []
        self.close = _CLOSING[opening]
        self.key = ""
        self.state: Literal["new", "colon", "value", "read", "comma"] = "new"

    @property
    def takes_key(self) -> bool:
        return self.close == "}" and self.state in ("new", "comma")

    @property
    def takes_value(self) -> bool:
        return self.state == "value" or (self.close != "}" and self.state in ("new", "comma"))

    @property
    def takes_close(self) -> bool:
        one_in_parentheses = self.close == ")" and self.state == "read" and len(self.built) == 1
        return self.state in ("new", "read", "comma") and not one_in_parentheses


class TolerantReader:
    """Reads the object or list that begins at ``start``, without recursion.

    Attributes:
        position: where the text was read to.
        frames: what is open there.
        repaired: JSON does not allow what was read.
        duplicate_keys: an object has a key twice.
    """

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self.position = start + 1
        self.frames = [_Frame(text[start])]
        self.repaired = False
        self.duplicate_keys = False

    @property
    def depth(self) -> int:
        """Objects and lists that are open."""
        return sum(frame.close != ")" for frame in self.frames)

    def read(self) -> Any:
        """Return the value; raise UnreadableError where it cannot be read to its end."""
        root = self.frames[0]
        while self.frames:
            token = _TOKEN.match(self._text, self.position)
            assert token is not None  # every part of it is optional
            if not self._take(self.frames[-1], token.lastgroup, token[token.lastgroup or 0]):
                self._fail(token)
            self.position = token.end()
        return root.built

    def _take(self, frame: _Frame, kind: str | None, token: str) -> bool:
        """Take one token; return False if it does not fit here."""
        if kind == "mark":
            return self._take_mark(frame, token)
        if kind == "text" and frame.takes_key:
            frame.key, frame.state = self._string(token), "colon"
            return True
        if kind == "text" and frame.takes_value:
            return self._add(frame, self._string(token))
        if kind == "word" and frame.takes_value:
            value = self._word(token)
            return value is not MISSING and self._add(frame, value)
        return False

    def _take_mark(self, frame: _Frame, mark: str) -> bool:
        if mark in _CLOSING:
            if not frame.takes_value or len(self.frames) == MAX_LEVELS:
                return False
            self.repaired |= mark == "("
            self.frames.append(_Frame(mark))
        elif mark == frame.close:
            if not frame.takes_close:
                return False
            self.repaired |= frame.state == "comma"
            self.frames.pop()
            return not self.frames or self._add(self.frames[-1], frame.built)
        elif mark == "," and frame.state == "read":
            frame.state = "comma"
        elif mark == ":" and frame.state == "colon":
            frame.state = "value"
        else:
            return False
        return True

    def _add(self, frame: _Frame, value: Any) -> bool:
        if frame.close == "}":
            self.duplicate_keys |= frame.key in frame.built
            frame.built[frame.key] = value
        else:
            frame.built.append(value)
        frame.state = "read"
        return True

    def _word(self, word: str) -> Any:
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if word in _PYTHON:
            self.repaired = True
            return _PYTHON[word]
        number = _NUMBER.fullmatch(word)
        try:
            return MISSING if number is None else float(word) if number.lastindex else int(word)
        except ValueError:  # more digits than Python reads
            return MISSING

    def _string(self, token: str) -> str:
        if token[0] == '"':
            try:
                text: str = json.loads(token)
                return text
            except ValueError:  # a line break, or an escape that JSON has not
                pass
        self.repaired = True
        text = _ESCAPE.sub(_unescaped, token[1:-1])
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # joins the pairs

    def _fail(self, token: re.Match[str]) -> NoReturn:
        kind = token.lastgroup
        start = token.start(kind or 0)
        begun = any(frame.state != "new" for frame in self.frames)
        if kind is None or (kind == "cut" and (begun or token[kind] == '"')):
            fence = FENCE.search(self._text, start)
            raise UnreadableError("truncated", fence.start() if fence else len(self._text))
        if begun and kind == "word" and (token.end() == len(self._text) or token[kind].startswith(("```", "~~~"))):
            raise UnreadableError("truncated", start)
        unquoted = self.frames[-1].takes_key and _UNQUOTED_KEY.match(self._text, self.position)
        if begun or unquoted or len(self.frames) == MAX_LEVELS:
            raise UnreadableError("invalid", start)
        raise UnreadableError("absent", start)


def _unescaped(escape: re.Match[str]) -> str:
    *codes, other = escape.groups()
    if other is not None:
        return _ESCAPED.get(other, escape[0])
    code = int(next(filter(None, codes)), 16)
    return chr(code) if code <= sys.maxunicode else escape[0]
