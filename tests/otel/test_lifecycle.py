"""What happens at fork, exit, interrupt and shutdown: each in a process of its own, sending to a real receiver."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import orjson
import pytest

from tests.otel.receivers import decoded, http_receiver

PROLOGUE = """
import asyncio, os, signal, sys, threading, time
import spanscore
from opentelemetry import trace
expectations = spanscore.Expectations()
expectations.add("foreign", spanscore.ExactMatch(), expected="x")
provider = spanscore.configure(expectations, endpoint=sys.argv[1], protocol="http/protobuf")

@spanscore.evaluator
async def judge(output, expected):
    await asyncio.sleep(0.05)
    return 0.5

@spanscore.evaluate_output(expected=1, name="agent")
def agent():
    return 1

@spanscore.evaluate_output(expected=1, evaluators=[judge], name="judged")
def judged():
    return 1

def foreign(name="foreign"):
    trace.get_tracer("other").start_span(name, attributes={"output.value": "x"}).end()
"""


@pytest.fixture
def run():
    def run(body: str, *, code: int = 0):
        with http_receiver() as receiver:
            command = [
                sys.executable,
                "-W",
                "error::RuntimeWarning",
                "-c",
                PROLOGUE + textwrap.dedent(body),
                receiver.url,
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == code, done.stderr
        if code == 0:
            assert "Traceback" not in done.stderr
        spans = receiver.all_spans()
        return [(span.name, decoded(span.attributes)) for span in spans]

    return run


ALL = [("agent", "scored"), ("foreign", "scored"), ("judged", "scored")]


def _labels(spans):
    return sorted((name, found.get("spanscore.label")) for name, found in spans)


def test_interpreter_exit_without_flush_loses_nothing(run):
    assert _labels(run("agent(); foreign(); judged()")) == ALL


def test_os_exit_after_flush_loses_nothing(run):
    assert _labels(run("agent(); foreign(); judged(); assert provider.force_flush(); os._exit(0)")) == ALL


def test_shutdown_twice_is_one_shutdown(run):
    assert _labels(run("agent(); foreign(); judged(); provider.shutdown(); provider.shutdown()")) == ALL


def test_an_interrupt_passes_and_the_spans_are_sent(run):
    body = """
    foreign()
    @spanscore.evaluate_output(expected=1, name="interrupted")
    def interrupted():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    try:
        interrupted()
    except KeyboardInterrupt:
        sys.exit(0)
    """
    spans = dict(run(body))
    assert spans["interrupted"]["spanscore.json_similarity.reason"] == "exception"
    assert spans["foreign"]["spanscore.label"] == "scored"


def test_an_unhandled_interrupt_ends_the_program_as_it_would_without_us(run):
    spans = dict(run("foreign(); agent(); raise KeyboardInterrupt", code=130 if sys.platform == "win32" else -2))
    assert set(spans) == {"foreign", "agent"}


def test_a_forked_worker_scores_and_sends_its_own_spans_and_none_twice(run):
    body = """
    agent(); foreign()
    children = []
    for n in range(2):
        pid = os.fork()
        if pid == 0:
            agent(); foreign(); judged()
            provider.shutdown()
            os._exit(0)
        children.append(pid)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0
    judged()
    """
    assert _labels(run(body)) == sorted(ALL * 3)


def test_a_fork_while_other_threads_score_does_not_deadlock(run, tmp_path):
    body = f"""
    from spanscore.otel.exporters import FileSpanExporter
    inner = spanscore.EvaluatorSpanProcessor
    provider._active_span_processor._span_processors = ()  # sockets and imports do not survive such forks; files do
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    file = FileSpanExporter({str(tmp_path / "spans.jsonl")!r})
    provider.add_span_processor(inner(BatchSpanProcessor(file), expectations))
    stop = threading.Event()
    def busy():
        while not stop.is_set():
            foreign("busy"); agent()
    expectations.add("busy", spanscore.ExactMatch(), expected="x")
    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(10):
        pid = os.fork()
        if pid == 0:
            judged()
            ok = provider.force_flush(20_000)
            os._exit(0 if ok else 1)
        assert os.waitpid(pid, 0)[1] == 0
    stop.set()
    for thread in threads:
        thread.join()
    """
    run(body)
    lines = (tmp_path / "spans.jsonl").read_bytes().splitlines()
    names = [
        span["name"]
        for line in lines
        for resource in orjson.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    assert names.count("judged") == 10


def test_an_event_loop_that_ends_at_once_loses_no_verdict(run):
    body = """
    @spanscore.evaluate_output(expected=1, evaluators=[judge], name="judged")
    async def quick():
        return 1
    asyncio.run(quick())
    """
    assert _labels(run(body)) == [("judged", "scored")]
