"""The handlers of W3, in one process: python langchain_adapters.py speed ROUNDS CALLS | memory RUNS 0."""

from __future__ import annotations

import contextvars
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import requests
from baseline import Null, Pipeline
from interleave import Contender, calling, interleave, spread
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from memory import _rss

import spanscore
from spanscore_langchain import SpanscoreCallbackHandler

NOWHERE = "http://127.0.0.1:9"
RUNS = 7
BURST = 500
QUESTION = {"question": "Where is my order?", "customer_id": 48213}
ANSWER = '{"city": "Paris", "total": 50, "items": ["lamp", "table"]}'
EXPECTED = {"city": "Paris", "total": 45, "items": ["lamp", "chair"]}

Handler = tuple[BaseCallbackHandler, Callable[[], Any], Callable[[], float]]


def chain() -> Any:
    """Return five steps and a fake chat model."""
    steps = RunnableLambda(dict) | RunnableLambda(dict) | RunnableLambda(dict) | RunnableLambda(dict)
    return steps | RunnableLambda(lambda found: found["question"]) | FakeListChatModel(responses=[ANSWER])


def nothing() -> Handler:
    """Return a handler that does nothing."""

    class Nothing(BaseCallbackHandler):
        run_inline = True

    return Nothing(), bool, lambda: 0


def bare() -> Handler:
    """Return the floor for whoever makes SDK spans: one a run, with four short attributes."""
    pipeline = Pipeline()
    tracer = pipeline.provider.get_tracer("app")

    class Bare(BaseCallbackHandler):
        run_inline = True

        def __init__(self) -> None:
            self.spans: dict[Any, Any] = {}

        def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **kwargs: Any) -> None:
            self.spans[run_id] = tracer.start_span("run")

        on_chat_model_start = on_chain_start

        def on_chain_end(self, outputs: Any, *, run_id: Any, **kwargs: Any) -> None:
            span = self.spans.pop(run_id)
            span.set_attributes({"a": "1", "b": "2", "c": "3", "d": "4"})
            span.end()

        on_llm_end = on_chain_end

    return Bare(), pipeline.provider.force_flush, pipeline.delivered


def ours() -> Handler:
    """Return ours, with scoring on."""
    exporter, expectations = Null(), spanscore.Expectations()
    expectations.add("RunnableSequence", spanscore.JsonSimilarity(), expected=EXPECTED, threshold=0.5)
    provider = spanscore.configure(exporter=exporter, set_global=False)
    handler = SpanscoreCallbackHandler(expectations, tracer_provider=provider)
    chain().invoke(QUESTION, {"callbacks": [handler]})
    provider.force_flush()
    assert exporter.last is not None
    assert exporter.last.attributes["spanscore.label"] == "pass"
    return handler, provider.force_flush, lambda: exporter.count


def _wrapped(instrumentor: Any, name: str) -> Handler:
    """Return the handler that an instrumentor adds to every run, with the instrumentor off again."""
    pipeline = Pipeline()
    before = BaseCallbackManager.__init__
    instrumentor.instrument(tracer_provider=pipeline.provider)
    handler = getattr(BaseCallbackManager.__init__._self_wrapper, name)
    instrumentor.uninstrument()
    BaseCallbackManager.__init__ = before
    return handler, pipeline.provider.force_flush, pipeline.delivered


def openinference() -> Handler:
    """Return OpenInference's."""
    from openinference.instrumentation.langchain import LangChainInstrumentor

    return _wrapped(LangChainInstrumentor(), "_tracer")


def traceloop() -> Handler:
    """Return Traceloop's."""
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    return _wrapped(LangchainInstrumentor(), "_callback_handler")


def langfuse() -> Handler:
    """Return Langfuse's."""
    from langfuse import Langfuse
    from langfuse.langchain import CallbackHandler
    from opentelemetry.sdk.trace import TracerProvider

    exporter = Null()
    client = Langfuse(
        public_key="pk-bench",
        secret_key="sk-bench",
        base_url=NOWHERE,
        span_exporter=exporter,
        tracer_provider=TracerProvider(),
    )
    return CallbackHandler(), client.flush, lambda: exporter.count


def langsmith() -> Handler:
    """Return LangSmith's, with a session that takes everything."""
    from langchain_core.tracers import LangChainTracer
    from langsmith import Client

    class Session(requests.Session):
        def request(self, *args: Any, **kwargs: Any) -> requests.Response:
            answer = requests.Response()
            answer.status_code, answer._content = 202, b"{}"
            return answer

    client = Client(api_url=NOWHERE, api_key="bench", session=Session(), info={})
    return LangChainTracer(client=client), client.flush, lambda: 0


HANDLERS = {
    "handler that does nothing": nothing,
    "an SDK span with four attributes a run, and nothing else": bare,
    "spanscore-langchain, scoring": ours,
    "opentelemetry-instrumentation-langchain (Traceloop)": traceloop,
    "openinference-instrumentation-langchain": openinference,
    "langfuse CallbackHandler": langfuse,
    "langsmith LangChainTracer": langsmith,
}


def speed(rounds: int, calls: int) -> dict[str, Any]:
    """Return a line a handler."""
    runnable = chain()
    baseline = Contender(name="none", block=calling(lambda: runnable.invoke(QUESTION)))
    contenders = []
    for name, make in HANDLERS.items():
        handler, flush, count = make()
        config = {"callbacks": [handler]}
        block = calling(lambda config=config: runnable.invoke(QUESTION, config))
        apart = contextvars.copy_context()  # one of them leaves spans in the context
        contenders.append(
            Contender(
                name=name,
                block=lambda calls, pause_s, block=block, apart=apart: apart.run(block, calls, pause_s),
                flush=flush,
                delivered=count,
            )
        )
    results = interleave(baseline, contenders, rounds=rounds, calls=calls)
    rows = [
        [
            result.name,
            *(str(_a_run(result.pairs, kind, calls)) for kind in ("wall", "cpu")),
            str(result.ratio("wall")),
            f"{result.delivered / RUNS:.2f}" if result.delivered else "-",
        ]
        for result in results
    ]
    packages = ("langchain-core", "openinference-instrumentation-langchain", "opentelemetry-instrumentation-langchain")
    return {
        "rows": rows,
        "baseline": f"{spread([base.wall for base, _ in results[0].pairs]).median / calls / RUNS * 1e6:.0f}",
        "versions": ", ".join(f"{name} {version(name)}" for name in (*packages, "langfuse", "langsmith")),
    }


def _a_run(pairs: Any, kind: str, calls: int) -> Any:
    return spread([(getattr(own, kind) - getattr(base, kind)) / calls / RUNS * 1e6 for base, own in pairs])


def memory(runs: int, _: int) -> list[str]:
    """Return RSS before and after, and what the handler still holds."""
    handler, flush, _delivered = ours()
    runnable, config = chain(), {"callbacks": [handler]}

    def burst(count: int) -> None:
        for number in range(count // RUNS):
            runnable.invoke(QUESTION, config)
            if number % BURST == 0:
                flush()
        flush()

    burst(10_000)
    start = _rss()
    burst(runs // 2)
    middle = _rss()
    burst(runs - runs // 2)
    end = _rss()
    slope = (end - middle) / (runs - runs // 2)
    return [
        f"{runs:,}",
        *(f"{size / 1e6:.1f}" for size in (start, end, end - start)),
        f"{slope:.1f}",
        str(handler.open_runs()),
    ]


if __name__ == "__main__":
    found = {"speed": speed, "memory": memory}[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # some peers wait for their servers when they end
