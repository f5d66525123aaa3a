"""Checks of a comparator's settings; each raises ConfigurationError."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from spanscore.errors import ConfigurationError, MissingDependencyError

__all__ = ["choice", "flag", "missing_library", "nearest", "number", "optional_text", "refuse"]


def refuse(comparator: str, setting: str, given: Any, allowed: str) -> NoReturn:
    """Raise ConfigurationError for a setting."""
    raise ConfigurationError(f"{comparator}: {setting} is {given!r:.60} ({type(given).__name__}); give {allowed}")


def number(comparator: str, setting: str, given: Any, maximum: float = math.inf) -> None:
    """Refuse what is no finite number from 0 to ``maximum``."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= maximum or given == math.inf:
        refuse(comparator, setting, given, "a number from 0" + (f" to {maximum:g}" if maximum < math.inf else ""))


def flag(comparator: str, setting: str, given: Any) -> None:
    """Refuse what is no boolean."""
    if not isinstance(given, bool):
        refuse(comparator, setting, given, "true or false")


def optional_text(comparator: str, setting: str, given: Any, example: str) -> None:
    """Refuse what is neither None nor a text of at least one character."""
    if given is not None and (not isinstance(given, str) or not given):
        refuse(comparator, setting, given, f"a text such as {example!r}, or nothing")


def choice(comparator: str, setting: str, given: Any, allowed: Iterable[str]) -> None:
    """Refuse what is not one of ``allowed``; the message names the nearest."""
    names = list(allowed)
    if not isinstance(given, str) or given not in names:
        refuse(comparator, setting, given, f"one of {', '.join(names)}{nearest(given, names)}")


def nearest(given: Any, allowed: Iterable[str]) -> str:
    """Return a sentence that names the nearest of ``allowed``; "" if none is near."""
    near = difflib.get_close_matches(given[:100], list(allowed), n=1) if isinstance(given, str) else []
    return f". Did you mean {near[0]!r}?" if near else ""


def missing_library(comparator: str, library: str) -> MissingDependencyError:
    """Return the error for a library that is not installed."""
    return MissingDependencyError(
        f"comparator {comparator!r} needs {library}: pip install 'spanscore[structured]', or name another"
    )
