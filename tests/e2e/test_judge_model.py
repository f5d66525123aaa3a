"""The three judges on a real small model, through the pipeline, to an OTLP receiver.

They show that the machinery works with a model that nobody scripted; the model's taste is worthless.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from spanscore import EvaluatorSpanProcessor, Expectations, Step, Trajectory, evaluator
from spanscore.evaluators.llm_judge import (
    HttpJudgeClient,
    JudgePolicy,
    Limits,
    LLMJudge,
    Price,
    StrictJsonJudge,
    TrajectoryJudge,
)
from tests.e2e.conftest import ROOT, START_S, VENVS, free_ports, running
from tests.otel.receivers import decoded, http_receiver

pytestmark = pytest.mark.model

ATTEMPTS = 7
"""Spans a judge: a model this small often fails to repeat the nonce, which is an error and no score."""
CALLS = (Step(name="search", operation="execute_tool", input={"city": "Paris"}, output="The Seine."),)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    (port,) = free_ports(1)
    command = [VENVS / "judge-model/bin/python", ROOT / "tests/e2e/judge_model.py", str(port)]
    with running(command, {}, tmp_path_factory.mktemp("model") / "log", [port]):
        deadline = time.monotonic() + START_S
        while not _is_loaded(f"http://127.0.0.1:{port}/health"):
            assert time.monotonic() < deadline, "the model was not loaded"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"


def _is_loaded(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status == 200
    except urllib.error.HTTPError:  # it listens before it has loaded its weights
        return False


@pytest.fixture(scope="module")
def spans(model):
    """What arrived by OTLP: attributes by span name, a list each."""
    settings = {
        "model": "smollm2",
        "client": HttpJudgeClient(base_url=model),
        "max_tokens": 100,
        "temperature": 0.3,
        "timeout_s": 240.0,
        "policy": JudgePolicy(
            price=Price(input_usd=1.0, output_usd=2.0), limits=Limits(max_concurrency=2)
        ),  # its slots
    }
    expectations = Expectations()
    expectations.add("answer", LLMJudge(**settings), expected="Paris lies on the Seine.")
    expectations.add("record", StrictJsonJudge(**settings), expected={"river": "Seine", "km": 777, "mouth": "Le Havre"})
    expectations.add("run", _with_history(TrajectoryJudge(**settings)), expected="Look up the river of Paris.")
    with http_receiver() as receiver:
        exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces")
        processor = EvaluatorSpanProcessor(BatchSpanProcessor(exporter), expectations, hold_timeout_s=600.0)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        tracer = provider.get_tracer("agent")
        for number in range(ATTEMPTS):
            for name, output in (
                ("answer", f"The river in Paris is the Seine ({number})."),
                ("record", json.dumps({"river": f"La Seine, France ({number})", "km": 777, "extra": 1})),
                ("run", f"done {number}"),
            ):
                with tracer.start_as_current_span(name) as span:
                    span.set_attribute("output.value", output)
        assert processor.force_flush(600_000)
        provider.shutdown()
        found = receiver.all_spans()
    return {
        name: [decoded(span.attributes) for span in found if span.name == name] for name in ("answer", "record", "run")
    }


def _with_history(judge):
    """Return the judge as an evaluator of spans whose steps nobody gathers: the history is given here."""

    @evaluator(name="trajectory_judge")
    async def judged(output, expected, step):
        run = Step(name=step.name, trajectory=Trajectory(steps=CALLS))
        return await judge.evaluate(output, expected, step=run)

    return judged


JUDGES = [("answer", "llm_judge"), ("record", "strict_json_judge"), ("run", "trajectory_judge")]


@pytest.mark.parametrize(("span", "judge"), JUDGES)
def test_every_span_arrives_with_a_score_or_an_error(spans, span, judge):
    labels = [found[f"spanscore.{judge}.label"] for found in spans[span]]
    assert len(labels) == ATTEMPTS
    assert set(labels) <= {"scored", "error"}


def test_even_a_model_as_small_as_this_gives_a_verdict(spans):
    scored = [
        judge for name, judge in JUDGES if any(found[f"spanscore.{judge}.label"] == "scored" for found in spans[name])
    ]
    assert scored


@pytest.mark.parametrize(("span", "judge"), JUDGES)
def test_a_score_is_a_structured_verdict_with_its_reason_and_an_error_has_a_type_and_no_score(spans, span, judge):
    for found in spans[span]:
        score, told = found.get(f"spanscore.{judge}.score"), found[f"spanscore.{judge}.explanation"]
        assert told
        if found[f"spanscore.{judge}.label"] == "scored":
            assert 0.0 <= score <= 1.0
            assert found[f"spanscore.{judge}.judge.steps_down"] == 0
        else:
            assert score is None
            assert found[f"spanscore.{judge}.error.type"] in (
                "JudgeResponseError",
                "JudgeCallError",
                "JudgeTimeoutError",
            )


@pytest.mark.parametrize(("span", "judge"), JUDGES)
def test_tokens_and_cost_stand_on_every_span_that_the_model_answered(spans, span, judge):
    answered = [
        found for found in spans[span] if found.get(f"spanscore.{judge}.error.type") in (None, "JudgeResponseError")
    ]
    assert answered
    for found in answered:
        read = found[f"spanscore.{judge}.judge.input_tokens"]
        written = found[f"spanscore.{judge}.judge.output_tokens"]
        assert read > 100
        assert written > 5
        assert found[f"spanscore.{judge}.judge.cost_usd"] == pytest.approx((read + 2 * written) / 1e6)
