from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

from spanscore import Expectations, evaluation
from spanscore.otel import log
from spanscore.testing import MemoryPipeline

# No deadline: a first call may import SciPy. HYPOTHESIS_PROFILE=nightly looks a hundred times as hard.
settings.register_profile("default", deadline=None)
settings.register_profile("nightly", deadline=None, max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
