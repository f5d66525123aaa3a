from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import openai
import pytest

from spanscore.errors import ConfigurationError, JudgeCallError, JudgeResponseError, JudgeTimeoutError
from spanscore.evaluators.llm_judge.chat_completion import error_of, retry_after_s
from spanscore.evaluators.llm_judge.client import JudgeReply, JudgeRequest, as_client
from spanscore.evaluators.llm_judge.http_client import HttpJudgeClient
from tests.evaluators.llm_judge.chat_server import ChatServer, chat_server

REQUEST = JudgeRequest(
    model="m",
    messages=[{"role": "user", "content": "nonce 0123456789abcdef: how good is it?"}],
    response_format={"type": "json_schema", "json_schema": {"name": "evaluation_response", "schema": {}}},
    max_tokens=50,
    timeout_s=5,
)


@pytest.fixture(autouse=True)
def no_endpoint_in_the_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def http(server: ChatServer) -> HttpJudgeClient:
    return HttpJudgeClient(base_url=server.url, api_key="secret")


def openai_object(server: ChatServer):
    return as_client(openai.AsyncOpenAI(base_url=server.url, api_key="secret"))


CLIENTS = pytest.mark.parametrize("make", [http, openai_object])


def asked(client, request: JudgeRequest = REQUEST) -> JudgeReply:
    async def ask():
        try:
            return await client.complete(request)
        finally:
            await (client.aclose() if isinstance(client, HttpJudgeClient) else client.client.close())

    return asyncio.run(ask())


@CLIENTS
def test_sends_the_published_request_and_reads_the_answer(make):
    with chat_server() as server:
        reply = asked(make(server))
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "nonce 0123456789abcdef: how good is it?"}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "evaluation_response", "schema": {}}},
            "max_tokens": 50,
            "temperature": 0.0,
        }
    ]
    assert server.headers[0]["authorization"] == "Bearer secret"
    assert '"score": 4' in reply.text
    assert (reply.finish_reason, reply.refusal, reply.model) == ("stop", None, "m")
    assert reply.input_tokens > 0
    assert reply.output_tokens > 0


@CLIENTS
def test_reads_the_arguments_of_a_tool_call(make):
    tool = {"type": "function", "function": {"name": "submit_evaluation", "parameters": {"type": "object"}}}
    with chat_server() as server:
        reply = asked(make(server), JudgeRequest(model="m", messages=REQUEST.messages, tool=tool, timeout_s=5))
    assert server.requests[0]["tools"] == [tool]
    assert server.requests[0]["tool_choice"] == {"type": "function", "function": {"name": "submit_evaluation"}}
    assert reply.text is None
    assert len(reply.arguments) == 1
    assert '"score": 4' in reply.arguments[0]


@CLIENTS
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("429", {"status": 429, "transient": True, "retry_after_s": None, "code": "rate_limit_exceeded"}),
        ("429_retry_after", {"status": 429, "transient": True, "retry_after_s": 0.05}),
        ("500", {"status": 500, "transient": True}),
        ("503", {"status": 503, "transient": True}),
        ("closed", {"status": None, "transient": True, "sent": True}),
        ("closed_midway", {"status": None, "transient": True, "sent": True}),
    ],
)
def test_an_error_says_what_to_do_about_it(make, fault, expected):
    with chat_server(faults=[fault]) as server, pytest.raises(JudgeCallError) as caught:
        asked(make(server))
    assert {name: getattr(caught.value, name) for name in expected} == expected
    assert "told by the server" not in str(caught.value)
    assert len(server.requests) == 1


@CLIENTS
def test_a_parameter_that_is_refused_is_named(make):
    with chat_server(unsupported=["json_schema"]) as server, pytest.raises(JudgeCallError) as caught:
        asked(make(server))
    assert (caught.value.status, caught.value.param, caught.value.transient) == (400, "response_format", False)


@CLIENTS
@pytest.mark.parametrize("fault", ["hang", "slow_drip"])
def test_a_call_ends_at_its_time_out(make, fault):
    request = JudgeRequest(model="m", messages=REQUEST.messages, timeout_s=0.2)
    # The openai package's time-out is between two bytes; the deadline of the verdict ends a slow drip.
    make = http if fault == "slow_drip" else make
    with chat_server(faults=[fault]) as server, pytest.raises(JudgeTimeoutError, match=r"within 0\.2 s"):
        asked(make(server), request)


