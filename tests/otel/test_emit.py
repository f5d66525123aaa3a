from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import spanscore
from opentelemetry import metrics, _logs
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
try:
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter
except ImportError:
    from opentelemetry.sdk._logs.export import InMemoryLogExporter as InMemoryLogRecordExporter
from spanscore.testing import MemoryPipeline

reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
logs = InMemoryLogRecordExporter()
provider = LoggerProvider()
provider.add_log_record_processor(SimpleLogRecordProcessor(logs))
_logs.set_logger_provider(provider)

expectations = spanscore.Expectations()
expectations.add("foreign", spanscore.JsonSimilarity(), expected={"a": 2}, threshold=0.9)
@spanscore.evaluator
def broken(output):
    raise ZeroDivisionError
expectations.add("broken", broken)
MemoryPipeline().shutdown()
pipeline = MemoryPipeline(expectations)
agent = spanscore.evaluate_output(expected={"a": 1}, threshold=0.9, name="agent", tracer_provider=pipeline.provider)(lambda: {"a": 1})
agent()
tracer = pipeline.provider.get_tracer("x")
tracer.start_span("foreign", attributes={"output.value": '{"a": 1}', "gen_ai.request.model": "m", "gen_ai.response.id": "r1"}).end()
tracer.start_span("broken", attributes={"output.value": "x"}).end()
spans = {span.name: span for span in pipeline.spans()}

found = {}
for resource in reader.get_metrics_data().resource_metrics:
    for scope in resource.scope_metrics:
        assert scope.scope.name == "spanscore"
        for metric in scope.metrics:
            found[metric.name] = metric
scores = {point.attributes["gen_ai.evaluation.score.label"]: point for point in found["spanscore.score"].data.data_points}
assert found["spanscore.score"].unit == "{score}"
assert set(scores) == {"pass", "fail"}
assert dict(scores["fail"].attributes) == {
    "gen_ai.evaluation.name": "json_similarity", "gen_ai.evaluation.score.label": "fail", "gen_ai.request.model": "m"}
assert scores["pass"].attributes["gen_ai.agent.name"] == "agent"
assert scores["fail"].sum == 0.5 and scores["fail"].explicit_bounds[-1] == 1.0
for label, name in (("pass", "agent"), ("fail", "foreign")):
    (exemplar,) = scores[label].exemplars
    assert exemplar.span_id == spans[name].context.span_id, (label, exemplar)
    assert exemplar.trace_id == spans[name].context.trace_id
counts = {point.attributes["gen_ai.evaluation.score.label"]: point for point in found["spanscore.evaluations"].data.data_points}
assert {label: point.value for label, point in counts.items()} == {"pass": 1, "fail": 1, "error": 1}
assert counts["error"].attributes["error.type"] == "ZeroDivisionError"
assert sum(point.count for point in found["spanscore.evaluation.duration"].data.data_points) == 3
assert [point.value for point in found["spanscore.queue.size"].data.data_points] == [0]

records = {}
for item in logs.get_finished_logs():
    record = item.log_record
    assert record.event_name == "gen_ai.evaluation.result"
    records[record.span_id] = record
record = records[spans["foreign"].context.span_id]
assert dict(record.attributes) == {
    "gen_ai.evaluation.name": "json_similarity", "gen_ai.evaluation.score.value": 0.5,
    "gen_ai.evaluation.score.label": "fail", "gen_ai.evaluation.explanation": "/a: expected 2, got 1",
    "gen_ai.response.id": "r1"}, dict(record.attributes)
assert records[spans["broken"].context.span_id].attributes["error.type"] == "ZeroDivisionError"
assert len(records) == 3
print("all as it should be")
"""


def test_metrics_with_exemplars_and_log_events_are_recorded_where_providers_are_set():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "all as it should be" in done.stdout
