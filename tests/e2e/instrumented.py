"""Programs that other instrumentations trace, as their documentation shows them: run with one of ``PROGRAMS``.

Spans go to ``spanscore-traces.jsonl`` in the current folder. With ``plain`` as the third argument no
processor of spanscore's is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import spanscore

EXPECTED = {"city": "Paris", "population": 2_100_000}
TOOLS = [{"name": "geocode", "args": {"city": "Paris"}}, {"name": "census", "args": {"city": "Paris", "year": 2020}}]
ANSWERS = ["chat test-model", "ChatCompletion", "openai.chat", "chain", "chain.workflow", "captured"]
AGENTS = ["geographer", "geographer.workflow", "invoke_agent geographer"]
QUESTION = "How many people live in the capital of France?"
MODEL = "test-model"


def geocode(city: str) -> str:
    """Find a city."""
    return f"{city} is in France"


def census(city: str, year: int) -> str:
    """Count the people of a city."""
    return f"{city} had 2000000 people in {year}"


def ask_openai(url: str) -> None:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="none")
    client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": QUESTION}])


def captured(url: str) -> None:
    from openai import OpenAI

    @spanscore.capture(name="captured")
    def ask() -> str | None:
        client = OpenAI(base_url=url, api_key="none")
        done = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": QUESTION}])
        return done.choices[0].message.content

    ask()


def ask_langchain(url: str) -> None:
    from langchain.agents import create_agent
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=MODEL, base_url=url, api_key="none")
    chain = ChatPromptTemplate.from_messages([("user", "{question}")]) | model
    chain.invoke({"question": QUESTION}, config={"run_name": "chain"})
    agent = create_agent(model, tools=[geocode, census], name="geographer")
    agent.invoke({"messages": [("user", QUESTION)]})


def openinference_langchain(url: str) -> None:
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument()
    ask_langchain(url)


def traceloop_langchain(url: str) -> None:
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    LangchainInstrumentor().instrument()
    ask_langchain(url)


def openinference_openai(url: str) -> None:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    ask_openai(url)


def openai_v2(url: str) -> None:
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    ask_openai(url)


def genai_openai(url: str) -> None:
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    ask_openai(url)


def traceloop_openai(url: str) -> None:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    ask_openai(url)


def pydantic_ai(url: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    Agent.instrument_all()
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key="none"))
    Agent(model, name="geographer", tools=[geocode, census]).run_sync(QUESTION)


PROGRAMS: dict[str, Callable[[str], None]] = {
    program.__name__: program
    for program in (
        captured,
        genai_openai,
        openai_v2,
        openinference_langchain,
        openinference_openai,
        pydantic_ai,
        traceloop_langchain,
        traceloop_openai,
    )
}


def expectations() -> spanscore.Expectations:
    found = spanscore.Expectations()
    tools = [one["name"] for one in TOOLS]
    for name in ANSWERS + AGENTS:
        found.add(
            name, spanscore.JsonSimilarity(), spanscore.StructuredMatch(), expected=EXPECTED, threshold=0.5, id=name
        )
        found.add(name, spanscore.Contains(), expected='"city": "Paris"', id=f"{name} text")
    for name in AGENTS:
        found.add(name, spanscore.ToolCallOrder(), expected=tools, id=f"{name} order")
        found.add(name, spanscore.ToolCallArgs(), expected=TOOLS, id=f"{name} arguments")
    return found


def main(program: str, url: str, mode: str = "scored") -> None:
    if mode == "plain":
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from spanscore.otel.exporters import FileSpanExporter

        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(FileSpanExporter("spanscore-traces.jsonl")))
        trace.set_tracer_provider(provider)
    else:
        provider = spanscore.configure(expectations())
    PROGRAMS[program](url)
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
