"""The peers of W1, each in an environment of its own below .bench/, cut off from the network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import report

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".venv" / "bin" / "uv"
HOME = ROOT / ".bench"
SDK = "opentelemetry-sdk==1.45.1"

# name: what is measured, what is installed
PEERS = {
    "traceloop": ("traceloop-sdk `@task`", ["traceloop-sdk==0.62.4", "httpx==0.28.1"]),  # it imports httpx undeclared
    "openinference": ("openinference `tracer.chain`", ["openinference-instrumentation==0.1.72"]),
    "opik": ("opik `@track`", ["opik==2.2.122"]),
    "langfuse": ("langfuse `@observe`", ["langfuse==5.0.4"]),
    "logfire": ("logfire `@instrument(record_return=True)`", ["logfire==5.2.0"]),
    "mlflow": ("mlflow-tracing `@mlflow.trace`, OTLP mode", ["mlflow-tracing==3.17.2"]),
    "pydantic_evals": (
        "pydantic-evals online `@evaluate`, a trivial evaluator",
        ["pydantic-evals==2.62.0", "logfire==5.2.0"],
    ),
}

# Nothing can leave the network namespace; these keep the peers from trying.
QUIET = {
    "DO_NOT_TRACK": "1",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
    "OPIK_ANALYTICS_ENABLE": "false",
    "OPIK_CONSOLE_LOGGING_LEVEL": "CRITICAL",
    "OPIK_SENTRY_ENABLE": "false",
    "OPIK_URL_OVERRIDE": "http://127.0.0.1:9/api/",
    "TRACELOOP_METRICS_ENABLED": "false",
    "TRACELOOP_TELEMETRY": "false",
}

ABOUT = """\
The same function and baseline as in W1, saturated; each peer in its own environment and process, its spans to an
exporter that only counts (opik: discarded where its queue is read). No peer but pydantic-evals scores anything.
Peers do more than is measured here: masking, media, schemas. "delivered" is spans a call; pydantic-evals makes two."""

TIMEOUT_S = 60


def run(*, quick: bool) -> str:
    """Return the table, and why a peer is not in it."""
    rounds, calls = (3, 200) if quick else (7, 1_500)
    cage = _cage()
    rows, failed = [], []
    for name, (title, requirements) in PEERS.items():
        try:
            python = _environment(name, requirements)
            found = _measured(cage, python, name, rounds, calls)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            failed.append(f"- {title}: {_reason(error)}")
        else:
            rows += [[f"{title}, {row[0]}", *row[1:]] for row in found]
    network = "a network namespace with loopback only" if cage else "NO network namespace (unshare is not allowed)"
    parts = [
        f"{rounds} rounds of {calls} calls, in {network}; {', '.join(_pins())}:",
        report.table(report.COLUMNS, rows),
    ]
    return report.section("Peers of W1", ABOUT, *parts, *(["Not measured:", "\n".join(failed)] if failed else []))


def _pins() -> list[str]:
    return sorted({one.replace("==", " ") for _, requirements in PEERS.values() for one in [*requirements, SDK]})


def _cage() -> list[str]:
    """Return the command that runs another without a network, or nothing where that is not allowed."""
    script = 'ip link set lo up 2>/dev/null; exec "$@"'
    for command in (["unshare", "-n"], ["unshare", "-rn"]):
        if (
            shutil.which("unshare")
            and subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0
        ):
            return [*command, "sh", "-c", script, "sh"]
    return []


def _environment(name: str, requirements: list[str]) -> Path:
    """Return the interpreter of the peer's environment; make it on first use."""
    python = HOME / name / "bin" / "python"
    done = HOME / name / "requirements"
    if not done.exists() or done.read_text() != "\n".join(requirements):
        _checked([UV, "venv", "--quiet", "--clear", "--python", sys.executable, HOME / name], 60)
        _checked([UV, "pip", "install", "--quiet", "--python", python, *requirements, SDK], 300)
        done.write_text("\n".join(requirements))
    return python


def _measured(cage: list[str], python: Path, name: str, rounds: int, calls: int) -> list[list[str]]:
    adapters = Path(__file__).with_name("peer_adapters.py")
    with tempfile.TemporaryDirectory() as home:
        environ = {"PATH": os.environ["PATH"], "HOME": home, **QUIET}
        command = [*cage, python, adapters, name, str(rounds), str(calls)]
        printed = _checked(command, TIMEOUT_S, cwd=home, env=environ)
    return json.loads(printed.strip().splitlines()[-1])


def _checked(command: list[str | Path], timeout_s: float, **settings: object) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout_s, **settings).stdout


def _reason(error: subprocess.CalledProcessError | subprocess.TimeoutExpired) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not done after {error.timeout:.0f} s"
    lines = (error.stderr or "").strip().splitlines()
    return lines[-1][:300] if lines else f"exit status {error.returncode}"
