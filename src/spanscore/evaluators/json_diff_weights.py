"""The weights of JsonDiff: nested objects of numbers, with loopback weights."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from spanscore.errors import ConfigurationError, EvaluationError
from spanscore.evaluators.field_match import as_json

__all__ = ["LOOPBACK", "check_known", "checked_weights", "child_weights", "key_weights"]

LOOPBACK: Final = "__"
"""Put before the name of a key, inside the weights below it, it names the weight of the key itself."""

_MAX_LEVELS: Final = 100


def checked_weights(weights: object, path: str = "") -> Any:
    """Return a copy of ``weights``; raise ConfigurationError where they are no weights."""
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        if path.count("/") == _MAX_LEVELS:
            raise ConfigurationError(f"weights are nested deeper than {_MAX_LEVELS} levels, or in themselves")
        if not all(isinstance(key, str) for key in weights):
            raise ConfigurationError(f"weights{path} has keys that are no text; name the keys of the JSON value")
        return {key: checked_weights(inner, f"{path}/{key.replace('/', '~1')}") for key, inner in weights.items()}
    if isinstance(weights, (int, float)) and not isinstance(weights, bool) and 0.0 <= weights <= 1.0:
        return weights
    given = repr(weights)[:80] if isinstance(weights, (int, float)) else f"a {type(weights).__name__}"
    raise ConfigurationError(
        f"weights{path} is {given}; a weight is a number in 0..1 or, for the keys below, an object of weights"
    )


def child_weights(weights: Any, key: str) -> Any:
    """Return the weights for what stands under ``key``; 1.0 where none are given."""
    inner = weights.get(key) if isinstance(weights, dict) else None
    return 1.0 if inner is None else inner


def key_weights(weights: Any, keys: Sequence[str]) -> list[float]:
    """Return the weight of every key of one object; where all are 0 they all count as 1."""
    found = [_own(child_weights(weights, key), key) for key in keys]
    return found if any(found) else [1.0] * len(found)


def _own(inner: Any, key: str) -> float:
    if isinstance(inner, dict):
        inner = inner.get(LOOPBACK + key)
    return float(inner) if isinstance(inner, (int, float)) else 1.0


def check_known(weights: Any, values: Sequence[Any], name: str) -> None:
    """Raise EvaluationError if a weight names a key that no object of ``values`` has at its place.

    Places at which there is no object, because a list is empty or a key is missing, are not looked
    at, nor are loopback weights at the top, which belong to the key above.
    """
    pending: list[tuple[Any, list[Any], str, str]] = [(weights, list(values), "", "")]
    while pending:
        level, found, path, above = pending.pop()
        objects = list(_objects(found)) if isinstance(level, dict) else []
        if not objects:
            continue
        known = {key: None for one in objects for key in one}
        for key, inner in level.items():
            if key in known:
                pending.append((inner, [one[key] for one in objects if key in one], f"{path}/{key}", key))
            elif not (key == LOOPBACK + above if path else key.startswith(LOOPBACK)):
                raise EvaluationError(
                    _unknown(name, f"{path}/{key}", key, [*known, *([LOOPBACK + above] * bool(path))])
                )


def _unknown(name: str, path: str, key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known[:1_000], n=1)
    return (
        f"{name}: the weight {path[:200]!r} names no key of the expected value or the output"
        + (f"; did you mean {near[0][:80]!r}?" if near else "")
        + ". Correct it, or set unknown_weights='ignore' where only some cases have the key"
    )


def _objects(values: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects among ``values`` and in lists among them, at any depth of lists."""
    seen: dict[int, Any] = {}  # with the lists, so that no id is given twice
    pending = [as_json(value) for value in values]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list) and id(value) not in seen:
            seen[id(value)] = value
            pending += [as_json(child) for child in value]
