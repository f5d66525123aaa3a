"""The Evaluator protocol, and `evaluator`: a plain function as one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, overload, runtime_checkable

from spanscore.errors import ConfigurationError, EvaluationError
from spanscore.score import Score
from spanscore.step import Step

__all__ = [
    "Evaluator",
    "FunctionEvaluator",
    "PreparingEvaluator",
    "check_name",
    "evaluator",
    "is_async",
    "needs_trajectory",
]

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


@runtime_checkable
class Evaluator(Protocol):
    """Scores one output. `evaluate` may be a coroutine function: the engine awaits it.

    One that looks at ``step.trajectory`` has a true attribute ``needs_trajectory``.
    """

    @property
    def name(self) -> str:
        """Key under which the score is reported: ``[a-z][a-z0-9_]*``, at most 64 characters."""
        ...

    @property
    def version(self) -> str:
        """Version of the rule; scores of different versions do not compare."""
        ...

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score | Awaitable[Score]:
        """Return the score of ``output`` against ``expected``, both JSON values."""
        ...


@runtime_checkable
class PreparingEvaluator(Evaluator, Protocol):
    """An evaluator that works faster when the expected value is known long before the outputs."""

    def prepare(self, expected: Any) -> Callable[[Any], Score] | None:
        """Return a function from output to score, equal to ``evaluate(output, expected)``.

        The function takes JSON values, changes nothing, calls no code of the user's, and returns a
        new Score each time. None: there is none for these settings; `evaluate` is called.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEvaluator:
    """A plain function as an evaluator; made by `evaluator`."""

    function: Callable[..., Any]
    name: str
    version: str
    needs_expected: bool
    takes_step: bool

    @property
    def is_async(self) -> bool:
        """Return True if the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score | Awaitable[Score]:
        """Return what the function says as a Score; see `evaluator`."""
        arguments = (output, expected) if self.needs_expected else (output,)
        call = partial(self.function, *arguments, **({"step": step} if self.takes_step else {}))
        return self._awaited(call) if self.is_async else self._score(call())

    async def _awaited(self, call: Callable[[], Awaitable[Any]]) -> Score:
        return self._score(await call())

    def _score(self, result: Any) -> Score:
        if isinstance(result, Score):
            return result
        if isinstance(result, (bool, int, float)):
            return Score(evaluator=self.name, value=float(result), version=self.version)
        raise EvaluationError(
            f"evaluator {self.name!r} returned {type(result).__name__}; return a Score, a number in 0..1 or a bool"
        )


@overload
def evaluator(function: Callable[..., Any], /) -> FunctionEvaluator: ...
@overload
def evaluator(*, name: str | None = None, version: str = "1") -> Callable[[Callable[..., Any]], FunctionEvaluator]: ...
def evaluator(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, version: str = "1"
) -> FunctionEvaluator | Callable[[Callable[..., Any]], FunctionEvaluator]:
    """Return a plain function as an Evaluator.

    The function takes ``(output)`` or ``(output, expected)``, and ``step`` as a keyword if it has
    one, and returns a Score, a number in 0..1 or a bool. It may be a coroutine function. It runs
    on the caller's thread for small outputs and on a worker thread for others, so it must not
    wait; a coroutine function always runs on a loop of spanscore's own.

    Args:
        function: the function, when used without arguments.
        name: key of the score; the function's name by default.
        version: change it whenever the rule changes.

    Raises:
        ConfigurationError: the name or the signature does not fit.

    >>> @evaluator
    ... def same_length(output, expected):
    ...     return len(output) == len(expected)
    >>> same_length.evaluate("ab", "cd").value
    1.0
    """
    if function is None:
        return lambda decorated: _from_function(decorated, name, version)
    return _from_function(function, name, version)


def _from_function(function: Callable[..., Any], name: str | None, version: str) -> FunctionEvaluator:
    if name is None and not hasattr(function, "__name__"):
        raise ConfigurationError(f"{function!r} has no name; give it one with evaluator(name=...)")
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "step"]
    if len(positional) not in (1, 2):
        raise ConfigurationError(
            f"evaluator function {name or function.__qualname__!r} takes {len(positional)} positional parameters; "
            "write it as f(output) or f(output, expected), with an optional keyword step"
        )
    return FunctionEvaluator(
        function=function,
        name=check_name(name if name is not None else function.__name__),
        version=version,
        needs_expected=len(positional) == 2,
        takes_step="step" in inspect.signature(function).parameters,
    )


def check_name(name: str) -> str:
    """Return ``name`` if an evaluator may bear it; raise ConfigurationError if not."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise ConfigurationError(
            f"evaluator name {name!r} is not allowed: use lower-case letters, digits and underscores, "
            "a letter first, at most 64 characters, for example 'json_similarity'"
        )
    return name


def is_async(candidate: Evaluator) -> bool:
    """Return True if the evaluator's verdict must be awaited, so that it never runs inline."""
    return bool(getattr(candidate, "is_async", False)) or inspect.iscoroutinefunction(candidate.evaluate)


def needs_trajectory(candidate: Evaluator) -> bool:
    """Return True if the evaluator looks at the steps of a run, so that they must be gathered first.

    An evaluator says so with a true attribute ``needs_trajectory``.
    """
    return bool(getattr(candidate, "needs_trajectory", False))
