from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

ROOT = Path(__file__).parents[2]
VENVS = ROOT / ".venv-e2e"
START_S = 120
ARRIVE_S = 60
STOP_S = 30
AGENTS_OWN = ("OTEL_", "PHOENIX_", "ROTEL_", "SPANSCORE_")


@dataclass
class Phoenix:
    http: str
    grpc: str

    def spans(self, project: str, count: int) -> list[dict]:
        """Return the spans of a project, waiting until there are ``count``."""
        deadline = time.monotonic() + ARRIVE_S
        while len(found := self._spans(project)) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} spans arrived: {found}"
            time.sleep(0.1)
        return found

    def project_id(self, project: str) -> str:
        return self._get(f"/v1/projects/{project}")["data"]["id"]

    def _spans(self, project: str) -> list[dict]:
        if project not in [item["name"] for item in self._get("/v1/projects")["data"]]:
            return []
        found, cursor = [], None
        while True:
            page = self._get(f"/v1/projects/{project}/spans", limit=3, **({"cursor": cursor} if cursor else {}))
            found += page["data"]
            cursor = page["next_cursor"]
            if not cursor:
                return found

    def _get(self, path: str, **query) -> dict:
        with urllib.request.urlopen(f"{self.http}{path}?{urlencode(query)}", timeout=10) as response:
            return json.load(response)


@dataclass
class Hop:
    http: str
    grpc: str


@pytest.fixture(scope="session")
def phoenix(tmp_path_factory) -> Iterator[Phoenix]:
    folder = tmp_path_factory.mktemp("phoenix")
    http, grpc = free_ports(2)
    settings = {
        "PHOENIX_HOST": "127.0.0.1",  # of HTTP; gRPC listens on every interface and has no setting for it
        "PHOENIX_PORT": str(http),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
        "PHOENIX_AGENTS_DISABLE_BASH": "true",
        "PHOENIX_AGENTS_DISABLE_WEB_ACCESS": "true",
        "PHOENIX_ENABLE_MCP_SERVER": "false",
    }
    command = [VENVS / "phoenix/bin/phoenix", "serve"]
    with running(command, settings, folder / "log", [http, grpc]):
        yield Phoenix(http=f"http://127.0.0.1:{http}", grpc=f"http://127.0.0.1:{grpc}")


@pytest.fixture(scope="session")
def rotel(phoenix, tmp_path_factory) -> Iterator[Hop]:
    http, grpc = free_ports(2)
    (agent,) = VENVS.glob("rotel/lib/python*/site-packages/rotel/rotel-agent")  # the package puts nothing in bin/
    command = [agent, "start", "--exporter", "otlp", "--otlp-exporter-endpoint", phoenix.grpc]
    command += ["--otlp-http-endpoint", f"127.0.0.1:{http}", "--otlp-grpc-endpoint", f"127.0.0.1:{grpc}"]
    with running(command, {}, tmp_path_factory.mktemp("rotel") / "log", [http, grpc]):
        yield Hop(http=f"http://127.0.0.1:{http}", grpc=f"http://127.0.0.1:{grpc}")


def run_agent(program: str, *arguments: str, project: str, **variables: str) -> str:
    """Run a Python program of the repository whose spans go to a project of Phoenix; return what it printed."""
    variables["OTEL_RESOURCE_ATTRIBUTES"] = f"openinference.project.name={project}"
    done = subprocess.run(
        [sys.executable, ROOT / program, *arguments],
        env=environment(variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@contextmanager
def running(command: list, variables: dict[str, str], log: Path, ports: list[int]) -> Iterator[None]:
    """Run a server while the block runs; raise with the end of its log if it does not start."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, env=environment(variables), cwd=log.parent, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + START_S
        while not all(listening(port) for port in ports):
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start:\n{log.read_text(errors='replace')[-4_000:]}")
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def environment(variables: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(AGENTS_OWN)} | variables


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [item.getsockname()[1] for item in sockets]


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
