"""W3: LangChain's callbacks under our handler and under those of peers, and the memory of ours over 100,000 runs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import peers
import report

# What is compared runs in one process, so that all see the same LangChain and alternate with the same baseline.
REQUIREMENTS = [
    "--editable",
    str(peers.ROOT),
    "--editable",
    str(peers.ROOT / "integrations" / "langchain"),
    "langchain==1.3.0",
    "openinference-instrumentation-langchain==0.1.80",
    "opentelemetry-instrumentation-langchain==0.62.4",
    "langfuse==5.0.4",
    "langsmith>=0.3",
]

ABOUT = """\
A RunnableSequence of five RunnableLambdas and a fake chat model: seven runs an invoke. Baseline: no callbacks. Each
contender is the handler that the package gives to LangChain, passed as a callback; its spans go to a BatchSpanProcessor
with an exporter that only counts (LangSmith: to a session that answers 202). "Added" is contender - baseline, per run,
in pairs of blocks that alternate inside one process; "call" is what the caller waits, "CPU" all threads until
everything is flushed. Ours scores the answer of every invoke with `JsonSimilarity`, under `spanscore.configure`;
no peer scores anything. Target: at most a third of the lowest peer."""

COLUMNS = (
    "handler",
    "added call µs a run (min-max)",
    "added CPU µs a run (min-max)",
    "invoke / none",
    "delivered a run",
)
MEMORY = ("runs", "start MB", "end MB", "growth MB", "B a run, second half", "runs left in the handler")
TIMEOUT_S = 900


def run(*, quick: bool) -> str:
    """Return the tables, or why there are none."""
    rounds, calls, runs = (3, 100, 14_000) if quick else (15, 300, 100_000)
    try:
        python = peers._environment("langchain", REQUIREMENTS)
        speed = _measured(python, "speed", rounds, calls)
        memory = _measured(python, "memory", runs, 0)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return report.section("W3: LangChain handlers", ABOUT, f"Not measured: {peers._reason(error)}")
    return report.section(
        "W3: LangChain handlers",
        ABOUT,
        f"{rounds} rounds of {calls} invokes; {speed['versions']}; the baseline takes {speed['baseline']} µs a run:",
        report.table(COLUMNS, speed["rows"]),
        "Memory, RSS after a collection, bursts of 500 invokes; growth counts from the end of the first 10,000 runs:",
        report.table(MEMORY, [memory]),
    )


def _measured(python: Path, what: str, *sizes: int) -> dict | list:
    adapters = Path(__file__).with_name("langchain_adapters.py")
    with tempfile.TemporaryDirectory() as home:
        environ = {"PATH": os.environ["PATH"], "HOME": home, **peers.QUIET}
        command = [*peers._cage(), python, adapters, what, *map(str, sizes)]
        printed = peers._checked(command, TIMEOUT_S, cwd=home, env=environ)
    return json.loads(printed.strip().splitlines()[-1])
