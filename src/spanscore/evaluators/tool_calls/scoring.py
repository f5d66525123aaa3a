"""What the evaluators of tool calls share: reading the expected calls, and making the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from math import fsum
from typing import Any, Final

from spanscore.errors import EvaluationError
from spanscore.evaluators.tool_calls.matching import Pool, Wanted
from spanscore.evaluators.tool_calls.records import ToolCall, criteria
from spanscore.json_text import serialise
from spanscore.score import FieldReason, FieldScore, Score
from spanscore.step import MISSING

__all__ = ["field_of", "fields_of", "mean_of", "score_of", "score_of_empty", "wanted_calls"]

_SHOWN_FIELDS: Final = 3


_SHOWN_CHARACTERS: Final = 60


def wanted_calls(name: str, expected: Any, key: str, part: str) -> list[Wanted]:
    """Return the expected calls of a list of objects; raise EvaluationError for another shape."""
    found = criteria(expected, key, list, f"a list of {{'name': tool, '{part}': ...}}")
    wanted = []
    for one in found:
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            raise EvaluationError(f"{name}: every expected call must be an object with a 'name' and '{part}'")
        own = one.get("id")
        value = one.get(part, {} if part == "args" else MISSING)
        wanted.append(Wanted(one["name"], None if own is None else str(own), value))
    return wanted


def score_of_empty(
    name: str, expected: Sequence[Any] | Mapping[str, Any], calls: Sequence[ToolCall], *, compat: bool
) -> float | None:
    """Return the score where one side is empty, None where the rule decides."""
    if compat:
        return None if expected and calls else float(not expected and not calls)
    if not expected:
        raise EvaluationError(f"{name}: nothing is expected, which every run fulfils; name at least one tool")
    return None


def fields_of(
    wanted: Sequence[Wanted], calls: Sequence[ToolCall], matches: Sequence[int | None], part: str
) -> list[FieldScore]:
    """Return a record for every expected call; the nearest call not taken stands beside one that is not found."""
    pool = Pool(calls, compat=False)
    for index, match in enumerate(matches):
        if match is not None:
            pool.take(wanted[index], match.__eq__)
    fields = []
    for index, (one, match) in enumerate(zip(wanted, matches, strict=True)):
        other = next(pool.candidates(one), None) if match is None else match
        reason: FieldReason = "match" if match is not None else "missing" if other is None else "wrong"
        actual = None if other is None else getattr(calls[other], part)
        fields.append(field_of(f"/{index}", {"name": one.name, part: one.value}, actual, reason))
    return fields


def field_of(path: str, expected: Any, actual: Any, reason: FieldReason) -> FieldScore:
    """Return the record of one expectation; it is worth 1 if the reason is ``match``, else 0."""
    shown = None if actual is MISSING else actual
    return FieldScore(path=path, expected=expected, actual=shown, value=float(reason == "match"), reason=reason)


def mean_of(fields: Sequence[FieldScore], *, strict: bool) -> float:
    """Return the mean of the fields, with ``strict`` 1 if all are 1, else 0."""
    mean = fsum(field.value for field in fields) / len(fields)
    return float(mean == 1.0) if strict else mean


def score_of(
    name: str, version: str, value: float, fields: Sequence[FieldScore], calls: Sequence[ToolCall], **metrics: float
) -> Score:
    """Return the score; the explanation names the first expectations that were not met."""
    lost = [field for field in fields if field.value == 0.0]
    shown = [_lost(field) for field in islice(lost, _SHOWN_FIELDS)]
    return Score(
        evaluator=name,
        value=value,
        explanation="; ".join(shown if len(lost) <= _SHOWN_FIELDS else [*shown, f"{len(lost) - _SHOWN_FIELDS} more"]),
        fields=tuple(fields),
        metrics={**metrics, "expected_calls": float(len(fields)), "actual_calls": float(len(calls))},
        version=version,
    )


def _lost(field: FieldScore) -> str:
    text = serialise(field.expected).decode()
    return f"{field.path}: expected {text[:_SHOWN_CHARACTERS]}{'...' if len(text) > _SHOWN_CHARACTERS else ''}"
