"""Exporters: OTLP/JSON lines in a file, the table of scores, and scoring without touching code."""

from __future__ import annotations

import base64
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import orjson
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from spanscore import attributes as names
from spanscore.errors import ConfigurationError
from spanscore.expectations import Expectations
from spanscore.otel.processor import EvaluatorSpanProcessor
from spanscore.otel.worker import reset_after_fork
from spanscore.report.table import Row, render

__all__ = ["EXPECTATIONS_VARIABLE", "FileSpanExporter", "ScoreTableExporter", "ScoringSpanExporter", "otlp_exporter"]

EXPECTATIONS_VARIABLE: Final = "SPANSCORE_EXPECTATIONS"
_MAX_ROWS: Final = 200
_PROTOCOLS: Final = ("grpc", "http/protobuf")


class FileSpanExporter(SpanExporter):
    """Appends spans to a file: OTLP/JSON, one ExportTraceServiceRequest a line.

    Ids are hexadecimal, enums integers and 64-bit integers text, as OTLP/JSON asks. The Collector's
    ``otlpjsonfile`` receiver reads the file.

    Args:
        path: the file; its folder must exist.

    Raises:
        ConfigurationError: the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._encode = _otlp_json_encoder()
        self._after_fork()
        reset_after_fork(self._after_fork)
        try:
            self._file = self.path.open("ab", buffering=0)  # a forked child inherits no half-written line
        except OSError as error:
            raise ConfigurationError(f"cannot write spans to {self.path}: {error.strerror}") from error

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append ``spans`` as one line."""
        line = orjson.dumps(self._encode(spans)) + b"\n"
        with self._lock:
            if self._file.closed:
                return SpanExportResult.FAILURE
            self._file.write(line)
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True: every export is written at once."""
        return True

    def shutdown(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def _after_fork(self) -> None:
        self._lock = threading.Lock()


def _otlp_json_encoder() -> Callable[[Sequence[ReadableSpan]], dict[str, Any]]:
    # Imported here and now: an import that is under way in another thread locks up a forked child.
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    def encode(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
        message: dict[str, Any] = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        for resource in message.get("resourceSpans", []):
            for scope in resource.get("scopeSpans", []):
                for span in scope.get("spans", []):
                    for holder in (span, *span.get("links", [])):
                        _write_ids_as_hex(holder)
        return message

    return encode


def _write_ids_as_hex(holder: dict[str, Any]) -> None:
    for key in ("traceId", "spanId", "parentSpanId"):
        if key in holder:
            holder[key] = base64.b64decode(holder[key]).hex()


class ScoreTableExporter(SpanExporter):
    """Keeps the scores of the first 200 spans and prints them as a table when it is shut down.

    Args:
        stream: where to print; standard error by default.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._rows: list[Row] = []
        self._more = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take the scores of ``spans``."""
        for span in sorted(spans, key=lambda span: span.start_time or 0):
            rows = score_rows(span)
            if len(self._rows) + len(rows) <= _MAX_ROWS:
                self._rows += rows
            else:
                self._more += len(rows)
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True: nothing waits."""
        return True

    def shutdown(self) -> None:
        """Print the table, if there is anything in it."""
        rows, self._rows = self._rows, []
        if rows:
            more = f"\n... and {self._more} more scores" if self._more else ""
            print(render(rows) + more, file=self._stream or sys.stderr, flush=True)


def score_rows(span: ReadableSpan) -> list[Row]:
    """Return the scores on a span, one row an evaluator."""
    found: Mapping[str, Any] = span.attributes or {}
    suffix = "." + names.EVALUATOR_SUFFIX
    evaluators = [
        key[len(names.PREFIX) : -len(suffix)] for key in found if key.startswith(names.PREFIX) and key.endswith(suffix)
    ]
    return [_row(span.name, evaluator, found) for evaluator in evaluators]


def _row(span_name: str, evaluator: str, found: Mapping[str, Any]) -> Row:
    def get(suffix: str) -> Any:
        return found.get(names.evaluator_key(evaluator, suffix))

    score, reason = get(names.SCORE_SUFFIX), get(names.REASON_SUFFIX)
    return Row(
        span=span_name,
        evaluator=evaluator,
        score="" if score is None else f"{score:.3f}",
        label=str(get(names.LABEL_SUFFIX)),
        note=f"{reason}: {get(names.EXPLANATION_SUFFIX) or ''}" if reason else str(get(names.EXPLANATION_SUFFIX) or ""),
    )


def otlp_exporter(protocol: str | None = None, endpoint: str | None = None) -> SpanExporter:
    """Return the OTLP exporter that the arguments, or the ``OTEL_EXPORTER_OTLP_*`` variables, ask for.

    Args:
        protocol: ``grpc`` or ``http/protobuf``; by default what the variables say, else ``grpc``
            as in the SDK.
        endpoint: URL of the receiver; with HTTP, ``/v1/traces`` is added to a URL without a path.

    Raises:
        ConfigurationError: another protocol.
    """
    asked = (
        protocol
        or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    )
    asked = asked or "grpc"
    if asked == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint=endpoint) if endpoint else Grpc()
    if asked == "http/protobuf":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

        return Http(endpoint=_traces_url(endpoint)) if endpoint else Http()
    raise ConfigurationError(f"protocol {asked!r} is not supported; use one of {', '.join(_PROTOCOLS)}")


def _traces_url(endpoint: str) -> str:
    from urllib.parse import urlsplit

    return endpoint if urlsplit(endpoint).path.strip("/") else endpoint.rstrip("/") + "/v1/traces"


class ScoringSpanExporter(SpanExporter):
    """Scores spans before another exporter sends them: ``OTEL_TRACES_EXPORTER=spanscore``.

    The expectations come from the file that ``SPANSCORE_EXPECTATIONS`` names, the sender from
    ``OTEL_EXPORTER_OTLP_*``. ``SPANSCORE_EXPORT_CONTENT=false`` keeps content at home. It works
    under a BatchSpanProcessor, on whose thread it is called; when the scorer falls behind, that
    thread waits, never the program's.

    Args:
        inner: what sends; the OTLP exporter of the environment by default.
        expectations: the registry; the file of the environment by default.

    Raises:
        ConfigurationError: no expectations file is named, or it is not valid.
    """

    def __init__(self, inner: SpanExporter | None = None, expectations: Expectations | None = None) -> None:
        self._processor = EvaluatorSpanProcessor(
            BatchSpanProcessor(inner if inner is not None else otlp_exporter()),
            expectations if expectations is not None else expectations_of_environment(),
        )

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Score ``spans`` and hand them to the inner exporter's queue."""
        for span in spans:
            self._processor.wait_for_room()
            self._processor.on_end(span)
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until everything is scored and sent; False if the time ran out."""
        return self._processor.force_flush(timeout_millis)

    def shutdown(self) -> None:
        """Score and send what is left, then shut down the inner exporter."""
        self._processor.shutdown()


def expectations_of_environment() -> Expectations:
    """Return the expectations of the file that ``SPANSCORE_EXPECTATIONS`` names."""
    path = os.environ.get(EXPECTATIONS_VARIABLE)
    if not path:
        raise ConfigurationError(
            f"set {EXPECTATIONS_VARIABLE} to the path of an expectations file (.json, .yaml or .yml); "
            "without it nothing is scored"
        )
    return Expectations.load(path)
