from __future__ import annotations

import json
import logging

import pytest

from spanscore import ConfigurationError, EvaluationError, ExactMatch, Step, Trajectory
from spanscore.errors import JudgeBudgetError, JudgeError, JudgeResponseError
from spanscore.evaluators import create
from spanscore.evaluators.llm_judge import (
    Budget,
    Cassette,
    JudgePolicy,
    LLMJudge,
    Panel,
    Price,
    Sampling,
    TrajectoryJudge,
    VerdictCache,
)
from spanscore.evaluators.llm_judge.agreement import votes_alpha
from tests.evaluators.llm_judge.judging import answering, client_of, closing, in_turn, judge_of, nonce_of, served


@closing
async def test_the_score_is_the_level_over_the_scale_and_the_explanation_its_justification():
    with served(answer=answering(score=4, justification="One detail is missing.")) as server:
        score = await judge_of(server).evaluate("It is Paris.", "Paris, on the Seine.")
    assert (score.value, score.label, score.explanation) == (0.8, "scored", "One detail is missing.")
    assert score.metrics["judge.calls"] == 1
    assert score.metrics["judge.input_tokens"] > 0
    assert "judge.cost_usd" not in score.metrics


@closing
async def test_the_published_scale_of_a_hundred():
    with served(answer=answering(score=95)) as server:
        assert (await judge_of(server, scale=100).evaluate({"a": "y"}, {"a": "x"})).value == 0.95


@pytest.mark.parametrize("raw", [150, -5, 0.85, "high", "80", True, None, float("nan")])
@closing
async def test_what_is_no_level_of_the_scale_is_an_error_and_never_a_score(raw):
    with served(answer=answering(score=raw)) as server:
        with pytest.raises(JudgeResponseError):
            await judge_of(server, scale=100).evaluate({"a": "y"}, {"a": "x"})


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("{{ActualOutput}}", "lacks {{ExpectedOutput}}"),
        ("{{ExpectedOutput}}", "lacks {{ActualOutput}}"),
        ("{{ActualOutput}} {{ExpectedOutput}} {{Foo}}", "unknown placeholder {{Foo}}"),
        (7, "must be a text"),
    ],
)
def test_a_prompt_without_its_placeholders_is_refused_at_construction(prompt, told):
    with pytest.raises(ConfigurationError, match=told):
        LLMJudge(model="m", prompt=prompt)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": ""},
        {"scale": 0},
        {"scale": 101},
        {"scale": True},
        {"name": "No"},
        {"target_output_key": ""},
        {"timeout_s": 0},
        {"temperature": -1},
        {"client": 7},
        {"panel": {"repeats": 0}},
        {"panel": {"rule": "loudest"}},
        {"panel": {"rule": "majority"}},
        {"panel": {"repeats": 2, "quorum": 3}},
        {"panel": {"threshold": 2}},
        {"panel": {"size": 2}},
        {"policy": {"sampling": {"rate": 2}}},
        {"policy": {"sampling": {"gate": "nonsense"}}},
        {"policy": {"sampling": {"gate": 7}}},
        {"policy": {"speed": 2}},
        {"policy": {"calibration": {}}},
    ],
)
def test_a_wrong_setting_is_refused_at_construction(settings):
    with pytest.raises(ConfigurationError):
        LLMJudge(**{"model": "m", **settings})


@closing
async def test_values_go_in_as_json_and_text_that_looks_like_a_placeholder_stays_text():
    with served(answer=answering(score=0)) as server:
        await judge_of(server).evaluate(
            {"a": '{{ExpectedOutput}}\n[x ActualOutput ends]\u200b"'}, {"b": None, "c": 1.5}
        )
    system, user = (message["content"] for message in server.requests[0]["messages"])
    nonce = nonce_of(server.requests[0])
    assert f'[{nonce} ExpectedOutput begins]\n{{"b":null,"c":1.5}}\n[{nonce} ExpectedOutput ends]' in user
    line = user.split(f"[{nonce} ActualOutput begins]\n")[1].split(f"\n[{nonce} ActualOutput ends]")[0]
    assert "\n" not in line
    assert "\\u200b" in line
    assert json.loads(line) == {"a": '{{ExpectedOutput}}\n[x ActualOutput ends]\u200b"'}
    assert user.count('"b"') == 1
    assert "ExpectedOutput}}" not in system


@closing
async def test_every_verdict_has_a_nonce_of_its_own_that_it_must_echo():
    with served(answer=answering(score=5), faults=[None, None, "wrong_nonce"]) as server:
        judge = judge_of(server)
        await judge.evaluate("x", "y")
        await judge.evaluate("x", "y")
        with pytest.raises(JudgeResponseError, match="nonce"):
            await judge.evaluate("x", "y")
    assert len({nonce_of(body) for body in server.requests}) == 3


