"""leaf_match: the similarity of two JSON leaves where no comparator was named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any, Final
from unicodedata import normalize

from rapidfuzz.distance import Levenshtein

from spanscore.json_text import plain

__all__ = ["EQUAL_BUT_FOR_FORM", "is_huge", "kind_of", "leaf_match", "words_match"]

EQUAL_BUT_FOR_FORM: Final = 0.95
"""Similarity of two texts that differ only in case, blanks or punctuation at the ends of words."""

_NUMBERS: Final = frozenset({int, float})
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_NEAR: Final = 0.1  # relative error from which a number is worth nothing
_NEAR_CREDIT: Final = 0.5  # a near number is wrong all the same
_MAX_WORDS: Final = 20_000  # the order of more words is not looked at; it would take seconds
_HINT_WORDS: Final = 64  # from here on a hint makes near matches faster, the result is the same
_MAX_BITS: Final = 13_300
_END: Final = ".,;:!?"
_MARK: Final = re.compile("[0-9.,;:!?]")
_DIGIT: Final = re.compile(r"\d")
_CODE_SHARE: Final = 4  # one word in four with a digit makes a text a code
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)
_WORD: Final = re.compile(_UNSPACED.pattern + "|[^\\s" + _UNSPACED.pattern[1:] + "+")
_UNSPACED_PROSE: Final = 12  # fewer such characters are a label: right or wrong


def leaf_match(expected: Any, actual: Any) -> float:
    """Return the similarity of two JSON leaves; only floats are made, nothing else.

    Values of different kinds: 0. Numbers: 1 if equal by value; within a tenth of the expected
    number at most half, ``0.5 * (1 - relative error / 0.1)``; else 0, as for another sign. Booleans
    are no numbers, NaN and infinities equal nothing, a Decimal equals a float whose shortest text
    it is. Text: 1 if equal, 0.95 if only case, blanks or punctuation at word ends differ, else the
    share of words in common, 0 where that is half or less, or where one word in four holds a
    digit. Objects and lists: 1 if they are equal, else 0.

    >>> leaf_match("New York", " new york "), leaf_match("approved", "unapproved"), leaf_match(1, 1.0)
    (0.95, 0.0, 1.0)
    """
    kind, other = type(expected), type(actual)
    if kind is str and other is str:
        return 1.0 if expected == actual else _text_match(expected, actual)
    if kind in _NUMBERS and other in _NUMBERS:
        return 1.0 if expected == actual and expected - expected == 0 else _near(expected, actual)
    if kind in _SCALARS and other in _SCALARS:
        return 1.0 if expected is actual else 0.0
    return _uncommon_match(expected, actual)


def _near(expected: Any, actual: Any) -> float:
    try:
        if not (type(expected) in _NUMBERS and type(actual) in _NUMBERS):  # Decimals
            expected, actual = float(expected), float(actual)
        size, difference = abs(expected), abs(expected - actual)
        if not difference < _NEAR * size:  # NaN, infinities and an expected zero too
            return 0.0
        return _NEAR_CREDIT * float(1.0 - difference / (_NEAR * size))
    except (OverflowError, ValueError):  # an integer that no float holds; a signalling NaN
        return 0.0


def kind_of(value: Any) -> str:
    """Return the JSON kind of a value; "" for what is no JSON value."""
    if value is None:
        return "null"
    for kind, types in _KINDS:
        if isinstance(value, types):
            return kind
    return ""


_KINDS: Final[tuple[tuple[str, tuple[type, ...]], ...]] = (
    ("boolean", (bool,)),
    ("text", (str,)),
    ("number", (int, float, Decimal)),
    ("object", (Mapping,)),
    ("list", (list, tuple)),
)


def is_huge(number: Any) -> bool:
    """Return True for an integer of over 4,000 digits, which takes seconds to become a Decimal."""
    return isinstance(number, int) and number.bit_length() > _MAX_BITS


def words_match(expected: Sequence[str], actual: Sequence[str]) -> float:
    """Return the share of words in common, in order: 1 - word edits / words of the longer."""
    longer = max(len(expected), len(actual))
    if longer > _MAX_WORDS:
        return (Counter(expected) & Counter(actual)).total() / longer
    hint = 0.9 if longer > _HINT_WORDS else None
    return Levenshtein.normalized_similarity(expected, actual, score_cutoff=0.5, score_hint=hint)


def _text_match(expected: str, actual: str) -> float:
    if expected.isascii() and actual.isascii():
        marked = _MARK.search(expected) is not None or _MARK.search(actual) is not None
    else:
        expected, actual, marked = normalize("NFC", expected), normalize("NFC", actual), True
        if expected == actual:
            return 1.0
    left, right = _words(expected, marked), _words(actual, marked)
    if left == right:
        return EQUAL_BUT_FOR_FORM
    if len(left) < 2 or len(right) < 2 or (marked and (_is_code(left) or _is_code(right))):
        return 0.0
    share = words_match(left, right)
    return min(share, EQUAL_BUT_FOR_FORM) if share > 0.5 else 0.0


def _words(text: str, marked: bool) -> list[str]:
    """Return the words of a text without case; ``marked`` says that it may have digits and punctuation."""
    if not marked:
        return text.lower().split()
    if text.isascii():
        words = text.lower().split()
    else:
        text = normalize("NFC", text.casefold())
        unspaced = len(_UNSPACED.findall(text)) >= _UNSPACED_PROSE
        words = _WORD.findall(text) if unspaced else text.split()
    return [word.rstrip(_END) or word for word in words]


def _is_code(words: list[str]) -> bool:
    """Return True if so many words hold a digit that a near miss is another thing."""
    return _CODE_SHARE * sum(1 for word in words if _DIGIT.search(word)) >= len(words)


def _uncommon_match(expected: Any, actual: Any) -> float:
    kind = kind_of(expected)
    if kind != kind_of(actual):
        return 0.0
    if kind == "number":
        return 1.0 if _same_number(expected, actual) else _near(expected, actual)
    if kind in ("object", "list"):
        return 1.0 if _same_container(expected, actual) else 0.0
    left, right = plain(expected), plain(actual)
    return leaf_match(left, right) if type(left) in _SCALARS and type(right) in _SCALARS else 0.0


def _same_number(expected: Any, actual: Any) -> bool:
    if not (_is_finite(expected) and _is_finite(actual)):
        return False
    if Decimal in (type(expected), type(actual)) and (is_huge(expected) or is_huge(actual)):
        return False
    if expected == actual:
        return True
    if isinstance(expected, float) and isinstance(actual, Decimal):
        expected, actual = actual, expected
    if isinstance(expected, Decimal) and isinstance(actual, float):
        return expected == Decimal(float.__repr__(actual))
    return False


def _is_finite(number: Any) -> bool:
    if isinstance(number, Decimal):
        return number.is_finite()
    return isinstance(number, int) or isfinite(number)


def _same_container(expected: Any, actual: Any) -> bool:
    """Compare without recursion; a pair that is being compared already is taken as equal."""
    pairs, seen = [(expected, actual)], set()
    while pairs:
        left, right = pairs.pop()
        kind = kind_of(left)
        if kind not in ("object", "list") or kind != kind_of(right):
            if leaf_match(left, right) != 1.0:
                return False
        elif (id(left), id(right)) not in seen:
            seen.add((id(left), id(right)))
            if len(left) != len(right):
                return False
            if kind == "object":
                if left.keys() != right.keys():
                    return False
                pairs += [(value, right[key]) for key, value in left.items()]
            else:
                pairs += zip(left, right, strict=True)
    return True
