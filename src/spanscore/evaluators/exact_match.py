"""ExactMatch: the output equals what was expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from spanscore.errors import EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.target import Target, check_target, select
from spanscore.json_text import plain, serialise
from spanscore.score import FieldScore, Score
from spanscore.step import Step

__all__ = ["ExactMatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch:
    """1 if the output equals the expected value, else 0. Source: UiPath ``uipath-exact-match``.

    Where one side is text, both are compared as text, a value that is no text in its JSON form
    (8 and "8" are equal). Otherwise both are compared as JSON: int and float by value, booleans are
    no numbers, key order does not matter. Empty equals empty; a missing or an extra key is 0.

    Args:
        name: key of the score.
        target_output_key: the part to compare, see `spanscore.evaluators.target.select`.
        case_sensitive: if False, the default, case is ignored in every text but not in keys.
        negated: score 1 where the values differ.
        compat: give UiPath's result to the bit: Python's text forms ("8.0", "none"), case ignored
            at the top only, True equals 1.

    Raises:
        ConfigurationError: a bad name or target.

    >>> ExactMatch().evaluate({"city": "PARIS"}, {"city": "Paris"}).value
    1.0
    """

    name: str = "exact_match"
    target_output_key: str | Sequence[str] = "*"
    case_sensitive: bool = False
    negated: bool = False
    compat: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        check_target(self.target_output_key)

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return 1.0 or 0.0; raise EvaluationError where the target is not in either value."""
        return self.prepare(expected)(output)

    def prepare(self, expected: Any) -> Callable[[Any], Score]:
        """Return a function from output to score."""
        return partial(self._score, select_from(expected, self.target_output_key, "expected", self.compat))

    def _score(self, expected: Any, output: Any) -> Score:
        actual = select_from(plain(output), self.target_output_key, "output", self.compat)
        equal = _equal_compat if self.compat else _equal
        value = float(equal(expected, actual, self.case_sensitive) is not self.negated)
        return Score(
            evaluator=self.name,
            value=value,
            version=self.version,
            explanation=""
            if value
            else f"expected {'anything but ' if self.negated else ''}{text_form(expected)[:200]}",
            fields=(
                FieldScore(
                    path="", expected=expected, actual=actual, value=value, reason="match" if value else "wrong"
                ),
            ),
        )


def select_from(value: Any, target: str | Sequence[str], side: str, compat: bool) -> Any:
    """Return the target of ``value``; JSON text is read first where a target asks for its parts."""
    checked: Target = check_target(target)
    return select(value, checked, side=side, literal=not compat)


def text_form(value: Any) -> str:
    """Return text as it stands and any other value as compact JSON."""
    return value if isinstance(value, str) else serialise(value).decode()


def compat_form(value: Any) -> Any:
    """Return the value as UiPath sees it: every number but booleans a float, every tuple a list.

    Raises:
        EvaluationError: an integer that no float holds, or a value that is nested too deep.
    """
    try:
        return _compat_form(value)
    except OverflowError:
        raise EvaluationError("an integer is too large for a float, which the reference implementation needs") from None
    except RecursionError:
        raise EvaluationError("a value is nested too deep, or holds itself") from None


def _compat_form(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, dict):
        return {key: _compat_form(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_compat_form(child) for child in value]
    return value


def _equal_compat(expected: Any, actual: Any, case_sensitive: bool) -> bool:
    expected, actual = compat_form(expected), compat_form(actual)
    if isinstance(expected, str) or isinstance(actual, str):
        expected, actual = str(expected), str(actual)
        if not case_sensitive:
            expected, actual = expected.lower(), actual.lower()
    return bool(expected == actual)


def _equal(expected: Any, actual: Any, case_sensitive: bool) -> bool:
    if isinstance(expected, str) or isinstance(actual, str):
        expected, actual = text_form(expected), text_form(actual)
        return bool(expected == actual if case_sensitive else expected.casefold() == actual.casefold())
    return _equal_json(expected, actual, case_sensitive)


def _equal_json(expected: Any, actual: Any, case_sensitive: bool) -> bool:
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            _equal_json(child, actual[key], case_sensitive) for key, child in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(
            _equal_json(left, right, case_sensitive) for left, right in zip(expected, actual, strict=True)
        )
    if isinstance(expected, str) and isinstance(actual, str) and not case_sensitive:
        return expected.casefold() == actual.casefold()
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)
