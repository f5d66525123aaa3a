"""evaluate_output, capture, expecting: functions whose calls become scored spans."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import Token
from types import AsyncGeneratorType, CoroutineType, GeneratorType, TracebackType
from typing import Any, Final, ParamSpec, TypeVar, overload

from opentelemetry.context import Context as OtelContext
from opentelemetry.context import attach, detach, get_current, set_value
from opentelemetry.trace import TracerProvider, get_tracer

from spanscore import attributes as names
from spanscore.errors import ConfigurationError
from spanscore.evaluators import Evaluator, JsonSimilarity
from spanscore.expectations import Expectation
from spanscore.json_text import strict_json
from spanscore.otel.captured import Captured
from spanscore.otel.emit import VERSION, export_content_of_environment
from spanscore.otel.recording import EXPECTING, Recording
from spanscore.otel.stream import drive_coroutine, wrap_async_generator, wrap_generator
from spanscore.step import MISSING

__all__ = ["capture", "evaluate_output", "expecting", "in_current_context"]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

_NAMED_BY: Final = {"invoke_agent": names.AGENT_NAME, "execute_tool": names.TOOL_NAME}


def evaluate_output(
    *,
    expected: Any = MISSING,
    evaluators: Evaluator | Sequence[Evaluator] = (),
    threshold: float | None = None,
    name: str | None = None,
    operation: str = "invoke_agent",
    capture_content: bool = True,
    inline_max_bytes: int = 65_536,
    tracer_provider: TracerProvider | None = None,
) -> Callable[[F], F]:
    """Return a decorator: every call becomes a span with input, output and scores of the output.

    Works on functions, methods, static and class methods, coroutine functions, generators and async
    generators, and under any tracer provider. What the function returns or raises is unchanged.
    The output of a generator is what it yielded, joined where that is text; if it is abandoned or
    cancelled, the score is ``skipped`` for the reason ``incomplete``.

    Scores are made after the end time of the span is taken, on the live value, on the caller's
    thread; what must be awaited, is larger than ``inline_max_bytes``, or would take more than some
    milliseconds beside the expected value, goes to a worker.

    Args:
        expected: JSON value, or a callable of the call's arguments that returns one; it is called
            before the function, and its own calls are not traced. Without it the processor's
            expectations give the value, and where ``evaluators`` and ``threshold`` are not given
            either, they decide everything.
        evaluators: what scores the output, one or several; `JsonSimilarity` if none is given.
        threshold: 0..1; a value at or above it passes. None: neither pass nor fail.
        name: span name; the qualified name of the function by default.
        operation: ``gen_ai.operation.name`` of the span.
        capture_content: if False, or if ``SPANSCORE_EXPORT_CONTENT=false`` is set when the function is
            decorated, values are scored but never stand on the span.
        inline_max_bytes: 0 sends every score to the worker.
        tracer_provider: the global one by default.

    Raises:
        ConfigurationError: a setting is wrong, or ``expected`` is no JSON value.

    >>> @evaluate_output(expected={"city": "Paris"}, threshold=0.8)
    ... def capital(country: str) -> dict[str, str]:
    ...     return {"city": "Paris"}
    >>> capital("France")
    {'city': 'Paris'}
    """
    if not isinstance(inline_max_bytes, int) or inline_max_bytes < 0:
        raise ConfigurationError(f"inline_max_bytes {inline_max_bytes!r} must be an integer, 0 or more")
    if inspect.iscoroutinefunction(expected):
        raise ConfigurationError(f"expected {expected!r} is a coroutine function; give a plain function or a value")

    chosen = (evaluators,) if isinstance(evaluators, Evaluator) else tuple(evaluators)

    def decorate(function: F) -> F:
        span_name = name or _name_of(function)
        expectation = None
        if expected is not MISSING or chosen or threshold is not None:
            expectation = Expectation(
                span_name=span_name,
                evaluators=chosen or (JsonSimilarity(),),
                expected=MISSING if callable(expected) else expected,
                threshold=threshold,
                id=span_name,
            )
        decorated: F = _decorated(
            function,
            functools.partial(
                _captured,
                name=span_name,
                operation=operation,
                expectation=expectation,
                expected_of=expected if callable(expected) else None,
                capture_content=capture_content,
                inline_max_bytes=inline_max_bytes,
                tracer_provider=tracer_provider,
            ),
        )
        return decorated

    return decorate


@overload
def capture(function: F, /) -> F: ...
@overload
def capture(
    *,
    name: str | None = None,
    operation: str = "invoke_agent",
    capture_content: bool = True,
    tracer_provider: TracerProvider | None = None,
) -> Callable[[F], F]: ...
def capture(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    operation: str = "invoke_agent",
    capture_content: bool = True,
    tracer_provider: TracerProvider | None = None,
) -> Any:
    """Return a decorator like `evaluate_output` that expects nothing by itself.

    The span is scored if the processor's expectations, with or without `expecting`, say so.

    >>> @capture(operation="execute_tool")
    ... def weather(city: str) -> str:
    ...     return "sunny"
    >>> weather("Paris")
    'sunny'
    """
    decorate: Callable[[Any], Any] = evaluate_output(
        name=name, operation=operation, capture_content=capture_content, tracer_provider=tracer_provider
    )
    return decorate if function is None else decorate(function)


class expecting:  # noqa: N801  # a context manager, used as a function
    """Give the expected value for the captured calls directly inside a ``with`` block.

    It counts before the decorator's and the registry's expected value, and not for calls that
    those calls make. It holds in the current task or thread and in tasks started from it.

    Args:
        expected: JSON value.

    Raises:
        ConfigurationError: the value is no JSON value.

    >>> @evaluate_output(threshold=0.8, evaluators=[JsonSimilarity()])
    ... def capital(country: str) -> dict[str, str]:
    ...     return {"city": "Paris"}
    >>> with expecting({"city": "Paris"}):
    ...     capital("France")
    {'city': 'Paris'}
    """

    def __init__(self, expected: Any) -> None:
        self._expected = strict_json(expected, "the value given to expecting()")
        self._tokens: list[Token[OtelContext]] = []

    def __enter__(self) -> None:
        self._tokens.append(attach(set_value(EXPECTING, self._expected)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        detach(self._tokens.pop())


def in_current_context(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function`` bound to the current span, for running it in another thread.

    Threads do not inherit the current span; asyncio tasks and ``asyncio.to_thread`` do.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor() as pool:
    ...     pool.submit(in_current_context(len), "abc").result()
    3
    """
    context = get_current()

    @functools.wraps(function)
    def bound(*args: P.args, **kwargs: P.kwargs) -> R:
        token = attach(context)
        try:
            return function(*args, **kwargs)
        finally:
            detach(token)

    return bound


