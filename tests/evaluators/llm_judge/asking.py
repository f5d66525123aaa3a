"""What the tests of judges ask, and of whom."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from spanscore.evaluators.llm_judge.http_client import HttpJudgeClient
from spanscore.evaluators.llm_judge.schema import VerdictSchema
from spanscore.evaluators.llm_judge.verdict import JudgeSettings, Prompt, Verdict, ask

NONCE = "0123456789abcdef0123456789abcdef"


class Rating(VerdictSchema):
    score: Literal[0, 1, 2, 3, 4, 5]


def prompt(text: str = "It is Paris.", nonce: str = NONCE) -> Prompt:
    return Prompt(system="You rate answers from 0 to 5.", user=f"<data {nonce}>{text}</data>", nonce=nonce)


async def asked(url: str, settings: JudgeSettings, times: int = 1, schema: Any = Rating) -> list[Any]:
    """Return verdicts, or the errors in their place."""
    async with HttpJudgeClient(base_url=url) as client:
        asking = [ask(client, prompt(nonce=f"{number:032x}"), schema, settings) for number in range(times)]
        return await asyncio.gather(*asking, return_exceptions=True)


def verdict(url: str, schema: Any = Rating, **settings: Any) -> Verdict[Any]:
    """Return one verdict; raises what `ask` raises."""
    found = asyncio.run(asked(url, JudgeSettings(model="m", **settings), schema=schema))[0]
    if isinstance(found, BaseException):
        raise found
    return found
