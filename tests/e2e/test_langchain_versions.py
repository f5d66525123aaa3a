"""The tests of the LangChain integration, on both ends of the range of LangChain and LangGraph."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.e2e.conftest import ROOT
from tests.e2e.test_sdk_versions import locked, numbers, run, versions

# What LangChain's own code warns of under a newer pydantic is not ours.
OPTIONS = ["-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning"]
PACKAGES = ["langchain-core", "langgraph"]


def lowest():
    """Return the lower bounds that pyproject.toml claims, by package."""
    group = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["langchain"]
    bounds = [item.split(">=") for item in group if re.match(rf"({'|'.join(PACKAGES)})>=", item)]
    return {name: numbers(version) for name, version in bounds}


def test_the_oldest_versions_are_the_lower_bounds():
    assert versions("oldest-langchain", PACKAGES) == lowest()


def test_the_newest_versions_are_no_older_than_the_locked_ones():
    found = versions("newest-langchain", PACKAGES)
    assert all(found[name] >= locked(name) > lowest()[name] for name in PACKAGES)


@pytest.mark.parametrize("venv", ["oldest-langchain", "newest-langchain"])
def test_the_tests_of_the_integration_pass_with(venv):
    done = run(venv, "-m", "pytest", "-p", "no:cacheprovider", "-q", *OPTIONS, "integrations/langchain/tests")
    assert done.returncode == 0, done.stdout
