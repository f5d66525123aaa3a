from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore.evaluators.extraction import MAX_LEVELS, extract_json
from spanscore.step import MISSING

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)
OBJECTS = st.dictionaries(st.text(), JSON, min_size=1, max_size=4)
PROSE = st.text(st.characters(exclude_characters="[]{}`~\"'", exclude_categories=["Cs"]), max_size=40)
KINDS = st.sampled_from("{}[]():,\"'\\ \n`~-1ae") | st.sampled_from(
    ["```", "\n```json\n", "true", "None", '{"a":', "//"]
)


@pytest.mark.parametrize(
    ("text", "value", "stage"),
    [
        ('{"a": 1}', {"a": 1}, "json"),
        (" \ufeff\n[1]\n".replace(" \ufeff", "\ufeff"), [1], "json"),
        ("42", 42, "json"),
        ('"text"', "text", "json"),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}, "json"),
        ('```json\n{"a": 1}\n```', {"a": 1}, "fenced"),
        ('Sure:\n~~~\n[{"a": 1}]\n~~~\nDone', [{"a": 1}], "fenced"),
        ('```json {"a": 1}```', {"a": 1}, "fenced"),
        ("```json\n[]\n```", [], "fenced"),
        ("```\n{}\n```", {}, "fenced"),
        ('{"code": "```py\\nx = {}\\n```"}', {"code": "```py\nx = {}\n```"}, "json"),
        ('```json\n{"code": "```py```"}\n```', {"code": "```py```"}, "fenced"),
        ('The answer is {"a": {"b": [1, 2]}}, I think.', {"a": {"b": [1, 2]}}, "embedded"),
        ("the rows are [1, 2] as asked", [1, 2], "embedded"),
        ('see [1] and [the docs](url): {"a": "}"} [2]', {"a": "}"}, "embedded"),
        ('{{"a": 1}}', {"a": 1}, "embedded"),
        ("['tis the season] {\"a\": 1}", {"a": 1}, "embedded"),
        ('{"a": 1,}', {"a": 1}, "repaired"),
        ("[1, 2,]", [1, 2], "repaired"),
        ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}, "repaired"),
        ("{'it\\'s': \"it's\", 'box': (1, 2), 'one': (1,), 'none': ()}", {"it's": "it's", "box": [1, 2], "one": [1], "none": []}, "repaired"),
        ('{"a": "line\nbreak", "b": "\\d+"}', {"a": "line\nbreak", "b": "\\d+"}, "repaired"),
        ("{'a': '\\x41\\u00e9\\ud83d\\ude00\\U0001F600'}", {"a": "Aé😀😀"}, "repaired"),
        ("```json\n{'a': 1}\n```", {"a": 1}, "repaired"),
    ],
)  # fmt: skip
def test_the_value_is_found_and_the_stage_recorded(text, value, stage):
    found = extract_json(text)
    assert (found.value, found.stage, found.problem) == (value, stage, None)
    assert json.dumps(found.value) == json.dumps(value)  # True is not 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Draft: {"a": 1}\nBetter: {"a": 2}', {"a": 2}),
        ('{"a": 1}\n{"a": 2}\n', {"a": 2}),
        ('Draft {"a": 1} and {"a": 2, "b"', {"a": 1}),
        ('Draft {"a": oops} and {"a": 2}', {"a": 2}),
        ('```json\n{"a": 1}\n```\nor rather\n```json\n{"a": 2}\n```\nnot {"a": 3}', {"a": 2}),
        ('```json\n{"a": "unfin\n```\nAgain:\n```json\n{"a": 1}\n```', {"a": 1}),
        ('```json\n{"a": [1,\n```\nAgain:\n```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1} for the rows [1, 2]', {"a": 1}),
    ],
)
def test_of_several_drafts_the_last_complete_one_is_taken(text, value):
    assert extract_json(text).value == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "absent"),
        ("COMP-01", "absent"),
        ("the pump COMP-01 runs at 42 degrees: true", "absent"),
        ("True", "absent"),
        ("see [1] and [2]", "absent"),
        ("see [1]", "absent"),
        ("- [ ] open\n- [x] done", "absent"),
        ("rows [1, 2] and [3, 4]", "absent"),
        ("[text](url) {curly}", "absent"),
        ("nothing to report: {}", "absent"),
        ('{"a": 1', "truncated"),
        ('{"a": "te', "truncated"),
        ('{"a": tru', "truncated"),
        ('{"a": [1, {"b": 2}', "truncated"),
        ('[{"a": 1}, {"a"', "truncated"),
        ("Here it is:\n```json\n{", "truncated"),
        ("{'a': 'it", "truncated"),
        ('```json\n{"a": [1,\n```', "truncated"),
        ('{"a": COMP-01}', "invalid"),
        ('{"a": 01}', "invalid"),
        ('{"a": 1 "b": 2}', "invalid"),
        ('{"items": [{"a": 1} {"b": 2}]}', "invalid"),
        ('{name: "Ann", address: {"city": "Rome"}}', "invalid"),
        ('{“a”: {"b": 1}}', "invalid"),
        ('{"h": "5" tall", "b": {"x": 1}}', "invalid"),
        ('{"a": {...}, "b": {"x": 1}}', "invalid"),
        ("{'a': (1)}", "invalid"),
        ('{"a": ' + "1" * 5_000 + "}", "invalid"),
        ("format it as {x:10}", "invalid"),
    ],
)
def test_truncated_invalid_and_absent_are_told_apart_and_nothing_is_invented(text, problem):
    found = extract_json(text)
    assert (found.value, found.stage, found.problem) == (MISSING, "none", problem)


