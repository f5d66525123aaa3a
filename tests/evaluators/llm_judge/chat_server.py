"""A chat-completions server on loopback that can go wrong in every way that real ones do.

In tests: ``with chat_server(faults=["429", None]) as server`` gives ``server.url`` (the base URL) and
``server.requests``. As a program, for benchmarks: it prints its port and serves until stdin closes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from aiohttp import web

FAULTS = (
    "429",
    "429_retry_after",
    "500",
    "503",
    "hang",
    "slow_drip",
    "truncated",
    "refusal",
    "content_filter",
    "prose",
    "fenced",
    "wrong_type",
    "number_as_text",
    "nan",
    "infinity",
    "out_of_range",
    "missing_value",
    "missing_justification",
    "blank_justification",
    "wrong_nonce",
    "two_verdicts",
    "duplicate_key",
    "extra_field",
    "not_an_object",
    "html",
    "empty_choices",
    "closed",
    "closed_midway",
)
"""Each may stand in a script or a table of probabilities; None is a good answer."""

NONCE = re.compile(r"\b[0-9a-f]{16,64}\b")
"""The default answer echoes the first such text of the request."""


def find_nonce(body: Mapping[str, Any]) -> str:
    found = NONCE.search("\n".join(message["content"] or "" for message in body["messages"]))
    return found[0] if found else "no nonce found"


def good_answer(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"nonce": find_nonce(body), "justification": "The answer says what was expected.", "score": 4}


class ChatServer:
    """What the server does and what it saw.

    Args:
        answer: from the request's body to the verdict, an object with ``nonce`` and ``justification``.
        faults: the fault of each request in turn; good answers when they are used up. Or a mapping
            from fault to probability, drawn with ``seed``.
        value_key: the field that the faults about values spoil.
        unsupported: modes ("json_schema", "tool", "json_object") and parameters ("max_tokens",
            "temperature") that are refused with status 400.
        ignored: modes in which it answers prose, as if they had not been asked for.
        latency_s: before every answer.
        retry_after: header of the fault "429_retry_after".
        usage: whether answers count tokens.
    """

    def __init__(
        self,
        *,
        answer: Callable[[Mapping[str, Any]], Mapping[str, Any]] = good_answer,
        faults: Iterable[str | None] | Mapping[str, float] = (),
        seed: int = 0,
        value_key: str = "score",
        unsupported: Iterable[str] = (),
        ignored: Iterable[str] = (),
        latency_s: float = 0.0,
        retry_after: str = "0.05",
        usage: bool = True,
    ) -> None:
        self.answer = answer
        self.script = iter(()) if isinstance(faults, Mapping) else iter(faults)
        self.probabilities = dict(faults) if isinstance(faults, Mapping) else {}
        self.random = random.Random(seed)
        self.value_key = value_key
        self.unsupported = frozenset(unsupported)
        self.ignored = frozenset(ignored)
        self.latency_s = latency_s
        self.retry_after = retry_after
        self.usage = usage
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: Counter[str | None] = Counter()
        self.billed_tokens = 0  # of every request that reached the model, whether or not its answer got back
        self.in_flight = 0
        self.most_in_flight = 0

    def modes(self) -> list[str]:
        return [mode_of(body) for body in self.requests]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        self.requests.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            return await self.respond(request, body)
        finally:
            self.in_flight -= 1

    async def respond(self, request: web.Request, body: Mapping[str, Any]) -> web.StreamResponse:
        refused = self.unsupported & {mode_of(body), *body}
        if refused:
            param = {"json_schema": "response_format", "json_object": "response_format", "tool": "tools"}
            return error(400, "unsupported_parameter", param.get(min(refused), min(refused)))
        fault = self.next_fault()
        self.faults[fault] += 1
        match fault:
            case "429":
                return error(429, "rate_limit_exceeded")
            case "429_retry_after":
                return error(429, "rate_limit_exceeded", headers={"Retry-After": self.retry_after})
            case "500" | "503":
                return error(int(fault), "server_error")
        message, finish_reason = self.message(body, fault)
        completion = self.completion(body, message, finish_reason)
        if fault == "empty_choices":
            completion["choices"] = []
        match fault:
            case "hang":
                await disconnected(request)
            case "slow_drip":
                return await drip(request, json.dumps(completion))
            case "closed":
                return abort(request)
            case "closed_midway":
                return await cut(request, json.dumps(completion))
            case "html":
                return web.Response(text="<html>a proxy's page</html>", content_type="text/html")
        return web.Response(body=orjson.dumps(completion), content_type="application/json")

    def next_fault(self) -> str | None:
        if self.probabilities:
            names = list(self.probabilities)
            rest = max(0.0, 1.0 - sum(self.probabilities.values()))
            return self.random.choices([*names, None], [*self.probabilities.values(), rest])[0]
        return next(self.script, None)

    def message(self, body: Mapping[str, Any], fault: str | None) -> tuple[dict[str, Any], str]:
        mode = mode_of(body)
        if mode in self.ignored or fault == "prose":
            return {"content": "I would say this deserves a 5 out of 5."}, "stop"
        if fault == "refusal":
            return {"content": None, "refusal": "I cannot help with that."}, "stop"
        if fault == "content_filter":
            return {"content": ""}, "content_filter"
        text = self.spoiled(dict(self.answer(body)), fault)
        if fault == "truncated":
            text = text[: len(text) // 2]
        texts = [text, text] if fault == "two_verdicts" else [text]
        if mode == "tool":
            name = body["tools"][0]["function"]["name"]
            calls = [
                {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": one}}
                for n, one in enumerate(texts)
            ]
            return {"content": None, "tool_calls": calls}, "length" if fault == "truncated" else "tool_calls"
        if fault == "fenced":
            texts = [f"```json\n{one}\n```" for one in texts]
        if mode == "text":
            texts = [f"<verdict>{one}</verdict>" for one in texts]
        return {"content": "\n".join(texts)}, "length" if fault == "truncated" else "stop"

    def spoiled(self, answer: dict[str, Any], fault: str | None) -> str:
        key = self.value_key if self.value_key in answer else list(answer)[-1]
        match fault:
            case "wrong_type":
                answer[key] = ["high"]
            case "number_as_text":
                answer[key] = str(answer[key])
            case "nan":
                answer[key] = float("nan")
            case "infinity":
                answer[key] = float("inf")
            case "out_of_range":
                answer[key] = 98_989
            case "missing_value":
                del answer[key]
            case "missing_justification":
                answer.pop("justification", None)
            case "blank_justification":
                answer["justification"] = " \n"
            case "wrong_nonce":
                answer["nonce"] = "f" * 32
            case "extra_field":
                answer["final_" + key] = 5
            case "not_an_object":
                return json.dumps(answer[key])
            case "duplicate_key":
                return json.dumps(answer)[:-1] + f', "{key}": {json.dumps(answer[key])}}}'
        return json.dumps(answer)

    def completion(self, body: Mapping[str, Any], message: Mapping[str, Any], finish_reason: str) -> dict[str, Any]:
        limit = body.get("max_tokens") or body.get("max_completion_tokens")
        written = orjson.dumps(message)
        read = sum(len(one["content"] or "") for one in body["messages"]) // 4 + 8
        tokens = limit if finish_reason == "length" and limit else min(len(written) // 4 + 1, limit or sys.maxsize)
        self.billed_tokens += read + tokens
        counted = {"prompt_tokens": read, "completion_tokens": tokens, "total_tokens": read + tokens}
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}],
            **({"usage": counted} if self.usage else {}),
        }


def mode_of(body: Mapping[str, Any]) -> str:
    """Return the mode in which a request asks for its verdict."""
    if body.get("tools"):
        return "tool"
    return str((body.get("response_format") or {}).get("type", "text"))


def error(status: int, code: str, param: str | None = None, headers: Mapping[str, str] | None = None) -> web.Response:
    told = {"message": f"{code}: told by the server", "type": "invalid_request_error", "param": param, "code": code}
    return web.json_response({"error": told}, status=status, headers=headers)


async def disconnected(request: web.Request) -> None:
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.01)
    raise ConnectionResetError


async def drip(request: web.Request, text: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for character in text:
        await response.write(character.encode())
        await asyncio.sleep(0.05)
    await response.write_eof()
    return response


async def cut(request: web.Request, text: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(text))})
    await response.prepare(request)
    await response.write(text[: len(text) // 2].encode())
    abort(request)
    return response


def abort(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@contextmanager
def chat_server(**settings: Any) -> Iterator[ChatServer]:
    """Run a `ChatServer` on a free port, on a thread and an event loop of its own."""
    server = ChatServer(**settings)
    loop = asyncio.new_event_loop()
    runner = loop.run_until_complete(started(server))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def started(server: ChatServer) -> web.AppRunner:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.handle)
    app.router.add_post("/v1/deployments/{model}/chat/completions", server.handle)  # Azure's
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    return runner


def main() -> None:
    """Serve until stdin closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-s", type=float, default=0.2)
    with chat_server(latency_s=parser.parse_args().latency_s) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
