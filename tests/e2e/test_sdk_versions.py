"""The tests of everything that touches OpenTelemetry, on both ends of the range of SDKs."""

from __future__ import annotations

import json
import subprocess
import tomllib

import pytest

from tests.e2e.conftest import ROOT, VENVS, environment

VERSIONS = (
    "import json; from importlib.metadata import version; print(json.dumps({name: version(name) for name in %r}))"
)


def run(venv, *arguments):
    return subprocess.run(
        [VENVS / venv / "bin/python", *arguments],
        cwd=ROOT,
        env=environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )


def versions(venv, names):
    found = json.loads(run(venv, "-c", VERSIONS % list(names)).stdout)
    return {name: numbers(version) for name, version in found.items()}


def numbers(version):
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def lowest():
    """Return the lower bounds that pyproject.toml claims, by package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = [item.split(">=") for item in project["dependencies"] + project["optional-dependencies"]["yaml"]]
    return {name: numbers(version) for name, version in bounds}


def locked(package):
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    (version,) = [item["version"] for item in lock["package"] if item["name"] == package]
    return numbers(version)


def test_the_oldest_versions_are_the_lower_bounds():
    assert versions("oldest-sdk", lowest()) == lowest()


def test_the_newest_sdk_is_no_older_than_the_locked_one():
    found = versions("newest-sdk", ["opentelemetry-api", "opentelemetry-sdk"])
    assert found["opentelemetry-sdk"] == found["opentelemetry-api"] >= locked("opentelemetry-sdk") > (1, 37, 0)


@pytest.mark.parametrize("venv", ["oldest-sdk", "newest-sdk"])
def test_the_otel_tests_pass_with(venv):
    done = run(venv, "-m", "pytest", "-p", "no:cacheprovider", "-q", "tests/otel")
    assert done.returncode == 0, done.stdout
