from __future__ import annotations

import copy
import json
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import ConfigurationError, EvaluationError
from spanscore.evaluators.static_json import StaticJson
from spanscore.evaluators.static_json.compare import similarity, similarity_compat
from spanscore.evaluators.static_json.flat import flatten, flatten_compat
from spanscore.evaluators.static_json.read import read_answer
from spanscore.evaluators.static_json.read_compat import read_2026_06, read_2026_08
from tests.evaluators.deviations import DEVIATIONS
from tests.vectors import load

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)
ANSWERS = JSON.filter(lambda value: not isinstance(value, str) or value.strip())
TEXTS = st.text(alphabet="{}[]()'\",: \n\\`a1-.Answer<>")
REVISIONS = ["2026-06", "2026-08"]
SYSTEMS = {"assetops.static_json": "2026-06", "assetops.static_json.late": "2026-08"}
CASES = [(revision, case) for system, revision in SYSTEMS.items() for case in load(system)]
IDS = [f"{revision}-{case['case']}" for revision, case in CASES]
COLUMNS = ("key", "gold_value", "model_value", "match_type", "similarity")


def scorer(revision, case, *, compat):
    metadata = case["config"].get("evaluation_metadata")
    return StaticJson(revision=revision, evaluation_metadata=metadata, compat=compat)


@pytest.mark.parametrize(("revision", "case"), CASES, ids=IDS)
def test_compat_gives_the_reference_document(revision, case):
    evaluator, wanted = scorer(revision, case, compat=True), case["result"]
    if "raises" in wanted:
        with pytest.raises(EvaluationError, match=wanted["raises"]):
            evaluator.report(case["actual"], case["expected"])
        return
    found = evaluator.report(case["actual"], case["expected"])
    document = wanted["details"] if isinstance(wanted["details"], dict) else wanted
    for name, figure in document.items():
        if name not in ("details", "scorer"):
            assert found["details"][name] == (pytest.approx(figure, abs=1e-12) if isinstance(figure, float) else figure)
    rows = [tuple(row[column] for column in COLUMNS) for row in found["details"]["details"]]
    if isinstance(wanted["details"], list):
        assert rows == [tuple(row) for row in wanted["details"]]
    else:
        assert found["details"]["details"] == wanted["key_details"]
    outcome = wanted.get("scorer", {key: wanted[key] for key in ("passed", "score", "rationale") if key in wanted})
    assert {key: found[key] for key in outcome} == outcome
    assert evaluator.evaluate(case["actual"], case["expected"]).value == found["score"]


@pytest.mark.parametrize(("revision", "case"), CASES, ids=IDS)
def test_default_differs_only_where_a_deviation_is_named(revision, case):
    name = "static_json" if revision == "2026-06" else "static_json 2026-08"
    named = DEVIATIONS.get((name, case["case"]))
    value = scorer(revision, case, compat=False).evaluate(case["actual"], case["expected"]).value
    wanted = case["result"].get("f1", case["result"].get("score"))
    if named is None:
        assert value == pytest.approx(wanted, abs=1e-12)
    else:
        assert value == pytest.approx(named.value)
        assert wanted == (None if named.reference is None else pytest.approx(named.reference))
        assert value != wanted


@pytest.mark.parametrize("case", load("assetops.static_json.parse"), ids=lambda case: case["case"])
def test_compat_reads_what_the_reference_reads(case):
    found = read_2026_06(case["actual"])
    if case["result"].get("type") == "bytes":
        assert (str(found), type(found)) == (case["result"]["parsed"], bytes)
    else:
        assert (found, type(found)) == (case["result"]["parsed"], type(case["result"]["parsed"]))


@pytest.mark.parametrize("case", load("assetops.static_json.parse"), ids=lambda case: case["case"])
def test_default_reads_the_same_but_what_it_fixes(case):
    fixed = {"bytes_literal": "b'ab'", "object_with_key_response": {"response": "ok then"}}
    wanted = fixed.get(case["case"], case["result"]["parsed"])
    assert json.dumps(read_answer(case["actual"])) == json.dumps(wanted)


