from __future__ import annotations

import base64
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import orjson
import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.trace import SpanKind

import spanscore
from spanscore import (
    ConfigurationError,
    EvaluatorSpanProcessor,
    ExactMatch,
    Expectations,
    JsonSimilarity,
    capture,
    configure,
    evaluate_output,
    install,
)
from spanscore.otel.exporters import FileSpanExporter, ScoreTableExporter, otlp_exporter
from tests.otel.receivers import RECEIVERS, decoded


def _run_agent(provider):
    tool = capture(name="tool", operation="execute_tool", tracer_provider=provider)(lambda city: {"temperature": 21})

    @evaluate_output(expected={"city": "Paris", "t": 21}, threshold=0.95, name="agent", tracer_provider=provider)
    def agent(city):
        return {"city": city, "t": tool(city)["temperature"] - 2}

    agent("Paris")


@pytest.mark.parametrize("protocol", list(RECEIVERS))
def test_what_leaves_the_process_over_otlp(protocol):
    with RECEIVERS[protocol]() as receiver:
        provider = configure(service_name="svc", endpoint=receiver.url, protocol=protocol, set_global=False)
        _run_agent(provider)
        provider.shutdown()
        spans = receiver.spans()
    agent, tool = spans["agent"], spans["tool"]
    found = decoded(agent.attributes)
    kinds = {item.key: item.value.WhichOneof("value") for item in agent.attributes}
    assert receiver.resource()["service.name"] == "svc"
    assert found["spanscore.json_similarity.score"] == pytest.approx((1 + 19 / 21) / 2)
    assert kinds["spanscore.json_similarity.score"] == kinds["spanscore.score"] == "double_value"
    assert found["spanscore.json_similarity.label"] == found["spanscore.label"] == "pass"
    assert found["spanscore.json_similarity.explanation"] == "/t: expected 21, got 19"
    assert (found["input.value"], found["output.value"]) == ('{"city":"Paris"}', '{"city":"Paris","t":19}')
    assert set(kinds.values()) == {"string_value", "double_value"}
    (event,) = agent.events
    assert event.name == "gen_ai.evaluation.result"
    assert decoded(event.attributes)["gen_ai.evaluation.score.value"] == found["spanscore.score"]
    assert (tool.parent_span_id, tool.trace_id) == (agent.span_id, agent.trace_id)
    assert decoded(tool.attributes)["gen_ai.tool.name"] == "tool"


@pytest.mark.parametrize("protocol", list(RECEIVERS))
def test_the_otel_variables_are_honoured(protocol, monkeypatch):
    with RECEIVERS[protocol]() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "from-env")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=red")
        provider = configure(set_global=False)
        _run_agent(provider)
        provider.shutdown()
    assert set(receiver.spans()) == {"agent", "tool"}
    assert receiver.resource()["service.name"] == "from-env"
    assert receiver.resource()["team"] == "red"


