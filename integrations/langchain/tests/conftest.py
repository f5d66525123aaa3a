from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest
from opentelemetry import trace

from spanscore import Expectations
from spanscore.testing import MemoryPipeline
from spanscore_langchain import SpanscoreCallbackHandler, disable, handler


class Traced:
    """A pipeline and a handler, and what came out of them."""

    def __init__(self, expectations: Expectations | None = None, *, registry: Expectations | None = None, **settings):
        self.pipeline = MemoryPipeline(registry)
        self.provider = self.pipeline.provider
        self.handler = SpanscoreCallbackHandler(expectations, tracer_provider=self.provider, **settings)
        self.config = {"callbacks": [self.handler]}

    def spans(self, name=None):
        return self.pipeline.spans(name)

    def span(self, name):
        (found,) = self.spans(name)
        return found

    def attributes(self, name):
        return dict(self.span(name).attributes)

    def parents(self):
        """Return the name of each span's parent by the span's name."""
        spans = self.spans()
        by_id = {span.context.span_id: span.name for span in spans}
        return {span.name: span.parent and by_id.get(span.parent.span_id, "?") for span in spans}


@pytest.fixture
def make_traced() -> Iterator[Callable[..., Traced]]:
    made: list[Traced] = []

    def make(*args, **settings) -> Traced:
        made.append(Traced(*args, **settings))
        return made[-1]

    yield make
    for traced in made:
        assert traced.handler.open_runs() == 0, "a run was left behind"
        traced.pipeline.shutdown()
    assert not trace.get_current_span().get_span_context().is_valid, "a span was left behind as the current one"


@pytest.fixture
def traced(make_traced) -> Traced:
    return make_traced()


@pytest.fixture(autouse=True)
def no_warning_of_ours_or_of_langchain(caplog):
    handler._logged.clear()
    yield
    disable()
    said = [
        record.getMessage()
        for phase in ("setup", "call")
        for record in caplog.get_records(phase)
        if record.levelno >= logging.WARNING and record.name.startswith(("spanscore", "langchain", "opentelemetry"))
    ]
    assert said == []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