@CLIENTS
@pytest.mark.parametrize("fault", ["html", "empty_choices"])
def test_an_answer_that_is_no_chat_completion_is_an_error(make, fault):
    with chat_server(faults=[fault]) as server, pytest.raises(JudgeResponseError, match="no chat completion"):
        asked(make(server))


@CLIENTS
def test_an_endpoint_that_is_not_there_got_nothing(make):
    with chat_server() as server:
        pass
    with pytest.raises(JudgeCallError) as caught:
        asked(make(server))
    assert (caught.value.transient, caught.value.sent) == (True, False)


def test_azure_objects_are_accepted():
    with chat_server() as server:
        azure = openai.AsyncAzureOpenAI(base_url=server.url, api_key="secret", api_version="2024-10-21")
        assert '"score": 4' in asked(as_client(azure)).text
    assert server.headers[0]["api-key"] == "secret"


def test_a_redirect_is_not_followed():
    with chat_server() as server, http_redirect(server.url) as url, pytest.raises(JudgeCallError) as caught:
        asked(HttpJudgeClient(base_url=url, api_key="secret"))
    assert (caught.value.status, caught.value.transient) == (307, False)
    assert server.requests == []


def http_redirect(target: str):
    import contextlib
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(307)
            self.send_header("Location", target + "/chat/completions")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    @contextlib.contextmanager
    def running():
        with HTTPServer(("127.0.0.1", 0), Handler) as redirecting:
            thread = threading.Thread(target=redirecting.serve_forever)
            thread.start()
            try:
                yield f"http://127.0.0.1:{redirecting.server_port}/v1"
            finally:
                redirecting.shutdown()
                thread.join()

    return running()


def test_the_environment_names_the_endpoint_and_the_key(monkeypatch):
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
        monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
        client = as_client(None)
        assert '"score": 4' in asked(client).text
    assert server.headers[0]["authorization"] == "Bearer from the environment"
    assert client.endpoint == server.url


def test_an_endpoint_without_key_gets_none():
    with chat_server() as server:
        asked(HttpJudgeClient(base_url=server.url))
    assert "authorization" not in server.headers[0]


def test_a_key_alone_means_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert as_client(None).endpoint == "https://api.openai.com/v1"


def test_without_an_endpoint_the_first_use_says_how_to_name_one(monkeypatch):
    def connected(*_):
        raise AssertionError("something was contacted")

    monkeypatch.setattr(socket.socket, "connect", connected)
    monkeypatch.setattr(socket, "getaddrinfo", connected)
    with pytest.raises(ConfigurationError, match=r"OPENAI_BASE_URL or OPENAI_API_KEY.*base_url=.*api_key="):
        asked(as_client(None))


@pytest.mark.parametrize("url", ["", "ftp://x", "localhost:8080", "http://", "http://u:p@h/v1", "http://h/v1?a=1"])
def test_a_base_url_that_is_none_is_refused_at_set_up(url):
    with pytest.raises(ConfigurationError, match="base URL") as caught:
        HttpJudgeClient(base_url=url)
    assert "u:p" not in str(caught.value)


def test_the_key_is_not_shown():
    assert "secret" not in repr(HttpJudgeClient(base_url="http://h/v1", api_key="secret"))


def test_proxies_come_from_the_environment(monkeypatch):
    with chat_server() as server:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nothing listens there
        with pytest.raises(JudgeCallError):
            asked(HttpJudgeClient(base_url=server.url))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        asked(HttpJudgeClient(base_url=server.url))
    assert len(server.requests) == 1


