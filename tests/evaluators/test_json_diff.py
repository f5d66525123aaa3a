from __future__ import annotations

import copy
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import ConfigurationError, EvaluationError, OutputDecodeError
from spanscore.evaluators.json_diff import JsonDiff
from tests.evaluators.deviations import DEVIATIONS
from tests.vectors import load

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
KEYS = st.sampled_from("abc") | st.text(max_size=3)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
WEIGHTS = st.recursive(
    st.floats(0, 1), lambda inner: st.dictionaries(st.sampled_from(["a", "b", "c", "__a", "__b"]), inner), max_leaves=8
)
CASES = [case for case in load("lynxius.json_diff") if "score" in case["result"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_compat_gives_the_reference_result(case):
    score = JsonDiff(compat=True, weights=case["config"].get("weights", {})).evaluate(case["actual"], case["expected"])
    assert score.value == pytest.approx(case["result"]["score"], abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_default_differs_from_the_reference_only_where_a_deviation_is_named(case):
    evaluator = JsonDiff(weights=case["config"].get("weights", {}))
    named = DEVIATIONS.get(("json_diff", case["case"]))
    wanted = case["result"]["score"]
    if named is None:
        score = evaluator.evaluate(case["actual"], case["expected"])
        assert score.value == pytest.approx(wanted, abs=1e-12)
        assert score.metrics.get("f") == pytest.approx(case["result"].get("f", score.metrics.get("f")))
        return
    try:
        value = evaluator.evaluate(case["actual"], case["expected"]).value
    except EvaluationError:
        value = None
    assert wanted == pytest.approx(named.reference)
    assert value == (named.value if named.value is None else pytest.approx(named.value, abs=1e-12))
    assert value != wanted


def test_the_published_example_has_the_published_normalisation():
    (wanted,) = (case["result"]["f"] for case in load("lynxius.json_diff") if case["case"] == "pizza_f_top")
    pizza = next(case for case in CASES if case["case"] == "pizza")
    score = JsonDiff(weights=pizza["config"]["weights"]).evaluate(pizza["actual"], pizza["expected"])
    assert score.value == pytest.approx(0.8760128132654985, abs=1e-15)
    assert score.metrics == {"n": 4.0, "f": pytest.approx(wanted, abs=1e-15)}
    assert (
        score.explanation == "/margherita: expected 19.0, got 39.0; "
        '/fixed_menus/1/pizza: expected "pepperoni", got "peppers"'
    )
    assert "/fixed_menus/0/menu_name" not in {field.path for field in score.fields}  # it weighs nothing


@pytest.mark.parametrize("case", load("lynxius.json_diff.add_trace"), ids=lambda case: case["case"])
def test_weights_are_accepted_where_the_reference_client_accepts_them(case):
    weights = case["config"]["weights"]
    if case["case"].startswith("weight_") and "raises" in case["result"]:
        with pytest.raises(ConfigurationError):
            JsonDiff(weights=weights)
        return
    score = JsonDiff(weights=weights).evaluate(case["actual"], case["expected"])
    # Its client refuses an empty reference; to us it is a value, and what is not expected costs.
    assert score.value == (1.0 if case["result"].get("accepted") else 0.0)


def test_tags_are_the_reference_clients_own_and_no_setting_here():
    (case,) = load("lynxius.json_diff.tags")
    assert case["result"] == {"accepted": True}
    with pytest.raises(TypeError):
        JsonDiff(tags=[case["actual"]])


@given(JSON, WEIGHTS)
def test_equal_values_score_one(value, weights):
    evaluator = JsonDiff(weights=weights, unknown_weights="ignore")
    assert evaluator.evaluate(copy.deepcopy(value), value).value == 1.0


@given(JSON, JSON, WEIGHTS)
def test_score_is_in_range_and_the_weighted_mean_of_its_fields(expected, output, weights):
    try:
        score = JsonDiff(weights=weights, unknown_weights="ignore").evaluate(output, expected)
    except OutputDecodeError:
        return
    assert score.value is not None
    assert 0.0 <= score.value <= 1.0
    assert math.isclose(sum(field.weight for field in score.fields), 1.0, abs_tol=1e-9)
    assert all(field.weight > 0 for field in score.fields)
    lost = sum(field.weight * (1 - field.value) for field in score.fields)
    assert math.isclose(lost, 1 - score.value, abs_tol=1e-9)


@given(JSON, JSON, WEIGHTS)
def test_the_two_sides_may_be_exchanged(expected, output, weights):
    if isinstance(expected, str) or isinstance(output, str):
        return
    evaluator = JsonDiff(weights=weights, unknown_weights="ignore")
    there, back = evaluator.evaluate(output, expected).value, evaluator.evaluate(expected, output).value
    assert there == pytest.approx(back, abs=1e-9)


@given(JSON, JSON, WEIGHTS, st.booleans())
def test_arguments_are_not_changed(expected, output, weights, compat):
    before = copy.deepcopy((expected, output, weights))
    try:
        JsonDiff(weights=weights, unknown_weights="ignore", compat=compat).evaluate(output, expected)
    except EvaluationError:
        pass
    assert (expected, output, weights) == before


@given(st.dictionaries(KEYS, NUMBERS | st.text(max_size=5), min_size=1), st.data(), st.floats(0, 1))
def test_compat_and_default_agree_on_objects_of_numbers_and_text(expected, data, weight):
    output = {key: data.draw(NUMBERS if not isinstance(value, str) else st.text(max_size=5)) for key, value in expected.items()}  # fmt: skip
    weights = dict.fromkeys(expected, weight)
    try:
        compat = JsonDiff(weights=weights, compat=True).evaluate(output, expected).value
    except EvaluationError:  # numbers too large for it
        return
    assert compat is not None
    if math.isfinite(compat) and max((abs(x) for x in [*expected.values(), *output.values()] if not isinstance(x, str)), default=0) < 1e300:  # fmt: skip
        assert JsonDiff(weights=weights).evaluate(output, expected).value == pytest.approx(compat, abs=1e-9)


@pytest.mark.parametrize(
    ("expected", "output", "value", "reference"),
    [
        ([1, 2, 3, 4], [1, 2], 0.5, 1.0),
        ([1, 2], [1, 2, 3, 4], 0.5, 1.0),
        ([1], [], 0.0, EvaluationError),
        ({"a": []}, {"a": [1]}, 0.0, EvaluationError),
        ({"a": True}, {"a": 1}, 0.0, 1.0),
        ({"a": 2}, {"a": True}, 0.0, 2 / 3),
        ({"a": True}, {"a": True}, 1.0, 1.0),
        ({"a": None}, {}, 0.0, 1.0),
        ({}, {"a": None}, 0.0, 1.0),
        ({"a": 1}, {"a": 1, "b": 2}, 0.5, 0.5),
        ({"a": math.nan}, {"a": math.nan}, 0.0, math.nan),
        ({"a": math.inf}, {"a": math.inf}, 0.0, math.nan),
        ({"a": math.nan, "b": 1}, {"a": 5, "b": 1}, 0.5, math.nan),
        ({"a": math.inf}, {"a": 7}, 0.0, math.nan),
        ({"a": 30}, {"a": "30"}, 0.0, 0.0),
        ({"a": -5}, {"a": 5}, 0.0, 0.0),
        ({"a": 0}, {"a": -0.0}, 1.0, 1.0),
        ({"a": 1}, {"a": 1000}, 2 / 1001, 2 / 1001),
        ({"a": ""}, {"a": ""}, 1.0, 1.0),
        ({"a": 1.7e308}, {"a": -1.7e308}, 0.0, math.nan),
        ({"a": 1.5e308}, {"a": 0.5e308}, 0.5, 1.0),
        ({"a": 10**400}, {"a": 0.5}, 0.0, EvaluationError),
        ({"a": 10**400}, {"a": 3 * 10**400}, 0.5, 0.5),
        ({}, {}, 1.0, 1.0),
        ({}, [], 0.0, 0.0),
        (None, None, 1.0, 1.0),
        ([[1, 2]], [(1, 2)], 1.0, 0.0),
    ],
)
def test_known_defects_are_fixed_in_the_default_and_kept_in_compat(expected, output, value, reference):
    assert JsonDiff().evaluate(output, expected).value == pytest.approx(value, abs=1e-12)
    compat = JsonDiff(compat=True)
    if reference is EvaluationError:
        with pytest.raises(EvaluationError, match="the reference implementation fails on these values with"):
            compat.evaluate(output, expected)
    else:
        assert compat.evaluate(output, expected).value == pytest.approx(reference, abs=1e-12, nan_ok=True)


@given(NUMBERS, NUMBERS)
def test_numbers_follow_the_formula_whatever_their_size(expected, output):
    left, right = Fraction(expected), Fraction(output)
    wanted = 1 if left == right else 1 - abs(left - right) / (abs(left) + abs(right))
    assert JsonDiff().evaluate(output, expected).value == pytest.approx(float(wanted), abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ({"a": 1.5}, "weights/a is 1.5; a weight is a number in 0..1"),
        ({"a": -0.1}, "weights/a is -0.1"),
        ({"a": math.nan}, "weights/a is nan"),
        ({"a": {"__a": True}}, "weights/a/__a is True"),
        ({"a": "1"}, "weights/a is a str"),
        ([1.0], "weights is a list"),
        (2, "weights is 2"),
        ({1: 0.5}, "keys that are no text"),
    ],
)
def test_bad_weights_are_told_at_construction(weights, told):
    with pytest.raises(ConfigurationError, match=told):
        JsonDiff(weights=weights)


def test_weights_nested_in_themselves_are_told_at_construction():
    weights: dict = {}
    weights["a"] = weights
    with pytest.raises(ConfigurationError, match="nested deeper than 100 levels, or in themselves"):
        JsonDiff(weights=weights)


def test_a_bad_unknown_weights_setting_is_told():
    with pytest.raises(ConfigurationError, match="unknown_weights is 'warn'; use 'error' or 'ignore'"):
        JsonDiff(unknown_weights="warn")


def test_later_changes_of_the_weights_do_not_count():
    weights = {"a": {"x": 0.5}}
    evaluator = JsonDiff(weights=weights)
    weights["a"]["x"] = 9
    assert evaluator.weights == {"a": {"x": 0.5}}


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ({"prise": 0.5}, "'/prise' names no key of the expected value or the output; did you mean 'price'"),
        ({"items": {"qanty": 1.0}}, "'/items/qanty'.*did you mean 'quantity'"),
        ({"items": {"__item": 1.0}}, "'/items/__item'.*did you mean '__items'"),
        ({"zzz": 0.1}, "'/zzz' names no key of the expected value or the output. Correct it, or set unknown_weights"),
    ],
)
def test_a_weight_that_names_no_key_is_told_with_the_nearest_name(weights, told):
    value = {"price": 1, "items": [[{"quantity": 1}], {"id": 2}]}
    with pytest.raises(EvaluationError, match=told):
        JsonDiff(weights=weights).evaluate(value, value)
    assert JsonDiff(weights=weights, unknown_weights="ignore").evaluate(value, value).value == 1.0


