"""What Phoenix has of an agent's spans, sent to it straight and through another OTLP implementation."""

from __future__ import annotations

import uuid
from datetime import datetime

import pytest

from tests.e2e.conftest import run_agent

ROUTES = [("phoenix", "grpc"), ("phoenix", "http/protobuf"), ("rotel", "grpc"), ("rotel", "http/protobuf")]
EXPECTED = '{"order":"A-17","total":129.9}'


@pytest.fixture(scope="module", params=ROUTES, ids=" ".join)
def spans(request, phoenix, rotel):
    """Return the spans of one run, by name and input."""
    to, protocol = request.param
    target = {"phoenix": phoenix, "rotel": rotel}[to]
    project = f"e2e-{uuid.uuid4()}"
    run_agent("tests/e2e/agent.py", target.grpc if protocol == "grpc" else target.http, protocol, project=project)
    found = phoenix.spans(project, 8)
    by_key = {(span["name"], span["attributes"]["input.value"]): span for span in found}
    assert len(by_key) == len(found) == 8
    return by_key


def answer(spans, order):
    return spans["agent.answer", f'{{"order":"{order}"}}']


def tool(spans, order):
    return spans["order.lookup", f'{{"order":"{order}"}}']


def scores(attributes):
    return {key: value for key, value in attributes.items() if key.startswith("spanscore.")}


def results(span):
    """Return the attributes of the evaluation events, and check that they are at the end of the span."""
    found = [event for event in span["events"] if event["name"] == "gen_ai.evaluation.result"]
    assert {event["timestamp"] for event in found} == {span["end_time"]}
    return [event["attributes"] for event in found]


def seconds(span):
    return (datetime.fromisoformat(span["end_time"]) - datetime.fromisoformat(span["start_time"])).total_seconds()


def test_a_wrong_answer_fails_with_its_score_and_reason(spans):
    attributes = answer(spans, "B-20")["attributes"]
    score = attributes["spanscore.score"]
    assert score == pytest.approx((1 + 48.0 / 129.9) / 2)
    assert type(score) is type(attributes["spanscore.json_similarity.score"]) is float
    assert attributes.pop("spanscore.json_similarity.evaluator").startswith("json_similarity@1+")
    assert attributes == {
        "gen_ai.agent.name": "agent.answer",
        "gen_ai.operation.name": "invoke_agent",
        "input.mime_type": "application/json",
        "input.value": '{"order":"B-20"}',
        "output.mime_type": "application/json",
        "output.value": '{"order":"A-17","total":48.0}',
        "spanscore.expectation": "agent.answer",
        "spanscore.expected": EXPECTED,
        "spanscore.json_similarity.explanation": "/total: expected 129.9, got 48.0",
        "spanscore.json_similarity.label": "fail",
        "spanscore.json_similarity.score": score,
        "spanscore.label": "fail",
        "spanscore.score": score,
    }


def test_a_right_answer_passes_with_the_float_one(spans):
    attributes = answer(spans, "A-17")["attributes"]
    assert (attributes["spanscore.label"], attributes["spanscore.score"]) == ("pass", 1.0)
    assert type(attributes["spanscore.score"]) is float
    assert "spanscore.json_similarity.explanation" not in attributes


def test_each_score_is_an_event_at_the_end_of_its_span(spans):
    span = answer(spans, "B-20")
    assert results(span) == [
        {
            "gen_ai.evaluation.name": "json_similarity",
            "gen_ai.evaluation.score.label": "fail",
            "gen_ai.evaluation.score.value": span["attributes"]["spanscore.score"],
        }
    ]
    assert type(results(span)[0]["gen_ai.evaluation.score.value"]) is float


def test_a_tool_is_the_child_of_its_agent_and_scored_by_the_registry(spans):
    parent, child = answer(spans, "B-20"), tool(spans, "B-20")
    assert parent["parent_id"] is None
    assert child["parent_id"] == parent["context"]["span_id"]
    assert child["context"]["trace_id"] == parent["context"]["trace_id"]
    assert (parent["span_kind"], child["span_kind"]) == ("AGENT", "TOOL")
    assert child["attributes"]["gen_ai.tool.name"] == "order.lookup"
    assert child["attributes"]["spanscore.expectation"] == "order.*"
    assert child["attributes"]["spanscore.label"] == "scored"
    assert tool(spans, "A-17")["attributes"]["spanscore.score"] == 1.0


def test_each_call_at_the_top_has_a_trace_of_its_own(spans):
    assert len({span["context"]["trace_id"] for span in spans.values()}) == 5


def test_a_stream_is_scored_by_each_of_its_evaluators(spans):
    span = spans["agent.stream", "{}"]
    assert span["attributes"]["output.value"] == "It left on Monday."
    assert span["attributes"]["output.mime_type"] == "text/plain"
    assert [result["gen_ai.evaluation.name"] for result in results(span)] == ["exact_match", "contains"]
    for evaluator in ("exact_match", "contains"):
        assert span["attributes"][f"spanscore.{evaluator}.score"] == 1.0
        assert span["attributes"][f"spanscore.{evaluator}.label"] == "pass"


def test_a_slow_evaluation_does_not_lengthen_the_span(spans):
    span = spans["agent.slow", "{}"]
    assert span["attributes"]["spanscore.slow.score"] == 1.0
    assert span["attributes"]["spanscore.slow.evaluator"].startswith("slow@3+")
    assert len(results(span)) == 1
    assert seconds(span) < 0.2  # the evaluator takes 0.3 s


def test_a_call_that_raised_is_an_error_and_skipped_without_a_score(spans):
    for span in (answer(spans, "Z-99"), tool(spans, "Z-99")):
        assert (span["status_code"], span["status_message"]) == ("ERROR", "KeyError: 'Z-99'")
        attributes = span["attributes"]
        assert attributes["error.type"] == "KeyError"
        assert attributes["spanscore.label"] == attributes["spanscore.json_similarity.label"] == "skipped"
        assert attributes["spanscore.json_similarity.reason"] == "exception"
        assert not [key for key in scores(attributes) if key.endswith("score")]
        assert results(span) == [
            {"gen_ai.evaluation.name": "json_similarity", "gen_ai.evaluation.score.label": "skipped"}
        ]
        assert [event["attributes"]["exception.type"] for event in span["events"] if event["name"] == "exception"] == [
            "KeyError"
        ]