@pytest.mark.parametrize("case", load("assetops.static_json.flatten"), ids=lambda case: case["case"])
def test_flattening_gives_the_measured_paths(case):
    assert flatten_compat(case["actual"], read_2026_06, read_2026_06) == case["result"]["flat"]
    assert flatten(case["actual"]) == (case["result"]["flat"] or {"answer": "{}"})


@pytest.mark.parametrize("case", load("assetops.static_json.similarity"), ids=lambda case: case["case"])
def test_similarity_gives_the_measured_values(case):
    for similar in (similarity, similarity_compat):
        assert similar(case["expected"], case["actual"]) == case["result"]["similarity"]


@pytest.mark.parametrize("case", load("assetops.static_json.scorer"), ids=lambda case: case["case"])
def test_report_says_what_the_reference_scorer_says(case):
    scenario = case["expected"]
    gold = scenario.get("expected_answer") or scenario.get("characteristic_form") or ""
    found = StaticJson(compat=True).report(case["actual"], gold)
    assert {key: found[key] for key in case["result"]} == case["result"]


@pytest.mark.parametrize("case", load("assetops.static_json.batch"), ids=lambda case: case["case"])
@pytest.mark.parametrize("compat", [True, False])
def test_batch_gives_the_means(case, compat):
    found = StaticJson(compat=compat).batch(case["actual"], case["expected"])
    assert {key: found[key] for key in case["result"]} == case["result"]
    assert len(found["examples"]) == found["num_examples"]


def test_batch_of_nothing_is_zero():
    assert StaticJson().batch([], [])["f1"] == 0.0


@pytest.mark.parametrize("case", load("assetops.static_json.suite_2026_07"), ids=lambda case: case["case"])
def test_figures_of_the_july_suite_hold_with_numbers_declared_as_measures(case):
    measures = {key: {"mode": "measure"} for key in ("start_point", "end_point")}  # July gave it to every number
    found = StaticJson(revision="2026-08", evaluation_metadata={"keys": measures}).report(
        case["actual"], case["expected"]
    )["details"]
    wanted = dict(case["result"])
    if "model_value" in wanted:
        assert found["details"][0]["model_value"] == wanted.pop("model_value")
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize("revision", REVISIONS)
@given(value=ANSWERS)
def test_equal_values_score_one(revision, value):
    score = StaticJson(revision=revision).evaluate(copy.deepcopy(value), value)
    assert score.value == 1.0
    assert StaticJson(revision=revision).report(value, value)["passed"] is True


@pytest.mark.parametrize("revision", REVISIONS)
@given(expected=ANSWERS, output=JSON)
def test_score_is_the_weighted_mean_of_its_fields(revision, expected, output):
    score = StaticJson(revision=revision).evaluate(output, expected)
    assert 0.0 <= score.value <= 1.0
    total = sum(field.weight for field in score.fields)
    assert math.isclose(sum(field.weight * field.value for field in score.fields) / total, score.value, abs_tol=1e-9)
    assert {field.value for field in score.fields if field.reason != "match"} <= {0.0}
    assert all(math.isfinite(figure) for figure in score.metrics.values())
    assert all(field.weight > 0 for field in score.fields)


