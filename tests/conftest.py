from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from spanscore import Expectations, evaluation
from spanscore.otel import log
from spanscore.testing import MemoryPipeline


@pytest.fixture
def make_pipeline() -> Iterator[Callable[..., MemoryPipeline]]:
    made: list[MemoryPipeline] = []

    def make(expectations: Expectations | None = None, **settings) -> MemoryPipeline:
        made.append(MemoryPipeline(expectations, **settings))
        return made[-1]

    yield make
    for pipeline in made:
        pipeline.shutdown()


@pytest.fixture(autouse=True)
def forget_what_was_logged():
    log._logged.clear()
    evaluation._logged.clear()


@pytest.fixture
def pipeline(make_pipeline) -> MemoryPipeline:
    return make_pipeline()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
