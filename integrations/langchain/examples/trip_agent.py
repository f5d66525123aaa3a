"""A LangGraph agent with two tools, scored while it runs. No model server, no key: the model is a fake one.

Run it with: python integrations/langchain/examples/trip_agent.py
"""

from __future__ import annotations

from typing import TypedDict

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph

import spanscore
from spanscore_langchain import SpanscoreCallbackHandler


class Trip(TypedDict, total=False):
    city: str
    sky: str
    trains: int
    answer: dict[str, object]


@tool
def weather(city: str) -> dict[str, str]:
    """Tell the weather of a city."""
    return {"city": city, "sky": "blue"}


@tool
def trains(city: str) -> dict[str, object]:
    """Count the trains to a city."""
    return {"city": city, "trains": 3}


model = GenericFakeChatModel(messages=iter([AIMessage("Take the train, the sky is blue.")]))


def look(state: Trip) -> Trip:
    return {"sky": weather.invoke({"city": state["city"]})["sky"]}


def ride(state: Trip) -> Trip:
    return {"trains": trains.invoke({"city": state["city"]})["trains"]}


def advise(state: Trip) -> Trip:
    said = model.invoke(f"{state['trains']} trains, {state['sky']} sky: what now?")
    return {"answer": {"city": state["city"], "advice": said.content, "trains": state["trains"]}}


graph = StateGraph(Trip)
for node in (look, ride, advise):
    graph.add_node(node.__name__, node)
graph.add_edge(START, "look")
graph.add_edge(START, "ride")
graph.add_edge(["look", "ride"], "advise")
graph.add_edge("advise", END)
agent = graph.compile(name="trip")

expectations = spanscore.Expectations()
expectations.add("weather", spanscore.JsonSimilarity(), expected={"city": "Paris", "sky": "grey"}, threshold=0.8)
expectations.add("trains", spanscore.ExactMatch(), expected={"city": "Paris", "trains": 3}, threshold=1.0)
expectations.add("trip", spanscore.JsonSimilarity(), threshold=0.6)  # its expected value comes with the call

if __name__ == "__main__":
    provider = spanscore.configure(service_name="trip-agent")
    expected = {"city": "Paris", "sky": "blue", "trains": 3, "answer": {"city": "Paris", "trains": 3}}
    config = {
        "callbacks": [SpanscoreCallbackHandler(expectations)],
        "metadata": {"spanscore.expected": expected},
    }
    print(agent.invoke({"city": "Paris"}, config)["answer"])
    provider.force_flush()