@pytest.mark.parametrize("revision", REVISIONS)
@given(expected=ANSWERS, output=JSON)
def test_arguments_are_not_changed_and_a_prepared_expectation_scores_alike(revision, expected, output):
    before = copy.deepcopy((expected, output))
    evaluator = StaticJson(revision=revision)
    assert evaluator.prepare(expected)(output) == evaluator.evaluate(output, expected)
    assert (expected, output) == before


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("compat", [True, False])
@given(expected=TEXTS, output=TEXTS)
def test_any_text_gives_a_score_or_an_evaluation_error(revision, compat, expected, output):
    try:
        score = StaticJson(revision=revision, compat=compat).evaluate(output, expected)
    except EvaluationError:
        return
    assert 0.0 <= score.value <= 1.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Final Answer: Paris", "Paris"),
        ("**Final Answer:** 34", 34),
        ("So the final answer: Paris", "Paris"),
        ("<answer>Paris</answer>", "Paris"),
        ("Answer:\n```json\n{'a': 1}\n```", {"a": 1}),
        ("Draft {'a': 1}, no: {'a': 2}", {"a": 2}),
        ("I checked (twice): {'a': 1}", {"a": 1}),
        ('Here: [{"a": 1}, {"a": 2}] done', [{"a": 1}, {"a": 2}]),
        ("The answer is 34.", 34),
        ("The number of pumps is 34.", 34),
        ("I looked at 3 sites.\n\n34", 34),
        ("The tool failed after 34 records.", "The tool failed after 34 records."),
        ("The final count cannot be given due to Step 1.", "The final count cannot be given due to Step 1."),
        ("no result found", "no result found"),
        ("FC101", "FC101"),
        ("85%", "85%"),
        ('{"output": "ok", "site": "MAIN"}', {"output": "ok", "site": "MAIN"}),
        ("{['a']: 1}", ["a"]),
        ("```\nParis\n```", "Paris"),
        ("{'x'}", ["x"]),
        ("true", True),
        ('"30"', "30"),
    ],
)
def test_an_answer_is_read_from_text(text, value):
    assert json.dumps(read_answer(text)) == json.dumps(value)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ({"a.b": 1}, {"a": {"b": 1}}),
        ({"a[0]": 1}, {"a": [1]}),
        ({"a\\": {"b": 1}}, {"a\\.b": 1}),
        ({"a": []}, {}),
        ({"a": {}}, {"a": []}),
        ({"x": math.nan}, {"x": math.nan}),
        ({"x": math.inf}, {"x": math.inf}),
        ({"x": "Chiller 6"}, {"x": "Boiler 6"}),
        ({"x": "COMP-01"}, {"x": "PUMP-01"}),
        ({"x": True}, {"x": 1}),
        ({"x": "listen"}, {"x": "silent"}),
        ({"x": "007"}, {"x": 7}),
        ({"x": 1e-9}, {"x": 5e-9}),
        ("{'count': 5}", '{"total": 5}'),
        ("[7]", "7"),
    ],
)
@pytest.mark.parametrize("revision", REVISIONS)
def test_values_that_differ_share_no_key(expected, output, revision):
    assert StaticJson(revision=revision).evaluate(output, expected).value == 0.0


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ({"x": 30}, {"x": "30.0"}),
        ({"x": 1e3}, {"x": "1e3"}),
        ({"x": None}, {"x": "NULL"}),
        ({"x": True}, {"x": " TRUE "}),
        ({"x": 0}, {"x": -0.0}),
        ({"x": 1.0000001}, {"x": 1}),
        ({"x": "[1, 2]"}, {"x": [1, 2]}),
        ({"x": (1, 2)}, {"x": [1, 2]}),
        ("{}", {}),
    ],
)
def test_values_that_mean_the_same_are_equal(expected, output):
    assert StaticJson().evaluate(output, expected).value == 1.0


def test_integers_beyond_what_python_writes_are_compared():
    assert StaticJson().evaluate(10**6000, 10**6000).value == 1.0
    assert StaticJson().evaluate(10**6000 + 1, 10**6000).value == 0.0


