"""The part of a value that an evaluator looks at: `target_output_key`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from spanscore.errors import ConfigurationError, EvaluationError

__all__ = ["ALL", "Target", "check_target", "select"]

Target = str | tuple[str, ...]
ALL: Final = "*"
_TOKEN: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def check_target(target: str | Sequence[str]) -> Target:
    """Return ``target`` in the form that `select` takes; raise ConfigurationError for no path."""
    if isinstance(target, str):
        if not target:
            raise ConfigurationError(
                "target_output_key is empty; use '*' for the whole output, or a path such as 'a.b[0]'"
            )
        return target
    paths = tuple(target)
    if not all(isinstance(path, str) and path for path in paths):
        raise ConfigurationError(f"target_output_key {target!r} must be a path, a list of paths or '*'")
    return paths


def select(value: Any, target: Target, *, side: str, literal: bool = True) -> Any:
    """Return the part of ``value`` that ``target`` names.

    A target is ``*`` (everything), a JSON Pointer (``/a/b~1c``), a top-level key, a path
    (``a.b[0].c``), or several of these, which give ``{target: part}``. A key that exists wins
    over a path, unless ``literal`` is False.

    Args:
        value: JSON value.
        target: as returned by `check_target`.
        side: "expected" or "output", for the message.
        literal: whether the text is tried as one key first.

    Raises:
        EvaluationError: the value has no such part; the message names the keys it has.
    """
    if target == ALL:
        return value
    if isinstance(target, tuple):
        return {path: select(value, path, side=side, literal=literal) for path in target}
    if literal and isinstance(value, dict) and target in value:
        return value[target]
    part = value
    for token in _tokens(target, literal):
        part = _child(part, token, target, side)
    return part


def _tokens(target: str, pointer: bool) -> list[str | int]:
    if pointer and target.startswith("/"):
        return [token.replace("~1", "/").replace("~0", "~") for token in target[1:].split("/")]
    return [int(index) if index else key for index, key in _TOKEN.findall(target)]


def _child(part: Any, token: str | int, target: str, side: str) -> Any:
    if isinstance(part, dict) and str(token) in part:
        return part[str(token)]
    if isinstance(part, list) and str(token).isdigit() and int(token) < len(part):
        return part[int(token)]
    if isinstance(part, dict):
        there = f"it has the keys {', '.join(sorted(map(str, part))[:10]) or '(none)'}"
    elif isinstance(part, list):
        there = f"it is a list of {len(part)}"
    else:
        there = f"it is a {type(part).__name__}"
    raise EvaluationError(f"target_output_key {target!r} is not in the {side}: no {token!r}; {there}")