def test_sessions_end_with_their_loop_and_a_client_works_on_many():
    code = """
        import asyncio, sys, gc
        from spanscore.evaluators.llm_judge.client import JudgeRequest
        from spanscore.evaluators.llm_judge.http_client import HttpJudgeClient
        client = HttpJudgeClient(base_url=sys.argv[1])
        request = JudgeRequest(model="m", messages=[{"role": "user", "content": "?"}])
        async def several():
            await asyncio.gather(*(client.complete(request) for _ in range(5)))
        for _ in range(3):
            asyncio.run(several())
        assert not client._connections
        gc.collect()
    """
    with chat_server() as server:
        command = [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(code), server.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(server.requests) == 15


def test_a_judge_of_the_pipeline_leaves_nothing_open_when_the_process_ends():
    code = """
        import sys
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        import spanscore
        from spanscore.evaluators.llm_judge.client import as_client
        from spanscore.evaluators.llm_judge.verdict import JudgeSettings, ask
        from spanscore.evaluators.llm_judge.http_client import HttpJudgeClient
        from tests.evaluators.llm_judge.asking import Rating, prompt
        client, settings = HttpJudgeClient(base_url=sys.argv[1]), JudgeSettings(model="m")

        @spanscore.evaluator
        async def judged(output):
            return (await ask(client, prompt(), Rating, settings)).answer.score / 5

        exporter, expectations = InMemorySpanExporter(), spanscore.Expectations()
        expectations.add("answer", judged)
        provider = TracerProvider()
        provider.add_span_processor(spanscore.EvaluatorSpanProcessor(SimpleSpanProcessor(exporter), expectations))
        with provider.get_tracer("app").start_as_current_span("answer", attributes={"output.value": '"Paris"'}):
            pass
        provider.force_flush()
        sys.stdout.write(str(exporter.get_finished_spans()[0].attributes["spanscore.judged.score"]))
    """
    with chat_server() as server:
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), server.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0.8", "")


def test_a_client_that_is_closed_can_be_used_again():
    async def twice(url: str):
        async with HttpJudgeClient(base_url=url) as client:
            await client.complete(REQUEST)
            await client.aclose()
            await client.aclose()
            await client.complete(REQUEST)

    with chat_server() as server:
        asyncio.run(twice(server.url))
    assert len(server.requests) == 2


def test_a_coroutine_function_gets_the_published_request():
    got = []

    async def service(request):
        got.append(request)
        return {"justification": "x", "score": 80}

    reply = asyncio.run(as_client(service).complete(JudgeRequest(model="m", messages=REQUEST.messages)))
    assert got == [{"model": "m", "messages": list(REQUEST.messages), "max_tokens": None, "temperature": 0.0}]
    assert reply == JudgeReply(text='{"justification": "x", "score": 80}')


def test_a_coroutine_function_may_return_a_chat_completion():
    async def service(request):
        return {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}

    assert asyncio.run(as_client(service).complete(REQUEST)).text == "hello"


def test_what_a_service_raises_or_returns_is_an_error_without_its_content():
    async def raising(request):
        raise ValueError("quotes the question")

    async def strange(request):
        return object()

    with pytest.raises(JudgeCallError, match=r"^the judge's service raised ValueError$"):
        asyncio.run(as_client(raising).complete(REQUEST))
    with pytest.raises(JudgeResponseError, match="returned object"):
        asyncio.run(as_client(strange).complete(REQUEST))


@pytest.mark.parametrize("candidate", [1, "gpt", lambda request: None, openai.OpenAI(api_key="x")])
def test_anything_else_is_no_client(candidate):
    with pytest.raises(ConfigurationError, match="coroutine function"):
        as_client(candidate)


def test_retry_after_may_be_a_date_or_milliseconds():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 < retry_after_s({"retry-after": soon}) <= 30
    assert retry_after_s({"retry-after": "5", "retry-after-ms": "250"}) == 0.25
    assert retry_after_s({"retry-after": "-1"}) == 0.0
    for strange in ("soon", "nan", "inf", ""):
        assert retry_after_s({"retry-after": strange}) is None


def test_a_spent_quota_is_not_waited_for():
    assert error_of(429, {"error": {"code": "insufficient_quota"}}, {}).transient is False
    assert error_of(429, {"error": "slow down"}, {}).transient is True
    assert error_of(502, None, {}).transient is True


def test_a_refused_limit_is_known_from_the_message_where_proxies_drop_the_field():
    told = {"error": {"message": "Use 'max_completion_tokens' instead.", "code": "invalid_request_body"}}
    assert error_of(400, told, {}).param == "max_tokens"