def test_fields_say_where_points_were_lost():
    score = StaticJson().evaluate({"a": {"x/y": 104}, "c": 1}, {"a": {"x/y": 100}, "b": "text"})
    assert [(field.path, field.reason, field.weight) for field in score.fields] == [
        ("/a/x~1y", "similar", 2.0),
        ("/b", "missing", 1.0),
        ("/c", "extra", 1.0),
    ]
    assert score.explanation == "/b: expected text, missing; /c: not expected; /a/x~1y: expected 100, got 104"
    assert score.metrics["partial_similarity_score"] == 0.35


def test_the_threshold_changes_labels_only():
    low, high = (StaticJson(similarity_threshold=threshold).report(104, 100)["details"] for threshold in (0.0, 0.9))
    assert low["details"][0]["match_type"] == "partial (0.70)"
    assert high["details"][0]["match_type"] == "mismatch"
    assert {**low, "details": 0} == {**high, "details": 0}


@pytest.mark.parametrize("compat", [True, False])
@pytest.mark.parametrize(
    ("spec", "expected", "output", "value"),
    [
        ({"mode": "measure"}, 100, 101, 1.0),
        ({"mode": "measure"}, 100, 102, 0.0),
        ({"mode": "measure"}, "10-12", 11.5, 1.0),
        ({"mode": "measure"}, "between 3 and 7", 8, 0.0),
        ({"mode": "timestamp", "tolerance_s": 60}, "2026-01-01T10:00:00", "2026-01-01T10:01:00", 1.0),
        ({"mode": "timestamp", "tolerance_s": 60}, "2026-01-01T10:00:00", "2026-01-01T10:02:00", 0.0),
        ({"mode": "timestamp", "tolerance_s": 10**9}, "2026-01-01", "2026-01-03", 0.0),
        ({"mode": "set_match"}, ["x", "y"], ["y", "x"], 1.0),
        ({"mode": "set_match"}, ["x", "y"], ["x", "x"], 0.0),
        ({"mode": "set_match"}, ["x", "y"], None, 0.0),
        ({"mode": "set_match", "match_on": ["id"]}, [{"id": 1, "n": 2}], [{"id": 1, "n": 9}], 1.0),
        ({"mode": "set_match", "match_on": ["no"]}, [{"id": 1}], [{"id": 1}], 0.0),
        (
            {"mode": "set_match", "match_on": ["t"], "tolerance_s": 60},
            [{"t": "2026-01-01T10:00"}, {"t": "2026-01-01T11:00"}],
            [{"t": "2026-01-01T11:01"}, {"t": "2026-01-01T10:00"}],
            1.0,
        ),
        ({"mode": "set_contained", "n": 1}, ["p", "q"], ["q"], 1.0),
        ({"mode": "set_contained"}, ["p", "q"], ["p", "z"], 0.0),
    ],
)
def test_a_key_is_satisfied_as_its_specification_says(compat, spec, expected, output, value):
    evaluator = StaticJson(revision="2026-08", evaluation_metadata={"keys": {"k": spec}}, compat=compat)
    answer = {} if output is None else {"k": output}
    found = evaluator.report(json.dumps(answer), {"k": expected})
    assert (found["score"], found["passed"]) == (value, value == 1.0)
    assert evaluator.evaluate(answer, {"k": expected}).value == value


def test_items_of_a_set_are_compared_as_json_and_not_as_python_text():
    evaluator = StaticJson(revision="2026-08", evaluation_metadata={"keys": {"k": {"mode": "set_match"}}})
    assert evaluator.evaluate({"k": [{"b": 2.0, "a": 1}]}, {"k": [{"a": 1, "b": 2}]}).value == 1.0
    assert evaluator.evaluate({"k": [math.nan]}, {"k": [math.nan]}).value == 0.0


