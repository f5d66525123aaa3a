"""One span of every convention, as its instrumentation writes it: read, scored, and named."""

from __future__ import annotations

import json
import logging

import pytest

from spanscore import Contains, ExactMatch, Expectations, JsonSimilarity, evaluator
from spanscore.content import from_attributes
from spanscore.conventions import CONVENTIONS
from spanscore.step import MISSING

ANSWER = '{"city": "Paris", "people": 2}'
PARTS = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]
ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Where?"}]}]
QUESTION = [{"role": "user", "content": "Where?"}]
LANGCHAIN = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "AIMessage"],
    "kwargs": {"content": ANSWER, "type": "ai", "tool_calls": []},
}
COMPLETION = {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}}]}


def _json(value):
    return json.dumps(value)


SPANS = {
    "gen_ai, JSON text": (
        "gen_ai",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": _json(PARTS),
            "gen_ai.input.messages": _json(ASKED),
        },
    ),
    "gen_ai, structured": (
        "gen_ai",
        {"gen_ai.operation.name": "chat", "gen_ai.output.messages": tuple(PARTS), "gen_ai.input.messages": ASKED},
    ),
    "gen_ai, an agent's talk": (
        "gen_ai",
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.output.messages": _json(
                [{"role": "assistant", "parts": [{"type": "text", "content": "One moment."}]}, *PARTS]
            ),
            "gen_ai.input.messages": _json(ASKED),
        },
    ),
    "gen_ai, reasoning first": (
        "gen_ai",
        {
            "gen_ai.output.messages": _json(
                [{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, *PARTS[0]["parts"]]}]
            ),
            "gen_ai.input.messages": _json(ASKED),
        },
    ),
    "openinference, flattened messages": (
        "openinference",
        {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Where?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": ANSWER,
            "output.value": _json(COMPLETION),
            "output.mime_type": "application/json",
        },
    ),
    "openinference, flattened contents": (
        "openinference",
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": "Where?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.contents.0.message_content.type": "text",
            "llm.output_messages.0.message.contents.0.message_content.text": ANSWER,
        },
    ),
    "openinference, a completion": (
        "openinference",
        {
            "openinference.span.kind": "LLM",
            "input.value": _json({"messages": QUESTION}),
            "input.mime_type": "application/json",
            "output.value": _json(COMPLETION),
            "output.mime_type": "application/json",
        },
    ),
    "openinference, LangChain's generations": (
        "openinference",
        {
            "openinference.span.kind": "CHAIN",
            "input.value": _json({"messages": [["user", "Where?"]]}),
            "input.mime_type": "application/json",
            "output.value": _json({"generations": [[{"text": ANSWER, "message": LANGCHAIN}]]}),
            "output.mime_type": "application/json",
        },
    ),
    "openinference, a graph's state": (
        "openinference",
        {
            "input.value": _json({"messages": [["user", "Where?"]]}),
            "input.mime_type": "application/json",
            "output.value": _json({"messages": [{"type": "human", "data": {"content": "Where?"}}, LANGCHAIN]}),
            "output.mime_type": "application/json",
        },
    ),
    "openinference, text": (
        "openinference",
        {
            "output.value": ANSWER,
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Where?",
        },
    ),
    "traceloop": (
        "traceloop",
        {
            "traceloop.span.kind": "workflow",
            "traceloop.entity.name": "agent",
            "traceloop.entity.input": _json({"inputs": {"messages": [["user", "Where?"]]}, "kwargs": {}}),
            "traceloop.entity.output": _json({"outputs": {"messages": [LANGCHAIN]}, "kwargs": {"tags": []}}),
        },
    ),
    "pydantic_ai": (
        "pydantic_ai",
        {
            "logfire.msg": "agent run",
            "gen_ai.operation.name": "invoke_agent",
            "final_result": ANSWER,
            "pydantic_ai.all_messages": _json(ASKED),
        },
    ),
    "logfire": (
        "pydantic_ai",
        {
            "logfire.msg": "Chat Completion",
            "request_data": _json({"messages": QUESTION}),
            "response_data": _json({"message": {"role": "assistant", "content": ANSWER}, "usage": {}}),
        },
    ),
    "vercel": (
        "vercel",
        {
            "ai.operationId": "ai.generateText",
            "ai.prompt.messages": _json([{"role": "user", "content": [{"type": "text", "text": "Where?"}]}]),
            "ai.response.text": ANSWER,
        },
    ),
    "mlflow": (
        "mlflow",
        {
            "mlflow.spanType": "CHAT_MODEL",
            "mlflow.spanInputs": _json({"messages": QUESTION}),
            "mlflow.spanOutputs": _json(COMPLETION),
        },
    ),
    "langfuse": (
        "langfuse",
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": _json({"messages": QUESTION}),
            "langfuse.observation.output": _json({"role": "assistant", "content": ANSWER}),
        },
    ),
    "langsmith": (
        "langsmith",
        {
            "langsmith.span.kind": "llm",
            "gen_ai.prompt": _json({"messages": QUESTION}),
            "gen_ai.completion": _json({"generations": [[{"text": ANSWER, "message": LANGCHAIN}]]}),
        },
    ),
    "langsmith, a function": (
        "langsmith",
        {
            "langsmith.span.kind": "chain",
            "gen_ai.prompt": _json({"messages": QUESTION}),
            "gen_ai.completion": _json({"output": ANSWER}),
        },
    ),
    "adk": (
        "adk",
        {
            "gcp.vertex.agent.llm_request": _json({"messages": QUESTION}),
            "gcp.vertex.agent.llm_response": _json({"content": {"role": "model", "parts": [{"text": ANSWER}]}}),
        },
    ),
    "gen_ai_legacy": (
        "gen_ai_legacy",
        {"gen_ai.system": "openai", "gen_ai.prompt": _json({"messages": QUESTION}), "gen_ai.completion": ANSWER},
    ),
    "gen_ai_legacy, indexed": (
        "gen_ai_legacy",
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Where?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": ANSWER,
        },
    ),
}


