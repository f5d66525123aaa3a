"""Every attribute, event, scope and metric name that is read or written, and nothing else.

The GenAI names are kept here because the Python package of semantic conventions deprecates them
(they moved to a repository of their own). `docs/attributes.md` describes each; a test compares.
"""

from __future__ import annotations

from typing import Final

# Scope of our spans, metrics and log records.
SCOPE: Final = "spanscore"

# What was captured (OpenInference names, read by most backends).
INPUT_VALUE: Final = "input.value"
INPUT_MIME_TYPE: Final = "input.mime_type"
OUTPUT_VALUE: Final = "output.value"
OUTPUT_MIME_TYPE: Final = "output.mime_type"
MIME_JSON: Final = "application/json"
MIME_TEXT: Final = "text/plain"

# Written only when a value was cut for export.
INPUT_BYTES: Final = "spanscore.input.bytes"
INPUT_SHA256: Final = "spanscore.input.sha256"
OUTPUT_BYTES: Final = "spanscore.output.bytes"
OUTPUT_SHA256: Final = "spanscore.output.sha256"

# Scores of the whole span.
LABEL: Final = "spanscore.label"
SCORE: Final = "spanscore.score"
EXPECTATION: Final = "spanscore.expectation"
EXPECTED: Final = "spanscore.expected"
CASE: Final = "spanscore.case"

# Scores of one evaluator: `spanscore.<evaluator>.<suffix>`.
PREFIX: Final = "spanscore."
SCORE_SUFFIX: Final = "score"
LABEL_SUFFIX: Final = "label"
EVALUATOR_SUFFIX: Final = "evaluator"
EXPLANATION_SUFFIX: Final = "explanation"
ERROR_TYPE_SUFFIX: Final = "error.type"
REASON_SUFFIX: Final = "reason"

# GenAI conventions (Development).
OPERATION_NAME: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
TOOL_NAME: Final = "gen_ai.tool.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
RESPONSE_ID: Final = "gen_ai.response.id"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"
EVALUATION_EVENT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
EVALUATION_OPERATION: Final = "evaluation"

# OpenInference: calls of tools.
OPENINFERENCE_TOOL_NAME: Final = "tool.name"
OPENINFERENCE_TOOL_ID: Final = "tool.id"

# OpenInference: span kind, and scores as its annotations (`evaluations.N.evaluation.*`).
SPAN_KIND: Final = "openinference.span.kind"
SPAN_KIND_EVALUATOR: Final = "EVALUATOR"
OPENINFERENCE_EVALUATION: Final = "evaluations.{index}.evaluation.{suffix}"

# Attributes and exception fields that hold content; stripped where content is not exported.
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"
CONTENT: Final = frozenset(
    {
        INPUT_VALUE,
        INPUT_SHA256,
        OUTPUT_VALUE,
        OUTPUT_SHA256,
        EXPECTED,
        INPUT_MESSAGES,
        OUTPUT_MESSAGES,
        SYSTEM_INSTRUCTIONS,
        TOOL_CALL_ARGUMENTS,
        TOOL_CALL_RESULT,
        EVALUATION_EXPLANATION,
        EXCEPTION_MESSAGE,
        EXCEPTION_STACKTRACE,
        "gen_ai.prompt",
        "gen_ai.completion",
        "gen_ai.tool.definitions",
        "gen_ai.retrieval.query.text",
        "gen_ai.retrieval.documents",
        "traceloop.entity.input",
        "traceloop.entity.output",
        "langfuse.observation.input",
        "langfuse.observation.output",
        "langfuse.trace.input",
        "langfuse.trace.output",
        "lmnr.span.input",
        "lmnr.span.output",
        "mlflow.spanInputs",
        "mlflow.spanOutputs",
        "pydantic_ai.all_messages",
        "tool.parameters",
        "crewai.task.description",
        "embedding.text",
        "llm.choices",
        "llm.function_call",
        "llm.prompt_template.variables",
        # Names without a prefix, of pydantic-ai and Logfire.
        "all_messages_events",
        "request_data",
        "response_data",
        "final_result",
        "tool_arguments",
        "tool_response",
    }
)
CONTENT_PREFIXES: Final = (
    "ai.prompt",
    "ai.response.",
    "ai.toolCall.",
    "confident.span.",
    "embedding.embeddings.",
    "llm.completions.",
    "llm.tools.",
    "reranker.query",
    "reranker.input_documents.",
    "reranker.output_documents.",
    "gcp.vertex.agent.",
    "gen_ai.prompt.",
    "gen_ai.completion.",
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.prompts.",
    "retrieval.documents.",
)

# Metrics.
METRIC_SCORE: Final = "spanscore.score"
METRIC_EVALUATIONS: Final = "spanscore.evaluations"
METRIC_DURATION: Final = "spanscore.evaluation.duration"
METRIC_QUEUE_SIZE: Final = "spanscore.queue.size"
METRIC_DROPPED: Final = "spanscore.dropped"
SCORE_BUCKETS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
DURATION_BUCKETS_S: Final = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


def evaluator_key(evaluator: str, suffix: str) -> str:
    """Return ``spanscore.<evaluator>.<suffix>``.

    >>> evaluator_key("json_similarity", SCORE_SUFFIX)
    'spanscore.json_similarity.score'
    """
    return f"{PREFIX}{evaluator}.{suffix}"


def is_content(key: str) -> bool:
    """Return True if the attribute holds input, output or expected values, or quotes them."""
    return (
        key in CONTENT
        or key.startswith(CONTENT_PREFIXES)
        or (key.startswith((PREFIX, "evaluations.")) and key.endswith("." + EXPLANATION_SUFFIX))
    )
