"""An in-memory pipeline, for tests of programs that use spanscore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanscore.expectations import Expectations
from spanscore.otel.processor import EvaluatorSpanProcessor

__all__ = ["MemoryPipeline"]


class MemoryPipeline:
    """A tracer provider whose scored spans stay in memory. Never the global one.

    Args:
        expectations: the registry.
        settings: further settings of `spanscore.EvaluatorSpanProcessor`.

    Attributes:
        provider: give it to decorators and instrumentations as ``tracer_provider``.
        processor: the EvaluatorSpanProcessor.

    >>> import spanscore
    >>> pipeline = MemoryPipeline()
    >>> @spanscore.evaluate_output(expected="Paris", tracer_provider=pipeline.provider)
    ... def capital() -> str:
    ...     return "Paris"
    >>> capital()
    'Paris'
    >>> pipeline.attributes("capital")["spanscore.json_similarity.score"]
    1.0
    """

    def __init__(self, expectations: Expectations | None = None, **settings: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.processor = EvaluatorSpanProcessor(SimpleSpanProcessor(self._exporter), expectations, **settings)
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(self.processor)

    def spans(self, name: str | None = None, *, timeout_s: float = 30.0) -> Sequence[ReadableSpan]:
        """Return the exported spans, all or those of one name, when everything queued is scored."""
        self.processor.force_flush(int(timeout_s * 1_000))
        return [span for span in self._exporter.get_finished_spans() if name is None or span.name == name]

    def attributes(self, name: str) -> Mapping[str, Any]:
        """Return the attributes of the last exported span of that name; KeyError if there is none."""
        found = self.spans(name)
        if not found:
            raise KeyError(f"no span {name!r}; there are {sorted({span.name for span in self.spans()})}")
        return found[-1].attributes or {}

    def clear(self) -> None:
        """Forget the exported spans."""
        self._exporter.clear()

    def shutdown(self) -> None:
        """Shut the pipeline down."""
        self.provider.shutdown()
