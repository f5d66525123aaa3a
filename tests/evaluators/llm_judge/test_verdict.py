from __future__ import annotations

import asyncio
import json
import random
import socket
from collections import Counter
from typing import Annotated

import pytest
from pydantic import Field

from spanscore.errors import (
    ConfigurationError,
    JudgeBudgetError,
    JudgeCallError,
    JudgeError,
    JudgeResponseError,
    JudgeTimeoutError,
)
from spanscore.evaluators.llm_judge.budget import Budget, Price, Usage
from spanscore.evaluators.llm_judge.client import as_client
from spanscore.evaluators.llm_judge.ladder import StepDown
from spanscore.evaluators.llm_judge.limits import Limits
from spanscore.evaluators.llm_judge.schema import VerdictSchema, portable_schema
from spanscore.evaluators.llm_judge.verdict import JudgeSettings, ask
from tests.evaluators.llm_judge.asking import NONCE, Rating, asked, prompt, verdict
from tests.evaluators.llm_judge.chat_server import FAULTS, chat_server, find_nonce

REPAIRED = (
    "prose",
    "wrong_type",
    "number_as_text",
    "nan",
    "infinity",
    "out_of_range",
    "missing_value",
    "missing_justification",
    "blank_justification",
    "two_verdicts",
    "duplicate_key",
    "extra_field",
    "not_an_object",
)
REFUSED = ("refusal", "content_filter", "wrong_nonce", "html", "empty_choices")
UNSUPPORTED = {
    "tool": ["json_schema"],
    "json_object": ["json_schema", "tool"],
    "text": ["json_schema", "tool", "json_object"],
}


def test_structured_output_is_asked_for_first():
    with chat_server() as server:
        found = verdict(server.url, price=Price(input_usd=1_000_000, output_usd=2_000_000))
    assert found.answer == Rating(nonce=f"{0:032x}", justification="The answer says what was expected.", score=4)
    assert (found.mode, found.steps_down, found.repaired, found.model) == ("json_schema", (), False, "m")
    usage = found.usage
    assert usage.calls == 1
    assert usage.cost_usd == usage.input_tokens + 2 * usage.output_tokens > 0
    sent = server.requests[0]
    assert sent["response_format"]["json_schema"]["name"] == "evaluation_response"
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert sent["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {
            "nonce": {"type": "string"},
            "justification": {"type": "string"},
            "score": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]},
        },
        "required": ["nonce", "justification", "score"],
        "additionalProperties": False,
    }
    assert (sent["max_tokens"], sent["temperature"]) == (1024, 0.0)


@pytest.mark.parametrize(("mode", "unsupported"), UNSUPPORTED.items())
def test_each_step_down_is_recorded_and_remembered(mode, unsupported):
    with chat_server(unsupported=unsupported) as server:
        found = [verdict(server.url) for _ in range(2)]
    steps = tuple(StepDown(what=what, reason="unsupported") for what in unsupported)
    assert [(one.mode, one.steps_down, one.answer.score) for one in found] == [(mode, steps, 4)] * 2
    assert server.modes() == [*unsupported, mode, mode]
    assert found[1].usage.calls == 1


def test_another_model_of_the_endpoint_is_asked_from_the_top():
    with chat_server(unsupported=["json_schema"]) as server:
        asyncio.run(asked(server.url, JudgeSettings(model="one")))
        asyncio.run(asked(server.url, JudgeSettings(model="two")))
    assert server.modes() == ["json_schema", "tool"] * 2


def test_parameters_that_a_model_refuses_are_left_out_and_recorded():
    with chat_server(unsupported=["max_tokens", "temperature"]) as server:
        found = verdict(server.url)
    assert {step.what for step in found.steps_down} == {"max_tokens", "temperature"}
    assert found.mode == "json_schema"
    assert server.requests[-1]["max_completion_tokens"] == 1024
    assert not {"max_tokens", "temperature"} & set(server.requests[-1])


@pytest.mark.parametrize("mode", ["json_schema", "tool", "json_object", "text"])
@pytest.mark.parametrize("fault", REPAIRED)
def test_a_wrong_answer_is_repaired_once(fault, mode):
    with chat_server(faults=[fault], unsupported=UNSUPPORTED.get(mode, ())) as server:
        found = verdict(server.url)
    assert (found.answer.score, found.repaired) == (4, True)
    turns = server.requests[-1]["messages"]
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user"]
    assert "JSON schema" in turns[-1]["content"]


@pytest.mark.parametrize("fault", REPAIRED)
def test_an_answer_that_stays_wrong_is_an_error_and_no_score(fault):
    with chat_server(faults=[fault] * 2) as server, pytest.raises(JudgeResponseError) as caught:
        verdict(server.url)
    assert type(caught.value) is JudgeResponseError
    assert len(server.requests) == 2
    assert caught.value.usage.calls == 2
    assert caught.value.usage.output_tokens > 0


