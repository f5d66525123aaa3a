"""A whole program, without touching its code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableLambda

from spanscore import ConfigurationError
from spanscore_langchain import disable, enable
from spanscore_langchain.switch import follow_environment

PROGRAM = """
from langchain_core.runnables import RunnableLambda
RunnableLambda(lambda value: {"city": "Paris"}).with_config(run_name="capital").invoke("France")
"""


def test_one_call_captures_every_run_in_every_thread_once(traced):
    chain = RunnableLambda(lambda value: RunnableLambda(str).with_config(run_name="inner").invoke(value))
    chain = chain.with_config(run_name="chain")
    assert enable(traced.handler) is traced.handler
    chain.invoke("x")
    thread = threading.Thread(target=chain.invoke, args=("x",))
    thread.start()
    thread.join()
    chain.invoke("x", traced.config)
    assert len(traced.spans("invoke_workflow chain")) == len(traced.spans("inner")) == 3
    disable()
    chain.invoke("x")
    assert len(traced.spans()) == 6


def test_a_run_that_is_given_a_handler_keeps_it(traced, make_traced):
    own = make_traced()
    enable(traced.handler)
    RunnableLambda(str).invoke("x", own.config)
    assert (len(traced.spans()), len(own.spans())) == (0, 1)


@pytest.mark.parametrize(("variable", "captured"), [("1", True), ("0", False)])
def test_the_variable_captures_a_program_that_knows_nothing_of_it(tmp_path, variable, captured):
    (tmp_path / "program.py").write_text(PROGRAM)
    variables = {
        "SPANSCORE_LANGCHAIN": variable,
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "langchain",
    }
    done = subprocess.run(
        [Path(sys.executable).parent / "opentelemetry-instrument", "python", "program.py"],
        cwd=tmp_path,
        env={**os.environ, **variables, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert ('"name": "invoke_workflow capital"' in done.stdout) is captured, done.stderr


def test_a_wrong_value_of_the_variable_is_refused(monkeypatch):
    monkeypatch.setenv("SPANSCORE_LANGCHAIN", "yes please")
    with pytest.raises(ConfigurationError, match="use 1 or 0"):
        follow_environment()