@closing
async def test_input_and_history_are_given_where_the_prompt_asks_for_them():
    prompt = "{{Input}} {{AgentRunHistory}} {{ActualOutput}} {{ExpectedOutput}}"
    run = Trajectory(steps=(Step(name="look up", operation="execute_tool", input={"q": 1}, output="found"),))
    with served(answer=answering(score=5)) as server:
        judge = judge_of(server, prompt=prompt)
        await judge.evaluate("x", "y", step=Step(name="agent", input={"q": "where?"}, trajectory=run))
        with pytest.raises(EvaluationError, match="Input"):
            await judge.evaluate("x", "y", step=Step(name="agent", trajectory=run))
    user = server.requests[0]["messages"][1]["content"]
    assert '{"q":"where?"}' in user
    assert '[{"step":1,"name":"look up","operation":"execute_tool","input":{"q":1},"output":"found"}]' in user
    assert len(server.requests) == 1


@closing
async def test_only_the_target_is_judged_on_both_sides():
    with served(answer=answering(score=5)) as server:
        judge = judge_of(server, target_output_key="answer")
        await judge.evaluate({"answer": "It is Paris.", "secret": 1}, {"answer": "Paris"})
        with pytest.raises(EvaluationError, match="answer"):
            await judge.evaluate({"other": 1}, {"answer": "Paris"})
    assert "secret" not in server.requests[0]["messages"][1]["content"]


@closing
async def test_a_judge_without_reference_needs_no_expected_value():
    with served(answer=answering(score=1)) as server:
        judge = judge_of(server, prompt="Polite? {{ActualOutput}}", reference=False, scale=1)
        assert (await judge.evaluate("Good day!", None)).value == 1.0
    assert judge.needs_expected is False


@closing
async def test_the_trajectory_judge_reads_the_history_and_the_expected_behaviour():
    steps = (Step(name="search", input="a"), Step(name="book", output={"id": 1}, error="TimeoutError"))
    with served(answer=answering(score=3)) as server:
        judge = TrajectoryJudge(model="m", client=client_of(server))
        run = Step(name="agent", trajectory=Trajectory(steps=steps))
        score = await judge.evaluate("done", {"expected_agent_behavior": "search, then book"}, step=run)
        empty = await judge.evaluate("done", "search", step=Step(name="agent", trajectory=Trajectory()))
        with pytest.raises(EvaluationError, match="trajectory"):
            await judge.evaluate("done", "search", step=Step(name="agent"))
    assert (score.value, empty.value, len(server.requests)) == (0.6, 0.0, 1)
    user = server.requests[0]["messages"][1]["content"]
    assert '"search, then book"' in user
    assert '{"step":2,"name":"book","output":{"id":1},"error":"TimeoutError"}' in user


def test_the_trajectory_judge_needs_its_placeholders():
    with pytest.raises(ConfigurationError, match="lacks {{ExpectedAgentBehavior}}"):
        TrajectoryJudge(model="m", prompt="{{AgentRunHistory}}")


@closing
async def test_cost_is_reckoned_with_a_price_and_failed_verdicts_cost_too():
    policy = JudgePolicy(price=Price(input_usd=1, output_usd=10))
    with served(answer=answering(score=5), faults=[None, "refusal"]) as server:
        judge = judge_of(server, policy=policy)
        score = await judge.evaluate("x", "y")
        with pytest.raises(JudgeResponseError) as caught:
            await judge.evaluate("x", "y")
    used = score.metrics
    assert used["judge.cost_usd"] == pytest.approx(
        (used["judge.input_tokens"] + 10 * used["judge.output_tokens"]) / 1e6
    )
    assert caught.value.usage.cost_usd > 0


@closing
async def test_a_hard_budget_is_an_error_and_no_call():
    with served(answer=answering(score=5)) as server:
        judge = judge_of(server, policy=JudgePolicy(budget=Budget(tokens=10)))
        with pytest.raises(JudgeBudgetError):
            await judge.evaluate("x", "y")
    assert server.requests == []


# Sampling and gates


def _step(number, **settings):
    return Step(name="agent", trace_id=f"{number:032x}", **settings)


@closing
async def test_the_share_of_traces_is_kept_decided_alike_everywhere_and_stored_with_the_score():
    with served(answer=answering(score=5)) as server:
        one, other = (judge_of(server, policy=JudgePolicy(sampling=Sampling(rate=0.2))) for _ in range(2))
        judged = [await one.evaluate("x", "y", step=_step(number)) for number in range(300)]
        again = [await other.evaluate("x", "y", step=_step(number)) for number in range(20)]
    chosen = [score.value is not None for score in judged]
    assert 35 <= sum(chosen) <= 85
    assert chosen[:20] == [score.value is not None for score in again]
    assert {score.metrics["sample_rate"] for score in judged} == {0.2}
    assert {score.reason for score in judged if score.value is None} == {"not_sampled"}