@pytest.mark.parametrize("fault", REFUSED)
def test_a_refusal_a_wrong_nonce_and_a_strange_answer_are_not_argued_with(fault):
    with chat_server(faults=[fault]) as server, pytest.raises(JudgeResponseError):
        verdict(server.url)
    assert len(server.requests) == 1


def test_a_fence_around_the_whole_answer_is_harmless():
    with chat_server(faults=["fenced"]) as server:
        assert verdict(server.url).repaired is False
    assert len(server.requests) == 1


def test_a_cut_answer_is_asked_for_again_once_with_more_tokens():
    with chat_server(faults=["truncated"]) as server:
        assert verdict(server.url, max_tokens=100).answer.score == 4
        assert [body["max_tokens"] for body in server.requests] == [100, 400]
    with chat_server(faults=["truncated"] * 2) as server, pytest.raises(JudgeResponseError, match="max_tokens"):
        verdict(server.url, max_tokens=100)
    assert len(server.requests) == 2


def test_an_answer_that_is_no_json_is_asked_for_in_another_way_and_after_three_at_once():
    with chat_server(ignored=["json_schema"]) as server:
        found = [verdict(server.url) for _ in range(4)]
    assert [(one.mode, one.repaired) for one in found] == [("tool", True)] * 3 + [("tool", False)]
    assert {one.steps_down for one in found} == {(StepDown(what="json_schema", reason="ignored"),)}
    assert server.modes() == ["json_schema", "tool"] * 3 + ["tool"]


def test_prose_now_and_then_does_not_cost_structured_output():
    with chat_server(faults=["prose", None, None] * 4) as server:
        for _ in range(8):
            verdict(server.url)
        assert verdict(server.url).mode == "json_schema"


def test_every_way_that_is_ignored_ends_in_an_error_within_two_calls():
    with chat_server(ignored=["json_schema", "tool", "json_object", "text"]) as server:
        for _ in range(12):
            with pytest.raises(JudgeResponseError, match="no JSON object"):
                verdict(server.url)
    assert len(server.requests) == 24


def test_two_tagged_verdicts_are_none():
    async def service(request):
        one = json.dumps({"nonce": NONCE, "justification": "x", "score": 5})
        return f"<verdict>{one}</verdict> On second thought: <verdict>{one}</verdict>"

    with pytest.raises(JudgeResponseError):
        asyncio.run(ask(as_client(service), prompt(), Rating, JudgeSettings(model="m")))


def test_bounds_are_checked_and_not_sent():
    class Free(VerdictSchema):
        score: Annotated[float, Field(ge=0, le=100)]

    assert portable_schema(Free)["properties"]["score"] == {"type": "number"}
    for value, told in (
        (100.5, "less_than_equal"),
        (-1, "greater_than_equal"),
        (True, "float_type"),
        (None, "float_type"),
    ):
        answer = {"nonce": f"{0:032x}", "justification": "x", "score": value}
        with (
            chat_server(answer=lambda _, answer=answer: answer) as server,
            pytest.raises(JudgeResponseError, match=f"score: {told}"),
        ):
            verdict(server.url, Free)


@pytest.mark.parametrize("value", ["1e999", "-1e999", "NaN", "Infinity", "123456789012345678901234567890"])
def test_no_number_out_of_this_world_becomes_a_score(value):
    class Free(VerdictSchema):
        score: float

    async def service(request):
        return f'{{"nonce": "{NONCE}", "justification": "x", "score": {value}}}'

    with pytest.raises(JudgeResponseError):
        asyncio.run(ask(as_client(service), prompt(), Free, JudgeSettings(model="m")))


def test_messages_of_errors_quote_neither_question_nor_answer():
    secret = "the patient's name"
    answers = [secret, f'{{"nonce": "{NONCE}", "justification": "{secret}", "score": "{secret}"}}']

    async def service(request):
        return answers[len(request["messages"]) > 3]

    with pytest.raises(JudgeResponseError) as caught:
        asyncio.run(ask(as_client(service), prompt(secret), Rating, JudgeSettings(model="m")))
    assert secret not in str(caught.value)


@pytest.mark.parametrize("fault", ["hang", "slow_drip"])
def test_there_is_a_verdict_by_the_deadline_or_none(fault):
    with chat_server(faults=[fault] * 9) as server, pytest.raises(JudgeTimeoutError) as caught:
        verdict(server.url, timeout_s=0.4)
    assert caught.value.usage.calls == len(server.requests) >= 1


def test_a_client_that_raises_anything_gives_a_judge_error():
    class Broken:
        async def complete(self, request):
            raise RuntimeError("its own words")

    class Wrong:
        async def complete(self, request):
            return "text"

    class Late:
        async def complete(self, request):
            raise TimeoutError

    for client, kind in ((Broken(), JudgeCallError), (Wrong(), JudgeResponseError), (Late(), JudgeTimeoutError)):
        with pytest.raises(kind) as caught:
            asyncio.run(ask(client, prompt(), Rating, JudgeSettings(model="m", limits=Limits(attempts=1))))
        assert "its own words" not in str(caught.value)


