"""Results as Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from interleave import Result

VERSIONS = ("spanscore", "opentelemetry-sdk", "orjson", "rapidfuzz", "pydantic")
COLUMNS = ("contender", "call µs", "call / baseline (min-max)", "CPU µs", "CPU / baseline (min-max)", "delivered")


def environment() -> str:
    """Return one line: interpreter, processors, versions."""
    found = ", ".join(f"{name} {version_of(name)}" for name in VERSIONS)
    return f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} CPUs, {found}"


def version_of(distribution: str) -> str:
    """Return the version that is installed, or a dash."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "-"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def ratios(results: Iterable[Result]) -> str:
    """Return the usual table: caller's wall time and total CPU, each beside the baseline."""
    return table(COLUMNS, (ratio_row(result) for result in results))


def ratio_row(result: Result) -> list[str]:
    """Return one line of the usual table."""
    return [
        result.name,
        f"{result.us('wall'):.1f}",
        str(result.ratio("wall")),
        f"{result.us('cpu'):.1f}",
        str(result.ratio("cpu")),
        delivered(result.delivered),
    ]


def delivered(share: float | None) -> str:
    """Return delivered spans / calls; a loss stands out, as no peer makes a part of a span."""
    if share is None:
        return "-"
    return f"{share:.2f}" if share >= 1.0 and share.is_integer() else f"**{share:.4f}**"


def section(title: str, about: str, *parts: str) -> str:
    """Return a heading, what was measured, and tables."""
    return "\n\n".join((f"## {title}", about, *parts)) + "\n"
