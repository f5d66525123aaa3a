"""What no evaluator may do on any input: crash, hang, change its arguments, or score beyond 0..1."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import pytest

from spanscore import Contains, EvaluationError, ExactMatch, FieldMatch, JsonDiff, JsonSimilarity, StaticJson

EVALUATORS = [
    ExactMatch(),
    Contains(),
    JsonSimilarity(),
    JsonDiff(),
    FieldMatch(),
    FieldMatch(normalized=True, strict=True, name="strict"),
    StaticJson(),
    StaticJson(revision="2026-08", name="late"),
    ExactMatch(compat=True, name="exact_compat"),
    JsonSimilarity(compat=True, name="similarity_compat"),
    JsonDiff(compat=True, name="diff_compat"),
    StaticJson(compat=True, name="static_compat"),
]


def _nested(levels, around=dict):
    value: object = 1
    for _ in range(levels):
        value = {"a": value} if around is dict else [value]
    return value


def _cycle():
    value: dict = {"a": [1]}
    value["a"].append(value)
    return value


HOSTILE = {
    "10,000 objects deep": _nested(10_000),
    "10,000 lists deep": _nested(10_000, list),
    "300 deep": _nested(300),
    "cycle": _cycle(),
    "a million elements": [1] * 1_000_000,
    "10 MB of text": "x y " * 2_500_000,
    "not finite": {"a": float("nan"), "b": [float("inf"), -float("inf")]},
    "keys of any kind": {1: "a", None: 2, "a.b": 1, "a[0]": 2, "/": 3, "~": 4, "": 5, "\ud800": 6},
    "a huge integer": {"a": 10**5_000},
    "an object": object(),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda one: one.name)
def test_no_input_crashes_an_evaluator(evaluator, name):
    hostile = HOSTILE[name]
    for output, expected in ((hostile, {"a": 1}), ({"a": 1}, hostile), (hostile, hostile)):
        try:
            score = evaluator.evaluate(output, expected)
        except EvaluationError:
            continue
        assert score.value is None or 0.0 <= score.value <= 1.0 or evaluator.name.endswith("compat")


SCORES = """
import json, sys
from spanscore import *
from spanscore.evaluators import BUILTIN
pairs = json.loads(sys.stdin.read())
kinds = ["exact_match", "json_similarity", "json_diff", "field_match", "static_json", "structured_match"]
out = []
for kind in kinds:
    for compat in (False, True):
        if compat and kind == "structured_match":
            continue
        evaluator = BUILTIN[kind](**({"compat": True} if compat else {}))
        for output, expected in pairs:
            try:
                score = evaluator.evaluate(output, expected)
                out.append([score.value, score.explanation, dict(score.metrics), [(f.path, f.value) for f in score.fields]])
            except EvaluationError as error:
                out.append(str(error))
print(json.dumps(out))
"""


def test_scores_do_not_depend_on_the_hash_seed():
    pairs = [
        [
            {"a": 1, "b": ["x", "y"], "c": {"d": "some longer text"}, "é": None},
            {"b": ["y", "x"], "a": 1.5, "z": {"q": 1}},
        ],
        ['{"a": 1, "b": 2}', {"a": 1, "b": 3, "c": {"d": [1, 2]}}],
        [
            {"rows": [{"id": n, "v": n % 3} for n in range(9)]},
            {"rows": [{"id": n, "v": n % 2} for n in range(9, 0, -1)]},
        ],
    ]
    found = {
        hashlib.sha256(
            subprocess.run(
                [sys.executable, "-c", SCORES],
                input=json.dumps(pairs).encode(),
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=True,
            ).stdout
        ).hexdigest()
        for seed in ("0", "1", "4711")
    }
    assert len(found) == 1
