"""What the tests of judges share: answers for the loopback server, and a judge of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from spanscore.evaluators.llm_judge import HttpJudgeClient, LLMJudge
from tests.evaluators.llm_judge.chat_server import ChatServer, chat_server

_NONCE = re.compile(r"exactly the text ([0-9a-f]+);")


def nonce_of(body: Mapping[str, Any]) -> str:
    found = _NONCE.search(body["messages"][0]["content"])
    assert found
    return found[1]


def answering(**fields):
    """Return an answer of these fields; a callable one is asked with the request's body."""

    def answer(body):
        given = {key: value(body) if callable(value) else value for key, value in fields.items()}
        return {"nonce": nonce_of(body), "justification": "Because.", **given}

    return answer


def in_turn(*values):
    """Return a function that gives these values, one a call."""
    rest = iter(values)
    return lambda body: next(rest)


CLIENTS: list[HttpJudgeClient] = []
"""Those that a test made, to be closed on its loop."""


def client_of(server) -> HttpJudgeClient:
    CLIENTS.append(HttpJudgeClient(base_url=server.url, api_key="k"))
    return CLIENTS[-1]


def closing(test):
    """Close, at the end of a coroutine test, the clients that it made, on its own loop."""

    @functools.wraps(test)
    async def run(*arguments, **settings):
        try:
            await test(*arguments, **settings)
        finally:
            while CLIENTS:
                await CLIENTS.pop().aclose()

    return run


def judge_of(server, **settings) -> LLMJudge:
    return LLMJudge(**{"model": "m", "client": client_of(server), **settings})


@contextmanager
def served(**settings) -> Iterator[ChatServer]:
    """Run a `chat_server` for a test that is itself a coroutine: it is started and stopped on a thread."""
    server = chat_server(**settings)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(server.__enter__).result()
        try:
            yield found
        finally:
            pool.submit(server.__exit__, None, None, None).result()
