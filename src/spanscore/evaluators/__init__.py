"""The evaluators, one file each, and the table of the names an expectations file may use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import entry_points
from typing import Any, Final, get_type_hints

from spanscore.errors import ConfigurationError
from spanscore.evaluators.contains import Contains
from spanscore.evaluators.evaluator import Evaluator, FunctionEvaluator, PreparingEvaluator, evaluator
from spanscore.evaluators.exact_match import ExactMatch
from spanscore.evaluators.field_match import FieldMatch
from spanscore.evaluators.json_diff import JsonDiff
from spanscore.evaluators.json_similarity import JsonSimilarity
from spanscore.evaluators.llm_judge import LLMJudge, StrictJsonJudge, TrajectoryJudge
from spanscore.evaluators.static_json import StaticJson
from spanscore.evaluators.structured_match import Match, StructuredMatch
from spanscore.evaluators.tool_calls import ToolCallArgs, ToolCallCount, ToolCallOrder, ToolCallOutput

__all__ = [
    "BUILTIN",
    "Contains",
    "Evaluator",
    "ExactMatch",
    "FieldMatch",
    "FunctionEvaluator",
    "JsonDiff",
    "JsonSimilarity",
    "LLMJudge",
    "Match",
    "PreparingEvaluator",
    "StaticJson",
    "StrictJsonJudge",
    "StructuredMatch",
    "ToolCallArgs",
    "ToolCallCount",
    "ToolCallOrder",
    "ToolCallOutput",
    "TrajectoryJudge",
    "create",
    "evaluator",
]

BUILTIN: Final[Mapping[str, Callable[..., Evaluator]]] = {
    "contains": Contains,
    "exact_match": ExactMatch,
    "field_match": FieldMatch,
    "json_diff": JsonDiff,
    "json_similarity": JsonSimilarity,
    "llm_judge": LLMJudge,
    "static_json": StaticJson,
    "strict_json_judge": StrictJsonJudge,
    "structured_match": StructuredMatch,
    "tool_call_args": ToolCallArgs,
    "tool_call_count": ToolCallCount,
    "tool_call_order": ToolCallOrder,
    "tool_call_output": ToolCallOutput,
    "trajectory_judge": TrajectoryJudge,
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
    _check_types(kind, factory, settings)
    try:
        return factory(**settings)
    except TypeError as error:
        raise ConfigurationError(f"evaluator {kind!r} does not take {dict(settings)!r}: {error}") from error


def _check_types(kind: str, factory: Callable[..., Evaluator], settings: Mapping[str, Any]) -> None:
    """Check the settings of a dataclass against its annotations; nothing else says "no" to a text for a bool."""
    from pydantic import TypeAdapter, ValidationError

    names: list[str] = [one.name for one in fields(factory) if one.init] if is_dataclass(factory) else []
    unknown = [name for name in settings if names and name not in names]
    if unknown:
        near = difflib.get_close_matches(str(unknown[0]), names, n=1)
        told = f". Did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"evaluator {kind!r} has no {unknown[0]!r}; it has {', '.join(names)}{told}")
    types: Mapping[str, Any] = get_type_hints(factory) if names else {}
    for name in settings.keys() & types.keys():
        try:
            TypeAdapter(types[name]).validate_python(settings[name], strict=True)
        except ValidationError as error:
            told = "; ".join(sorted({problem["msg"] for problem in error.errors()}))
            raise ConfigurationError(f"evaluator {kind!r}: {name} {settings[name]!r} is not allowed: {told}") from error


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
