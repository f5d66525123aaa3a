"""The evaluators, one file each, and the table of the names an expectations file may use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from spanscore.errors import ConfigurationError
from spanscore.evaluators.contains import Contains
from spanscore.evaluators.evaluator import Evaluator, FunctionEvaluator, PreparingEvaluator, evaluator
from spanscore.evaluators.exact_match import ExactMatch
from spanscore.evaluators.json_similarity import JsonSimilarity

__all__ = [
    "BUILTIN",
    "Contains",
    "Evaluator",
    "ExactMatch",
    "FunctionEvaluator",
    "JsonSimilarity",
    "PreparingEvaluator",
    "create",
    "evaluator",
]

BUILTIN: Final[Mapping[str, Callable[..., Evaluator]]] = {
    "contains": Contains,
    "exact_match": ExactMatch,
    "json_similarity": JsonSimilarity,
}

_GROUP: Final = "spanscore.evaluators"


def create(kind: str, settings: Mapping[str, Any]) -> Evaluator:
    """Return the evaluator that a file names, built in or from the entry points ``spanscore.evaluators``.

    Raises:
        ConfigurationError: no such evaluator, or a setting it does not have.

    >>> create("contains", {"case_sensitive": True}).name
    'contains'
    """
    factory = BUILTIN.get(kind) or _installed(kind)
    try:
        return factory(**settings)
    except TypeError as error:
        raise ConfigurationError(f"evaluator {kind!r} does not take {dict(settings)!r}: {error}") from error


def _installed(kind: str) -> Callable[..., Evaluator]:
    found = {entry.name: entry for entry in entry_points(group=_GROUP)}
    if kind in found:
        loaded: Callable[..., Evaluator] = found[kind].load()
        return loaded
    allowed = sorted({*BUILTIN, *found})
    near = difflib.get_close_matches(kind, allowed, n=1)
    raise ConfigurationError(
        f"unknown evaluator {kind!r}; known are {', '.join(allowed)}" + (f". Did you mean {near[0]!r}?" if near else "")
    )
