from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from spanscore.errors import ConfigurationError, JudgeBudgetError, JudgeCallError, JudgeTimeoutError
from spanscore.evaluators.llm_judge.budget import Budget, Price
from spanscore.evaluators.llm_judge.client import JudgeReply
from spanscore.evaluators.llm_judge.limits import Limits, shared_limits
from spanscore.evaluators.llm_judge.verdict import JudgeSettings, ask
from tests.evaluators.llm_judge.asking import NONCE, Rating, asked, prompt, verdict
from tests.evaluators.llm_judge.chat_server import chat_server

GOOD = f'{{"nonce": "{NONCE}", "justification": "x", "score": 4}}'


class Judge:
    """A client that notes when it is asked, and fails as told."""

    def __init__(self, *failures: Exception | None, tokens: int = 10, takes_s: float = 0.0):
        self.failures = list(failures)
        self.tokens = tokens
        self.takes_s = takes_s
        self.asked_at: list[float] = []

    async def complete(self, request):
        self.asked_at.append(time.monotonic())
        await asyncio.sleep(self.takes_s)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return JudgeReply(text=GOOD, input_tokens=self.tokens, output_tokens=0)


def gather(client, settings: JudgeSettings, times: int):
    async def run():
        asking = [ask(client, prompt(), Rating, settings) for _ in range(times)]
        return await asyncio.gather(*asking, return_exceptions=True)

    return asyncio.run(run())


def transient(**settings) -> JudgeCallError:
    return JudgeCallError("busy", transient=True, **settings)


def test_a_failure_that_may_pass_is_tried_again_and_others_are_not():
    for failure, calls in (
        (transient(status=500), 2),
        (transient(), 2),
        (JudgeTimeoutError("late"), 2),
        (JudgeCallError("no such model", status=404), 1),
    ):
        judge = Judge(failure)
        found = gather(judge, JudgeSettings(model="m"), 1)[0]
        assert len(judge.asked_at) == calls
        assert isinstance(found, JudgeCallError) == (calls == 1)


def test_attempts_are_bounded_and_the_last_error_tells():
    judge = Judge(*[transient(status=status) for status in (500, 502, 503, 504)])
    found = gather(judge, JudgeSettings(model="m", limits=Limits(attempts=3)), 1)[0]
    assert len(judge.asked_at) == 3
    assert found.status == 503
    assert found.usage.calls == 3


def test_waits_between_attempts_grow_and_differ():
    gaps = []
    for _ in range(3):
        judge = Judge(transient(), transient())
        gather(judge, JudgeSettings(model="m"), 1)
        gaps.append([after - before for before, after in pairwise(judge.asked_at)])
    assert all(first >= 0.25 and second >= 0.5 for first, second in gaps)
    assert len({round(gap, 3) for pair in gaps for gap in pair}) > 3


def test_retry_after_is_honoured_by_every_judge_of_the_endpoint():
    judge = Judge(transient(status=429, retry_after_s=1.0))
    limits = Limits(max_concurrency=1)
    settings = JudgeSettings(model="m", limits=limits)
    other = Judge()

    async def run():
        first = asyncio.create_task(ask(judge, prompt(), Rating, settings))
        while limits._paused_until == 0:
            await asyncio.sleep(0.01)
        second = JudgeSettings(model="m", limits=limits)
        limits._slots.clear()  # another event loop's slots
        await asyncio.gather(first, ask(other, prompt(), Rating, second))

    asyncio.run(run())
    assert judge.asked_at[1] - judge.asked_at[0] >= 1.0
    assert other.asked_at[0] - judge.asked_at[0] >= 1.0


def test_a_wait_that_would_pass_the_deadline_is_not_begun():
    judge = Judge(transient(status=429, retry_after_s=3600))
    settings = JudgeSettings(model="m", timeout_s=5, limits=Limits())
    first = gather(judge, settings, 1)[0]
    second = gather(judge, settings, 1)[0]
    assert (first.status, second.status) == (429, 429)
    assert "left alone for" in str(second)
    assert len(judge.asked_at) == 1


def test_requests_a_minute_are_spread_over_all_judges():
    limits = Limits(requests_per_minute=1_200)  # one in 50 ms, and one second's worth at once
    judges = [Judge(), Judge()]

    async def run():
        settings = JudgeSettings(model="m", limits=limits)
        await asyncio.gather(*(ask(judges[n % 2], prompt(), Rating, settings) for n in range(40)))

    asyncio.run(run())
    times = sorted(judges[0].asked_at + judges[1].asked_at)
    assert len(times) == 40
    for number in range(40):  # never more than the burst and what the time since allows
        assert number <= 20 + (times[number] - times[0]) / 0.05 + 1
    assert times[-1] - times[0] >= 0.85


def test_tokens_a_minute_are_corrected_by_what_was_used():
    limits = Limits(tokens_per_minute=6_000)  # 100 a second
    settings = JudgeSettings(model="m", max_tokens=500, limits=limits)
    cheap = Judge(tokens=10)

    async def run(judge, times):
        for _ in range(times):
            await ask(judge, prompt(), Rating, settings)

    started = time.monotonic()
    asyncio.run(run(cheap, 8))
    assert time.monotonic() - started < 4  # uncorrected, they count as 4,000 tokens, 40 seconds
    dear = Judge(tokens=300)
    asyncio.run(run(dear, 2))
    assert dear.asked_at[1] - dear.asked_at[0] > 1.0


def test_waiting_for_the_own_rate_does_not_use_up_the_deadline():
    limits = Limits(requests_per_minute=60)
    settings = JudgeSettings(model="m", timeout_s=0.5, limits=limits)
    found = gather(Judge(), settings, 3)  # one second's worth at once, then one a second
    assert [one.answer.score for one in found] == [4, 4, 4]