def _name_of(function: Any) -> str:
    function = inspect.unwrap(getattr(function, "__func__", function))
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _captured(
    function: Callable[..., Any],
    is_method: bool,
    *,
    name: str,
    operation: str,
    expectation: Expectation | None,
    expected_of: Callable[..., Any] | None,
    capture_content: bool,
    inline_max_bytes: int,
    tracer_provider: TracerProvider | None,
) -> Captured:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some callables written in C have no signature
        parameters = []
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    more = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), "kwargs")
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    skipped = int(is_method or _looks_like_method(function, positional))
    static = {names.OPERATION_NAME: operation}
    if operation in _NAMED_BY:
        static[_NAMED_BY[operation]] = name
    return Captured(
        name=name,
        static=static,
        recording=Recording(
            tracer=get_tracer(names.SCOPE, VERSION, tracer_provider),
            expectation=expectation,
            capture_content=capture_content and export_content_of_environment(),
            inline_max_bytes=inline_max_bytes,
        ),
        parameters=tuple(positional[skipped:]),
        defaults={p.name: p.default for p in parameters if p.default is not p.empty},
        skipped=skipped,
        rest=rest,
        more=more,
        expected_of=expected_of,
    )


def _looks_like_method(function: Callable[..., Any], positional: Sequence[str]) -> bool:
    in_class = "." in getattr(function, "__qualname__", "").rpartition("<locals>.")[2]
    return in_class and positional[:1] in (["self"], ["cls"])


def _decorated(function: Any, captured_for: Callable[[Callable[..., Any], bool], Captured]) -> Any:
    if isinstance(function, staticmethod):
        return staticmethod(_decorated(function.__func__, captured_for))
    if isinstance(function, classmethod):
        return classmethod(_wrapped(function.__func__, captured_for(function.__func__, True)))
    if not callable(function) or inspect.isclass(function):
        raise ConfigurationError(f"{function!r} cannot be captured; decorate a function, a method or a generator")
    return _wrapped(function, captured_for(function, False))


def _wrapped(function: Callable[..., Any], captured: Captured) -> Callable[..., Any]:
    called = function if inspect.isroutine(function) else type(function).__call__
    for candidate in (function, called):  # an object with an async __call__ is a coroutine function too
        if inspect.iscoroutinefunction(candidate):
            return _wrap_coroutine(function, captured)
        if inspect.isasyncgenfunction(candidate):
            return wrap_async_generator(function, captured)
        if inspect.isgeneratorfunction(candidate):
            return wrap_generator(function, captured)
    return _wrap_function(function, captured)


def _wrap_function(function: Callable[..., Any], captured: Captured) -> Callable[..., Any]:
    begin = captured.begin

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        if call is None:
            return function(*args, **kwargs)
        token = attach(call.context)
        try:
            output = function(*args, **kwargs)
        except BaseException as error:
            detach(token)
            call.fail(error)
            raise
        detach(token)
        if type(output) in _UNFINISHED:
            call.stop("incomplete", "the function returned a generator or coroutine that has yet to run")
        else:
            call.finish(output)
        return output

    return wrapper


_UNFINISHED: Final = frozenset({GeneratorType, AsyncGeneratorType, CoroutineType})
"""What has yet to run when it is returned. It is handed on as it is, so its end is not seen."""


def _wrap_coroutine(function: Callable[..., Any], captured: Captured) -> Callable[..., Any]:
    begin = captured.begin

    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        if call is None:
            return await function(*args, **kwargs)
        return await drive_coroutine(call, function, args, kwargs)

    return wrapper
