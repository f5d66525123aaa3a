"""Check and Bound: evaluators bound to the expected value of one call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from spanscore.content import export_text
from spanscore.errors import ConfigurationError, SpanscoreError
from spanscore.evaluators.evaluator import Evaluator, FunctionEvaluator, PreparingEvaluator, needs_trajectory
from spanscore.json_text import serialise
from spanscore.score import Score
from spanscore.step import MISSING

__all__ = ["Bound", "Check", "bind", "check_fit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One evaluator bound to one expected value.

    Attributes:
        evaluator: who scores.
        name: its name.
        identity: ``name@version+digest`` of settings and expected value; two scores compare only if
            it is equal.
        blind_identity: the same with the expectation's id in place of the expected value, which could
            be guessed from a digest; for spans that bear no content.
        expected: JSON value, or MISSING.
        threshold: 0..1 or None.
        weight: share in the mean score of a span.
        lacks_expected: it needs an expected value and there is none.
        needs_trajectory: it looks at the steps of the run.
        run: function from a live output to a score, or None where `Evaluator.evaluate` is called.
    """

    evaluator: Evaluator
    name: str
    identity: str
    blind_identity: str
    expected: Any
    threshold: float | None
    weight: float
    lacks_expected: bool
    needs_trajectory: bool
    run: Callable[[Any], Score] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """An Expectation with the expected value of one call.

    Attributes:
        id: id of the expectation.
        expected_text: the expected value as text to export, or None.
        expected_bytes: length of the expected value as JSON; 0 if there is none.
        checks: one an evaluator.
        calls_user_code: an evaluator runs code that is not spanscore's.
        needs_trajectory: an evaluator looks at the steps of the run.
    """

    id: str
    expected_text: str | None
    expected_bytes: int
    checks: tuple[Check, ...]
    calls_user_code: bool
    needs_trajectory: bool


def bind(id: str, evaluators: Sequence[Evaluator], expected: Any, *, threshold: float | None, weight: float) -> Bound:
    """Return the evaluators prepared for ``expected``, a JSON value or MISSING.

    An evaluator that cannot work with the value gives the error as its score; see `check_fit`.
    """
    data = None if expected is MISSING else serialise(expected)
    checks = tuple(
        _check(evaluator, expected, id=id, data=data, threshold=threshold, weight=weight) for evaluator in evaluators
    )
    return Bound(
        id=id,
        expected_text=None if data is None else export_text(expected, data)[0],
        expected_bytes=len(data or b""),
        checks=checks,
        calls_user_code=any(check.run is None for check in checks),
        needs_trajectory=any(check.needs_trajectory for check in checks),
    )


def check_fit(bound: Bound) -> None:
    """Raise ConfigurationError if an evaluator cannot work with the expected value."""
    for check in bound.checks:
        if isinstance(check.run, partial) and check.run.func is _raise:
            raise ConfigurationError(f"the expected value for {bound.id!r} does not fit: {check.run.args[0]}")


def _check(
    evaluator: Evaluator, expected: Any, *, id: str, data: bytes | None, threshold: float | None, weight: float
) -> Check:
    lacks_expected = expected is MISSING and _needs_expected(evaluator)
    configuration = _configuration(evaluator)
    rule = f"{evaluator.name}@{evaluator.version}+"
    return Check(
        evaluator=evaluator,
        name=evaluator.name,
        identity=rule + _digest(configuration + (data or b"")),
        blind_identity=rule + _digest(configuration + id.encode("utf-8", "replace")),
        expected=expected,
        threshold=threshold,
        weight=weight,
        lacks_expected=lacks_expected,
        needs_trajectory=needs_trajectory(evaluator),
        run=None if lacks_expected else _prepared(evaluator, expected),
    )


def _digest(data: bytes) -> str:
    return hashlib.blake2s(data, digest_size=4).hexdigest()


def _needs_expected(evaluator: Evaluator) -> bool:
    needs = getattr(evaluator, "needs_expected", None)
    if needs is not None:
        return bool(needs)
    return getattr(evaluator, "default_evaluation_criteria", None) is None


def _configuration(evaluator: Evaluator) -> bytes:
    """Return the settings of an evaluator as text that is equal for equal settings."""
    settings: Any = type(evaluator).__qualname__
    if isinstance(evaluator, FunctionEvaluator):
        settings = [evaluator.function.__module__, evaluator.function.__qualname__]
    else:
        known = getattr(type(evaluator), "__dataclass_fields__", {})
        settings = [settings, {name: getattr(evaluator, name) for name, field in known.items() if field.compare}]
    return serialise(settings)


def _prepared(evaluator: Evaluator, expected: Any) -> Callable[[Any], Score] | None:
    if not isinstance(evaluator, PreparingEvaluator):
        return None
    try:
        return evaluator.prepare(expected)
    except SpanscoreError as error:
        return partial(_raise, error)


def _raise(error: SpanscoreError, _output: Any) -> Score:
    raise error
