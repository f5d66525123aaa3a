"""A support agent with a tool, scored. No network, no key: `make demo` runs it.

Its answers are right, nearly right, wrong in a number, short of a field, an exception and a
stream, so that each kind of score can be seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import spanscore
from spanscore.otel.exporters import ScoreTableExporter
from spanscore.otel.setup import TRACES_FILE

ORDERS = {
    "A-17": {"status": "shipped", "total": 129.9, "carrier": "DHL", "items": ["lamp", "bulb"]},
    "B-20": {"status": "processing", "total": 48.0, "carrier": None, "items": ["rug"]},
}

EXPECTED: dict[str, Any] = {
    "Where is A-17?": {"order": "A-17", "status": "shipped", "carrier": "DHL", "reply": "It is on its way with DHL."},
    "Where is B-20?": {"order": "B-20", "status": "processing", "reply": "We are packing it right now."},
    "What did A-17 cost?": {"order": "A-17", "total": 129.9, "currency": "EUR"},
    "What is in A-17?": {"order": "A-17", "items": ["lamp", "bulb"], "count": 2},
    "Where is Z-99?": {"order": "Z-99", "status": "unknown"},
}


@spanscore.capture(name="order.lookup", operation="execute_tool")
def look_up(order: str) -> dict[str, Any]:
    return ORDERS[order]


@spanscore.evaluate_output(expected=lambda question: EXPECTED[question], threshold=0.95, name="support.answer")
def answer(question: str) -> dict[str, Any]:
    """Answer a question about an order, with the mistakes that a model makes."""
    number = next(word.strip("?") for word in question.split() if "-" in word)
    order = look_up(number)
    if question == "Where is A-17?":
        return {"order": number, "status": "shipped", "carrier": "DHL", "reply": "It is on its way with DHL."}
    if question == "Where is B-20?":
        return {"order": number, "status": "processing", "reply": "We are packing it just now."}
    if question == "What did A-17 cost?":
        return {"order": number, "total": order["total"] - 30, "currency": "EUR"}
    return {"order": number, "items": order["items"]}


@spanscore.evaluate_output(
    expected="Your lamp left our warehouse on Monday and arrives on Thursday.",
    evaluators=[spanscore.JsonSimilarity(), spanscore.Contains()],
    threshold=0.9,
    name="support.stream",
)
def tell(customer: str) -> Iterator[str]:
    yield f"Your {ORDERS[customer]['items'][0]} left "
    yield "our warehouse on Monday "
    yield "and arrives on Tuesday."


def main() -> None:
    provider = spanscore.configure(service_name="support-agent")
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if endpoint:  # without one, configure() prints the table itself
        provider.add_span_processor(SimpleSpanProcessor(ScoreTableExporter(sys.stderr)))

    for question in EXPECTED:
        try:
            answer(question)
        except KeyError as error:
            print(f"{question} -> the agent raised KeyError({error}), as it would without spanscore")
        else:
            print(f"{question} -> answered")
    print("".join(tell("A-17")))
    print(flush=True)

    provider.shutdown()
    print()
    if endpoint:
        print(f"The spans went to {endpoint}; in Jaeger search the service support-agent for spanscore.label=fail.")
    else:
        print(f"The spans went to {TRACES_FILE} (OTLP/JSON). To see them in Jaeger:")
        print("  docker run --rm -d -p 16686:16686 -p 4317:4317 jaegertracing/jaeger:2.20.0")
        print("  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 make demo")
        print("  open http://localhost:16686 and search the service support-agent for spanscore.label=fail")


if __name__ == "__main__":
    main()
