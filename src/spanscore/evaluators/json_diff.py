"""JsonDiff: weighted similarity of two JSON values, key by key."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import fsum
from typing import Any, Final, Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from spanscore.errors import ConfigurationError, EvaluationError, OutputDecodeError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.field_match import as_json, same_kind
from spanscore.evaluators.json_diff_weights import LOOPBACK, check_known, checked_weights, child_weights, key_weights
from spanscore.evaluators.leaves import text_similarity
from spanscore.json_text import parse_json, plain, serialise
from spanscore.score import FieldReason, FieldScore, Score
from spanscore.step import MISSING, Step

__all__ = ["JsonDiff"]

_MAX_LEVELS: Final = 1_000
_SHOWN: Final = 3
_SHOWN_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonDiff:
    """Weighted mean of the similarities of all keys. Source: Lynxius JSON Difference.

    Objects: ``S = sum(s_i * w_i * f) / n`` over the n keys of either side, ``f = n / sum(w_i)``.
    Lists: the mean over the positions of the longer one. Numbers: ``1 - |e - a| / (|e| + |a|)``, two
    zeros 1. Text: ``1 - Levenshtein(e, a) / length of the longer``, two empty texts 1. Booleans and
    null: equal or not. A missing key, an extra key, a surplus element and a value of another kind
    are 0. Two empty objects or lists are 1. NaN and infinities are 0. Where an object or a list is
    expected and the output is text, the text is read as JSON.

    ``metrics`` has ``n`` and ``f`` of the top level where both sides are objects. ``fields`` leaves
    out what weighs nothing.

    Args:
        name: key of the score.
        weights: weight of each key, 0..1, 1 if not given; for the keys below, an object of weights,
            in which ``"__key"`` is the weight of ``key`` itself. Weights for a list are those of
            every element. Where all weights of an object are 0 they count as 1. One number, or
            None, weighs all keys alike.
        unknown_weights: a weight that names a key neither side has is an "error", or "ignore" it.
        compat: give Lynxius' result to the bit, defects included: surplus elements are free, one
            empty list or None in the weights is an error, a missing key is null, True is 1,
            NaN makes the score NaN (which the engine reports as an error), text is never read as JSON.

    Raises:
        ConfigurationError: a bad name or weight.

    >>> evaluator = JsonDiff(weights={"total": 1.0, "items": {"__items": 0.5, "note": 0.0}})
    >>> evaluator.evaluate({"total": 30, "items": [{"id": 7}]}, {"total": 50, "items": [{"id": 7, "note": "x"}]}).value
    0.8333333333333333
    """

    name: str = "json_diff"
    weights: Mapping[str, Any] | float | None = field(default_factory=dict)
    unknown_weights: Literal["error", "ignore"] = "error"
    compat: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "weights", checked_weights(self.weights))
        if self.unknown_weights not in ("error", "ignore"):
            raise ConfigurationError(f"unknown_weights is {self.unknown_weights!r}; use 'error' or 'ignore'")

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score; raise EvaluationError for no value, an unknown weight or too deep nesting."""
        return self.prepare(expected)(output)

    def prepare(self, expected: Any) -> Callable[[Any], Score]:
        """Return a function from output to score."""
        if expected is MISSING:
            raise EvaluationError(f"{self.name}: there is no expected value to compare with")
        return partial(self._score, expected)

    def _score(self, expected: Any, output: Any) -> Score:
        if output is MISSING:
            raise OutputDecodeError(f"{self.name}: there is no output to compare")
        return self._score_compat(expected, output) if self.compat else self._score_default(expected, output)

    def _score_default(self, expected: Any, output: Any) -> Score:
        expected, output = as_json(expected), as_json(output)
        if isinstance(output, str) and isinstance(expected, (dict, list)):
            output = parse_json(output)
        if self.unknown_weights == "error":
            check_known(self.weights, (expected, output), self.name)
        fields = tuple(self._fields(expected, output))
        total = fsum([one.weight for one in fields])
        return Score(
            evaluator=self.name,
            value=fsum([one.weight * one.value for one in fields]) / total,
            explanation=_explain(fields),
            fields=fields,
            metrics=self._metrics(expected, output),
            version=self.version,
        )

    def _metrics(self, expected: Any, output: Any) -> dict[str, float]:
        keys = _keys(expected, output) if isinstance(expected, dict) and isinstance(output, dict) else []
        return {"n": float(len(keys)), "f": len(keys) / fsum(key_weights(self.weights, keys))} if keys else {}

    def _fields(self, expected: Any, output: Any) -> Iterator[FieldScore]:
        pending = [_Pair(expected, output, self.weights, 1.0, "", 0)]
        while pending:
            pair = pending.pop()
            if pair.level > _MAX_LEVELS:
                raise EvaluationError(f"{self.name}: both values are nested deeper than {_MAX_LEVELS:,} levels")
            parts = _parts(pair)
            if parts is None:
                yield _field(pair)
            else:
                pending += [part for part in reversed(parts) if part.share > 0.0]

    def _score_compat(self, expected: Any, output: Any) -> Score:
        try:
            value = _reference(expected, output, self.weights)
        except (ArithmeticError, AttributeError, TypeError, RecursionError) as error:
            raise EvaluationError(
                f"{self.name}: the reference implementation fails on these values with {type(error).__name__}: "
                "one empty list, None in the weights, numbers too large or nesting too deep"
            ) from None
        reason: FieldReason = "match" if value == 1.0 else "similar" if value > 0.0 else "wrong"
        whole = FieldScore(path="", expected=expected, actual=plain(output), value=value, reason=reason)
        return Score(evaluator=self.name, value=value, fields=(whole,), version=self.version)


