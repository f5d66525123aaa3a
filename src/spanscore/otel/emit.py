"""An Evaluation as span attributes, events, metrics, log records and carrier spans."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final, NamedTuple, Protocol

from opentelemetry import _logs, metrics
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Tracer, set_span_in_context

from spanscore import attributes as names
from spanscore.checks import Check
from spanscore.errors import ConfigurationError
from spanscore.evaluation import Evaluation
from spanscore.score import Score

__all__ = [
    "VERSION",
    "emit_carriers",
    "export_content_of_environment",
    "record",
    "record_dropped",
    "record_steps_dropped",
    "score_attributes",
    "score_events",
    "watch_queue",
]

VERSION: Final = version("spanscore")
_MAX_EXPLANATION: Final = 1_024
_REAL: Final = frozenset(
    {names.SAMPLE_RATE_SUFFIX, names.JUDGE_COST_SUFFIX, names.JUDGE_SPREAD_SUFFIX, names.JUDGE_FLIP_RATE_SUFFIX}
)
_CONTENT_VARIABLE: Final = "SPANSCORE_EXPORT_CONTENT"

_meter: Final = metrics.get_meter(names.SCOPE, VERSION)
_logger: Final = _logs.get_logger(names.SCOPE, VERSION)
_scores: Final = _meter.create_histogram(
    names.METRIC_SCORE,
    unit="{score}",
    description="Scores of evaluated spans, 0..1, 1 is best.",
    explicit_bucket_boundaries_advisory=names.SCORE_BUCKETS,
)
_evaluations: Final = _meter.create_counter(
    names.METRIC_EVALUATIONS, unit="{evaluation}", description="Evaluations by evaluator and label."
)
_durations: Final = _meter.create_histogram(
    names.METRIC_DURATION,
    unit="s",
    description="Time that the evaluators of one span took.",
    explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS_S,
)
_tokens: Final = _meter.create_counter(
    names.METRIC_JUDGE_TOKENS, unit="{token}", description="Tokens that judges used, failed verdicts included."
)
_cost: Final = _meter.create_counter(
    names.METRIC_JUDGE_COST, unit="USD", description="What judges cost, where a price is given."
)
_dropped: Final = _meter.create_counter(
    names.METRIC_DROPPED, unit="{span}", description="Matched spans that went out unscored, by reason."
)


_dropped_steps: Final = _meter.create_counter(
    names.METRIC_TRAJECTORIES_DROPPED, unit="{span}", description="Spans that no trajectory could keep, by reason."
)


class _Keys(NamedTuple):
    score: str
    label: str
    evaluator: str
    explanation: str
    error_type: str
    reason: str


@lru_cache(maxsize=1_024)
def _keys(evaluator: str) -> _Keys:
    suffixes = (
        names.SCORE_SUFFIX,
        names.LABEL_SUFFIX,
        names.EVALUATOR_SUFFIX,
        names.EXPLANATION_SUFFIX,
        names.ERROR_TYPE_SUFFIX,
        names.REASON_SUFFIX,
    )
    return _Keys(*(names.evaluator_key(evaluator, suffix) for suffix in suffixes))


def score_attributes(evaluation: Evaluation, *, content: bool = True, openinference: bool = False) -> dict[str, Any]:
    """Return the span attributes of an evaluation, by key.

    Args:
        evaluation: what was scored.
        content: whether expected values and explanations that quote values may be written.
        openinference: also write each score as an OpenInference annotation.
    """
    bounds = evaluation.bounds
    found: dict[str, Any] = {names.LABEL: evaluation.label}  # the first two stay where a span has no room
    if evaluation.score is not None:
        found[names.SCORE] = evaluation.score
    found[names.EXPECTATION] = bounds[0].id if len(bounds) == 1 else ",".join([bound.id for bound in bounds])
    if evaluation.convention:
        found[names.CONVENTION] = evaluation.convention
    if content and bounds[0].expected_text is not None:
        found[names.EXPECTED] = bounds[0].expected_text
    for check, score in zip(evaluation.checks, evaluation.scores, strict=True):
        _add_score(found, check, score, content)
    if openinference:
        found.update(_openinference(evaluation, content))
    return found


def _add_score(found: dict[str, Any], check: Check, score: Score, content: bool) -> None:
    keys = _keys(score.evaluator)
    found[keys.label] = score.label
    found[keys.evaluator] = check.identity if content else check.blind_identity
    if score.value is not None:
        found[keys.score] = score.value
    explanation = score.explanation if content else _without_values(score)
    if explanation:
        found[keys.explanation] = _valid(explanation)
    if score.error_type is not None:
        found[keys.error_type] = score.error_type
    if score.reason is not None:
        found[keys.reason] = score.reason
    if not names.FIGURES.isdisjoint(score.metrics):
        for name in names.FIGURES.intersection(score.metrics):
            found[names.evaluator_key(score.evaluator, name)] = _figure(name, score.metrics[name])


def _figure(name: str, value: float) -> float | bool | int:
    if name in (names.JUDGE_INJECTION_SUFFIX, names.JUDGE_SELF_SUFFIX):
        return bool(value)
    return value if name in _REAL else int(value)


def _valid(text: str) -> str:
    text = text if len(text) <= _MAX_EXPLANATION else text[: _MAX_EXPLANATION - 3] + "..."
    if text.isascii():
        return text
    data = text.encode("utf-8", "replace")[:_MAX_EXPLANATION]  # no exporter can encode lone surrogates
    return data.decode("utf-8", "ignore")


def _without_values(score: Score) -> str:
    """Return how many fields are wrong, and how; their paths are keys of the expected value."""
    if score.label in ("skipped", "error"):
        return score.reason or score.error_type or ""
    counts = Counter(item.reason for item in score.fields if item.value < 1.0)
    return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))


def _openinference(evaluation: Evaluation, content: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for index, (check, score) in enumerate(zip(evaluation.checks, evaluation.scores, strict=True)):
        parts = {
            "name": score.evaluator,
            "label": score.label,
            "score": score.value,
            "explanation": score.explanation if content else None,
            "annotator_kind": getattr(check.evaluator, "annotator_kind", "CODE"),
        }
        for suffix, value in parts.items():
            if value not in (None, ""):
                found[names.OPENINFERENCE_EVALUATION.format(index=index, suffix=suffix)] = value
    return found


def score_events(evaluation: Evaluation) -> list[tuple[str, dict[str, Any]]]:
    """Return one `gen_ai.evaluation.result` a score that is final, as (name, attributes).

    The explanation is not among them: it stands on the span already.
    """
    return [
        (names.EVALUATION_EVENT, _event_attributes(score)) for score in evaluation.scores if score.label != "pending"
    ]


def _event_attributes(score: Score) -> dict[str, Any]:
    found: dict[str, Any] = {names.EVALUATION_NAME: score.evaluator, names.EVALUATION_LABEL: score.label}
    if score.value is not None:
        found[names.EVALUATION_SCORE] = score.value
    if score.error_type is not None:
        found[names.ERROR_TYPE] = score.error_type
    return found


def record(evaluation: Evaluation, span: Mapping[str, Any], context: Context, *, content: bool = True) -> None:
    """Record metrics and, where a LoggerProvider is set, log events for scores that are final.

    Args:
        evaluation: what to record; scores still ``pending`` are left out.
        span: attributes of the scored span; agent and model become metric attributes.
        context: holds the scored span, so that exemplars and log records point at it.
        content: whether explanations may be logged.
    """
    logs = _logs_wanted()
    if not logs and getattr(_scores, "_real_instrument", _scores) is None:  # nobody listens
        return
    for score in evaluation.scores:
        if score.label == "pending":
            continue
        found: dict[str, Any] = {names.EVALUATION_NAME: score.evaluator, names.EVALUATION_LABEL: score.label}
        for key in (names.AGENT_NAME, names.REQUEST_MODEL):
            if key in span:
                found[key] = span[key]
        if score.value is not None:
            _scores.record(score.value, found, context)
        if score.error_type is not None:
            found[names.ERROR_TYPE] = score.error_type
        _evaluations.add(1, found, context)
        if names.JUDGE_CALLS_SUFFIX in score.metrics:
            _record_usage(score, context)
        if logs:
            _log(score, span, context, content)
    _durations.record(evaluation.duration_s, None, context)


def _record_usage(score: Score, context: Context) -> None:
    found = {names.EVALUATION_NAME: score.evaluator}
    for kind, name in (("input", names.JUDGE_INPUT_TOKENS_SUFFIX), ("output", names.JUDGE_OUTPUT_TOKENS_SUFFIX)):
        if tokens := int(score.metrics.get(name, 0)):
            _tokens.add(tokens, {**found, names.TOKEN_TYPE: kind}, context)
    if cost := score.metrics.get(names.JUDGE_COST_SUFFIX, 0.0):
        _cost.add(cost, found, context)


def _logs_wanted() -> bool:
    enabled = getattr(_logger, "enabled", None)  # not in the oldest API that we support
    if enabled is not None:
        return bool(enabled())
    return type(_logs.get_logger_provider()).__name__ not in ("ProxyLoggerProvider", "NoOpLoggerProvider")


def _log(score: Score, span: Mapping[str, Any], context: Context, content: bool) -> None:
    found = _event_attributes(score)
    explanation = score.explanation if content else _without_values(score)
    if explanation:
        found[names.EVALUATION_EXPLANATION] = _valid(explanation)
    if names.RESPONSE_ID in span:
        found[names.RESPONSE_ID] = span[names.RESPONSE_ID]
    level = _logs.SeverityNumber.WARN if score.label in ("error", "fail") else _logs.SeverityNumber.INFO
    _logger.emit(
        _logs.LogRecord(event_name=names.EVALUATION_EVENT, attributes=found, context=context, severity_number=level)
    )


def record_dropped(reason: str) -> None:
    """Count one matched span that went out unscored."""
    _dropped.add(1, {"reason": reason})


def record_steps_dropped(reason: str, count: int) -> None:
    """Count spans that were not kept for the trajectory of their run."""
    _dropped_steps.add(count, {"reason": reason})


class Queue(Protocol):
    """Something that spans wait in."""

    def size(self) -> int:
        """Return how many wait."""
        ...


_queues: Final[weakref.WeakSet[Queue]] = weakref.WeakSet()
_meter.create_observable_gauge(
    names.METRIC_QUEUE_SIZE,
    callbacks=[lambda _options: [metrics.Observation(sum(queue.size() for queue in list(_queues)))]],
    unit="{span}",
    description="Matched spans that wait for their scores.",
)


def watch_queue(queue: Queue) -> None:
    """Count a queue, for as long as it lives, into the gauge ``spanscore.queue.size``."""
    _queues.add(queue)


def emit_carriers(
    tracer: Tracer, target: SpanContext, evaluation: Evaluation, span: Mapping[str, Any], *, content: bool = True
) -> None:
    """Send scores that come after their span has left: one span ``evaluation <name>`` a score.

    A carrier is a child of the target and has one link to it, so it inherits the target's trace
    flags, and it repeats the attribute keys of scores that were in time.
    """
    if not target.trace_flags.sampled:
        return
    parent = set_span_in_context(NonRecordingSpan(target), Context())
    copied = {key: span[key] for key in (names.AGENT_NAME, names.CONVERSATION_ID) if key in span}
    for check, score in zip(evaluation.checks, evaluation.scores, strict=True):
        found: dict[str, Any] = {
            **copied,
            **_event_attributes(score),
            names.OPERATION_NAME: names.EVALUATION_OPERATION,
            names.SPAN_KIND: names.SPAN_KIND_EVALUATOR,
            names.LABEL: score.label,
            names.EXPECTATION: ",".join(bound.id for bound in evaluation.bounds),
        }
        _add_score(found, check, score, content)
        name = f"{names.EVALUATION_OPERATION} {score.evaluator}"
        tracer.start_span(name, context=parent, attributes=found, links=[Link(target)]).end()


def export_content_of_environment() -> bool:
    """Return False if ``SPANSCORE_EXPORT_CONTENT`` says so; content is exported by default."""
    value = os.environ.get(_CONTENT_VARIABLE, "true").strip().lower()
    if value not in ("true", "false"):
        raise ConfigurationError(f"{_CONTENT_VARIABLE}={value!r} is not allowed; use true or false")
    return value == "true"
