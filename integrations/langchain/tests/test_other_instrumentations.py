"""L11: beside OpenInference's and Traceloop's instrumentors, which stay on for the whole of a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("instrumented_program.py")
OTHERS = ["openinference", "traceloop"]
EXPECTED = {"city": "Pariss", "country": "France"}


def spans(instrumentor, mode):
    done = subprocess.run(
        [sys.executable, PROGRAM, instrumentor, mode], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "spanscore" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("mode", ["automatic", "score_only", "program"])
@pytest.mark.parametrize("instrumentor", OTHERS)
def test_l11_their_spans_are_scored_with_what_the_run_says_and_there_are_no_second_ones(instrumentor, mode):
    (span,) = spans(instrumentor, mode)
    assert span["scope"] != "spanscore"
    assert (span["spanscore.expectation"], json.loads(span["spanscore.expected"])) == ("*", EXPECTED)
    assert "spanscore.label" in span


@pytest.mark.parametrize("instrumentor", OTHERS)
def test_l11_a_score_on_their_span_is_the_one_on_ours(instrumentor):
    (theirs,) = spans(instrumentor, "automatic")
    (ours,) = spans("none", "own")
    assert theirs["spanscore.label"] == ours["spanscore.label"] == "pass"
    assert 0 < float(theirs["spanscore.score"]) == float(ours["spanscore.score"]) < 1


@pytest.mark.parametrize("instrumentor", OTHERS)
def test_l11_expectations_of_its_own_are_a_wish_for_spans_of_its_own(instrumentor):
    found = {span["scope"]: span for span in spans(instrumentor, "own")}
    assert len(found) == 2
    assert found["spanscore"]["spanscore.label"] == "pass"