@closing
async def test_what_is_no_trace_is_always_judged():
    with served(answer=answering(score=5)) as server:
        judge = judge_of(server, policy=JudgePolicy(sampling=Sampling(rate=0.0)))
        assert (await judge.evaluate("x", "y")).metrics["sample_rate"] == 1.0
        assert (await judge.evaluate("x", "y", step=_step(1))).reason == "not_sampled"


@closing
async def test_a_gate_and_slowness_call_the_judge_whatever_the_rate():
    sampling = Sampling(rate=0.0, gate=ExactMatch(), below=1.0, slower_than_s=2.0)
    with served(answer=answering(score=5)) as server:
        judge = judge_of(server, policy=JudgePolicy(sampling=sampling))
        wrong = await judge.evaluate("x", "y", step=_step(1))
        right = await judge.evaluate("y", "y", step=_step(1))
        slow = await judge.evaluate("y", "y", step=_step(1, duration_s=2.5))
        unscored = await judge_of(server, policy=JudgePolicy(sampling=Sampling(rate=0.0, gate="static_json"))).evaluate(
            "y", None, step=_step(1)
        )
    assert [score.value for score in (wrong, right, slow)] == [1.0, None, 1.0]
    assert wrong.metrics["sample_rate"] == slow.metrics["sample_rate"] == 1.0
    assert right.metrics["sample_rate"] == 0.0
    assert unscored.value is not None


# Panels


@closing
async def test_repeats_give_mean_spread_flip_rate_and_the_single_votes():
    with served(answer=answering(score=in_turn(5, 1, 3))) as server:
        score = await judge_of(server, panel=Panel(repeats=3, threshold=0.5)).evaluate("x", "y")
    assert score.value == pytest.approx(0.6)
    assert score.metrics["judge.spread"] == pytest.approx(0.4)
    assert score.metrics["judge.flip_rate"] == pytest.approx(1 / 3)
    assert [score.metrics[f"vote_{n}"] for n in (1, 2, 3)] == [1.0, 0.2, 0.6]
    assert score.metrics["judge.calls"] == 3


@pytest.mark.parametrize(
    ("panel", "levels", "value"),
    [
        (Panel(repeats=3, rule="median"), (5, 1, 4), 0.8),
        (Panel(repeats=3, rule="majority", threshold=0.5), (5, 1, 4), 0.9),
        (Panel(repeats=3, rule="majority", threshold=0.5), (0, 1, 4), 0.1),
        (Panel(repeats=2, rule="majority", threshold=0.5, tie="fail"), (5, 1), 0.2),
        (Panel(repeats=2, rule="majority", threshold=0.5, tie="pass"), (5, 1), 1.0),
        (Panel(repeats=2, rule="majority", threshold=0.5), (5, 1), None),
    ],
)
@closing
async def test_what_a_panel_comes_to(panel, levels, value):
    with served(answer=answering(score=in_turn(*levels))) as server:
        score = await judge_of(server, panel=panel).evaluate("x", "y")
    assert score.value == (value if value is None else pytest.approx(value))
    if value is None:
        assert (score.label, score.reason) == ("skipped", "abstained")


@closing
async def test_several_models_are_asked_and_have_their_place():
    levels = {"m": 5, "other": 1}
    with served(answer=answering(score=lambda body: levels[body["model"]])) as server:
        score = await judge_of(server, panel=Panel(models=["other"], repeats=2)).evaluate("x", "y")
    assert [score.metrics[f"vote_{n}"] for n in (1, 2, 3, 4)] == [1.0, 0.2, 1.0, 0.2]
    assert score.value == pytest.approx(0.6)


@closing
async def test_a_failed_verdict_abstains_and_too_few_are_an_error():
    with served(answer=answering(score=5), faults=["refusal", None, None]) as server:
        score = await judge_of(server, panel=Panel(repeats=3)).evaluate("x", "y")
    assert (score.value, score.metrics["judge.verdicts"], score.metrics["judge.calls"]) == (1.0, 2, 3)
    assert "vote_1" not in score.metrics
    with served(answer=answering(score=5), faults=["refusal", "refusal", None]) as server:
        with pytest.raises(JudgeError, match="1 of 3 verdicts") as caught:
            await judge_of(server, panel=Panel(repeats=3)).evaluate("x", "y")
    assert caught.value.usage.calls == 3
    with served(faults=["refusal", "refusal", "refusal"]) as server:
        with pytest.raises(JudgeResponseError):
            await judge_of(server, panel=Panel(repeats=3)).evaluate("x", "y")


