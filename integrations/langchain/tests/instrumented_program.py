"""A chain under another instrumentor; prints its spans. Run with INSTRUMENTOR and MODE."""

from __future__ import annotations

import json
import sys

from langchain_core.runnables import RunnableLambda

from spanscore import Expectations, JsonSimilarity
from spanscore.testing import MemoryPipeline
from spanscore_langchain import SpanscoreCallbackHandler, enable

ANSWER = {"city": "Paris", "country": "France"}


def instrument(name, provider):
    if name == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor

        LangChainInstrumentor().instrument(tracer_provider=provider)
    elif name == "traceloop":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        LangchainInstrumentor().instrument(tracer_provider=provider)


def main(instrumentor, mode):
    where = {"langchain.metadata.tenant": "acme", "tag.tags": "blue", "langchain.run.name": "capital"}
    registry, own = Expectations(), Expectations()
    registry.add("*", JsonSimilarity(), where=where, threshold=0.5)
    own.add("capital", JsonSimilarity(), threshold=0.5)
    pipeline = MemoryPipeline(registry)
    instrument(instrumentor, pipeline.provider)
    config = {
        "tags": ["blue"],
        "metadata": {"tenant": "acme", "spanscore.expected": {"city": "Pariss", "country": "France"}},
    }
    handlers = {
        "automatic": lambda: SpanscoreCallbackHandler(tracer_provider=pipeline.provider),
        "score_only": lambda: SpanscoreCallbackHandler(tracer_provider=pipeline.provider, score_only=True),
        "own": lambda: SpanscoreCallbackHandler(own, tracer_provider=pipeline.provider),
        "program": lambda: enable(SpanscoreCallbackHandler(tracer_provider=pipeline.provider)),
    }
    handler = handlers[mode]()
    if mode != "program":
        config["callbacks"] = [handler]
    RunnableLambda(lambda question: ANSWER).with_config(run_name="capital").invoke("France?", config)
    assert handler.open_runs() == 0
    found = [
        {
            "name": span.name,
            "scope": span.instrumentation_scope.name,
            **{key: str(value) for key, value in span.attributes.items()},
        }
        for span in pipeline.spans()
    ]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