def test_without_an_endpoint_spans_go_to_a_file_and_scores_to_the_console(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    provider = configure(service_name="svc", set_global=False)
    _run_agent(provider)
    provider.shutdown()
    lines = Path("spanscore-traces.jsonl").read_bytes().splitlines()
    spans = [
        span
        for line in lines
        for resource in orjson.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    agent = next(span for span in spans if span["name"] == "agent")
    tool = next(span for span in spans if span["name"] == "tool")
    assert len(bytes.fromhex(agent["traceId"])) == 16
    assert tool["parentSpanId"] == agent["spanId"]
    assert agent["kind"] == SpanKind.INTERNAL.value + 1
    assert isinstance(agent["startTimeUnixNano"], str)
    table = capsys.readouterr().err
    assert "agent  json_similarity  0.952  pass   /t: expected 21, got 19" in table
    assert "1 score: 1 pass" in table


def test_the_file_reads_back_as_the_protobuf_it_was_made_of(tmp_path, pipeline):
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    with pipeline.provider.get_tracer("x").start_as_current_span("outer") as outer:
        with pipeline.provider.get_tracer("x").start_as_current_span("inner", kind=SpanKind.CLIENT) as span:
            span.add_link(outer.get_span_context(), {"n": [1, 2], "b": True})
            span.set_attribute("big", 2**62)
    spans = pipeline.spans()
    exporter = FileSpanExporter(tmp_path / "x.jsonl")
    exporter.export(spans)
    exporter.shutdown()
    message = orjson.loads((tmp_path / "x.jsonl").read_bytes())
    for resource in message["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for item in scope["spans"]:
                for holder in (item, *item.get("links", [])):
                    for key in {"traceId", "spanId", "parentSpanId"} & set(holder):
                        holder[key] = base64.b64encode(bytes.fromhex(holder[key])).decode()
    read = json_format.ParseDict(message, trace_pb2.TracesData())
    assert read.SerializeToString() == encode_spans(spans).SerializeToString()


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot write spans to .*nowhere/x.jsonl: No such file"):
        FileSpanExporter(tmp_path / "nowhere" / "x.jsonl")


def test_the_table_holds_at_most_two_hundred_rows(pipeline):
    agent = evaluate_output(expected=1, name="agent", tracer_provider=pipeline.provider)(lambda: 1)
    for _ in range(250):
        agent()
    stream = io.StringIO()
    exporter = ScoreTableExporter(stream)
    exporter.export(pipeline.spans())
    exporter.shutdown()
    exporter.shutdown()
    assert stream.getvalue().count("json_similarity") == 200
    assert stream.getvalue().endswith("... and 50 more scores\n")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: otlp_exporter("http/json"), "protocol 'http/json' is not supported; use one of grpc, http/protobuf"),
        (lambda: configure(protocol="grpc", set_global=False), "protocol= needs endpoint="),
        (lambda: configure(exporter=ScoreTableExporter(), endpoint="x", set_global=False), "give either exporter="),
        (lambda: configure(exporter=5, set_global=False), "exporter 5 is no SpanExporter"),
        (lambda: configure(endpoint="localhost:4317", set_global=False), "needs a scheme: http://localhost:4317"),
    ],
)
def test_bad_set_up_is_refused(make, told):
    with pytest.raises(ConfigurationError, match=told):
        make()


def test_install_stands_before_the_processors_that_are_there(make_pipeline):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    first, second = InMemorySpanExporter(), InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(first))
    provider.add_span_processor(SimpleSpanProcessor(second))
    tracer = provider.get_tracer("handed out before")
    expectations = Expectations()
    expectations.add("agent", ExactMatch(), expected="x")
    processor = install(provider, expectations)
    tracer.start_span("agent", attributes={"output.value": "x"}).end()
    assert provider.force_flush()
    for exporter in (first, second):
        assert exporter.get_finished_spans()[0].attributes["spanscore.exact_match.score"] == 1.0
    assert processor.outcomes == {"scored": 1}
    with pytest.raises(ConfigurationError, match="has an EvaluatorSpanProcessor already"):
        install(provider)
    with pytest.raises(ConfigurationError, match="cannot install into object.*build the pipeline around ours"):
        install(object())  # type: ignore[arg-type]
    provider.shutdown()


