"""Text, Enumerated and Regex: comparators of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal
from unicodedata import combining, normalize

from rapidfuzz.distance import Levenshtein

from spanscore.evaluators.comparators.comparison import MATCH, MISS, Comparison, unread
from spanscore.evaluators.comparators.leaf_match import kind_of, leaf_match, words_match
from spanscore.evaluators.comparators.settings import choice, flag, number, optional_text, refuse

__all__ = ["Enumerated", "Regex", "Text"]

_MAX_CHARACTERS: Final = 100_000  # longer texts are compared by word; by character they would take seconds
_MAX_SEARCHED: Final = 10_000
_HINT_LENGTH: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Similarity of two texts. Source: ANLS for the cut-off.

    ``levenshtein``: 1 - edits / characters of the longer (words, over 100,000 characters).
    ``token_set``: words in common / words in either, order and repetition aside. ``exact``: 1 or
    0. Two empty texts: 1, one: 0. What is no text: 0, note "type", but 1 where both sides are equal.

    Args:
        method: ``levenshtein``, ``token_set`` or ``exact``.
        case_sensitive: False folds case.
        normalize: Unicode form before comparing: ``none``, ``nfc``, ``nfkc`` or ``accents``, which is nfkc
            without accents. All but ``none`` trim the text and make one space of each run of blanks.
        cutoff: what is below counts as 0.

    Raises:
        ConfigurationError: a bad setting.

    >>> Text().compare("Crème  Brulée", "creme brulee").similarity
    0.8333333333333334
    >>> Text(normalize="accents").compare("Crème  Brulée", "creme brulee").similarity
    1.0
    """

    method: Literal["levenshtein", "token_set", "exact"] = "levenshtein"
    case_sensitive: bool = False
    normalize: Literal["none", "nfc", "nfkc", "accents"] = "nfkc"
    cutoff: float = 0.5

    def __post_init__(self) -> None:
        choice("text", "method", self.method, ("levenshtein", "token_set", "exact"))
        flag("text", "case_sensitive", self.case_sensitive)
        choice("text", "normalize", self.normalize, ("none", "nfc", "nfkc", "accents"))
        number("text", "cutoff", self.cutoff, 1)

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return the similarity of two texts."""
        if not isinstance(expected, str) or not isinstance(actual, str):
            return unread(expected, actual, "type")
        left, right = self._form(expected), self._form(actual)
        if left == right:
            return MATCH
        similarity = self._similarity(left, right)
        return Comparison(similarity) if similarity >= self.cutoff else MISS

    def _form(self, text: str) -> str:
        if self.normalize == "none":
            return text if self.case_sensitive else text.casefold()
        if not text.isascii():
            text = normalize("NFC" if self.normalize == "nfc" else "NFKC", text)
        if not self.case_sensitive:
            text = text.casefold()
        if self.normalize == "accents":
            text = "".join(character for character in normalize("NFD", text) if not combining(character))
        return " ".join((text if text.isascii() else normalize("NFC", text)).split())

    def _similarity(self, left: str, right: str) -> float:
        if self.method == "exact":
            return 0.0
        if self.method == "token_set":
            words, others = set(left.split()), set(right.split())
            # two texts of blanks have no words, and are not equal
            return len(words & others) / (len(words | others) or 1)
        longer = max(len(left), len(right))
        if longer > _MAX_CHARACTERS:
            return words_match(left.split(), right.split())
        hint = max(0.9, self.cutoff) if longer > _HINT_LENGTH else None
        return Levenshtein.normalized_similarity(left, right, score_cutoff=self.cutoff, score_hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerated:
    """1 if the values are equal, else 0: "approved" and "unapproved" have nothing in common.

    Texts, numbers, booleans and null; numbers are equal by value, another kind is 0, note "type".

    Args:
        case_sensitive: False ignores the case of text.
        values: what is allowed; an output outside is noted as "not allowed". None: anything.

    Raises:
        ConfigurationError: a bad setting.

    >>> Enumerated().compare("approved", "unapproved").similarity
    0.0
    """

    case_sensitive: bool = True
    values: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        flag("enum", "case_sensitive", self.case_sensitive)
        if self.values is not None:
            if not isinstance(self.values, (list, tuple)) or not self.values:
                refuse("enum", "values", self.values, "a list of the allowed values, or nothing")
            object.__setattr__(self, "values", tuple(self.values))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return 1.0 or 0.0."""
        if self._equal(expected, actual):
            return MATCH
        if self.values is not None and not any(self._equal(value, actual) for value in self.values):
            return Comparison(0.0, "not allowed")
        return MISS if kind_of(expected) == kind_of(actual) else Comparison(0.0, "type")

    def _equal(self, expected: Any, actual: Any) -> bool:
        if isinstance(expected, str) and isinstance(actual, str):
            return expected == actual or (not self.case_sensitive and expected.casefold() == actual.casefold())
        return leaf_match(expected, actual) == 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    r"""1 if the output matches a regular expression of Python's `re`, else 0.

    The expression is the setting, or the expected value. An output that is no text: 0, note "type";
    one of more than 10,000 characters is not searched: 0, note "too long". `re` may take very long
    for an expression with nested repetition, whatever the length: write none from foreign hands.

    Args:
        pattern: the expression; None: the expected value is it.
        full: whether the whole text must match, or a part.
        case_sensitive: False ignores case.

    Raises:
        ConfigurationError: a bad setting, or a bad expression in the expected value.

    >>> Regex().compare(r"INV-\d{4}", "INV-0042").similarity
    1.0
    """

    pattern: str | None = None
    full: bool = True
    case_sensitive: bool = True
    _compiled: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        optional_text("regex", "pattern", self.pattern, "INV-[0-9]+")
        flag("regex", "full", self.full)
        flag("regex", "case_sensitive", self.case_sensitive)
        compiled = None if self.pattern is None else _compiled(self.pattern, self.case_sensitive)
        object.__setattr__(self, "_compiled", compiled)

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return 1.0 or 0.0."""
        compiled = self._compiled or _compiled(expected, self.case_sensitive)
        if not isinstance(actual, str):
            return Comparison(0.0, "type")
        if len(actual) > _MAX_SEARCHED:
            return Comparison(0.0, "too long")
        return MATCH if (compiled.fullmatch(actual) if self.full else compiled.search(actual)) else MISS


def _compiled(pattern: Any, case_sensitive: bool) -> re.Pattern[str]:
    if not isinstance(pattern, str):
        refuse("regex", "the expected value", pattern, "an expression as text, or set pattern")
    return _compiled_text(pattern, case_sensitive)


@lru_cache(maxsize=512)
def _compiled_text(pattern: str, case_sensitive: bool) -> re.Pattern[str]:
    try:
        return re.compile(pattern, 0 if case_sensitive else re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        refuse("regex", "pattern", pattern, f"a valid regular expression: {error}")
