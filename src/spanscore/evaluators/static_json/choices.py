"""Answers to multiple-choice questions: one letter."""

from __future__ import annotations

import re
from typing import Any, Final

from spanscore.evaluators.static_json.read_compat import after_marker, fenced

__all__ = ["choice_of", "is_choice"]

_CHOICE_LABEL: Final = r"(?:final\s+answer|answer|option|choice)\s*(?:is|:)?\s*"
_LETTER: Final = r"[(\[]?([A-Za-z])[)\].:]?\s*"
_CHOICES: Final = (
    re.compile(rf"\A\s*(?:{_CHOICE_LABEL})?{_LETTER}\Z", re.IGNORECASE),
    re.compile(rf"{_CHOICE_LABEL}{_LETTER}\Z", re.IGNORECASE),
    re.compile(rf"(?:\A|[\s,;:]){_LETTER}\Z"),
)
_MAX_TEXT: Final = 1_000  # a longer line chooses nothing


def is_choice(answer: Any) -> bool:
    """Return True for one letter, the answer to a multiple-choice question."""
    return isinstance(answer, str) and bool(re.fullmatch(r"[A-Za-z]", answer.strip()))


def choice_of(answer: Any) -> Any:
    r"""Return the letter that the last line of the text chooses, or the answer as it stands.

    >>> choice_of("Both are dear.\\nThe correct option is C.")
    'C'
    """
    content = fenced(after_marker(answer, at_line_start=True)).strip() if isinstance(answer, str) else ""
    lines = content.splitlines()
    for pattern, text in ((_CHOICES[0], content), *((each, lines[-1].strip() if lines else "") for each in _CHOICES)):
        found = pattern.search(text if len(text) <= _MAX_TEXT else "\n" + text[-_MAX_TEXT:])
        if found:
            return found.group(1).upper()
    return answer
