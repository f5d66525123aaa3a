"""What a person sees of a failed answer in Phoenix, in a real browser."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.e2e.conftest import ROOT, run_agent

PROJECT = "support-agent"
QUESTION = '{"question":"What did A-17 cost?"}'
LOAD_MS = 60_000
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def page(tmp_path):
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "profile",
            executable_path="/usr/bin/chromium",
            headless=True,
            chromium_sandbox=False,
            args=FLAGS,
            viewport={"width": 1520, "height": 950},
        )
        context.set_default_timeout(LOAD_MS)
        yield context.pages[0]
        context.close()


@pytest.fixture
def picture(tmp_path):
    """Return where the screenshot goes: the documentation's own if SPANSCORE_SCREENSHOT=1."""
    if os.environ.get("SPANSCORE_SCREENSHOT") != "1":
        return tmp_path / "page.png"
    folder = ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "phoenix-scored-span.png"


def test_phoenix_shows_why_an_answer_failed(phoenix, page, picture):
    run_agent("examples/support_agent.py", project=PROJECT, OTEL_EXPORTER_OTLP_ENDPOINT=phoenix.grpc)
    spans = [span for span in phoenix.spans(PROJECT, 11) if span["attributes"]["input.value"] == QUESTION]
    (failed,) = [span for span in spans if span["attributes"]["spanscore.label"] == "fail"]
    trace = f"{phoenix.http}/projects/{phoenix.project_id(PROJECT)}/traces/{failed['context']['trace_id']}"
    page.goto(f"{trace}?selectedSpanNodeId={failed['id']}")
    page.get_by_role("tab", name="Attributes").click(timeout=LOAD_MS)
    score = failed["attributes"]["spanscore.score"]
    for key, value in {
        "spanscore.label": "fail",
        "spanscore.score": score,
        "spanscore.json_similarity.label": "fail",
        "spanscore.json_similarity.score": score,
        "spanscore.json_similarity.explanation": "/total: expected 129.9, got 99.9",
    }.items():
        row = page.get_by_role("row").filter(
            has_text=re.compile(rf"^\s*{re.escape(key)}\s*{re.escape(str(value))}\s*$")
        )
        expect(row).to_be_visible(timeout=LOAD_MS)
    expect(page.get_by_text("order.lookup", exact=True).last).to_be_visible()
    page.screenshot(path=picture)
    assert picture.stat().st_size > 20_000
