"""The README's program runs, and its table is what leaves the process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.otel.receivers import decoded, grpc_receiver

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_readme_is_short():
    assert len(README.splitlines()) < 150


def test_the_program_of_the_readme_gives_the_span_it_shows():
    program = re.search(r"## Twenty lines\n\n```python\n(.*?)```", README, re.DOTALL).group(1)
    table = dict(re.findall(r"^\| `(spanscore[^`]*)` \| `(.*)` \|$", README, re.MULTILINE))
    with grpc_receiver() as receiver:
        code = program.replace("http://localhost:4317", receiver.url)
        assert code != program
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
        spans = receiver.spans()
    found = decoded(spans["support.answer"].attributes)
    assert len(table) == 4
    assert table == {key: str(found[key]) for key in table}
    assert spans["order.lookup"].parent_span_id == spans["support.answer"].span_id


def test_the_demo_scores_every_kind_of_answer_and_says_where_the_spans_went(tmp_path):
    demo = [sys.executable, str(ROOT / "examples" / "support_agent.py")]
    done = subprocess.run(demo, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    rows = [line.split()[:4] for line in done.stderr.splitlines() if line.startswith("support.")]
    assert [row[2:] for row in rows] == [
        ["1.000", "pass"],
        ["0.952", "pass"],
        ["0.923", "fail"],
        ["0.750", "fail"],
        ["skipped", "exception:"],
        ["0.968", "pass"],
        ["0.000", "fail"],
    ]
    assert "The spans went to spanscore-traces.jsonl" in done.stdout
    assert (tmp_path / "spanscore-traces.jsonl").stat().st_size > 1_000
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 make demo" in done.stdout


def test_the_demo_sends_to_the_endpoint_that_is_configured(tmp_path, monkeypatch):
    with grpc_receiver() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        demo = [sys.executable, str(ROOT / "examples" / "support_agent.py")]
        done = subprocess.run(demo, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        assert {"support.answer", "support.stream", "order.lookup"} == set(receiver.spans())
        assert receiver.resource()["service.name"] == "support-agent"
    assert f"The spans went to {receiver.url}" in done.stdout
    assert "support.stream" in done.stderr
    assert list(tmp_path.iterdir()) == []
