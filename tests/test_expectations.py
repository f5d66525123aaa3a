from __future__ import annotations

import json

import pytest

from spanscore import Cases, ConfigurationError, ExactMatch, Expectations, JsonSimilarity, evaluator


def _ids(expectations, name, attributes=None):
    return [found.id for found in expectations.match(name, attributes or {})]


def test_a_span_is_found_by_exact_name_glob_and_attributes():
    expectations = Expectations()
    expectations.add("agent.answer", JsonSimilarity(), expected=1, id="exact")
    expectations.add("agent.*", JsonSimilarity(), expected=1, id="glob")
    expectations.add("*", JsonSimilarity(), expected=1, where={"gen_ai.agent.name": "support"}, id="where")
    assert _ids(expectations, "agent.answer") == ["exact", "glob"]
    assert _ids(expectations, "agent.plan") == ["glob"]
    assert _ids(expectations, "other") == []
    assert _ids(expectations, "other", {"gen_ai.agent.name": "support"}) == ["where"]
    assert expectations.unused == ()


def test_an_expectation_added_later_is_found_for_names_seen_before():
    expectations = Expectations()
    assert _ids(expectations, "agent") == []
    expectations.add("agent", ExactMatch(), expected=1)
    assert _ids(expectations, "agent") == ["agent"]


def test_a_name_with_glob_characters_is_found_as_it_stands():
    expectations = Expectations()
    expectations.add("GET /[id]", ExactMatch(), expected=1)
    assert _ids(expectations, "GET /[id]") == ["GET /[id]"]


def test_ids_are_unique_and_the_unused_are_named():
    expectations = Expectations()
    first = expectations.add("a", ExactMatch(), expected=1)
    second = expectations.add("a", ExactMatch(), expected=2)
    assert (first.id, second.id) == ("a", "a#2")
    assert expectations.unused == ("a", "a#2")
    with pytest.raises(ConfigurationError, match="id 'a' is taken"):
        expectations.add("b", ExactMatch(), expected=1, id="a")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"threshold": 1.5}, "threshold 1.5 is not allowed; give a number in 0..1"),
        ({"threshold": True}, "threshold True is not allowed"),
        ({"weight": 0}, "weight 0 is not allowed; give a finite number above 0"),
        ({"weight": float("inf")}, "weight inf"),
        ({"expected": object()}, "is not a JSON value.*Allowed are"),
        ({"expected": {"a": {1, 2}}}, "is not a JSON value"),
        ({"cases": Cases({"x": 1})}, "needs both cases= and case_key="),
    ],
)
def test_bad_settings_are_refused_at_once(settings, told):
    with pytest.raises(ConfigurationError, match=told):
        Expectations().add("a", JsonSimilarity(), **settings)


def test_what_is_no_evaluator_is_refused():
    for wrong in (JsonSimilarity, lambda output: 1.0, "json_similarity"):
        with pytest.raises(ConfigurationError, match="is no evaluator.*put @evaluator on a plain function"):
            Expectations().add("a", wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="has no evaluator"):
        Expectations().add("a")
    with pytest.raises(ConfigurationError, match="two evaluators.*same name"):
        Expectations().add("a", ExactMatch(), ExactMatch(), expected=1)


def test_an_expected_value_that_an_evaluator_cannot_use_is_refused():
    from spanscore import Contains

    with pytest.raises(ConfigurationError, match="does not fit: contains: the expected value must be the text"):
        Expectations().add("a", Contains(), expected=5)


def test_identities_are_equal_only_for_equal_settings_and_values():
    def identity(evaluator, expected):
        return Expectations().add("a", evaluator, expected=expected).bound(None).checks[0].identity

    same = identity(JsonSimilarity(), {"a": 1})
    assert same == identity(JsonSimilarity(), {"a": 1})
    assert same.startswith("json_similarity@1+")
    assert same != identity(JsonSimilarity(), {"a": 2})
    assert same != identity(JsonSimilarity(compat=True), {"a": 1})
    named = evaluator(name="mine", version="7")(lambda output, expected: 1.0)
    assert identity(named, 1).startswith("mine@7+")