def _read(found, **more):
    return from_attributes("span", found, None, None, **more)


@pytest.mark.parametrize("case", SPANS)
def test_answer_and_question_are_read_and_the_convention_is_told(case):
    convention, found = SPANS[case]
    step = _read(found)
    assert step.convention == convention
    assert step.output == ANSWER
    assert step.input == QUESTION


@pytest.mark.parametrize("case", SPANS)
def test_the_same_answer_gives_the_same_score_through_every_convention(make_pipeline, case):
    expectations = Expectations()
    expected = {"city": "Paris", "people": 4}
    expectations.add("span", JsonSimilarity(), ExactMatch(name="near"), ExactMatch(), expected=expected, id="json")
    expectations.add("span", Contains(), expected="paris", id="text")
    pipeline = make_pipeline(expectations)
    pipeline.provider.get_tracer("anything").start_span("span", attributes=SPANS[case][1]).end()
    found = pipeline.attributes("span")
    scores = [found.get(f"spanscore.{name}.score") for name in ("json_similarity", "exact_match", "contains")]
    assert scores == [0.75, 0.0, 1.0]
    assert found["spanscore.convention"] == SPANS[case][0]


TOOLS = {
    "gen_ai": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.id": "7", "gen_ai.tool.call.arguments": '{"city": "Paris"}', "gen_ai.tool.call.result": "found"},
    "openinference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "find",
        "input.value": "{'city': 'Paris'}",
        "output.value": _json({"type": "tool", "data": {"content": "found", "type": "tool", "tool_call_id": "7"}}),
        "output.mime_type": "application/json",
    },
    "traceloop": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "find",
        "traceloop.entity.input": _json({"input_str": "{'city': 'Paris'}", "tags": [], "kwargs": {}}),
        "traceloop.entity.output": _json({"output": "found", "kwargs": {}}),
    },
    "vercel": {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "find", "ai.toolCall.args": '{"city": "Paris"}', "ai.toolCall.result": '"found"'},
    "mlflow": {"mlflow.spanType": "TOOL", "mlflow.spanInputs": '{"city": "Paris"}', "mlflow.spanOutputs": '"found"'},
    "langfuse": {"langfuse.observation.type": "tool", "langfuse.observation.input": '{"city": "Paris"}', "langfuse.observation.output": "found"},
    "langsmith": {"langsmith.span.kind": "tool", "gen_ai.tool.name": "find", "gen_ai.prompt": '{"city": "Paris"}', "gen_ai.completion": '{"output": "found"}'},
    "adk": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gcp.vertex.agent.tool_call_args": '{"city": "Paris"}', "gcp.vertex.agent.tool_response": '"found"'},
    "pydantic_ai": {"logfire.msg": "running tool", "gen_ai.tool.name": "find", "gen_ai.operation.name": "execute_tool", "tool_arguments": '{"city": "Paris"}', "tool_response": "found"},
}  # fmt: skip


