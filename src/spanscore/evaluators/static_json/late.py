"""Revision 2026-08 of static_json: ranges, tolerances, and lists without order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from spanscore.evaluators.static_json.lists import take_lists
from spanscore.evaluators.static_json.rows import Answer, Comparison, Flat, Row, f1_of, label_of, ratio, unmatched
from spanscore.evaluators.static_json.specs import Specs, near_in_time, path_of, time_of, tolerance_of

__all__ = ["compare_late"]

_GREATEST: Final = {
    "start_point": "end_point",
    "start": "end",
    "start_time": "end_time",
    "start_timestamp": "end_timestamp",
    "min": "max",
    "minimum": "maximum",
    "lower": "upper",
    "lower_bound": "upper_bound",
    "range_start": "range_end",
}
_N: Final = r"([+-]?\d+(?:\.\d+)?)"
_RANGES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_N}\s*(?:\.\.|-|to|through|,|–|—)\s*{_N}",  # noqa: RUF001 - dashes that people write
        rf"between\s+{_N}\s+and\s+{_N}",
        rf"(?:min|minimum|lower|start)\s*[:=]\s*{_N}.*(?:max|maximum|upper|end)\s*[:=]\s*{_N}",
    )
)
_MAX_TEXT: Final = 1_000  # longer text is no range and no choice


def compare_late(
    gold_answer: Answer,
    model_answer: Answer,
    specs: Specs,
    *,
    similar: Callable[[str, str], float],
    threshold: float,
    compat: bool,
) -> Comparison:
    """Return the comparison by the rule of revision 2026-08.

    Args:
        gold_answer: the expected answer.
        model_answer: the answer.
        specs: how single top-level keys are compared.
        similar: gives the similarity of two normalised texts.
        threshold: a similarity above it is called partial, else a mismatch.
        compat: compare the items of sets in their Python text form.
    """
    strict = float(gold_answer.flat == model_answer.flat)
    lists, gold, model = take_lists(gold_answer, model_answer, specs, compat=compat)
    scalars = {path_of(key, compat=compat): spec for key, spec in specs.items() if isinstance(spec, Mapping)}
    ranges = _sibling_ranges(gold)
    rows = [
        _compare_value(
            key,
            gold[key],
            model[key],
            spec=scalars.get(key, {}),
            bounds=ranges.get(key),
            similar=similar,
            threshold=threshold,
        )
        for key in sorted(gold.keys() & model.keys())
    ]
    alone, extra = sorted(gold.keys() - model.keys()), sorted(model.keys() - gold.keys())
    missing = sorted([*alone, *(row.key for row in lists if row.model == "MISSING")])
    figures = _figures(rows, lists, len(gold), len(model))
    figures["strict_exact_match_accuracy"] = strict
    satisfied = figures["satisfied_value_matches"] == figures["total_gold_keys"] == figures["total_model_keys"]
    passed = bool(satisfied and figures["total_gold_keys"] and not extra)
    figures["all_keys_satisfied"] = float(passed)
    return Comparison(figures, missing, extra, rows + unmatched(gold, alone, model, extra) + lists, passed)


def _figures(rows: Sequence[Row], lists: Sequence[Row], gold_keys: int, model_keys: int) -> dict[str, float]:
    compared = [*rows, *lists]
    found_lists = sum(row.model != "MISSING" for row in lists)
    gold_keys, model_keys = gold_keys + len(lists), model_keys + found_lists
    wider = max(gold_keys, model_keys)
    accepted = sum(row.accepted for row in compared)
    exact = sum(row.exact for row in compared)
    satisfied = sum(row.satisfied for row in compared)
    numeric = [row for row in rows if row.numeric]
    numeric_matches = sum(bool(row.exact or row.range_match or row.delta_1_match) for row in numeric)
    in_range = [row.range_match for row in rows if row.range_match is not None]
    near = [row.delta_1_match for row in rows if row.delta_1_match is not None]
    precision, recall = ratio(satisfied, wider), ratio(satisfied, gold_keys)
    exact_precision, exact_recall = ratio(exact, wider), ratio(exact, gold_keys)
    return {
        "partial_match_accuracy": ratio(accepted, gold_keys),
        "partial_exact_match_accuracy": exact_recall,
        "strict_exact_match_accuracy": 0.0,
        "partial_similarity_score": ratio(sum(row.similarity for row in compared), gold_keys),
        "partial_numeric_match_accuracy": ratio(numeric_matches, len(numeric)),
        "range_match_accuracy": ratio(sum(in_range), len(in_range)),
        "delta_1_match_accuracy": ratio(sum(near), len(near)),
        "precision": precision,
        "recall": recall,
        "f1": f1_of(precision, recall),
        "total_gold_keys": gold_keys,
        "total_model_keys": model_keys,
        "matched_keys": len(rows) + found_lists,
        "accepted_value_matches": accepted,
        "exact_value_matches": exact,
        "numeric_gold_keys": len(numeric),
        "numeric_value_matches": numeric_matches,
        "range_eligible_keys": len(in_range),
        "range_value_matches": sum(in_range),
        "delta_1_eligible_keys": len(near),
        "delta_1_value_matches": sum(near),
        "satisfied_value_matches": satisfied,
        "all_keys_satisfied": 0.0,
        "exact_precision": exact_precision,
        "exact_recall": exact_recall,
        "exact_f1": f1_of(exact_precision, exact_recall),
    }


def _compare_value(
    key: str,
    gold: str,
    model: str,
    *,
    spec: Mapping[str, Any],
    bounds: tuple[float, float] | None,
    similar: Callable[[str, str], float],
    threshold: float,
) -> Row:
    exact = gold == model
    measure = spec.get("mode") == "measure"
    wanted, found = _finite(gold), _finite(model)
    bounds = bounds or _range_of(gold)
    delta = abs(found - wanted) <= 1 if measure and wanted is not None and found is not None else None
    within = bounds[0] <= found <= bounds[1] if bounds and found is not None else None
    numeric = wanted is not None or bounds is not None
    in_time = spec.get("mode") == "timestamp" and near_in_time(time_of(gold), time_of(model), tolerance_of(spec))
    near = 1.0 if exact or in_time or delta or within else similar(gold, model)
    labels = ((exact, "exact"), (in_time, "within_tolerance"), (delta, "partial_delta_1"), (within, "partial_range"))
    number_matches = numeric and bool(exact or within or delta)
    return Row(
        key,
        gold,
        model,
        exact,
        next((label for holds, label in labels if holds), label_of(near, threshold)),
        near,
        accepted=exact or number_matches or in_time,
        satisfied=exact or in_time or (number_matches and measure),
        numeric=numeric,
        range_match=within,
        delta_1_match=delta,
    )


def _finite(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _range_of(text: str) -> tuple[float, float] | None:
    for pattern in _RANGES if len(text) <= _MAX_TEXT else ():
        found = pattern.fullmatch(text)
        low, high = (_finite(found.group(1)), _finite(found.group(2))) if found else (None, None)
        if low is not None and high is not None:
            return min(low, high), max(low, high)
    return None


def _sibling_ranges(gold: Flat) -> dict[str, tuple[float, float]]:
    """Return key -> (least, greatest), for pairs of numbers such as ``start`` and ``end`` of one object."""
    ranges: dict[str, tuple[float, float]] = {}
    for low_key in gold:
        parent, _, name = low_key.rpartition(".")
        high_key = f"{parent}.{_GREATEST.get(name, '')}"
        if parent and name in _GREATEST and high_key in gold:
            low, high = _finite(gold[low_key]), _finite(gold[high_key])
            if low is not None and high is not None:
                ranges[low_key] = ranges[high_key] = min(low, high), max(low, high)
    return ranges