def test_rates_hold_over_threads_and_event_loops():
    limits = Limits(requests_per_minute=1_200)
    judge = Judge()
    settings = JudgeSettings(model="m", limits=limits)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: gather(judge, settings, 10), range(4)))
    assert [len(one) for one in found] == [10] * 4
    times = sorted(judge.asked_at)
    assert times[-1] - times[0] >= 0.85


def test_verdicts_under_way_are_bounded():
    with chat_server(latency_s=0.05) as server:
        asyncio.run(asked(server.url, JudgeSettings(model="m", limits=Limits(max_concurrency=3)), times=12))
    assert server.most_in_flight == 3


def test_judges_of_one_endpoint_share_what_is_learned_by_default():
    with chat_server(faults=["500"] * 1_000) as server:
        for _ in range(3):
            with pytest.raises(JudgeCallError):
                verdict(server.url, timeout_s=1)
        assert shared_limits(server.url)._failures == len(server.requests)


def test_an_endpoint_that_keeps_failing_is_left_alone_and_tried_by_one_call_later():
    limits = Limits(attempts=1, open_after=5, cooldown_s=0.3)
    settings = JudgeSettings(model="m", limits=limits)
    judge = Judge(*[transient(status=500)] * 6)
    assert all(isinstance(one, JudgeCallError) for one in gather(judge, settings, 5))
    refused = gather(judge, settings, 50)
    assert len(judge.asked_at) == 5
    assert {str(one) for one in refused} == {"the judge's endpoint failed 5 times in a row and is left alone"}

    while len(judge.asked_at) == 5:
        gather(judge, settings, 10)
    assert len(judge.asked_at) == 6  # of ten at once
    assert judge.asked_at[5] - judge.asked_at[4] >= 0.3
    while len(judge.asked_at) == 6:
        gather(judge, settings, 1)
    assert [one.answer.score for one in gather(judge, settings, 10)] == [4] * 10


def test_refusals_and_rate_limits_do_not_open_the_circuit():
    limits = Limits(attempts=1, open_after=2)
    settings = JudgeSettings(model="m", limits=limits)
    failures = [JudgeCallError("no", status=404), transient(status=429)] * 5
    judge = Judge(*failures)
    gather(judge, settings, 10)
    assert len(judge.asked_at) == 10
    assert gather(judge, settings, 1)[0].answer.score == 4


def test_a_soft_budget_warns_once(caplog):
    budget = Budget(warn_tokens=25)
    with caplog.at_level(logging.WARNING):
        found = gather(Judge(tokens=10), JudgeSettings(model="m", budget=budget), 10)
    assert [one.answer.score for one in found] == [4] * 10
    assert budget.spent_tokens == 100
    assert [record.message for record in caplog.records] == [
        "judges spent 30 tokens, 0.0000 US dollars: more than the soft budget"
    ]


def test_a_hard_budget_refuses_before_the_call():
    judge = Judge()
    found = gather(judge, JudgeSettings(model="m", budget=Budget(tokens=100)), 1)[0]
    assert isinstance(found, JudgeBudgetError)
    assert (judge.asked_at, found.usage.calls) == ([], 0)


def test_calls_under_way_count_in_full_and_settled_ones_as_used():
    judge = Judge(tokens=10, takes_s=0.05)
    settings = JudgeSettings(model="m", max_tokens=1_000, budget=Budget(tokens=4_000))
    together = gather(judge, settings, 10)
    assert 0 < sum(not isinstance(one, BaseException) for one in together) < 4
    again = [gather(judge, settings, 1)[0] for _ in range(50)]
    assert not any(isinstance(one, BaseException) for one in again)


def test_what_was_refused_costs_nothing_and_what_got_no_answer_counts_in_full():
    for failure, full in (
        (JudgeCallError("refused", status=500), False),
        (JudgeCallError("not there", sent=False), False),
        (JudgeCallError("closed"), True),
        (JudgeTimeoutError("late"), True),
    ):
        budget = Budget(tokens=10_000, usd=1.0)
        price = Price(input_usd=1, output_usd=2)
        limits = Limits(attempts=1)
        settings = JudgeSettings(model="m", max_tokens=500, budget=budget, price=price, limits=limits)
        gather(Judge(failure), settings, 1)
        assert (budget.spent_tokens > 500) == (budget.spent_usd > 0.001) == full
        assert budget._held_tokens == 0


def test_an_answer_that_counts_no_tokens_counts_in_full():
    budget = Budget(tokens=10_000)
    with chat_server(usage=False) as server:
        found = verdict(server.url, max_tokens=500, budget=budget)
    assert (found.usage.calls, found.usage.input_tokens) == (1, 0)
    assert budget.spent_tokens > 500


def test_a_budget_holds_over_threads():
    budget = Budget(tokens=10_000)
    held, refused = [], []

    def spend():
        for _ in range(200):
            try:
                held.append(budget.reserve(90, 0.0))
            except JudgeBudgetError:
                refused.append(1)
            else:
                budget.settle(held[-1], 90, 0.0)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(held), len(refused)) == (111, 689)
    assert budget.spent_tokens == 9_990


@pytest.mark.parametrize(
    "make",
    [
        lambda: Limits(attempts=0),
        lambda: Limits(requests_per_minute=0),
        lambda: Limits(tokens_per_minute=float("nan")),
        lambda: Limits(max_concurrency=None),
        lambda: Budget(tokens=-1),
        lambda: Budget(usd=float("inf")),
        lambda: Price(input_usd=-1, output_usd=0),
    ],
)
def test_numbers_that_make_no_sense_are_refused_at_set_up(make):
    with pytest.raises(ConfigurationError):
        make()
