"""Verdicts of a judge, beside the bare HTTP client that it is built on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import aiohttp
import orjson
import report
from interleave import spread

from spanscore.evaluators.llm_judge.http_client import HttpJudgeClient
from spanscore.evaluators.llm_judge.ladder import shape_of
from spanscore.evaluators.llm_judge.limits import Limits
from spanscore.evaluators.llm_judge.schema import VerdictSchema
from spanscore.evaluators.llm_judge.verdict import JudgeSettings, Prompt, ask

ABOUT = """\
400 verdicts of a server that takes 200 ms for each and runs in a process of its own. "of the ideal" is
400 x 0.2 s / concurrency over the time taken; as 400 is no multiple of 32 and 128, waves alone allow 1.00, 0.96 and
0.78. "bare aiohttp" posts the same request and parses the answer, behind a semaphore. Bars: 0.95, 0.90, 0.70 of the
ideal and 0.25 ms of CPU a verdict."""

ABOUT_LOOP = """\
How late a task of the user's, which sleeps for 1 ms again and again on a loop in the main thread, wakes up while the
400 verdicts are made on another thread's loop, as `EvaluatorSpanProcessor` makes them; "nothing" is the same with no
verdict under way. Bar: 5 ms at most."""

COLUMNS = ("contender", "concurrency", "of the ideal (min-max)", "CPU ms a verdict (min-max)", "CPU / bare", "verdicts")
LOOP_COLUMNS = ("meanwhile", "concurrency", "latest ms (min-max)", "99th of 100 ms (min-max)")
SERVER = Path(__file__).parent.parent / "tests" / "evaluators" / "llm_judge" / "chat_server.py"
VERDICTS = 400
LATENCY_S = 0.2
NONCE = "0123456789abcdef0123456789abcdef"
PROMPT = Prompt(
    system="You compare an answer with what was expected, from 0 (nothing in common) to 5 (the same meaning).",
    user=f"<data {NONCE}>"
    + '{"answer":"Paris is the capital city of France.","expected":"It is Paris."}' * 6
    + "</data>",
    nonce=NONCE,
)

Ask = Callable[[], Awaitable[Any]]


class Answer(VerdictSchema):
    score: Literal[0, 1, 2, 3, 4, 5]


def run(*, quick: bool) -> str:
    """Return the tables."""
    rounds = 1 if quick else 5
    with server() as url:
        speed = [row for concurrency in (8, 32, 128) for row in _speed(url, concurrency, rounds)]
        late = [row for concurrency in (32, 128) for row in _lateness(url, concurrency, rounds)]
    about = f"{rounds} rounds:"
    return report.section(
        "Judges", ABOUT, about, report.table(COLUMNS, speed), ABOUT_LOOP, report.table(LOOP_COLUMNS, late)
    )


@contextmanager
def server() -> Iterator[str]:
    """Start the server and give its base URL."""
    command = [sys.executable, str(SERVER), "--latency-s", str(LATENCY_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def _speed(url: str, concurrency: int, rounds: int) -> list[list[Any]]:
    found: dict[str, list[tuple[float, float, int]]] = {}
    for number in range(rounds + 1):  # the first warms up
        for name, contender in (("bare aiohttp", bare), ("spanscore", ours)):
            measured = asyncio.run(_timed(contender, url, concurrency))
            if number:
                found.setdefault(name, []).append(measured)
    ideal = VERDICTS * LATENCY_S / concurrency
    return [
        [
            name,
            concurrency,
            spread([ideal / wall for wall, _, _ in samples]),
            spread([cpu / VERDICTS * 1e3 for _, cpu, _ in samples]),
            spread([cpu / base for (_, cpu, _), (_, base, _) in zip(samples, found["bare aiohttp"], strict=True)]),
            f"{sum(count for _, _, count in samples)} of {VERDICTS * rounds}",
        ]
        for name, samples in found.items()
    ]


async def _timed(contender: Callable[[str, int], Any], url: str, concurrency: int) -> tuple[float, float, int]:
    async with contender(url, concurrency) as judge:
        cpu, start = time.process_time(), time.perf_counter()
        verdicts = await asyncio.gather(*(judge() for _ in range(VERDICTS)))
        return time.perf_counter() - start, time.process_time() - cpu, sum(score == 4 for score in verdicts)


@asynccontextmanager
async def bare(url: str, concurrency: int) -> AsyncIterator[Ask]:
    """Give a coroutine function that posts and parses, and nothing else."""
    slots = asyncio.Semaphore(concurrency)
    body = {
        "model": "judge",
        "messages": [{"role": "system", "content": PROMPT.system}, {"role": "user", "content": PROMPT.user}],
        "max_tokens": 1024,
        "temperature": 0.0,
        **shape_of("json_schema", Answer),
    }
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def judge() -> int:
            async with slots, session.post(f"{url}/chat/completions", data=orjson.dumps(body)) as response:
                answer = orjson.loads(await response.read())
            return int(orjson.loads(answer["choices"][0]["message"]["content"])["score"])

        yield judge


@asynccontextmanager
async def ours(url: str, concurrency: int) -> AsyncIterator[Ask]:
    """Give a coroutine function that asks for a verdict."""
    settings = JudgeSettings(model="judge", limits=Limits(max_concurrency=concurrency))
    async with HttpJudgeClient(base_url=url) as client:

        async def judge() -> int:
            return (await ask(client, PROMPT, Answer, settings)).answer.score

        yield judge


def _lateness(url: str, concurrency: int, rounds: int) -> list[list[Any]]:
    found: dict[str, list[list[float]]] = {}
    for number in range(rounds + 1):
        for name, work in (("nothing", None), ("400 verdicts", ours)):
            late = asyncio.run(_late(work, url, concurrency))
            if number:
                found.setdefault(name, []).append(late)
    return [
        [
            name,
            concurrency,
            spread([max(late) for late in samples]),
            spread([sorted(late)[len(late) * 99 // 100] for late in samples]),
        ]
        for name, samples in found.items()
    ]


async def _late(work: Any, url: str, concurrency: int) -> list[float]:
    """Return how many milliseconds late each millisecond's sleep ended."""
    with ThreadPoolExecutor(1) as pool:
        verdicts = (lambda: asyncio.run(_timed(work, url, concurrency))) if work else (lambda: time.sleep(1.0))
        judging = pool.submit(verdicts)
        late: list[float] = []
        while not judging.done():
            start = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append((time.perf_counter() - start - 0.001) * 1e3)
        judging.result()
    return late
