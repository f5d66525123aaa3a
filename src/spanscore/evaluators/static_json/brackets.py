"""Pieces of text between brackets that belong together."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["BRACKETS", "OPENING", "Scanner"]

BRACKETS: Final = {"{": "}", "[": "]", "(": ")"}
OPENING: Final = re.compile(r"[{\[(]")

_TEXTS: Final = r'"[^"\\]*(?:\\.[^"\\]*)*"?|' + r"'[^'\\]*(?:\\.[^'\\]*)*'?|"
_PARTS: Final = {
    opening: re.compile(_TEXTS + "[" + re.escape(opening + closing) + "]", re.DOTALL)
    for opening, closing in BRACKETS.items()
}
_STEPS: Final = 2_000_000


class Scanner:
    """Finds where the brackets of one text are closed.

    Attributes:
        text: the text.
        steps_left: brackets and quoted texts that may still be looked at; a text with thousands of
            unclosed brackets would else cost the square of its length.
    """

    __slots__ = ("steps_left", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps_left = _STEPS + 2 * len(text)

    def end_of(self, start: int) -> int | None:
        """Return where the piece ends whose bracket is at ``start``, or None; quoted brackets do not count."""
        opening = self.text[start]
        depth = 0
        for part in _PARTS[opening].finditer(self.text, start):
            self.steps_left -= 1
            kind = part.group()[0]
            if kind == opening:
                depth += 1
            elif kind not in "\"'":
                depth -= 1
                if depth == 0:
                    return part.end()
            if self.steps_left < 0:
                return None
        return None