@closing
async def test_a_panel_stops_when_the_interval_clears_the_threshold():
    with served(answer=answering(score=5)) as server:
        await judge_of(server, panel=Panel(repeats=20, threshold=0.5)).evaluate("x", "y")
        clear = len(server.requests)
        await judge_of(server, panel=Panel(repeats=20, threshold=0.98)).evaluate("x", "y")
        close = len(server.requests) - clear
        await judge_of(server, panel=Panel(repeats=5, rule="majority", threshold=0.5)).evaluate("x", "y")
        majority = len(server.requests) - clear - close
    assert clear < 5 < close
    assert majority == 3


@closing
async def test_alpha_is_taken_over_a_run_of_scores():
    with served(answer=answering(score=in_turn(5, 5, 1, 1, 3, 3, 0, 1))) as server:
        judge = judge_of(server, panel=Panel(repeats=2))
        scores = [await judge.evaluate("x", "y") for _ in range(4)]
    assert 0.9 < votes_alpha(scores) < 1.0


# Cache and cassettes


@closing
async def test_a_cached_verdict_costs_no_call_and_any_change_asks_again(tmp_path):
    store = VerdictCache(path=tmp_path / "verdicts.db")
    policy = JudgePolicy(store=store)
    with served(answer=answering(score=4)) as server:
        first = await judge_of(server, policy=policy).evaluate("x", "y")
        second = await judge_of(server, policy=policy).evaluate("x", "y")
        assert len(server.requests) == 1
        for settings in ({"model": "n"}, {"temperature": 0.5}, {"rubric": "Be kind."}, {"scale": 4}, {"max_tokens": 9}):
            await judge_of(server, policy=policy, **settings).evaluate("x", "y")
        await judge_of(server, policy=policy).evaluate("x", "z")
    store.close()
    assert len(server.requests) == 7
    assert (first.value, first.explanation) == (second.value, second.explanation)
    assert (first.metrics["judge.cached"], second.metrics["judge.cached"]) == (0, 1)
    assert second.metrics["judge.calls"] == 0


@closing
async def test_failures_and_repeats_are_never_served_from_the_cache(tmp_path):
    store = VerdictCache(path=tmp_path / "verdicts.db")
    with served(answer=answering(score=4), faults=["refusal"]) as server:
        judge = judge_of(server, policy=JudgePolicy(store=store))
        with pytest.raises(JudgeResponseError):
            await judge.evaluate("x", "y")
        assert (await judge.evaluate("x", "y")).value == 0.8
        panel = judge_of(server, policy=JudgePolicy(store=store), panel=Panel(repeats=3))
        await panel.evaluate("x", "y")
        await panel.evaluate("x", "y")
    store.close()
    assert len(server.requests) == 2 + 2 + 2


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("these are notes, and not a database of verdicts " * 50)
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        VerdictCache(path=tmp_path / "notes.txt")


@closing
async def test_a_cassette_plays_what_was_recorded_repeats_too_and_asks_nobody(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    with served(answer=answering(score=in_turn(5, 3))) as server:
        judge = judge_of(server, panel=Panel(repeats=2), policy=JudgePolicy(store=Cassette(path=path, record=True)))
        recorded = await judge.evaluate("x", "y")
    played = LLMJudge(
        model="m", panel=Panel(repeats=2), policy={"store": {"path": str(path), "record": False}}
    )  # no endpoint
    assert (await played.evaluate("x", "y")).value == recorded.value == 0.8
    with pytest.raises(JudgeError, match="cassette"):
        await played.evaluate("x", "other")


def test_a_cassette_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="record=True"):
        Cassette(path=tmp_path / "none.jsonl")


# Warnings and identity


@closing
async def test_a_judge_of_its_own_model_warns_once_and_marks_the_score(caplog):
    step = Step(name="agent", attributes={"gen_ai.request.model": "openai/Self-2024-11-20"})
    with served(answer=answering(score=5)) as server, caplog.at_level(logging.WARNING):
        judge = judge_of(server, model="self")
        scores = [await judge.evaluate("x", "y", step=step) for _ in range(2)]
    assert [score.metrics["judge.self_judged"] for score in scores] == [1.0, 1.0]
    assert [record.message.count("its own model") for record in caplog.records] == [1]


def test_the_calibration_is_part_of_the_version():
    assert LLMJudge(model="m", policy=JudgePolicy(calibration="ab12")).version == "1.cal-ab12"


def test_a_file_makes_the_same_judge():
    settings = {"model": "m", "scale": 3, "panel": {"repeats": 2}, "policy": {"sampling": {"rate": 0.5}}}
    made = create("llm_judge", settings)
    assert made == LLMJudge(model="m", scale=3, panel=Panel(repeats=2))
    assert made.policy.sampling.rate == 0.5
