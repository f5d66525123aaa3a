"""configure and install: a pipeline for programs that have none, and for those that have one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, SynchronousMultiSpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from spanscore.errors import ConfigurationError
from spanscore.expectations import Expectations
from spanscore.otel.exporters import FileSpanExporter, ScoreTableExporter, otlp_exporter
from spanscore.otel.processor import EvaluatorSpanProcessor

__all__ = ["TRACES_FILE", "configure", "install"]

TRACES_FILE: Final = "spanscore-traces.jsonl"
_ENDPOINT_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def configure(
    expectations: Expectations | None = None,
    *,
    service_name: str | None = None,
    endpoint: str | None = None,
    protocol: str | None = None,
    exporter: SpanExporter | None = None,
    export_content: bool = True,
    openinference: bool = False,
    set_global: bool = True,
) -> TracerProvider:
    """Make a tracer provider that scores spans and exports them, make it the global one, and return it.

    For programs that have no tracing yet; `install` is for the others. Where neither ``endpoint``,
    ``exporter`` nor ``OTEL_EXPORTER_OTLP_ENDPOINT`` is given, spans are appended to the file
    ``spanscore-traces.jsonl`` (OTLP/JSON lines), and a table of scores is printed to standard error
    when the program ends. All ``OTEL_*`` variables count as in the SDK.

    Args:
        expectations: the registry for spans that say nothing themselves.
        service_name: ``service.name`` of the resource; ``OTEL_SERVICE_NAME`` by default.
        endpoint: URL of an OTLP receiver, for example ``http://localhost:4317``.
        protocol: ``grpc`` (the default) or ``http/protobuf``.
        exporter: sends the spans, in place of OTLP.
        export_content: if False, values are scored but not exported.
        openinference: also write each score as an OpenInference annotation.
        set_global: whether to make the provider the global one.

    Raises:
        ConfigurationError: there is a global provider already, or a setting is wrong.
    """
    if set_global and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        raise ConfigurationError(
            "this program has a tracer provider already, and spanscore replaces none: "
            "call spanscore.install(provider, expectations), or configure(..., set_global=False)"
        )
    exporters = _exporters(endpoint, protocol, exporter)
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: service_name} if service_name else {}))
    provider.add_span_processor(
        EvaluatorSpanProcessor(
            _one([BatchSpanProcessor(one) for one in exporters]),
            expectations,
            export_content=export_content,
            openinference=openinference,
        )
    )
    if set_global:
        trace.set_tracer_provider(provider)
    return provider


def _one(processors: Sequence[SpanProcessor]) -> SpanProcessor:
    if len(processors) == 1:
        return processors[0]
    together = SynchronousMultiSpanProcessor()  # type: ignore[no-untyped-call]  # the SDK's __init__ has no types
    for processor in processors:
        together.add_span_processor(processor)
    return together


def _exporters(endpoint: str | None, protocol: str | None, exporter: SpanExporter | None) -> list[SpanExporter]:
    if exporter is not None:
        if endpoint is not None or protocol is not None:
            raise ConfigurationError("give either exporter=, or endpoint= and protocol=, not both")
        if not isinstance(exporter, SpanExporter):
            raise ConfigurationError(f"exporter {exporter!r} is no SpanExporter; give one, or endpoint=")
        return [exporter]
    if endpoint is not None and urlsplit(endpoint).scheme not in ("http", "https"):
        raise ConfigurationError(f"endpoint {endpoint!r} needs a scheme: http://localhost:4317, or https:// with TLS")
    if endpoint is None and not any(os.environ.get(name) for name in _ENDPOINT_VARIABLES):
        if protocol is not None:
            raise ConfigurationError("protocol= needs endpoint=, or OTEL_EXPORTER_OTLP_ENDPOINT")
        return [FileSpanExporter(TRACES_FILE), ScoreTableExporter()]
    return [otlp_exporter(protocol, endpoint)]


def install(
    provider: TracerProvider,
    expectations: Expectations | None = None,
    *,
    max_queue_size: int = 2048,
    hold_timeout_s: float = 30.0,
    export_content: bool = True,
    openinference: bool = False,
) -> EvaluatorSpanProcessor:
    """Put an EvaluatorSpanProcessor in front of the processors that ``provider`` has, and return it.

    The provider stays the same object; tracers that were handed out go on to work. A processor
    that is added later stands beside ours and sees scores of captured calls only.

    Args:
        provider: a tracer provider of the SDK.
        expectations: the registry.
        max_queue_size: see `EvaluatorSpanProcessor`, as for the rest.
        hold_timeout_s: seconds.
        export_content: whether content may leave.
        openinference: whether to write OpenInference annotations too.

    Raises:
        ConfigurationError: it is no provider of the SDK, has a processor of ours already, or keeps
            its processors in a way that is not known.
    """
    active = getattr(provider, "_active_span_processor", None)
    present = getattr(active, "_span_processors", None)
    if not isinstance(active, SynchronousMultiSpanProcessor) or not isinstance(present, tuple):
        raise ConfigurationError(
            f"cannot install into {type(provider).__name__}: build the pipeline around ours instead, "
            "provider.add_span_processor(EvaluatorSpanProcessor(BatchSpanProcessor(exporter), expectations))"
        )
    if any(isinstance(processor, EvaluatorSpanProcessor) for processor in present):
        raise ConfigurationError("this provider has an EvaluatorSpanProcessor already; add to its expectations instead")
    ours = EvaluatorSpanProcessor(
        _one(present),
        expectations,
        max_queue_size=max_queue_size,
        hold_timeout_s=hold_timeout_s,
        export_content=export_content,
        openinference=openinference,
    )
    active._span_processors = (ours,)
    return ours