@pytest.mark.parametrize("compat", [True, False])
def test_a_mode_answer_needs_the_mode_and_the_terms_of_the_expected_text(compat):
    evaluator = StaticJson(revision="2026-08", compat=compat)
    gold = {"response": "No, pump PMP42144 is not the 'usual suspect'."}
    assert evaluator.evaluate({"response": "no: the usual suspect is no pump; PMP42144"}, gold).value == 1.0
    wrong = evaluator.evaluate({"abstain": "PMP42144"}, gold)
    assert wrong.metrics["mode_key_match"] == 0.0
    assert wrong.metrics["mode_term_coverage"] == 0.25
    assert 0.0 < wrong.value < 1.0
    assert evaluator.evaluate("prose", gold).metrics["mode_exactly_one_key"] == 0.0


@pytest.mark.parametrize("text", ["Answer: C", "(c)", "It is dear.\nThe correct option is C.", "A or B? No, C"])
def test_a_choice_is_the_last_letter(text):
    assert StaticJson(revision="2026-08").evaluate(text, "C").value == 1.0


@pytest.mark.parametrize("expected", ["", "  \n"])
def test_a_blank_expected_answer_is_an_error_and_no_score(expected):
    with pytest.raises(EvaluationError, match="expected answer is blank; give the value"):
        StaticJson().evaluate("x", expected)
    assert StaticJson().report("x", expected)["score"] is None
    assert StaticJson(compat=True).evaluate("", expected).value == 0.0


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def cyclic():
    value = {}
    value["self"] = value
    return value


@pytest.mark.parametrize("compat", [True, False])
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "output",
    [
        nested(10_000),
        cyclic(),
        "[" * 10_000 + "]" * 10_000,
        "[" * 100_000,
        "{'a': (" * 3_000,
        "Answer: " + "[" * 5_000 + "1" + "]" * 5_000,
        "answer" + " " * 50_000 + "x",
        "\n" * 50_000 + "C.",
        "```" + " " * 50_000,
        "-" * 5_000 + "1",
        "9" * 5_000,
        "1" * 50_000 + "a",
        {1: {2, 3}, None: b"x", "d": object},
        {"x": [10**6000]},
    ],
    ids=range(14),
)
def test_extreme_answers_give_a_score_or_an_evaluation_error(output, revision, compat):
    try:
        value = StaticJson(revision=revision, compat=compat).evaluate(output, {"a": 1}).value
    except EvaluationError:
        return
    assert value == 0.0


def test_scores_do_not_depend_on_the_hash_seed():
    code = (
        "from spanscore.evaluators.static_json import StaticJson;"
        "print([StaticJson(compat=c).evaluate(\"{'x', 'y', 'z'}\", \"{'z', 'y', 'x', 'w'}\") for c in (True, False)])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "123"
    }
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"name": "Bad"}, "name 'Bad' is not allowed"),
        ({"similarity_threshold": 2}, "must lie in 0..1"),
        ({"similarity_threshold": "x"}, "give a number in 0..1"),
        ({"revision": "2025"}, "revision '2025' is unknown; use one of 2026-06, 2026-08"),
        ({"evaluation_metadata": {"keys": {}}}, "needs revision='2026-08'"),
        ({"revision": "2026-08", "evaluation_metadata": {"keys": []}}, None),
        ({"revision": "2026-08", "evaluation_metadata": {"keys": ["a"]}}, "is a list; give"),
        ({"revision": "2026-08", "evaluation_metadata": {"keys": {"a": {"mode": "x"}}}}, "with a mode of measure"),
        (
            {"revision": "2026-08", "evaluation_metadata": {"keys": {"a": {"mode": "timestamp", "tolerance_s": -1}}}},
            "give seconds, more than 0",
        ),
    ],
)
def test_bad_settings_name_what_was_given_and_what_is_allowed(settings, told):
    if told is None:
        assert StaticJson(**settings).evaluate(1, 1).value == 1.0
        return
    with pytest.raises(ConfigurationError, match=told):
        StaticJson(**settings)


def test_a_part_of_an_answer_is_read_without_taking_numbers_out_of_it():
    assert read_2026_08("COMP 1", count=False) == "COMP 1"
    assert read_2026_08("COMP 1") == 1
