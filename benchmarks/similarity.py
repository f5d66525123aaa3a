"""JsonSimilarity and StructuredMatch beside the least that a scorer with their meaning can do."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable
from typing import Any

import orjson
import payload
import report
from interleave import Contender, calling, interleave
from rapidfuzz.distance import Levenshtein

from spanscore import JsonSimilarity, StructuredMatch

ABOUT = """\
Floor: walk every leaf recursively and call rapidfuzz's `Levenshtein.normalized_similarity` on each pair of strings, on
the same two values. 10 % of the leaves are edited, or none ("exact"); the values share no objects. "prepared" is
`JsonSimilarity().prepare(expected)` called with the output, "evaluate" is a first comparison, "structured" is
`StructuredMatch().prepare(expected)`. Ours make a Score with an explanation each time."""

LISTS = """\
`StructuredMatch(lists="unordered")`, prepared, on shuffled lists of objects of five fields; "edited": one field of each
object is changed too. Milliseconds, no floor."""

COLUMNS = (
    "expected",
    "output",
    "floor µs",
    "prepared / floor (min-max)",
    "evaluate / floor (min-max)",
    "structured / floor (min-max)",
    "score",
)

_similarity = Levenshtein.normalized_similarity


def run(*, quick: bool) -> str:
    """Return the table."""
    rounds = 3 if quick else 15
    rows = []
    for name, expected, output, calls in _corpora():
        for kind, actual in (("edited", output), ("exact", orjson.loads(orjson.dumps(expected)))):
            rows.append([name, kind, *_measured(expected, actual, rounds, max(1, calls // 10) if quick else calls)])
    tables = [report.section("JSON similarity", ABOUT, f"{rounds} rounds:", report.table(COLUMNS, rows))]
    lists = [
        [size, kind, _milliseconds(size, edited=kind == "edited")]
        for size in (200, 1_000)
        for kind in ("shuffled", "edited")
    ]
    return "\n".join(
        [*tables, report.section("Lists in any order", LISTS, report.table(("objects", "kind", "ms"), lists))]
    )


def _milliseconds(size: int, *, edited: bool) -> str:
    rows = [
        {"id": n, "name": f"item {n}", "price": n * 1.5, "tags": ["a", "b"], "paid": n % 2 == 0} for n in range(size)
    ]
    output = copy.deepcopy(rows)
    random.Random(1).shuffle(output)
    for row in output if edited else ():
        row["name"] = "changed"
    compare = StructuredMatch(lists="unordered").prepare(rows)
    assert compare is not None
    compare(output)
    started = time.perf_counter()
    compare(output)
    return f"{(time.perf_counter() - started) * 1e3:.1f}"


def floor(expected: Any, actual: Any) -> float:
    """Return the sum of similarities of the leaves of two values of the same shape."""
    kind = type(expected)
    total = 0.0
    if kind is dict:
        for key, child in expected.items():
            total += floor(child, actual[key])
        return total
    if kind is list:
        for left, right in zip(expected, actual, strict=True):
            total += floor(left, right)
        return total
    if kind is str:
        return _similarity(expected, actual)
    return 1.0 if expected == actual else 0.0


def _measured(expected: Any, actual: Any, rounds: int, calls: int) -> list[object]:
    evaluator = JsonSimilarity()
    prepared = evaluator.prepare(expected)
    structured = StructuredMatch().prepare(expected)
    assert structured is not None
    contenders = [
        _contender("prepared", lambda: prepared(actual)),
        _contender("evaluate", lambda: evaluator.evaluate(actual, expected)),
        _contender("structured", lambda: structured(actual)),
    ]
    results = interleave(_contender("floor", lambda: floor(expected, actual)), contenders, rounds=rounds, calls=calls)
    floor_us = [base.wall / calls * 1e6 for base, _ in results[0].pairs]
    ratios = [result.ratio("wall") for result in results]
    return [f"{sorted(floor_us)[len(floor_us) // 2]:.2f}", *ratios, f"{prepared(actual).value:.3f}"]


def _contender(name: str, call: Callable[[], Any]) -> Contender:
    return Contender(name=name, block=calling(call))


def _corpora() -> list[tuple[str, Any, Any, int]]:
    """Return name, expected value, output, calls a block."""
    answer = payload.answer()
    small = answer["section_0"]
    large = {"records": [_record() for _ in range(625)]}
    long = {f"text_{number}": _long() for number in range(20)}
    corpora: list[tuple[str, Any, Any, int]] = [
        ("8 leaves", small, _edited(small, [("field_0",)]), 5_000),
        ("40 leaves, 1.5 kB", answer, payload.edited(answer), 1_500),
        ("5,000 leaves", large, _edited(large, _tenth_of(large)), 20),
        ("20 texts of 2 kB, 2 edited", long, _edited(long, [("text_3",), ("text_11",)]), 50),
        ("20 texts of 2 kB, all edited", long, _edited(long, [(key,) for key in long]), 10),
    ]
    return [(name, expected, orjson.loads(orjson.dumps(output)), calls) for name, expected, output, calls in corpora]


def _record() -> dict[str, Any]:
    return {f"field_{position}": payload._leaf(position) for position in range(8)}


def _long() -> str:
    return " ".join(random.choices(payload.WORDS, k=320))[:2_000]


def _tenth_of(large: dict[str, Any]) -> list[tuple[Any, ...]]:
    paths = [("records", record, f"field_{position}") for record in range(625) for position in range(8)]
    return random.sample(paths, len(paths) // 10)


def _edited(value: Any, paths: list[tuple[Any, ...]]) -> Any:
    output = copy.deepcopy(value)
    for path in paths:
        parent = output
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = _changed(parent[path[-1]])
    return output


def _changed(leaf: Any) -> Any:
    """Return another leaf of the same kind; of a text, 8 % of the characters differ."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, str):
        letters = list(leaf)
        for position in random.sample(range(len(letters)), max(1, len(letters) * 8 // 100)):
            letters[position] = "#"
        return "".join(letters)
    return leaf * 1.1
