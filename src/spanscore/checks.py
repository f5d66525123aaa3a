"""Check and Bound: evaluators bound to the expected value of one call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from spanscore.content import export_text, serialise
from spanscore.errors import ConfigurationError, EvaluationError
from spanscore.evaluators.evaluator import Evaluator, FunctionEvaluator, PreparingEvaluator
from spanscore.score import Score
from spanscore.step import MISSING

__all__ = ["Bound", "Check", "bind", "check_fit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One evaluator bound to one expected value.

    Attributes:
        evaluator: who scores.
        name: its name.
        identity: ``name@version+digest``; two scores compare only if it is equal.
        expected: JSON value, or MISSING.
        threshold: 0..1 or None.
        weight: share in the mean score of a span.
        lacks_expected: it needs an expected value and there is none.
        run: function from a live output to a score, or None where `Evaluator.evaluate` is called.
    """

    evaluator: Evaluator
    name: str
    identity: str
    expected: Any
    threshold: float | None
    weight: float
    lacks_expected: bool
    run: Callable[[Any], Score] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """An Expectation with the expected value of one call.

    Attributes:
        id: id of the expectation.
        expected_text: the expected value as text to export, or None.
        checks: one an evaluator.
        calls_user_code: an evaluator runs code that is not spanscore's.
    """

    id: str
    expected_text: str | None
    checks: tuple[Check, ...]
    calls_user_code: bool


def bind(id: str, evaluators: Sequence[Evaluator], expected: Any, *, threshold: float | None, weight: float) -> Bound:
    """Return the evaluators prepared for ``expected``, a JSON value or MISSING.

    An evaluator that cannot work with the value gives the error as its score; see `check_fit`.
    """
    data = None if expected is MISSING else serialise(expected)
    checks = tuple(_check(evaluator, expected, data, threshold, weight) for evaluator in evaluators)
    return Bound(
        id=id,
        expected_text=None if data is None else export_text(expected, data)[0],
        checks=checks,
        calls_user_code=any(check.run is None for check in checks),
    )


def check_fit(bound: Bound) -> None:
    """Raise ConfigurationError if an evaluator cannot work with the expected value."""
    for check in bound.checks:
        if isinstance(check.run, partial) and check.run.func is _raise:
            raise ConfigurationError(f"the expected value for {bound.id!r} does not fit: {check.run.args[0]}")


def _check(evaluator: Evaluator, expected: Any, data: bytes | None, threshold: float | None, weight: float) -> Check:
    lacks_expected = expected is MISSING and _needs_expected(evaluator)
    digest = hashlib.blake2s(_configuration(evaluator) + (data or b""), digest_size=4).hexdigest()
    return Check(
        evaluator=evaluator,
        name=evaluator.name,
        identity=f"{evaluator.name}@{evaluator.version}+{digest}",
        expected=expected,
        threshold=threshold,
        weight=weight,
        lacks_expected=lacks_expected,
        run=None if lacks_expected else _prepared(evaluator, expected),
    )


def _needs_expected(evaluator: Evaluator) -> bool:
    if isinstance(evaluator, FunctionEvaluator):
        return evaluator.needs_expected
    return getattr(evaluator, "default_evaluation_criteria", None) is None


def _configuration(evaluator: Evaluator) -> bytes:
    """Return the settings of an evaluator as text that is equal for equal settings."""
    settings: Any = type(evaluator).__qualname__
    if isinstance(evaluator, FunctionEvaluator):
        settings = [evaluator.function.__module__, evaluator.function.__qualname__]
    else:
        known = getattr(type(evaluator), "__dataclass_fields__", ())
        settings = [settings, {name: getattr(evaluator, name) for name in known}]
    return serialise(settings)


def _prepared(evaluator: Evaluator, expected: Any) -> Callable[[Any], Score] | None:
    if not isinstance(evaluator, PreparingEvaluator):
        return None
    try:
        return evaluator.prepare(expected)
    except EvaluationError as error:
        return partial(_raise, error)


def _raise(error: EvaluationError, _output: Any) -> Score:
    raise error
