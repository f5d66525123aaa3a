"""An agent that answers well and badly: run as a program, with an OTLP endpoint and a protocol."""

from __future__ import annotations

import sys
import time

import spanscore

ORDERS = {"A-17": {"status": "shipped", "total": 129.9}, "B-20": {"status": "packed", "total": 48.0}}


@spanscore.evaluator(version="3")
def slow(output):
    time.sleep(0.3)
    return 1.0


@spanscore.capture(name="order.lookup", operation="execute_tool")
def look_up(order: str):
    return ORDERS[order]


@spanscore.evaluate_output(expected={"order": "A-17", "total": 129.9}, threshold=0.8, name="agent.answer")
def answer(order: str):
    return {"order": "A-17", "total": look_up(order)["total"]}


@spanscore.evaluate_output(
    expected="It left on Monday.",
    evaluators=[spanscore.ExactMatch(), spanscore.Contains()],
    threshold=1.0,
    name="agent.stream",
)
def tell():
    yield "It left "
    yield "on Monday."


@spanscore.evaluate_output(evaluators=[slow], name="agent.slow")
def quick():
    return "done"


def main(endpoint: str, protocol: str) -> None:
    expectations = spanscore.Expectations()
    expectations.add(
        "order.*", spanscore.JsonSimilarity(), expected=ORDERS["A-17"], where={"gen_ai.tool.name": "order.lookup"}
    )
    provider = spanscore.configure(expectations, service_name="e2e-agent", endpoint=endpoint, protocol=protocol)
    answer("A-17")
    answer("B-20")
    "".join(tell())
    quick()
    try:
        answer("Z-99")
    except KeyError:
        pass
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
