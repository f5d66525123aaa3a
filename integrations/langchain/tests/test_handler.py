"""Every kind of run, every way to call it, and what expectations find."""

from __future__ import annotations

import json

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from opentelemetry.trace import SpanKind, StatusCode

from spanscore import (
    ConfigurationError,
    EvaluatorSpanProcessor,
    ExactMatch,
    Expectations,
    JsonSimilarity,
    evaluate_output,
    expecting,
)
from spanscore_langchain import SpanscoreCallbackHandler


def expecting_of(name, expected="Paris", evaluator=None, **more):
    expectations = Expectations()
    expectations.add(name, evaluator or ExactMatch(), expected=expected, threshold=1.0, **more)
    return expectations


def chain(answer="Paris"):
    prompt = ChatPromptTemplate.from_messages([("system", "Answer."), ("user", "{question}")])
    model = GenericFakeChatModel(messages=iter([AIMessage(answer)] * 100))
    return (prompt | model).with_config(run_name="capital")


QUESTION = {"question": "Capital of France?"}


async def _stream_events(runnable, config):
    return [event async for event in runnable.astream_events(QUESTION, config, version="v2")]


WAYS = {
    "invoke": lambda runnable, config: runnable.invoke(QUESTION, config),
    "stream": lambda runnable, config: list(runnable.stream(QUESTION, config)),
    "batch": lambda runnable, config: runnable.batch([QUESTION], config),
}
ASYNC_WAYS = {
    "ainvoke": lambda runnable, config: runnable.ainvoke(QUESTION, config),
    "abatch": lambda runnable, config: runnable.abatch([QUESTION], config),
    "astream_events": _stream_events,
}


def check(traced):
    assert traced.parents() == {
        "ChatPromptTemplate": "invoke_workflow capital",
        "chat": "invoke_workflow capital",
        "invoke_workflow capital": None,
    }
    root = traced.attributes("invoke_workflow capital")
    assert (root["output.value"], root["spanscore.label"]) == ("Paris", "pass")
    assert json.loads(root["input.value"]) == QUESTION
    assert traced.span("chat").kind is SpanKind.CLIENT
    assert json.loads(traced.attributes("chat")["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Answer."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Capital of France?"}]},
    ]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_call_gives_one_tree_and_one_score(make_traced, way):
    traced = make_traced(expecting_of("capital"))
    WAYS[way](chain(), traced.config)
    check(traced)


@pytest.mark.anyio
@pytest.mark.parametrize("way", ASYNC_WAYS)
async def test_every_async_way_to_call_gives_one_tree_and_one_score(make_traced, way):
    traced = make_traced(expecting_of("capital"))
    await ASYNC_WAYS[way](chain(), traced.config)
    check(traced)


@pytest.mark.anyio
async def test_an_async_stream_gives_one_tree_and_one_score(make_traced):
    traced = make_traced(expecting_of("capital"))
    assert [chunk async for chunk in chain().astream(QUESTION, traced.config)]
    check(traced)


def test_a_score_is_the_one_that_the_decorator_makes(make_traced):
    expected, answer = {"total": 50, "city": "Paris"}, {"total": 40, "city": "Pariss"}
    traced = make_traced(expecting_of("capital", expected, JsonSimilarity()))
    chain(json.dumps(answer)).invoke(QUESTION, traced.config)

    @evaluate_output(expected=expected, threshold=1.0, name="capital", tracer_provider=traced.provider)
    def decorated():
        return answer

    decorated()
    ours, theirs = traced.attributes("invoke_workflow capital"), traced.attributes("capital")
    scores = {key: value for key, value in theirs.items() if key.startswith("spanscore.")}
    assert scores["spanscore.label"] == "fail" and scores["spanscore.json_similarity.explanation"]
    assert {key: value for key, value in ours.items() if key.startswith("spanscore.")} == scores


def test_a_tool_has_its_arguments_its_result_and_the_id_of_its_call(make_traced):
    traced = make_traced(expecting_of("execute_tool weather", {"sky": "blue"}))

    @tool
    def weather(city: str) -> dict:
        """Tell the weather."""
        return {"sky": "blue"}

    weather.invoke({"type": "tool_call", "name": "weather", "args": {"city": "Paris"}, "id": "c1"}, traced.config)
    found = traced.attributes("execute_tool weather")
    assert found["gen_ai.tool.name"] == "weather" and found["gen_ai.tool.description"] == "Tell the weather."
    assert found["gen_ai.tool.call.arguments"] == '{"city":"Paris"}'
    assert json.loads(found["gen_ai.tool.call.result"]) == {"sky": "blue"}
    assert found["spanscore.label"] == "pass"


def test_a_tool_that_raises_is_an_error_and_skipped(make_traced):
    traced = make_traced(expecting_of("fail"))

    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError("no")

    with pytest.raises(ValueError):
        fail.invoke({}, traced.config)
    span = traced.span("execute_tool fail")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "ValueError"
    assert span.attributes["spanscore.exact_match.reason"] == "exception"


def test_a_retriever_has_its_query_and_its_documents(traced):
    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document("Paris is a city", metadata={"source": "a"}, id="1")]

    Fixed().invoke("capital", traced.config)
    found = traced.attributes("retrieval Fixed")
    assert found["gen_ai.retrieval.query.text"] == found["input.value"] == "capital"
    assert json.loads(found["output.value"]) == [{"id": "1", "content": "Paris is a city", "metadata": {"source": "a"}}]


def test_a_text_model_is_captured(make_traced):
    traced = make_traced(expecting_of("text_completion"))
    FakeListLLM(responses=["Paris"]).invoke("capital?", traced.config)
    found = traced.attributes("text_completion")
    assert (found["input.value"], found["output.value"], found["spanscore.label"]) == ("capital?", "Paris", "pass")