@pytest.mark.parametrize("convention", TOOLS)
def test_a_tool_call_is_read_with_name_arguments_and_result(convention):
    step = from_attributes("find", TOOLS[convention], None, None)
    assert (step.operation, step.convention) == ("execute_tool", convention)
    assert step.attributes.get("gen_ai.tool.name", step.attributes.get("tool.name", step.name)) == "find"
    assert (step.input, step.output) == ({"city": "Paris"}, "found")


CALLS = {
    "gen_ai": {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": _json(
            [
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "id": "7", "name": "find", "arguments": '{"a": 1}'}],
                }
            ]
        ),
    },
    "openinference": {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "7",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 1}',
    },
    "vercel": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.response.toolCalls": _json([{"toolCallId": "7", "toolName": "find", "input": '{"a": 1}'}]),
    },
    "gen_ai_legacy": {
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "7",
        "gen_ai.completion.0.tool_calls.0.name": "find",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
    },
}


@pytest.mark.parametrize("convention", CALLS)
def test_an_answer_that_is_tool_calls_is_offered_as_a_list_of_them(convention):
    assert _read(CALLS[convention]).output == [{"name": "find", "args": {"a": 1}, "id": "7"}]


@pytest.mark.parametrize(
    "event",
    [
        ("gen_ai.choice", {"index": 0, "message": _json({"role": "assistant", "content": ANSWER})}),
        ("gen_ai.choice", {"content": ANSWER}),
        ("gen_ai.content.completion", {"gen_ai.completion": _json([{"role": "assistant", "content": ANSWER}])}),
        ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": _json(PARTS)}),
    ],
)
def test_message_events_are_read(make_pipeline, event):
    expectations = Expectations()
    expectations.add("span", JsonSimilarity(), expected=json.loads(ANSWER))
    pipeline = make_pipeline(expectations)
    with pipeline.provider.get_tracer("x").start_as_current_span("span", attributes={"gen_ai.system": "x"}) as span:
        span.add_event("gen_ai.user.message", {"content": "Where?"})
        span.add_event(*event)
    found = pipeline.attributes("span")
    assert (found["spanscore.json_similarity.score"], found["spanscore.convention"]) == (1.0, "gen_ai_legacy")
    step = _read({}, events=[("gen_ai.user.message", {"content": "Where?"}), event])
    assert step.input == QUESTION


def test_the_first_convention_that_holds_an_output_counts():
    both = {
        **SPANS["openinference, text"][1],
        "gen_ai.output.messages": _json([{"role": "assistant", "content": "first"}]),
    }
    assert (_read(both).output, _read(both).convention) == ("first", "gen_ai")


def test_an_unprefixed_name_is_read_on_the_spans_of_its_own_instrumentation_only():
    assert _read({"final_result": "x", "return": "y"}).output is MISSING
    assert _read({"return": "y"}, scope="logfire").output == "y"


