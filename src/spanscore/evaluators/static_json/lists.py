"""Lists that revision 2026-08 compares as a whole and without order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from spanscore.errors import EvaluationError
from spanscore.evaluators.static_json.flat import flatten
from spanscore.evaluators.static_json.rows import Answer, Flat, Row
from spanscore.evaluators.static_json.specs import Specs, near_in_time, path_of, text_of, time_of, tolerance_of

__all__ = ["take_lists"]

_Parts = tuple[tuple[Any, datetime | None], ...]
_MAX_ITEMS: Final = 3_000  # every one is held against every other


def take_lists(
    gold_answer: Answer, model_answer: Answer, specs: Specs, *, compat: bool
) -> tuple[list[Row], Flat, Flat]:
    """Return the rows of the keys that are compared as sets, and both maps without them."""
    expected, answered = gold_answer.value, model_answer.value
    gold, model = gold_answer.flat, model_answer.flat
    rows = []
    for key, spec in specs.items():
        mode = spec.get("mode") if isinstance(spec, Mapping) else None
        if mode not in ("set_match", "set_contained") or not isinstance(expected, dict) or key not in expected:
            continue
        path = f"answer.{key}" if compat else path_of(key, compat=False)
        below = (f"{path}[", f"{path}.")
        taken = [
            {place: text for place, text in flat.items() if place == path or place.startswith(below)}
            for flat in (gold, model)
        ]
        gold, model = (
            {place: text for place, text in flat.items() if place not in part}
            for flat, part in zip((gold, model), taken, strict=True)
        )
        wanted = expected[key]
        found = answered.get(key) if isinstance(answered, dict) else None
        holds = _lists_match(spec, wanted, found, compat=compat)
        texts = json.dumps(wanted, default=str), "MISSING" if found is None else json.dumps(found, default=str)
        label = f"{mode}:{'satisfied' if holds else 'failed'}"
        exact = taken[0] == taken[1]
        rows.append(Row(path, *texts, exact, label, float(holds), accepted=holds, satisfied=holds))
    return rows, gold, model


def _lists_match(spec: Mapping[str, Any], gold: Any, model: Any, *, compat: bool) -> bool:
    if not isinstance(gold, list) or not isinstance(model, list):
        return False
    form = text_of if compat else _identity
    if spec["mode"] == "set_contained":
        answered = [form(item) for item in model]
        size = spec.get("n") or len(gold)
        return len(answered) == len(set(answered)) == size and set(answered) <= {form(item) for item in gold}
    return len(model) == len(gold) and _all_paired(spec, gold, model, form)


def _all_paired(spec: Mapping[str, Any], gold: list[Any], model: list[Any], form: Callable[[Any], Any]) -> bool:
    """Return True if every item of the answer has an expected one to itself, in order of the answer."""
    fields, tolerance_s = spec.get("match_on") or (), tolerance_of(spec)
    if len({_key(item, fields, form) for item in model}) != len(model):
        return False
    left = [_parts(item, fields, form, tolerance_s) for item in gold]
    answered = [_parts(item, fields, form, tolerance_s) for item in model]
    if any(parts is None for parts in left + answered) or any(_lacks(item, fields) for item in gold):
        return False
    if not tolerance_s:
        return Counter(left) == Counter(answered)
    if len(model) > _MAX_ITEMS:
        raise EvaluationError(
            f"a set_match with a tolerance compares at most {_MAX_ITEMS} items; there are {len(model)}"
        )
    for parts in answered:
        place = next((i for i, wanted in enumerate(left) if _pair(wanted, parts, tolerance_s)), None)
        if place is None:
            return False
        del left[place]
    return True


def _key(item: Any, fields: Sequence[str], form: Callable[[Any], Any]) -> Any:
    if fields and isinstance(item, dict):
        return tuple(form(item.get(field)) for field in fields)
    return (form(item),)


def _lacks(item: Any, fields: Sequence[str]) -> bool:
    return any(item.get(field) is None for field in fields)


def _parts(item: Any, fields: Sequence[str], form: Callable[[Any], Any], tolerance_s: float) -> _Parts | None:
    """Return text and time of every field that tells items apart; None for an item that is no object."""
    if fields and not isinstance(item, dict):
        return None
    values = [item.get(field) for field in fields] if fields else [item]
    return tuple((form(value), time_of(value) if tolerance_s else None) for value in values)


def _pair(gold: _Parts | None, model: _Parts | None, tolerance_s: float) -> bool:
    return all(
        wanted == found or near_in_time(wanted_at, found_at, tolerance_s)
        for (wanted, wanted_at), (found, found_at) in zip(gold or (), model or (), strict=True)
    )


def _identity(item: Any) -> Any:
    flat = flatten(item, top=False)
    return flat["answer"] if flat.keys() == {"answer"} else tuple(sorted(flat.items()))