def test_configure_replaces_no_provider():
    code = (
        "import spanscore\n"
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "provider = TracerProvider(); trace.set_tracer_provider(provider)\n"
        "try: spanscore.configure()\n"
        "except spanscore.ConfigurationError as error: print(error)\n"
        "assert trace.get_tracer_provider() is provider\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "call spanscore.install(provider, expectations)" in done.stdout


PROGRAM = """
from opentelemetry import trace
with trace.get_tracer("foreign").start_as_current_span("agent.answer") as span:
    span.set_attribute("output.value", '{"a": 1}')
"""


def _instrumented(tmp_path, **variables):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SPANSCORE_"))}
    environment |= {"OTEL_TRACES_EXPORTER": "spanscore", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
    command = [str(Path(sys.executable).parent / "opentelemetry-instrument"), sys.executable, "program.py"]
    return subprocess.run(
        command, cwd=tmp_path, env=environment | variables, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("protocol", list(RECEIVERS))
def test_an_instrumented_program_is_scored_with_no_change_to_its_code(tmp_path, protocol):
    (tmp_path / "expectations.yaml").write_text("expectations: [{span: 'agent.*', expected: {a: 2}, threshold: 0.4}]")
    with RECEIVERS[protocol]() as receiver:
        done = _instrumented(
            tmp_path,
            SPANSCORE_EXPECTATIONS="expectations.yaml",
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
        )
    assert done.returncode == 0, done.stderr
    found = decoded(receiver.spans()["agent.answer"].attributes)
    assert (found["spanscore.json_similarity.score"], found["spanscore.label"]) == (0.5, "pass")
    assert found["output.value"] == '{"a": 1}'


def test_content_stays_at_home_when_the_variable_says_so(tmp_path):
    (tmp_path / "expectations.yaml").write_text("expectations: [{span: 'agent.*', expected: {a: 2}}]")
    with RECEIVERS["grpc"]() as receiver:
        done = _instrumented(
            tmp_path,
            SPANSCORE_EXPECTATIONS="expectations.yaml",
            SPANSCORE_EXPORT_CONTENT="false",
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
        )
    assert done.returncode == 0, done.stderr
    found = decoded(receiver.spans()["agent.answer"].attributes)
    assert found["spanscore.json_similarity.score"] == 0.5
    assert "output.value" not in found


def test_a_missing_expectations_file_is_named_and_the_program_runs(tmp_path):
    done = _instrumented(tmp_path)
    assert done.returncode == 0
    assert "set SPANSCORE_EXPECTATIONS to the path of an expectations file" in done.stderr


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _get(url: str):
    with urllib.request.urlopen(url, timeout=5) as response:
        return json.load(response)


@pytest.fixture
def agentmesh(tmp_path):
    """agentmesh-ai, a small backend that reads evaluation events as scores by itself."""
    port = _free_port()
    command = [str(Path(sys.executable).parent / "agentmesh"), "--db", str(tmp_path / "a.db"), "dashboard"]
    log = (tmp_path / "agentmesh.log").open("w")
    process = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                _get(f"{url}/api/traces")
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise AssertionError((tmp_path / "agentmesh.log").read_text()) from None
                time.sleep(0.05)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        log.close()


def test_a_backend_that_knows_the_event_shows_the_scores(agentmesh):
    expectations = Expectations()
    expectations.add("foreign", JsonSimilarity(), expected={"a": 2})
    provider = configure(expectations, endpoint=agentmesh, protocol="http/protobuf", set_global=False)
    _run_agent(provider)
    provider.get_tracer("x").start_span("foreign", attributes={"output.value": '{"a": 1}'}).end()
    provider.shutdown()
    deadline = time.monotonic() + 10
    scores: list = []
    while len(scores) < 2 and time.monotonic() < deadline:
        traces = _get(f"{agentmesh}/api/traces")
        traces = traces if isinstance(traces, list) else traces["traces"]
        scores = [
            score
            for trace in traces
            for score in _listed(_get(f"{agentmesh}/api/scores?trace_id={trace.get('trace_id') or trace['id']}"))
        ]
        time.sleep(0.05)
    assert sorted((score["name"], round(score["value"], 3)) for score in scores) == [
        ("json_similarity", 0.5),
        ("json_similarity", 0.952),
    ]


def _listed(found):
    return found if isinstance(found, list) else found["scores"]


def test_the_processor_is_public():
    assert spanscore.EvaluatorSpanProcessor is EvaluatorSpanProcessor
