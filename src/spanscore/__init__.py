"""spanscore scores what LLM agents answer, on the OpenTelemetry spans that record it."""

from spanscore.cases import Cases
from spanscore.errors import (
    ConfigurationError,
    EvaluationError,
    MissingDependencyError,
    OutputDecodeError,
    SpanscoreError,
)
from spanscore.evaluation import Evaluation, evaluate_step
from spanscore.evaluators import (
    Contains,
    Evaluator,
    ExactMatch,
    FieldMatch,
    JsonDiff,
    JsonSimilarity,
    StaticJson,
    StructuredMatch,
    ToolCallArgs,
    ToolCallCount,
    ToolCallOrder,
    ToolCallOutput,
    evaluator,
)
from spanscore.expectations import Expectation, Expectations
from spanscore.otel.call import Call
from spanscore.otel.capture import capture, evaluate_output, expecting, in_current_context
from spanscore.otel.processor import EvaluatorSpanProcessor
from spanscore.otel.recorder import CallRecorder
from spanscore.otel.setup import configure, install
from spanscore.score import FieldScore, Score
from spanscore.step import MISSING, Step, Trajectory

__all__ = [
    "Call",
    "CallRecorder",
    "Cases",
    "ConfigurationError",
    "Contains",
    "Evaluation",
    "EvaluationError",
    "Evaluator",
    "EvaluatorSpanProcessor",
    "ExactMatch",
    "Expectation",
    "Expectations",
    "FieldMatch",
    "FieldScore",
    "JsonDiff",
    "JsonSimilarity",
    "MISSING",
    "MissingDependencyError",
    "OutputDecodeError",
    "Score",
    "SpanscoreError",
    "StaticJson",
    "Step",
    "StructuredMatch",
    "ToolCallArgs",
    "ToolCallCount",
    "ToolCallOrder",
    "ToolCallOutput",
    "Trajectory",
    "capture",
    "configure",
    "evaluate_output",
    "evaluate_step",
    "evaluator",
    "expecting",
    "in_current_context",
    "install",
]
