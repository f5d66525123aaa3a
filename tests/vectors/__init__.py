"""What the real implementations returned, one JSON object a line; see the `origin` of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load(system: str) -> list[dict[str, Any]]:
    lines = (Path(__file__).parent / f"{system.partition('.')[0]}.jsonl").read_text().splitlines()
    return [case for case in map(_decoded, map(json.loads, lines)) if case["system"] == system]


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return float(value["$float"])
        if set(value) == {"$tuple"}:
            return tuple(map(_decoded, value["$tuple"]))
        return {key: _decoded(child) for key, child in value.items()}
    return [_decoded(child) for child in value] if isinstance(value, list) else value


SETTINGS = {
    "targetOutputKey": "target_output_key",
    "target_output_key": "target_output_key",
    "lineByLineEvaluator": "line_by_line",
    "lineDelimiter": "line_delimiter",
    "defaultEvaluationCriteria": "default_evaluation_criteria",
    "caseSensitive": "case_sensitive",
    "negated": "negated",
}


def settings(case: dict[str, Any]) -> dict[str, Any]:
    return {SETTINGS[key]: value for key, value in case["config"].items() if value is not None}
