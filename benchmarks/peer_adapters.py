"""One adapter a peer. Runs in the peer's own environment: python peer_adapters.py NAME ROUNDS CALLS.

Each sends its spans to an exporter that only counts, or discards them where they would be sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import report
from baseline import ARGUMENTS, Null, Pipeline, answer, answer_later, by_hand, by_hand_later
from interleave import Contender, awaiting, calling, interleave

NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A peer, set up: its decorator, what waits until all is exported, how many spans came out."""

    decorate: Callable[[Any], Any]
    flush: Callable[[], Any]
    delivered: Callable[[], int]


def traceloop(loop: asyncio.AbstractEventLoop) -> Peer:
    """Return ``@task`` of traceloop-sdk, its instrumentations left out."""
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import task
    from traceloop.sdk.tracing.tracing import TracerWrapper

    exporter = Null()
    Traceloop.init(app_name="bench", exporter=exporter, telemetry_enabled=False, instruments=set())
    return Peer(decorate=task(name="answer"), flush=TracerWrapper().flush, delivered=lambda: exporter.count)


def openinference(loop: asyncio.AbstractEventLoop) -> Peer:
    """Return ``tracer.chain`` of openinference-instrumentation."""
    from openinference.instrumentation import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter, provider = Null(), TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Peer(decorate=provider.get_tracer("app").chain, flush=provider.force_flush, delivered=lambda: exporter.count)


def opik(loop: asyncio.AbstractEventLoop) -> Peer:
    """Return ``@track`` of opik; its queue's consumers discard the messages that they would send."""
    import opik
    from opik.api_objects import opik_client

    class Sink:
        count = 0

        def process(self, message: Any) -> None:
            if message.message_type == "CreateSpansBatchMessage":
                self.count += len(message.batch)

    sink, client = Sink(), opik.Opik()
    opik_client.set_global_client(client)
    client.__internal_api__message_processor__._processors[:] = [sink]
    return Peer(decorate=opik.track, flush=client.flush, delivered=lambda: sink.count)


def langfuse(loop: asyncio.AbstractEventLoop) -> Peer:
    """Return ``@observe`` of langfuse."""
    from langfuse import Langfuse, observe
    from opentelemetry.sdk.trace import TracerProvider

    exporter = Null()
    client = Langfuse(
        public_key="pk-bench",
        secret_key="sk-bench",
        base_url=NOWHERE,
        span_exporter=exporter,
        tracer_provider=TracerProvider(),
    )
    return Peer(decorate=observe, flush=client.flush, delivered=lambda: exporter.count)


def _logfire() -> Null:
    import logfire
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = Null()
    logfire.configure(
        send_to_logfire=False,
        console=False,
        metrics=False,
        inspect_arguments=False,
        additional_span_processors=[BatchSpanProcessor(exporter)],
    )
    return exporter


def logfire(loop: asyncio.AbstractEventLoop) -> Peer:
    """Return ``@instrument(record_return=True)`` of logfire."""
    import logfire

    exporter = _logfire()
    return Peer(
        decorate=logfire.instrument(record_return=True),
        flush=logfire.force_flush,
        delivered=lambda: exporter.count,
    )


def mlflow(loop: asyncio.AbstractEventLoop) -> Peer:
    """Return ``@mlflow.trace`` of mlflow-tracing in its OTLP mode, with another exporter."""
    os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{NOWHERE}/v1/traces"
    import mlflow
    import mlflow.tracing.provider as tracing

    exporter = Null()
    tracing.get_otlp_exporter = lambda: exporter
    return Peer(
        decorate=mlflow.trace,
        flush=lambda: tracing.provider.get().force_flush(),
        delivered=lambda: exporter.count,
    )


def pydantic_evals(loop: asyncio.AbstractEventLoop) -> Peer:
    """Return online ``@evaluate`` of pydantic-evals with an evaluator that only tests ``is not None``."""
    import logfire
    from pydantic_evals.evaluators import Evaluator, EvaluatorContext
    from pydantic_evals.online import evaluate, wait_for_evaluations

    @dataclass
    class IsPresent(Evaluator):
        def evaluate(self, ctx: EvaluatorContext) -> bool:
            return ctx.output is not None

    exporter = _logfire()

    def flush() -> None:
        loop.run_until_complete(wait_for_evaluations())
        logfire.force_flush()

    return Peer(
        decorate=evaluate(IsPresent(), extract_args=True, record_return=True),
        flush=flush,
        delivered=lambda: exporter.count,
    )


PEERS = {one.__name__: one for one in (traceloop, openinference, opik, langfuse, logfire, mlflow, pydantic_evals)}


def measured(name: str, rounds: int, calls: int) -> list[list[str]]:
    """Return two lines of the usual table: sync and async, each beside its own baseline."""
    loop = asyncio.new_event_loop()
    peer, pipeline = PEERS[name](loop), Pipeline()
    tracer = pipeline.provider.get_tracer("app")
    sync, later = peer.decorate(answer), peer.decorate(answer_later)
    rows = []
    for kind, base, own in (
        ("sync", calling(by_hand(tracer)), calling(lambda: sync(*ARGUMENTS))),
        ("async", awaiting(by_hand_later(tracer), loop), awaiting(lambda: later(*ARGUMENTS), loop)),
    ):
        baseline = Contender(name="by hand", block=base, flush=pipeline.provider.force_flush)
        contender = Contender(name=kind, block=own, flush=peer.flush, delivered=peer.delivered)
        rows.append(report.ratio_row(interleave(baseline, [contender], rounds=rounds, calls=calls)[0]))
    return rows


if __name__ == "__main__":
    found = measured(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(found), flush=True)
    os._exit(0)  # some peers wait for their servers when they end
