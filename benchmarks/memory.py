"""RSS over 300,000 calls: what grows, grows without end in a service."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import report
from baseline import ARGUMENTS, EXPECTED, Null, Pipeline, answer, by_hand

import spanscore

ABOUT = """\
Bursts of 500 calls (payload of W1), a flush after each; RSS after a collection. Growth counts from the end of the
warm-up, the first 10,000 calls. One fresh process a row. Target: at most 1 MB, slope 0."""

COLUMNS = ("contender", "calls", "start MB", "end MB", "growth MB", "B per call, second half", "CPU µs per call")
BURST = 500
WARM_UP = 10_000

Workload = tuple[Callable[[], Any], Callable[[], Any]]


def run(*, quick: bool) -> str:
    """Return the table."""
    calls = 30_000 if quick else 300_000
    rows = []
    for name in WORKLOADS:
        command = [sys.executable, __file__, name, str(calls)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(done.stdout.strip().split("\t"))
    return report.section("Memory", ABOUT, report.table(COLUMNS, rows))


def _by_hand() -> Workload:
    pipeline = Pipeline()
    return by_hand(pipeline.provider.get_tracer("app")), pipeline.provider.force_flush


def _scored() -> Workload:
    provider = spanscore.configure(exporter=Null(), set_global=False)
    function = spanscore.evaluate_output(expected=EXPECTED, threshold=0.8, tracer_provider=provider)(answer)
    return lambda: function(*ARGUMENTS), provider.force_flush


def _foreign() -> Workload:
    expectations = spanscore.Expectations()
    expectations.add("answer", spanscore.JsonSimilarity(), expected=EXPECTED, threshold=0.8)
    pipeline = Pipeline(lambda exporting: spanscore.EvaluatorSpanProcessor(exporting, expectations))
    return by_hand(pipeline.provider.get_tracer("app")), pipeline.provider.force_flush


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "by hand, no score": _by_hand,
    "decorated + scored, `configure`": _scored,
    "by hand, scored by the processor": _foreign,
}


def _rss() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _measured(name: str, calls: int) -> list[str]:
    call, flush = WORKLOADS[name]()
    _bursts(call, flush, WARM_UP)
    start, cpu = _rss(), time.process_time()
    _bursts(call, flush, calls // 2)
    middle = _rss()
    _bursts(call, flush, calls - calls // 2)
    end, spent = _rss(), time.process_time() - cpu
    slope = (end - middle) / (calls - calls // 2)
    megabytes = [f"{size / 1e6:.1f}" for size in (start, end, end - start)]
    return [name, f"{calls:,}", *megabytes, f"{slope:.1f}", f"{spent / calls * 1e6:.1f}"]


def _bursts(call: Callable[[], Any], flush: Callable[[], Any], calls: int) -> None:
    for _ in range(calls // BURST):
        for _ in range(BURST):
            call()
        flush()


if __name__ == "__main__":
    print(*_measured(sys.argv[1], int(sys.argv[2])), sep="\t")