def test_an_agent_is_named_by_its_metadata_and_once(make_traced):
    traced = make_traced(expecting_of("invoke_agent guide", where={"gen_ai.agent.name": "guide"}))
    chain().invoke(QUESTION, {**traced.config, "metadata": {"lc_agent_name": "guide"}})
    assert traced.attributes("invoke_agent guide")["spanscore.label"] == "pass"
    assert len(traced.spans("invoke_agent guide")) == 1


@pytest.mark.parametrize(
    "where",
    [
        {"tag.tags": "production"},
        {"langchain.metadata.tenant": "acme"},
        {"langchain.run.name": "capital"},
        {"gen_ai.workflow.name": "capital"},
    ],
)
def test_expectations_find_runs_by_tag_metadata_and_name(make_traced, where):
    traced = make_traced(expecting_of("invoke_*", where=where))
    chain().invoke(QUESTION, {**traced.config, "tags": ["production", "blue"], "metadata": {"tenant": "acme"}})
    assert traced.attributes("invoke_workflow capital")["spanscore.label"] == "pass"
    other = make_traced(expecting_of("invoke_*", where=dict.fromkeys(where, "other")))
    chain().invoke(QUESTION, {**other.config, "tags": ["production"], "metadata": {"tenant": "acme"}})
    assert "spanscore.label" not in other.attributes("invoke_workflow capital")


def test_one_glob_that_fits_span_name_and_run_name_scores_once(make_traced):
    traced = make_traced(expecting_of("*capital"))
    chain().invoke(QUESTION, traced.config)
    assert traced.attributes("invoke_workflow capital")["spanscore.expectation"] == "*capital"


def test_the_metadata_give_the_expected_value_of_one_call_and_of_none_below(make_traced):
    expectations = Expectations()
    expectations.add("*", ExactMatch(), threshold=1.0)
    traced = make_traced(expectations)
    chain().invoke(QUESTION, {**traced.config, "metadata": {"spanscore.expected": "Paris"}})
    root = traced.attributes("invoke_workflow capital")
    assert (root["spanscore.label"], root["spanscore.expected"]) == ("pass", "Paris")
    assert not any("spanscore.expected" in key for key in root if key.startswith("langchain."))
    assert traced.attributes("chat")["spanscore.exact_match.reason"] == "no_expected"


def test_an_expected_value_without_an_expectation_is_compared_as_json(traced):
    chain('{"city": "Paris"}').invoke(
        QUESTION, {**traced.config, "metadata": {"spanscore.expected": {"city": "Paris"}}}
    )
    found = traced.attributes("invoke_workflow capital")
    assert (found["spanscore.json_similarity.score"], found["spanscore.label"]) == (1.0, "scored")


def test_an_expected_value_that_is_no_json_is_an_error_of_its_score_alone(traced, caplog):
    chain().invoke(QUESTION, {**traced.config, "metadata": {"spanscore.expected": object()}})
    assert traced.attributes("invoke_workflow capital")["spanscore.label"] == "error"
    assert "ConfigurationError" in caplog.text
    caplog.clear()


def test_expecting_gives_the_expected_value_too(traced):
    with expecting("Paris"):
        chain().invoke(QUESTION, traced.config)
    assert traced.attributes("invoke_workflow capital")["spanscore.score"] == 1.0
    assert "spanscore.label" not in traced.attributes("chat")


def test_without_expectations_the_processor_decides(make_traced):
    traced = make_traced(registry=expecting_of("capital"))
    chain().invoke(QUESTION, traced.config)
    assert traced.attributes("invoke_workflow capital")["spanscore.label"] == "pass"
    assert isinstance(traced.pipeline.processor, EvaluatorSpanProcessor)
    assert traced.pipeline.processor.outcomes == {"pass": 1}


def test_content_can_stay_at_home(make_traced):
    traced = make_traced(expecting_of("capital"), capture_content=False)
    chain().invoke(QUESTION, traced.config)
    assert traced.attributes("invoke_workflow capital")["spanscore.label"] == "pass"
    for span in traced.spans():
        assert "Paris" not in str(dict(span.attributes)) and "France" not in str(dict(span.attributes))


def test_what_an_evaluator_calls_is_not_captured(make_traced):
    from spanscore import evaluator

    judged = FakeListChatModel(responses=["1"])
    holder = []

    @evaluator
    def judge(output, expected):
        return float(judged.invoke("score it", {"callbacks": [holder[0]]}).content)

    traced = make_traced(expecting_of("capital", evaluator=judge))
    holder.append(traced.handler)
    chain().invoke(QUESTION, traced.config)
    assert traced.attributes("invoke_workflow capital")["spanscore.judge.score"] == 1.0
    assert len(traced.spans()) == 3


def test_a_state_with_a_structured_response_is_scored_by_it(make_traced):
    traced = make_traced(expecting_of("agent", {"city": "Paris"}))
    state = {"messages": [AIMessage("it is Paris")], "structured_response": {"city": "Paris"}}
    RunnableLambda(lambda _: state).with_config(run_name="agent").invoke("x", traced.config)
    assert traced.attributes("invoke_workflow agent")["spanscore.label"] == "pass"


@pytest.mark.parametrize(
    "settings",
    [
        {"expectations": "file.json"},
        {"inline_max_bytes": -1},
        {"max_age_s": 0},
        {"max_roots": 0},
        {"expectations": Expectations(), "score_only": True},
    ],
)
def test_a_wrong_setting_is_refused(settings):
    with pytest.raises(ConfigurationError):
        SpanscoreCallbackHandler(**settings)