@pytest.mark.parametrize(
    ("weights", "output"),
    [
        ({"items": {"__items": 0.5, "id": 1.0}}, {"items": []}),
        ({"reasoning": 0.0}, {"items": [], "reasoning": "because"}),
        ({"__above": 0.5}, {"items": []}),
        ({"items": {"id": {"x": 0.5}}}, {"items": [{"id": 1}]}),
        ({"items": None}, {"items": []}),
    ],
)
def test_a_weight_that_cannot_be_checked_or_is_for_an_extra_key_is_no_error(weights, output):
    assert JsonDiff(weights=weights).evaluate(output, {"items": []}).value is not None


def test_no_weights_make_a_wrong_value_pass():
    value = JsonDiff(weights={"a": 0.0, "b": {"__b": 0, "x": 0}}).evaluate({"a": 2, "b": {"x": 2}}, {"a": 1, "b": {"x": 1}}).value  # fmt: skip
    assert value == pytest.approx(2 / 3)


@pytest.mark.parametrize("weights", [None, {"a": None}])
def test_none_in_the_weights_weighs_all_keys_alike_and_fails_in_the_reference(weights):
    assert JsonDiff(weights=weights).evaluate({"a": 1, "b": 2}, {"a": 1, "b": "x"}).value == 0.5
    with pytest.raises(EvaluationError, match="AttributeError"):
        JsonDiff(weights=weights, compat=True).evaluate({"a": 1}, {"a": 1})


