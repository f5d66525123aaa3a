"""A LangGraph agent: two tools in parallel branches, an interrupt and its resume, streamed, many at once."""

from __future__ import annotations

import asyncio
import json
import operator
from typing import Annotated, TypedDict

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from opentelemetry.trace import StatusCode

from spanscore import ExactMatch, Expectations, JsonSimilarity

RUNS = 32


@tool
async def weather(city: str) -> dict:
    """Tell the weather of a city."""
    await asyncio.sleep(0)
    return {"city": city, "sky": "blue"}


@tool
def trains(city: str) -> dict:
    """List the trains to a city."""
    return {"city": city, "trains": 3}


class Trip(TypedDict, total=False):
    city: str
    found: Annotated[list, operator.add]
    agreed: bool
    answer: str


def planner():
    model = GenericFakeChatModel(messages=(AIMessage("fine") for _ in iter(int, 1)))

    async def plan(state: Trip):
        await model.ainvoke(f"plan a trip to {state['city']}")
        return {}

    async def look(state: Trip):
        return {"found": [await weather.ainvoke({"city": state["city"]})]}

    async def ride(state: Trip):
        return {"found": [await trains.ainvoke({"city": state["city"]})]}

    def agree(state: Trip):
        return {"agreed": interrupt({"book": state["city"]})}

    async def reply(state: Trip):
        return {"answer": f"{state['city']} is booked"}

    builder = StateGraph(Trip)
    for node in (plan, look, ride, agree, reply):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "look")
    builder.add_edge("plan", "ride")
    builder.add_edge(["look", "ride"], "agree")
    builder.add_edge("agree", "reply")
    builder.add_edge("reply", END)
    return builder.compile(checkpointer=MemorySaver(), name="planner")


TREE = {
    "plan": "invoke_workflow planner",
    "chat": "plan",
    "look": "invoke_workflow planner",
    "ride": "invoke_workflow planner",
    "execute_tool weather": "look",
    "execute_tool trains": "ride",
    "agree": "invoke_workflow planner",
    "invoke_workflow planner": None,
}
RESUMED = {"agree": "invoke_workflow planner", "reply": "invoke_workflow planner", "invoke_workflow planner": None}


@pytest.mark.anyio
async def test_32_streamed_runs_at_once_give_the_right_trees_and_scores_and_leave_nothing(make_traced):
    expectations = Expectations()
    expectations.add("weather", JsonSimilarity(), threshold=1.0, expected={"city": "city 7", "sky": "blue"})
    expectations.add("planner", JsonSimilarity(), threshold=1.0)
    expectations.add("reply", ExactMatch(), threshold=1.0, expected={"answer": "city 7 is booked"})
    traced = make_traced(expectations)
    app = planner()

    def expected(n):
        found = [{"city": f"city {n}", "sky": "blue"}, {"city": f"city {n}", "trains": 3}]
        return {"city": f"city {n}", "found": found, "agreed": True, "answer": f"city {n} is booked"}

    async def run(n):
        config = {
            **traced.config,
            "configurable": {"thread_id": f"thread {n}"},
            "metadata": {"spanscore.expected": expected(n)},
        }
        first = [chunk async for chunk in app.astream({"city": f"city {n}", "found": []}, config)]
        second = [
            chunk async for chunk in app.astream(Command(resume=True), config, stream_mode=["updates", "messages"])
        ]
        assert first and second
        assert traced.handler.open_runs() >= 0

    await asyncio.gather(*(run(n) for n in range(RUNS)))
    assert traced.handler.open_runs() == 0
    internal = {"_write", "__start__"}  # steps of older LangGraphs' own
    spans = [span for span in traced.spans() if span.name not in internal]
    by_trace: dict[int, dict[str, object]] = {}
    for span in spans:
        named = by_trace.setdefault(span.context.trace_id, {})
        assert span.name not in named, "one span a run"
        named[span.name] = span
    assert len(by_trace) == 2 * RUNS
    interrupted = {}
    for named in by_trace.values():
        names = {span.context.span_id: span.name for span in named.values()}
        tree = {name: span.parent and names[span.parent.span_id] for name, span in named.items()}
        root = named["invoke_workflow planner"]
        assert {span.status.status_code for span in named.values()} == {StatusCode.UNSET}
        assert root.attributes["gen_ai.conversation.id"].startswith("thread ")
        thread = root.attributes["gen_ai.conversation.id"].removeprefix("thread ")
        if tree == TREE:
            interrupted[thread] = root
            assert root.attributes["spanscore.json_similarity.reason"] == "interrupted"
            assert named["agree"].attributes["output.value"] == json.dumps(
                {"interrupts": [{"book": f"city {thread}"}]}, separators=(",", ":")
            )
            assert named["execute_tool weather"].attributes["spanscore.label"] == ("pass" if thread == "7" else "fail")
    for named in by_trace.values():
        root = named["invoke_workflow planner"]
        thread = root.attributes["gen_ai.conversation.id"].removeprefix("thread ")
        if root is interrupted[thread]:
            continue
        names = {span.context.span_id: span.name for span in named.values()}
        assert {name: span.parent and names[span.parent.span_id] for name, span in named.items()} == RESUMED
        assert [link.context.span_id for link in root.links] == [interrupted[thread].context.span_id]
        assert root.attributes["spanscore.label"] == "pass", root.attributes
        assert named["reply"].attributes["spanscore.label"] == ("pass" if thread == "7" else "fail")
    assert len(interrupted) == RUNS


def test_a_span_opened_in_a_node_is_the_nodes_child(traced):
    tracer = traced.provider.get_tracer("app")

    def node(state: Trip):
        with tracer.start_as_current_span("work"):
            return {"city": "Paris"}

    builder = StateGraph(Trip)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.compile().invoke({"city": "?"}, traced.config)
    assert traced.parents()["work"] == "node"
