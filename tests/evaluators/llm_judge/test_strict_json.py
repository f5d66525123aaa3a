from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import ConfigurationError, EvaluationError, FieldScore, OutputDecodeError
from spanscore.errors import JudgeResponseError
from spanscore.evaluators.llm_judge import Panel, StrictJsonJudge
from spanscore.evaluators.llm_judge.strict_json import strict_value
from tests import vectors
from tests.evaluators.llm_judge.judging import answering, client_of, closing, in_turn, served

VECTORS = vectors.load("uipath.llm_judge_strict_json.formula")


def judge_of(server, **settings):
    return StrictJsonJudge(**{"model": "m", "client": client_of(server), **settings})


@pytest.mark.parametrize("case", VECTORS, ids=[case["case"] for case in VECTORS])
@closing
async def test_the_published_penalties(case):
    counts = case["config"]
    expected = {f"key{n}": f"expected {n}" for n in range(counts["N"])}
    output = dict(expected)
    judged = []
    for kind, count in (("missing", counts["missing"]), ("different", counts["wrong"]), ("similar", counts["similar"])):
        for key in list(expected)[len(judged) + counts["missing"] * (kind != "missing") :][:count]:
            if kind == "missing":
                del output[key]
            else:
                output[key] = f"given {key}"
                judged.append(kind)
    output.update({f"extra{n}": n for n in range(counts["extra"])})
    words = {f"k{n}": word for n, word in enumerate(judged, 1)}
    with served(answer=answering(**words)) as server:
        score = await judge_of(server).evaluate(output, expected)
    assert score.value == pytest.approx(case["result"]["score_0_100"] / 100, abs=1e-12)
    assert len(server.requests) == bool(judged)


@closing
async def test_only_what_code_cannot_decide_reaches_the_model():
    expected = {"same": {"a": 1}, "gone": 1, "empty": "text", "null": 3, "open": "Paris", "other": "Rome"}
    output = {"same": {"a": 1.0}, "empty": "...", "null": None, "open": "City of Paris", "other": "Oslo", "more": 1}
    with served(answer=answering(k1="similar", k2="different")) as server:
        score = await judge_of(server).evaluate(output, expected)
    user = server.requests[0]["messages"][1]["content"]
    assert '{"k1":{"key":"open","expected":"Paris","given":"City of Paris"},"k2":{"key":"other"' in user
    assert "same" not in user.split("Entries:")[1]
    assert "gone" not in user.split("Entries:")[1]
    assert {one.path: (one.value, one.reason) for one in score.fields} == {
        "/same": (1.0, "match"),
        "/gone": (0.0, "missing"),
        "/empty": (0.0, "wrong"),
        "/null": (0.0, "wrong"),
        "/open": (0.5, "similar"),
        "/other": (0.0, "wrong"),
        "/more": (0.0, "extra"),
    }
    assert score.value == pytest.approx((1 + 0.5 - 0.1) / 6)
    assert (score.metrics["expected_keys"], score.metrics["judged_keys"]) == (6, 2)


@closing
async def test_where_code_decides_every_key_nobody_is_asked():
    with served() as server:
        judge = judge_of(server)
        values = [
            (await judge.evaluate(output, expected)).value
            for output, expected in (
                ({"a": 1}, {"a": 1}),
                ({}, {"a": 1}),
                ({}, {}),
                ({"x": 1}, {}),
                ('{"a": 1}', {"a": 1}),
            )
        ]
        many = await judge.evaluate({str(n): n for n in range(40)}, {})
    assert values == [1.0, 0.0, 1.0, 0.9, 1.0]
    assert many.value == 0.0
    assert server.requests == []


@closing
async def test_a_verdict_that_leaves_a_key_out_is_an_error():
    with served(answer=answering(k1="identical")) as server:
        with pytest.raises(JudgeResponseError):
            await judge_of(server).evaluate({"a": "x", "b": "y"}, {"a": "1", "b": "2"})


@closing
async def test_a_panel_gives_each_field_the_mean_of_its_verdicts():
    with served(answer=answering(k1=in_turn("identical", "different"), k2=in_turn("similar", "similar"))) as server:
        score = await judge_of(server, panel=Panel(repeats=2)).evaluate({"a": "x", "b": "y"}, {"a": "1", "b": "2"})
    assert [(one.value, one.reason) for one in score.fields] == [(0.5, "similar"), (0.5, "similar")]
    assert score.value == 0.5


@closing
async def test_values_of_the_wrong_shape_are_errors():
    with served() as server:
        with pytest.raises(EvaluationError, match="expected value must be a JSON object"):
            await judge_of(server).evaluate({"a": 1}, [1])
        with pytest.raises(OutputDecodeError):
            await judge_of(server).evaluate("no object at all", {"a": 1})


@pytest.mark.parametrize("settings", [{"prompt": "no list"}, {"panel": Panel(repeats=3, rule="median")}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ConfigurationError):
        StrictJsonJudge(model="m", **settings)


VALUES = st.sampled_from([0.0, 0.5, 1.0])


@given(st.lists(VALUES, max_size=20), st.integers(0, 20))
def test_what_the_fields_lost_adds_up_to_what_the_score_lost(values, extra):
    fields = [FieldScore(path=f"/{n}", expected=1, actual=1, value=v, reason="match") for n, v in enumerate(values)]
    fields += [
        FieldScore(path=f"/x{n}", expected=None, actual=1, value=0.0, weight=0.1, reason="extra") for n in range(extra)
    ]
    value = strict_value(len(values), fields)
    lost = sum(one.weight * (1 - one.value) for one in fields) / max(1, len(values))
    assert 0.0 <= value <= 1.0
    assert 1 - value == pytest.approx(min(1.0, lost))