def test_fields_say_where_and_why_points_were_lost():
    expected = {"a/b": "x", "c~": [1, 2], "d": {"e": "abcd"}, "f": 1, "g": "u"}
    output = {"c~": [1], "d": {"e": "abcx"}, "f": "1", "g": "v", "h": 0}
    reasons = {field.path: field.reason for field in JsonDiff().evaluate(output, expected).fields}
    assert reasons == {
        "/a~1b": "missing",
        "/c~0/0": "match",
        "/c~0/1": "missing",
        "/d/e": "similar",
        "/f": "type",
        "/g": "wrong",
        "/h": "extra",
    }


def test_text_is_read_as_json_where_an_object_is_expected():
    assert JsonDiff().evaluate('{"a": 1}', {"a": 1}).value == 1.0
    with pytest.raises(OutputDecodeError, match="not JSON"):
        JsonDiff().evaluate("secret", {"a": 1})
    assert JsonDiff(compat=True).evaluate('{"a": 1}', {"a": 1}).value == 0.0


def test_live_python_values_are_compared_as_json():
    import dataclasses
    import decimal

    @dataclasses.dataclass
    class Item:
        price: decimal.Decimal
        tags: tuple[str, ...]

    output = {"items": [Item(decimal.Decimal("1.5"), ("a",))], 1: "x"}
    expected = {"items": [{"price": 1.5, "tags": ["a"]}], "1": "x"}
    assert JsonDiff().evaluate(output, expected).value == 1.0
    assert JsonDiff().evaluate({"i": Item(decimal.Decimal(3), ())}, {"i": {"price": 3, "tags": []}}).value == 1.0