def test_nan_and_infinities_are_read_as_such():
    value = extract_json("{'a': NaN, 'b': -inf, 'c': Infinity}").value
    assert math.isnan(value["a"])
    assert (value["b"], value["c"]) == (-math.inf, math.inf)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', 'so {"b": {"a": 1, "a": 2}} it is', "{'a': 1, 'a': 2}"])
def test_of_duplicate_keys_the_last_counts_and_they_are_noted(text):
    found = extract_json(text)
    assert found.duplicate_keys
    assert found.value in ({"a": 2}, {"b": {"a": 2}})
    assert not extract_json('{"a": 1} {"a": 1}').duplicate_keys


@pytest.mark.parametrize("levels", [MAX_LEVELS - 1, MAX_LEVELS])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_value_is_read_down_to_the_last_level_allowed(levels, opening, closing):
    found = extract_json(opening * levels + "1" + closing * levels)
    assert found.stage == "json"
    for _ in range(levels):
        (found_value,) = found.value if isinstance(found.value, list) else found.value.values()
        found = type(found)(value=found_value, stage="json")
    assert found.value == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 1_000_000, "invalid"),
        ("{" * 1_000_000, "truncated"),
        ('{"a":' * 100_000, "invalid"),
        ("[" * 10_000 + "]" * 10_000, "invalid"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "invalid"),
        ('{"a": "' + "x" * 10_000_000, "truncated"),
        ('["' * 1_000_000, "invalid"),
        ('{"a": x "' + '\\"' * 1_000_000, "invalid"),
        ("['\\" * 1_000_000, "invalid"),
        ("`" * 10_000_000, "absent"),
        ("```json\n" * 100_000, "absent"),
        ('```json\n{"a": \n```\n' * 50_000, "truncated"),
        ("[a] [1] {} [] " * 500_000, "absent"),
        ("[" + "9" * 1_000_000, "absent"),
        ("[" + " " * 1_000_000, "truncated"),
        ("lorem ipsum " * 1_000_000, "absent"),
    ],
    ids=range(16),
)
def test_hostile_text_ends_in_a_problem(text, problem):
    assert extract_json(text).problem == problem


def test_a_big_value_in_a_fence_is_read():
    rows = [{"a": index, "b": "text"} for index in range(100_000)]
    assert extract_json(f"Here:\n```json\n{json.dumps(rows)}\n```\n").value == rows
    assert extract_json(f"Here: {{'rows': {rows}}}").value == {"rows": rows}


@given(JSON)
def test_what_json_writes_is_read_back(value):
    found = extract_json(json.dumps(value))
    assert (found.value, found.stage) == (value, "json")


@given(OBJECTS, PROSE, PROSE)
def test_an_object_is_found_in_prose_and_in_a_fence(value, before, after):
    text = json.dumps(value)
    assert extract_json(f"{before}\n{text}\n{after}").value == value
    assert extract_json(f"{before}\n```json\n{text}\n```\n{after}").value == value


@given(OBJECTS)
def test_what_python_prints_is_read_back(value):
    assert extract_json(f"Result: {value!r}").value == value


@given(OBJECTS, st.data())
def test_a_cut_object_is_truncated_wherever_it_is_cut(value, data):
    text = json.dumps(value)
    assert extract_json(text[: data.draw(st.integers(1, len(text) - 1))]).problem == "truncated"


@given(st.lists(KINDS, max_size=60).map("".join))
def test_any_text_gives_either_a_value_or_a_problem(text):
    found = extract_json(text)
    assert (found.value is MISSING) is (found.problem is not None)
    assert (found.stage == "none") is (found.problem is not None)


@given(st.lists(KINDS, max_size=60).map("".join))
def test_every_scalar_in_the_value_stands_in_the_text(text):
    found = extract_json(text)
    for leaf in _leaves(found.value):
        if isinstance(leaf, (bool, int)) or leaf is None:
            assert any(word in text for word in (str(leaf), json.dumps(leaf)))


def _leaves(value):
    if isinstance(value, (dict, list)):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _leaves(child)
    elif value is not MISSING:
        yield value
