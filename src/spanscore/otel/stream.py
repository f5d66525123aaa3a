"""Captured generators and async generators: scored when they are exhausted."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Token
from typing import Any, Final

from opentelemetry.context import Context, attach, detach, get_current

from spanscore.json_text import parse, serialise
from spanscore.otel.call import Call
from spanscore.otel.captured import Captured

__all__ = ["drive_coroutine", "wrap_async_generator", "wrap_generator"]

_MAX_STREAM_ITEMS: Final = 100_000
_MAX_STREAM_BYTES: Final = 64 * 1024 * 1024


def wrap_generator(function: Callable[..., Any], captured: Captured) -> Callable[..., Any]:
    """Return a generator function whose runs are captured."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner = function(*args, **kwargs)  # first: wrong arguments must leave no span open
        call = captured.begin(args, kwargs)
        return (yield from inner) if call is None else (yield from _drive(call, inner))

    return wrapper


def _drive(call: Call, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run ``inner`` as a captured stream; `send`, `throw` and `close` work as before."""
    stream = _Stream(call)
    context = call.context
    step: Callable[[], Any] = functools.partial(next, inner)
    while True:
        token = attach(context)  # never across a yield: the caller would inherit the span
        try:
            item = step()
        except StopIteration as stop:
            detach(token)
            stream.finish()
            return stop.value
        except BaseException as error:
            detach(token)
            stream.fail(error)
            raise
        context = get_current()  # a span that the generator keeps open across its yield
        detach(token)
        stream.add(item)
        try:
            sent = yield item
        except GeneratorExit:
            token = attach(context)
            try:
                inner.close()
            finally:
                detach(token)
                stream.abandon()
            raise
        except BaseException as error:
            step = functools.partial(inner.throw, error)
        else:
            step = functools.partial(inner.send, sent)


def wrap_async_generator(function: Callable[..., Any], captured: Captured) -> Callable[..., Any]:
    """Return an async generator function whose runs are captured."""

    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)  # first: wrong arguments must leave no span open
        call = captured.begin(args, kwargs)
        driven = inner if call is None else _drive_async(call, inner)
        step: Callable[[], Any] = driven.__anext__
        while True:  # what `yield from` does for generators
            try:
                item = await step()
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except GeneratorExit:
                await driven.aclose()
                raise
            except BaseException as error:
                step = functools.partial(driven.athrow, error)
            else:
                step = functools.partial(driven.asend, sent)

    return wrapper


async def _drive_async(call: Call, inner: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """Run ``inner`` as a captured stream."""
    stream = _Stream(call)
    context = call.context
    step: Callable[[], Any] = inner.__anext__
    while True:
        token = attach(context)
        try:
            item = await step()
        except StopAsyncIteration:
            _detach(token)
            stream.finish()
            return
        except BaseException as error:
            _detach(token)
            stream.fail(error)
            raise
        context = get_current()  # a span that the generator keeps open across its yield
        _detach(token)
        stream.add(item)
        try:
            sent = yield item
        except GeneratorExit:
            token = attach(context)
            try:
                await inner.aclose()
            finally:
                _detach(token)
                stream.abandon()
            raise
        except BaseException as error:
            step = functools.partial(inner.athrow, error)
        else:
            step = functools.partial(inner.asend, sent)


async def drive_coroutine(
    call: Call, function: Callable[..., Coroutine[Any, Any, Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Await a call of ``function`` as a captured call."""
    token = attach(call.context)
    try:
        output = await function(*args, **kwargs)
    except BaseException as error:
        _detach(token)
        call.fail(error)
        raise
    detach(token)
    call.finish(output)
    return output


def _detach(token: Token[Context]) -> None:
    """Detach, unless the coroutine is being closed from another context, where that would log an error."""
    with suppress(ValueError):
        token.var.reset(token)


class _Stream:
    """A captured generator: its items so far, and its call."""

    __slots__ = ("_bytes", "_call", "_count", "_items")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._items: list[Any] = []
        self._count = 0
        self._bytes = 0

    def add(self, item: Any) -> None:
        self._count += 1
        if not self._call.recording or self._too_much():
            return
        # An item may be changed once it is handed out, so what is not text is copied at once.
        if type(item) is str:
            self._bytes += len(item)
        else:
            data = serialise(item)
            self._bytes += len(data)
            item = parse(data)
        self._items.append(item)

    def _too_much(self) -> bool:
        return self._count > _MAX_STREAM_ITEMS or self._bytes > _MAX_STREAM_BYTES

    def output(self) -> Any:
        if self._items and all(type(item) is str for item in self._items):
            return "".join(self._items)
        return self._items

    def finish(self) -> None:
        if self._too_much():
            self._stop(f"more than {_MAX_STREAM_ITEMS} items or {_MAX_STREAM_BYTES} bytes were yielded")
        else:
            self._call.finish(self.output())

    def abandon(self) -> None:
        self._stop(f"the stream was left after {self._count} items")

    def fail(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._stop(f"the stream was cancelled after {self._count} items")
        else:
            self._call.stop("exception", f"the stream raised {type(error).__name__}", error, self.output())

    def _stop(self, explanation: str) -> None:
        self._call.stop("incomplete", explanation, None, self.output())
