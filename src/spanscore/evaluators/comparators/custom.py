"""A function or an evaluator as a comparator."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from spanscore.errors import EvaluationError
from spanscore.evaluators.comparators.comparison import Comparison
from spanscore.evaluators.evaluator import Evaluator
from spanscore.evaluators.evaluator import is_async as evaluator_is_async
from spanscore.score import Score

__all__ = ["EvaluatorComparator", "FunctionComparator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionComparator:
    """A function ``f(output, expected)`` as a comparator; it may be a coroutine function.

    It returns a number in 0..1, a bool, a Comparison or a Score. Anything else, and a Score
    without a value, raises EvaluationError.

    >>> FunctionComparator(function=lambda output, expected: output >= expected).compare(3, 5).similarity
    1.0
    """

    function: Callable[[Any, Any], Any]

    @property
    def is_async(self) -> bool:
        """Return True if the function is known to return an awaitable."""
        function = self.function
        if not inspect.isroutine(function):  # an object with a method __call__
            function = type(function).__call__
        return inspect.iscoroutinefunction(function)

    def compare(self, expected: Any, actual: Any) -> Comparison | Awaitable[Comparison]:
        """Return what the function says of the output ``actual``."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return _compared(f"comparator {name!r}", self.function(actual, expected))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorComparator:
    """An evaluator as a comparator: it scores the one field, so a judge may.

    A Score without a value raises EvaluationError: no score is never score 0.
    """

    evaluator: Evaluator

    @property
    def is_async(self) -> bool:
        """Return True if the evaluator's verdict must be awaited."""
        return evaluator_is_async(self.evaluator)

    def compare(self, expected: Any, actual: Any) -> Comparison | Awaitable[Comparison]:
        """Return the value and the explanation of the evaluator's score."""
        return _compared(f"evaluator {self.evaluator.name!r}", self.evaluator.evaluate(actual, expected))


def _compared(who: str, result: Any) -> Comparison | Awaitable[Comparison]:
    return _awaited(who, result) if inspect.isawaitable(result) else _comparison(who, result)


async def _awaited(who: str, result: Awaitable[Any]) -> Comparison:
    return _comparison(who, await result)


def _comparison(who: str, result: Any) -> Comparison:
    similarity, note = result, ""
    if isinstance(result, Score):
        similarity, note = result.value, result.explanation
        if similarity is None:
            raise EvaluationError(f"{who} gave no score ({result.label}): {note}")
    elif isinstance(result, Comparison):
        similarity, note = result
    if not isinstance(similarity, (bool, int, float)) or not isfinite(similarity) or not 0 <= similarity <= 1:
        raise EvaluationError(f"{who} returned {_shown(similarity)}; return a number in 0..1, a bool or a Score")
    return Comparison(float(similarity), note)


def _shown(result: Any) -> str:
    return f"{result:g}" if isinstance(result, float) else f"a {type(result).__name__} that is none"