class _Pair(NamedTuple):
    """Two values that stand at one place; MISSING where there is none."""

    expected: Any
    actual: Any
    weights: Any
    share: float  # of the whole, 0..1
    path: str
    level: int


def _parts(pair: _Pair) -> list[_Pair] | None:
    """Return what stands in two objects or two lists, None for a leaf."""
    expected, actual, weights, share, path, level = pair
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = _keys(expected, actual)
        found = key_weights(weights, keys)
        total = fsum(found)
        return [
            _Pair(
                as_json(expected.get(key, MISSING)),
                as_json(actual.get(key, MISSING)),
                child_weights(weights, key),
                share * weight / total,
                f"{path}/{key.replace('~', '~0').replace('/', '~1')}",
                level + 1,
            )
            for key, weight in zip(keys, found, strict=True)
        ] or None
    if isinstance(expected, list) and isinstance(actual, list):
        length = max(len(expected), len(actual))
        return [
            _Pair(_at(expected, at), _at(actual, at), weights, share / length, f"{path}/{at}", level + 1)
            for at in range(length)
        ] or None
    return None


def _keys(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    return [*expected, *(key for key in actual if key not in expected)]


def _at(values: list[Any], position: int) -> Any:
    return as_json(values[position]) if position < len(values) else MISSING


def _field(pair: _Pair) -> FieldScore:
    expected, actual = pair.expected, pair.actual
    value = 0.0 if expected is MISSING or actual is MISSING else _similarity(expected, actual)
    return FieldScore(
        path=pair.path,
        expected=None if expected is MISSING else expected,
        actual=None if actual is MISSING else plain(actual),
        value=value,
        weight=pair.share,
        reason=_reason(expected, actual, value),
    )


def _reason(expected: Any, actual: Any, value: float) -> FieldReason:
    if value == 1.0:
        return "match"
    if expected is MISSING:
        return "extra"
    if actual is MISSING:
        return "missing"
    if not same_kind(expected, actual):
        return "type"
    return "similar" if value > 0.0 else "wrong"


def _similarity(expected: Any, actual: Any) -> float:
    if not same_kind(expected, actual):
        return 0.0
    if isinstance(expected, str):
        return text_similarity(expected, actual)
    if isinstance(expected, (int, float)) and not isinstance(expected, bool):
        return _number_similarity(expected, actual)
    return float(expected == actual)


def _number_similarity(expected: float, actual: float) -> float:
    if expected - expected != 0 or actual - actual != 0:  # not finite
        return 0.0
    if expected == actual:
        return 1.0
    try:
        size = abs(expected) + abs(actual)
        if size - size == 0:
            return max(0.0, 1.0 - abs(expected - actual) / size)
    except OverflowError:  # an integer that no float holds, beside a float
        pass
    left, right = Fraction(expected), Fraction(actual)
    return float(1 - abs(left - right) / (abs(left) + abs(right)))


def _explain(fields: tuple[FieldScore, ...]) -> str:
    lost = [one for one in fields if one.value < 1.0]
    worst = heapq.nsmallest(_SHOWN, lost, key=lambda one: one.weight * (one.value - 1.0))
    told = [_told(one) for one in worst]
    return "; ".join(told if len(lost) <= _SHOWN else [*told, f"{len(lost) - _SHOWN} more"])


def _told(one: FieldScore) -> str:
    path = one.path[-200:] or "(whole)"
    if one.reason == "extra":
        return f"{path}: not expected"
    got = "missing" if one.reason == "missing" else f"got {_shown(one.actual)}"
    return f"{path}: expected {_shown(one.expected)}, {got}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = serialise(value).decode()
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def _reference(expected: Any, actual: Any, weights: Any) -> float:
    """Return what the reference implementation returns, and raise where it does."""
    expected, actual = _as_reference(expected), _as_reference(actual)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _reference_objects(expected, actual, weights)
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = [_reference(left, right, weights) for left, right in zip(expected, actual, strict=False)]
        return sum(pairs) / len(pairs) if expected or actual else 1.0
    if isinstance(expected, str) and isinstance(actual, str):
        longer = max(len(expected), len(actual))
        return 1 - Levenshtein.distance(expected, actual) / longer if longer else 1.0
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        both_zero = expected == 0 and actual == 0
        return 1.0 if both_zero else 1 - abs(expected - actual) / (abs(expected) + abs(actual))
    return float(expected is None and actual is None)


def _reference_objects(expected: dict[str, Any], actual: dict[str, Any], weights: Any) -> float:
    scores, own = [], []
    for key in _keys(expected, actual):
        inner = 1.0 if isinstance(weights, (int, float)) else weights.get(key, 1.0)
        scores.append(_reference(expected.get(key), actual.get(key), inner))
        own.append(inner if isinstance(inner, (int, float)) else inner.get(LOOPBACK + key, 1.0))
    if not scores:
        return 1.0
    if not any(own):
        own = [1.0] * len(own)
    factor = len(own) / sum(own)
    return float(sum([score * weight * factor for score, weight in zip(scores, own, strict=True)]) / len(own))


def _as_reference(value: Any) -> Any:
    return value if isinstance(value, tuple) else as_json(value)  # a tuple is no list there