def test_cancelling_a_verdict_is_no_error_of_the_judge():
    async def cancelled(url):
        task = asyncio.create_task(asked(url, JudgeSettings(model="m")))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with chat_server(faults=["hang"]) as server:
        asyncio.run(cancelled(server.url))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"model": ""}, "model"),
        ({"model": "m", "temperature": -1}, "temperature"),
        ({"model": "m", "temperature": float("nan")}, "temperature"),
        ({"model": "m", "max_tokens": 0}, "max_tokens"),
        ({"model": "m", "timeout_s": 0}, "timeout_s"),
        ({"model": "m", "max_tokens": None, "budget": Budget(tokens=5)}, "needs max_tokens"),
        ({"model": "m", "budget": Budget(usd=5)}, "price"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_set_up(settings, told):
    with pytest.raises(ConfigurationError, match=told):
        JudgeSettings(**settings)


SCORES = random.Random(1).choices(range(6), k=1_000)


def answer_by_case(body):
    nonce = find_nonce(body)
    return {"nonce": nonce, "justification": "By its number.", "score": SCORES[int(nonce, 16)]}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_verdicts_through_every_fault_give_no_wrong_score(seed):
    """Half of all calls go wrong; what comes back is the score of that very case, or an error."""
    share = dict.fromkeys(FAULTS, 0.5 / len(FAULTS))
    budget = Budget(tokens=1_000_000)
    settings = JudgeSettings(
        model="m",
        max_tokens=300,
        timeout_s=2.0,
        budget=budget,
        limits=Limits(max_concurrency=64, attempts=3, open_after=1_000),
    )
    with chat_server(answer=answer_by_case, faults=share, seed=seed) as server:
        found = asyncio.run(asked(server.url, settings, times=1_000))
    assert set(server.faults) == {*FAULTS, None}
    right = [number for number, one in enumerate(found) if not isinstance(one, BaseException)]
    wrong = [number for number in right if found[number].answer.score != SCORES[number]]
    assert wrong == []
    errors = Counter(type(one).__name__ for one in found if isinstance(one, BaseException))
    assert set(errors) <= {"JudgeCallError", "JudgeResponseError", "JudgeTimeoutError"}
    assert errors["JudgeResponseError"] > 0
    assert len(right) + errors.total() == 1_000
    assert len(right) > 700
    assert all(isinstance(one.usage, Usage) for one in found)
    assert server.billed_tokens <= budget.spent_tokens <= 1_000_000


@pytest.mark.parametrize("seed", [1, 2])
def test_a_hard_budget_is_never_passed_under_concurrency_and_faults(seed):
    share = dict.fromkeys(FAULTS, 0.4 / len(FAULTS))
    price = Price(input_usd=1.0, output_usd=4.0)
    budget = Budget(tokens=60_000, usd=0.15)
    settings = JudgeSettings(
        model="m",
        max_tokens=200,
        timeout_s=2.0,
        price=price,
        budget=budget,
        limits=Limits(max_concurrency=128, attempts=3, open_after=1_000),
    )
    with chat_server(answer=answer_by_case, faults=share, seed=seed) as server:
        found = asyncio.run(asked(server.url, settings, times=1_000))
    spent = [one for one in found if isinstance(one, JudgeBudgetError)]
    assert len(spent) > 300
    assert "60000 tokens" in str(spent[-1]) or "0.15 US dollars" in str(spent[-1])
    assert server.billed_tokens <= budget.spent_tokens <= 60_000
    assert budget.spent_usd <= 0.15
    assert all(one.answer.score == SCORES[n] for n, one in enumerate(found) if not isinstance(one, BaseException))
    assert all(isinstance(one, JudgeError) for one in found if isinstance(one, BaseException))


def test_with_sockets_blocked_only_a_named_endpoint_is_tried(monkeypatch):
    tried = []

    def blocked(_, address):
        tried.append(address)
        raise OSError("blocked")

    monkeypatch.setattr(socket.socket, "connect", blocked)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: blocked(None, "a name was looked up"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    async def own(request):
        return json.dumps({"nonce": NONCE, "justification": "x", "score": 4})

    settings = JudgeSettings(model="m", limits=Limits(attempts=1))
    assert asyncio.run(ask(as_client(own), prompt(), Rating, settings)).answer.score == 4
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL or OPENAI_API_KEY"):
        asyncio.run(ask(as_client(None), prompt(), Rating, settings))
    assert tried == []
    with pytest.raises(JudgeCallError):
        verdict("http://127.0.0.1:9/v1", limits=Limits(attempts=1))
    assert tried == [("127.0.0.1", 9)]