OFF = {
    "gen_ai": ({"gen_ai.operation.name": "chat"}, "", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
    "openinference": ({"openinference.span.kind": "LLM", "output.value": "__REDACTED__"}, "", "OPENINFERENCE_HIDE_OUTPUTS"),
    "traceloop": ({"traceloop.span.kind": "workflow"}, "", "TRACELOOP_TRACE_CONTENT=true"),
    "pydantic_ai": (
        {"gen_ai.operation.name": "chat", "gen_ai.output.messages": _json([{"role": "assistant", "parts": [{"type": "text"}]}])},
        "pydantic-ai",
        "include_content=True",
    ),
    "vercel": ({"ai.operationId": "ai.generateText"}, "", "recordOutputs: true"),
    "mlflow": ({"mlflow.spanType": "LLM", "mlflow.spanOutputs": '"[REDACTED]"'}, "", "mlflow"),
    "langfuse": ({"langfuse.observation.type": "span"}, "langfuse-sdk", "update(output=...)"),
    "langsmith": ({"langsmith.span.kind": "llm", "gen_ai.completion": "{}"}, "", "LANGSMITH_HIDE_OUTPUTS=false"),
    "adk": ({"gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"}, "", "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"),
    "gen_ai_legacy": ({"gen_ai.completion": "<REDACTED>"}, "", "CAPTURE_MESSAGE_CONTENT=true"),
}  # fmt: skip


def test_every_convention_says_how_content_is_switched_on():
    assert set(OFF) == {one.name for one in CONVENTIONS}


@pytest.mark.parametrize("convention", OFF)
def test_where_content_is_not_captured_one_log_line_names_the_switch(make_pipeline, caplog, convention):
    attributes, scope, switch = OFF[convention]
    expectations = Expectations()
    expectations.add("span", JsonSimilarity(), expected={"a": 1})
    pipeline = make_pipeline(expectations)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            pipeline.provider.get_tracer(scope or "x").start_span("span", attributes=attributes).end()
        found = pipeline.attributes("span")
    assert (found["spanscore.label"], found["spanscore.json_similarity.reason"]) == ("skipped", "no_content")
    assert found["spanscore.convention"] == convention
    assert "spanscore.score" not in found
    (line,) = [record.getMessage() for record in caplog.records]
    assert switch in line


def test_text_that_is_written_as_json_is_read_as_text():
    assert _read({"mlflow.spanOutputs": _json("Paris, of course")}).output == "Paris, of course"


def test_an_empty_output_is_an_output_where_no_switch_writes_it():
    assert _read({"output.value": "{}", "output.mime_type": "application/json"}).output == {}


def test_an_evaluator_without_expected_value_gets_the_text(make_pipeline):
    seen = []

    @evaluator
    def looks(output):
        seen.append(output)
        return 1.0

    expectations = Expectations()
    expectations.add("span", looks)
    pipeline = make_pipeline(expectations)
    for case in ("gen_ai, JSON text", "vercel", "openinference, text", "pydantic_ai"):
        pipeline.provider.get_tracer("x").start_span("span", attributes=SPANS[case][1]).end()
    pipeline.spans()
    assert seen == [ANSWER] * 4


@pytest.mark.parametrize(
    "hostile",
    [
        {"gen_ai.output.messages": "[{"},
        {"gen_ai.output.messages": "[1, null, {}]"},
        {"gen_ai.output.messages": 5},
        {"gen_ai.output.messages": '[{"role": "assistant", "parts": 7}]'},
        {"llm.output_messages.0.message.content": "x", "llm.output_messages.0.message.content.deeper": "y"},
        {"llm.output_messages.zero.message.content": "x"},
        {"traceloop.entity.output": '{"outputs": null, "kwargs": []}', "traceloop.span.kind": 3},
        {"output.value": '{"choices": [], "generations": [[]], "messages": 4}', "output.mime_type": "application/json"},
        {"output.value": "[" * 3_000 + "]" * 3_000, "output.mime_type": "application/json"},
        {"input.value": "{" * 100_000, "output.value": "x"},
        {"mlflow.spanOutputs": '"'},
    ],
)
def test_what_no_instrumentation_should_write_does_not_break_anything(make_pipeline, hostile):
    expectations = Expectations()
    expectations.add("span", Contains(), expected="x")
    pipeline = make_pipeline(expectations)
    pipeline.provider.get_tracer("x").start_span("span", attributes=hostile).end()
    (span,) = pipeline.spans("span")
    assert span.attributes["spanscore.label"] in ("scored", "skipped", "error")
