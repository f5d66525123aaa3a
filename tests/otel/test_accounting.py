"""10,000 calls from threads and tasks through a small queue and an exporter that sleeps, fails and hangs."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
import tracemalloc

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from spanscore import EvaluatorSpanProcessor, ExactMatch, Expectations, evaluate_output, evaluator

CALLS = 10_000
THREADS = 8
TASKS = 200


class _Moody(SpanExporter):
    """Sleeps, fails and hangs in turn; counts what it was given."""

    def __init__(self):
        self.given = 0
        self.labels: dict[str, int] = {}
        self._turns = itertools.cycle(["sleep", "fail", "hang", "fine"])

    def export(self, spans):
        self.given += len(spans)
        for span in spans:
            label = span.attributes["spanscore.label"]
            self.labels[label] = self.labels.get(label, 0) + 1
        turn = next(self._turns)
        if turn == "sleep":
            time.sleep(0.01)
        elif turn == "fail":
            return SpanExportResult.FAILURE
        elif turn == "hang":
            time.sleep(0.2)
        else:
            raise_ = self.given % 2
            if raise_:
                raise RuntimeError("the exporter broke")
        return SpanExportResult.SUCCESS


class _CountingBatches(BatchSpanProcessor):
    """The SDK's own processor with a queue that holds all, so that nothing is dropped unseen."""

    def __init__(self, exporter):
        super().__init__(exporter, max_queue_size=2 * CALLS, max_export_batch_size=64)


def test_memory_returns_to_its_floor(caplog):
    _run()
    caplog.clear()
    gc.collect()
    tracemalloc.start()
    floor = tracemalloc.get_traced_memory()[0]
    _run()
    caplog.clear()
    gc.collect()
    left = tracemalloc.get_traced_memory()[0] - floor
    tracemalloc.stop()
    assert left < 200_000, f"{left} bytes stayed"


def test_every_call_is_exported_and_every_matched_span_has_one_outcome():
    made, outcomes, labels = _run()
    assert made > 9_900
    assert sum(labels.values()) == made
    assert sum(outcomes.values()) == made
    assert set(outcomes) - {"dropped"} == {"pass", "fail", "scored", "error", "skipped"}
    assert labels["skipped"] == outcomes["skipped"] + outcomes.get("dropped", 0)
    for label in ("pass", "fail", "scored", "error"):
        assert labels[label] == outcomes[label]


def _run():
    exporter = _Moody()
    expectations = Expectations()
    expectations.add("registry", ExactMatch(), expected={"n": 1}, threshold=1.0)
    processor = EvaluatorSpanProcessor(_CountingBatches(exporter), expectations, max_queue_size=256)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)

    @evaluator
    async def judge(output):
        await asyncio.sleep(0.001)
        return 1.0

    @evaluator
    def broken(output):
        raise RuntimeError("broken")

    def make(name, **settings):
        return evaluate_output(name=name, tracer_provider=provider, **settings)

    inline = make("inline", expected={"n": 1}, threshold=0.5)(lambda n: {"n": n})
    large = make("large", expected={"n": 1}, inline_max_bytes=0)(lambda n: {"n": n})
    registry = make("registry")(lambda n: {"n": n})
    judged = make("judged", evaluators=[judge])(lambda n: {"n": n})
    failing = make("failing", evaluators=[broken])(lambda n: {"n": n})

    @make("raising", expected=1)
    def raising(n):
        raise ValueError

    @make("coroutine", expected={"n": 1})
    async def coroutine(n):
        await asyncio.sleep(0)
        return {"n": n}

    def foreign(n):
        provider.get_tracer("foreign").start_span("registry", attributes={"output.value": f'{{"n": {n}}}'}).end()

    kinds = [inline, large, registry, judged, failing, foreign, raising]
    unexpected: list[BaseException] = []

    def call(n):
        kind = kinds[n % len(kinds)]
        try:
            kind(n % 3)
        except ValueError:
            if kind is not raising:
                unexpected.append(AssertionError(kind))
        except BaseException as error:
            unexpected.append(error)

    per_worker = CALLS // (THREADS + TASKS)
    threads = [
        threading.Thread(target=lambda start: [call(start + n) for n in range(per_worker)], args=(one * per_worker,))
        for one in range(THREADS)
    ]

    async def task(start):
        for n in range(per_worker // 2):
            call(start + n)
            assert await coroutine(1) == {"n": 1}

    async def tasks():
        await asyncio.gather(*(task((THREADS + one) * per_worker) for one in range(TASKS)))

    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    assert unexpected == []
    assert processor.force_flush(60_000)
    outcomes = dict(processor.outcomes)
    provider.shutdown()
    return THREADS * per_worker + TASKS * (per_worker // 2) * 2, outcomes, exporter.labels