@pytest.mark.parametrize("compat", [False, True])
def test_nesting_too_deep_and_cycles_are_a_clear_error(compat):
    deep: dict = {}
    for _ in range(10_000):
        deep = {"a": deep}
    cycle: list = []
    cycle += [cycle, cycle]
    for value in (deep, cycle):
        with pytest.raises(EvaluationError, match="nest"):
            JsonDiff(compat=compat).evaluate(copy.copy(value), value)
        assert JsonDiff(compat=compat).evaluate(value, 1).value == 0.0


def test_a_weighted_cycle_is_checked_once():
    cycle: list = [{"id": 1}]
    cycle.append((cycle, [cycle]))
    with pytest.raises(EvaluationError, match="did you mean 'id'"):
        JsonDiff(weights={"idd": 1.0}).evaluate(cycle, cycle)


def test_a_million_elements_are_compared():
    expected = list(range(1_000_000))
    score = JsonDiff().evaluate([*expected[:-1], -1], expected)
    assert score.value == pytest.approx(1 - 1e-6, abs=1e-12)
    assert score.explanation == "/999999: expected 999999, got -1"


def test_a_value_that_is_missing_is_an_error_and_not_zero():
    from spanscore.step import MISSING

    with pytest.raises(EvaluationError, match="no expected value"):
        JsonDiff().evaluate({}, MISSING)
    with pytest.raises(OutputDecodeError, match="no output"):
        JsonDiff().evaluate(MISSING, {})
