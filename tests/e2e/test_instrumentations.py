"""Real instrumentations of other projects, run against a model server on loopback and scored by our processor."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.e2e.conftest import ROOT, VENVS, environment
from tests.e2e.instrumented import AGENTS, ANSWERS, EXPECTED
from tests.e2e.model_server import ANSWER, model_server

CAPTURE = {
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}
HOOK = {"OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK": "spanscore"}
CONVENTION = {
    "captured": None,
    "genai_openai": "gen_ai",
    "openai_v2": "gen_ai",
    "openinference_langchain": "openinference",
    "openinference_openai": "openinference",
    "pydantic_ai": "pydantic_ai",
    "traceloop_langchain": "traceloop",
    "traceloop_openai": "gen_ai",
}
SCORES = (pytest.approx(0.976, abs=0.001), pytest.approx(0.631, abs=0.001), 1)
ROOTS = {
    "openinference_langchain": "geographer",
    "pydantic_ai": "invoke_agent geographer",
    "traceloop_langchain": "geographer.workflow",
}


@pytest.fixture(scope="session")
def url():
    with model_server() as found:
        yield found


@pytest.fixture
def run(url, tmp_path):
    def run(program: str, variables: dict[str, str], *mode: str) -> tuple[list[tuple[str, dict]], str]:
        """Run a program; return its spans, as (name, attributes), and what it printed."""
        venv = "openai-v2" if program == "openai_v2" else "instrumentations"
        done = subprocess.run(
            [VENVS / venv / "bin/python", "-m", "tests.e2e.instrumented", program, url, *mode],
            cwd=tmp_path,
            env=environment({**variables, "PYTHONPATH": str(ROOT)}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout
        lines = (tmp_path / "spanscore-traces.jsonl").read_text().splitlines()
        return [
            (span["name"], {one["key"]: next(iter(one["value"].values())) for one in span.get("attributes", [])})
            for line in lines
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ], done.stdout

    return run


def scores(found: dict, *evaluators: str) -> tuple:
    return tuple(found.get(f"spanscore.{evaluator}.score") for evaluator in evaluators)


@pytest.mark.parametrize("program", CONVENTION)
def test_the_same_answer_gives_the_same_score_through_every_instrumentation(run, program):
    spans, _ = run(program, CAPTURE)
    scored = [found for name, found in spans if name in ANSWERS + AGENTS and "spanscore.label" in found]
    if program == "pydantic_ai":  # the first of its requests is answered by tool calls
        scored = [found for found in scored if "spanscore.tool_call_order.label" in found]
    if program == "traceloop_langchain":  # around the workflow it makes a second span, which has no content
        scored = [found for found in scored if "traceloop.span.kind" in found]
    assert scored
    for found in scored:
        similarity, structured, contains = scores(found, "json_similarity", "structured_match", "contains")
        assert (similarity, structured, contains) == SCORES
        assert found.get("spanscore.convention") == CONVENTION[program]
        assert found["spanscore.json_similarity.label"] == "pass"


@pytest.mark.parametrize("program", ROOTS)
def test_an_agents_tool_calls_are_scored_on_its_root(run, program):
    spans, _ = run(program, {})
    (root,) = [found for name, found in spans if name == ROOTS[program]]
    assert scores(root, "tool_call_order", "tool_call_args") == (1, 1)


@pytest.mark.parametrize("program", ["genai_openai", "openai_v2"])
def test_where_content_is_not_captured_the_log_names_the_switch(run, program):
    spans, printed = run(program, {})
    ((_, found),) = spans
    assert (found["spanscore.label"], found["spanscore.json_similarity.reason"]) == ("skipped", "no_content")
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY" in printed


def test_the_completion_hook_scores_with_content_capture_off_and_writes_no_content(run):
    spans, _ = run("genai_openai", HOOK)
    ((_, found),) = spans
    assert scores(found, "json_similarity", "structured_match", "contains") == SCORES
    assert "gen_ai.output.messages" not in found
    assert not [value for value in found.values() if ANSWER in str(value) or "Paris" in str(value)]


def test_the_completion_hook_works_without_a_processor(run, tmp_path):
    file = tmp_path / "expectations.json"
    expectation = {"span": "chat *", "evaluators": ["structured_match"], "expected": EXPECTED, "threshold": 0.9}
    file.write_text(json.dumps({"expectations": [expectation]}))
    spans, _ = run("genai_openai", {**HOOK, "SPANSCORE_EXPECTATIONS": str(file)}, "plain")
    ((_, found),) = spans
    assert scores(found, "structured_match") == SCORES[1:2]
    assert found["spanscore.label"] == "fail"
    assert not [value for value in found.values() if "Paris" in str(value)]
