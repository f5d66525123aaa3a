"""FieldMatch: how many of the expected object's fields the output has."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from spanscore.errors import EvaluationError, OutputDecodeError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.extraction import extract_json
from spanscore.json_text import plain
from spanscore.score import FieldReason, FieldScore, Score
from spanscore.step import MISSING, Step

__all__ = ["FieldMatch", "as_json", "same_kind"]

_MAX_LEVELS: Final = 20_000
_MAX_TOLD: Final = 10
_PROBLEMS: Final = {
    "truncated": "an object or a list begins in it, and is cut off",
    "invalid": "what begins in it cannot be read",
    "absent": "there is none in it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldMatch:
    """Share of the top-level fields that match. Source: Galtea JSON Field Match, four variants.

    ``value = 1 - non-matching / expected fields``: a field matches if the output has the key with
    an equal value. Missing counts as non-matching, extra is not looked at. ``strict``: ``value =
    matching / fields of either side``, so that each extra field costs as much as a missing one.

    Equality is that of JSON, at any depth: int and float by value, booleans are no numbers, "30" is
    not 30, lists in order, objects with the same keys in any order. NaN and infinities equal
    nothing. null equals null, not a missing key. An empty expected object gives 1, with ``strict``
    only for an empty output and else 0.

    An output that is text is read by `spanscore.evaluators.extraction.extract_json`. One that is
    no object is the error OutputDecodeError, which the newer Galtea pages call skipped; an expected
    value that is no object, or text that is not exactly one, is EvaluationError.

    ``metrics`` has ``total_fields``, ``matched_fields`` and ``non_matching_fields``.

    Args:
        name: key of the score.
        normalized: texts in the values, not keys, are equal without case and combining marks (NFD).
        strict: extra fields count.
        compat: read text only as the Galtea page says: whole, fenced or embedded, nothing repaired.

    Raises:
        ConfigurationError: a bad name.

    >>> FieldMatch().evaluate('Here: {"name": "Ada", "born": 1816}', {"name": "Ada", "born": 1815}).value
    0.5
    """

    name: str = "field_match"
    normalized: bool = False
    strict: bool = False
    compat: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score; raise OutputDecodeError or EvaluationError where a side is no object."""
        return self.prepare(expected)(output)

    def prepare(self, expected: Any) -> Callable[[Any], Score]:
        """Return a function from output to score."""
        return partial(self._score, self._expected(expected))

    def _expected(self, expected: Any) -> Mapping[str, Any]:
        read = as_json(expected)
        if isinstance(read, str):
            found = extract_json(read)
            read = found.value if found.stage == "json" else MISSING
        if not isinstance(read, dict):
            given = "text that is no JSON object" if isinstance(expected, str) else f"a {type(expected).__name__}"
            raise EvaluationError(f"{self.name}: the expected value must be a JSON object; it is {given}")
        return read

    def _output(self, output: Any) -> tuple[Mapping[str, Any], str]:
        """Return the object of the output, and how it was read if that is worth telling."""
        read = as_json(output)
        if isinstance(read, dict):
            return read, ""
        if not isinstance(read, str):
            kind = "nothing" if read is None or read is MISSING else f"a {type(output).__name__}"
            raise OutputDecodeError(f"{self.name}: the output must be a JSON object; it is {kind}")
        found = extract_json(read)
        if isinstance(found.value, dict) and not (self.compat and found.stage == "repaired"):
            return found.value, "" if found.stage == "json" else f"output read from text: {found.stage}"
        why = "its JSON is no object" if found.problem is None else _PROBLEMS[found.problem]
        if isinstance(found.value, dict):
            why = "its JSON must be repaired to be read, which compat does not"
        raise OutputDecodeError(f"{self.name}: the output is text of {len(read)} characters without an object: {why}")

    def _score(self, expected: Mapping[str, Any], output: Any) -> Score:
        actual, told = self._output(output)
        keys = [*expected, *(key for key in actual if key not in expected)] if self.strict else list(expected)
        fields = tuple([self._field(key, expected.get(key, MISSING), actual.get(key, MISSING)) for key in keys])
        missed = [field for field in fields if field.value == 0.0]
        total, matched = len(fields), len(fields) - len(missed)
        return Score(
            evaluator=self.name,
            value=1.0 if total == 0 else matched / total if self.strict else 1 - len(missed) / total,
            explanation="; ".join(filter(None, (_explain(missed), told, "" if expected else "no field is expected"))),
            fields=fields,
            metrics={
                "total_fields": float(total),
                "matched_fields": float(matched),
                "non_matching_fields": float(len(missed)),
            },
            version=self.version,
        )

    def _field(self, key: str, expected: Any, actual: Any) -> FieldScore:
        reason: FieldReason = "match"
        if expected is MISSING:
            reason = "extra"
        elif actual is MISSING:
            reason = "missing"
        elif not self._equal(expected, actual):
            reason = "wrong" if same_kind(as_json(expected), as_json(actual)) else "type"
        return FieldScore(
            path=f"/{key.replace('~', '~0').replace('/', '~1')}",
            expected=None if expected is MISSING else expected,
            actual=None if actual is MISSING else plain(actual),
            value=float(reason == "match"),
            reason=reason,
        )

    def _equal(self, expected: Any, actual: Any) -> bool:
        pairs = [(expected, actual, 0)]
        while pairs:
            left, right, level = pairs.pop()
            left, right = as_json(left), as_json(right)
            if level > _MAX_LEVELS:
                raise EvaluationError(
                    f"{self.name}: a value is nested deeper than {_MAX_LEVELS:,} levels, or in itself"
                )
            if isinstance(left, dict) and isinstance(right, dict):
                if left.keys() != right.keys():
                    return False
                pairs += [(left[key], right[key], level + 1) for key in left]
            elif isinstance(left, list) and isinstance(right, list):
                if len(left) != len(right):
                    return False
                pairs += [(*pair, level + 1) for pair in zip(left, right, strict=True)]
            elif not same_kind(left, right) or not self._equal_leaves(left, right):
                return False
        return True

    def _equal_leaves(self, expected: Any, actual: Any) -> bool:
        if self.normalized and isinstance(expected, str):
            return _normalised(expected) == _normalised(actual)
        if isinstance(expected, float) and expected - expected != 0.0:
            return False
        return bool(expected == actual)


def as_json(value: Any) -> Any:
    """Return one value as JSON: scalars, dicts with text keys and lists as they stand, others converted.

    What lies inside a dict or a list is not looked at.
    """
    kind = type(value)
    if kind in _SCALARS or kind is list or value is MISSING:
        return value
    if kind is tuple:
        return list(value)
    if kind is dict and all(type(key) is str for key in value):
        return value
    return plain(value)


_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_NUMBERS: Final = frozenset({int, float})


def same_kind(left: Any, right: Any) -> bool:
    """Return True if two JSON values are of one kind; int and float are one, booleans are no numbers."""
    return type(left) is type(right) or (type(left) in _NUMBERS and type(right) in _NUMBERS)


def _normalised(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFD", text.casefold())
    bare = "".join(character for character in folded if not unicodedata.combining(character))
    return unicodedata.normalize("NFD", bare.casefold())


def _explain(missed: list[FieldScore]) -> str:
    told = ", ".join(f"{field.path} {field.reason}" for field in missed[:_MAX_TOLD])
    return told if len(missed) <= _MAX_TOLD else f"{told}, {len(missed) - _MAX_TOLD} more"
