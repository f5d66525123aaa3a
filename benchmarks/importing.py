"""Import time of spanscore, beside what every program with OTLP tracing imports anyway."""

from __future__ import annotations

import subprocess
import sys

import report
from interleave import spread

ABOUT = """\
Baseline: `opentelemetry.sdk.trace` and `opentelemetry.exporter.otlp.proto.grpc.trace_exporter`. Fresh processes that
alternate, compiled files present, measured inside the process around the import. Bar: 1.3."""

MODULES = {
    "baseline, against itself": "opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
    "`import spanscore`": "spanscore",
    "`import spanscore` + baseline": (
        "opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.grpc.trace_exporter, spanscore"
    ),
}
BASELINE = MODULES["baseline, against itself"]


def run(*, quick: bool) -> str:
    """Return the table."""
    processes = 3 if quick else 11
    _seconds(BASELINE + ", spanscore")
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in MODULES}
    for number in range(processes):
        for name, modules in MODULES.items():
            first, second = (
                _seconds(module) for module in ((BASELINE, modules) if number % 2 else (modules, BASELINE))
            )
            pairs[name].append((first, second) if number % 2 else (second, first))
    rows = [
        [name, f"{spread([own for _, own in found]).median * 1e3:.0f}", spread([own / base for base, own in found])]
        for name, found in pairs.items()
    ]
    return report.section(
        "Import time", ABOUT, f"{processes} processes each:", report.table(("what", "ms", "/ baseline (min-max)"), rows)
    )


def _seconds(modules: str) -> float:
    code = f"import time; start = time.perf_counter()\nimport {modules}\nprint(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
