"""One call, or one environment variable, for a whole program."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any, Final, cast

from langchain_core.tracers.context import register_configure_hook

from spanscore import ConfigurationError
from spanscore_langchain.handler import SpanscoreCallbackHandler

__all__ = ["disable", "enable", "follow_environment"]

_VARIABLE: Final = "SPANSCORE_LANGCHAIN"


class _Switch:
    """Stands where LangChain looks for a ContextVar: one that has the same value in every thread and task."""

    def __init__(self) -> None:
        self.handler: SpanscoreCallbackHandler | None = None
        self.registered = False

    def get(self) -> SpanscoreCallbackHandler | None:
        return self.handler


_switch: Final = _Switch()


def enable(handler: SpanscoreCallbackHandler | None = None) -> SpanscoreCallbackHandler:
    """Give every run of this program a handler, and return it; a run that is given one itself keeps that.

    Args:
        handler: a new one by default, which leaves what is expected to the processor.
    """
    _switch.handler = handler or SpanscoreCallbackHandler()
    if not _switch.registered:
        _switch.registered = True
        variable = cast("ContextVar[Any]", _switch)  # LangChain calls get() and nothing else
        register_configure_hook(variable, inheritable=True, handle_class=SpanscoreCallbackHandler)
    return _switch.handler


def disable() -> None:
    """Take back `enable`, for runs that start from now on."""
    _switch.handler = None


def follow_environment() -> None:
    """Do what ``SPANSCORE_LANGCHAIN`` says: ``1`` enables.

    Raises:
        ConfigurationError: it says anything but 1, true, 0 or false.
    """
    value = os.environ.get(_VARIABLE, "").strip().lower()
    if value not in ("", "0", "1", "false", "true"):
        raise ConfigurationError(f"{_VARIABLE}={value!r} is not allowed; use 1 or 0")
    if value in ("1", "true") and _switch.handler is None:
        enable()