YAML = """
expectations:
  - span: agent.*
    evaluators:
      - json_similarity
      - {type: contains, name: has_paris, target_output_key: reply}
    where: {gen_ai.agent.name: support}
    expected: {search_text: Paris}
    threshold: 0.8
    weight: 2
    id: support
  - span: agent.golden
    cases: {file: golden.jsonl, key: test.case.id, tags: [smoke]}
"""
GOLDEN = '{"id": "one", "expected": {"a": 1}, "tags": ["smoke"]}\n\n{"id": "two", "expected": 2}\n'


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
def test_a_file_gives_the_expectations_it_describes(tmp_path, suffix):
    import yaml

    (tmp_path / "golden.jsonl").write_text(GOLDEN)
    path = tmp_path / f"expectations{suffix}"
    path.write_text(json.dumps(yaml.safe_load(YAML)) if suffix == ".json" else YAML)
    support, golden = Expectations.load(path)
    assert [one.name for one in support.evaluators] == ["json_similarity", "has_paris"]
    assert (support.id, support.threshold, support.weight, support.where) == (
        "support",
        0.8,
        2.0,
        {"gen_ai.agent.name": "support"},
    )
    assert golden.evaluators == (JsonSimilarity(),)
    assert golden.bound("one").expected_text == '{"a":1}'
    assert golden.bound("two").expected_text is None


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("e.yaml", "", "e.yaml is empty; it needs an object with the key 'expectations'"),
        ("e.yaml", "expectations: [", r"e.yaml:1:16: not YAML"),
        ("e.yaml", "expectations: [{span: a, expected: 2024-13-45}]", "not YAML: month must be in 1..12"),
        ("e.json", '{"expectations": [}', r"e.json:1:19: not JSON"),
        ("e.toml", "x", "must end in .json, .yaml or .yml"),
        ("e.json", "[]", "e.json: the file: Input should be a valid dictionary"),
        ("e.json", '{"expectations": []}', "expectations: List should have at least 1 item"),
        (
            "e.json",
            '{"expectations": [{"span": "a", "threshold": 1.5}]}',
            "expectations.0.threshold: .*less than or equal to 1",
        ),
        ("e.json", '{"expectations": [{"span": "a", "treshold": 1}]}', "expectations.0.treshold: Extra inputs"),
        ("e.json", '{"expectations": [{"evaluators": ["exact_match"]}]}', "expectations.0.span: Field required"),
        (
            "e.json",
            '{"expectations": [{"span": "a", "evaluators": ["exact_mach"]}]}',
            "expectations.0: unknown evaluator 'exact_mach'; known are .*Did you mean 'exact_match'",
        ),
        (
            "e.json",
            '{"expectations": [{"span": "a", "cases": {"file": "no.jsonl", "key": "k"}}]}',
            "cannot read the cases file .*no.jsonl: No such file",
        ),
        ("e.json", '{"expectations": [], "expectations": []}', "e.json: the key 'expectations' stands twice"),
        ("e.yaml", "expectations:\n- {span: a, span: b}", "e.yaml:2:.*the key 'span' stands twice"),
        ("e.json", '{"expectations": [{"span": "a", "threshold": true}]}', "threshold: Input should be a valid number"),
        (
            "e.yaml",
            "expectations: [{span: a, evaluators: [{type: exact_match, case_sensitive: 'no'}]}]",
            "expectations.0: evaluator 'exact_match': case_sensitive 'no' is not allowed: .*valid boolean",
        ),
        (
            "e.yaml",
            "expectations: [{span: a, evaluators: [{type: json_similarity, line_delimiter: 5}]}]",
            "line_delimiter 5 is not allowed: .*valid string",
        ),
        (
            "e.yaml",
            "expectations: [{span: a, evaluators: [{type: json_similarity, default_evaluation_criteria: [1]}]}]",
            r"default_evaluation_criteria \[1\] is not allowed",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_place(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=told):
        Expectations.load(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot read the expectations file .*none.json: No such file"):
        Expectations.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "has no cases; write one a line, for example"),
        ("\n\n", "has no cases"),
        ('{"id": "a", "expected": 1}\n{"id": "a", "expected": 2}', ":2: case id 'a' is already used on line 1"),
        ("{", ":1: not JSON"),
        ('{"id": 1, "expected": 1}', ":1: needs a text 'id' and 'expected'"),
        ('{"id": "a", "expected": 1, "tag": "x"}', ":1: unknown keys tag; allowed are id, expected and tags"),
        ('{"id": "a", "expected": 1, "tags": "x"}', ":1: tags must be a list of texts"),
        ('{"id": "a", "expected": {"n": 1, "n": 2}}', ":1: not JSON .the key 'n' stands twice"),
        ('{"id": "a", "expected": NaN}', ":1: not JSON .NaN is not JSON"),
    ],
)
def test_a_bad_cases_file_is_refused_with_its_line(tmp_path, content, told):
    path = tmp_path / "golden.jsonl"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=told):
        Cases.load(path)


def test_tags_that_no_case_has_are_refused(tmp_path):
    path = tmp_path / "golden.jsonl"
    path.write_text(GOLDEN)
    with pytest.raises(ConfigurationError, match=r"no case has one of the tags \['smok'\]"):
        Cases.load(path, tags=["smok"])


@pytest.mark.parametrize(
    ("expected", "told"),
    [({1: "a", "1": "b"}, "two keys that are one in JSON"), ([2**70, (cycle := [])], "not a JSON value")],
)
def test_an_expected_value_that_json_would_change_is_refused(expected, told):
    cycle.append(cycle)
    with pytest.raises(ConfigurationError, match=told):
        Expectations().add("agent", ExactMatch(), expected=expected)


def test_without_content_an_identity_does_not_depend_on_the_expected_value():
    def check(expected):
        return Expectations().add("agent", ExactMatch(), expected=expected).bound(None).checks[0]

    yes, no = check("approved"), check("refused")
    assert yes.identity != no.identity
    assert yes.blind_identity == no.blind_identity
