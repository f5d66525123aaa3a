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
CONVENTION: Final = "spanscore.convention"

# Scores of one evaluator: `spanscore.<evaluator>.<suffix>`.
PREFIX: Final = "spanscore."
SCORE_SUFFIX: Final = "score"
LABEL_SUFFIX: Final = "label"
EVALUATOR_SUFFIX: Final = "evaluator"
EXPLANATION_SUFFIX: Final = "explanation"
ERROR_TYPE_SUFFIX: Final = "error.type"
REASON_SUFFIX: Final = "reason"

# Figures of one evaluator that stand on the span, under the key that they have in `Score.metrics`.
SAMPLE_RATE_SUFFIX: Final = "sample_rate"
JUDGE_CALLS_SUFFIX: Final = "judge.calls"
JUDGE_INPUT_TOKENS_SUFFIX: Final = "judge.input_tokens"
JUDGE_OUTPUT_TOKENS_SUFFIX: Final = "judge.output_tokens"
JUDGE_COST_SUFFIX: Final = "judge.cost_usd"
JUDGE_STEPS_DOWN_SUFFIX: Final = "judge.steps_down"
JUDGE_CACHED_SUFFIX: Final = "judge.cached"
JUDGE_VERDICTS_SUFFIX: Final = "judge.verdicts"
JUDGE_SPREAD_SUFFIX: Final = "judge.spread"
JUDGE_FLIP_RATE_SUFFIX: Final = "judge.flip_rate"
JUDGE_INJECTION_SUFFIX: Final = "judge.suspected_injection"
JUDGE_SELF_SUFFIX: Final = "judge.self_judged"
FIGURES: Final = frozenset(
    {
        SAMPLE_RATE_SUFFIX,
        JUDGE_CALLS_SUFFIX,
        JUDGE_INPUT_TOKENS_SUFFIX,
        JUDGE_OUTPUT_TOKENS_SUFFIX,
        JUDGE_COST_SUFFIX,
        JUDGE_STEPS_DOWN_SUFFIX,
        JUDGE_CACHED_SUFFIX,
        JUDGE_VERDICTS_SUFFIX,
        JUDGE_SPREAD_SUFFIX,
        JUDGE_FLIP_RATE_SUFFIX,
        JUDGE_INJECTION_SUFFIX,
        JUDGE_SELF_SUFFIX,
    }
)

# GenAI conventions (Development).
OPERATION_NAME: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
TOOL_NAME: Final = "gen_ai.tool.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105  # of counted tokens
CONVERSATION_ID: Final = "gen_ai.conversation.id"
RESPONSE_ID: Final = "gen_ai.response.id"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
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

# Read from spans of other instrumentations: older GenAI names, then one group a convention.
PROMPT: Final = "gen_ai.prompt"
COMPLETION: Final = "gen_ai.completion"
RETRIEVAL_QUERY: Final = "gen_ai.retrieval.query.text"
RETRIEVAL_DOCUMENTS: Final = "gen_ai.retrieval.documents"
GEN_AI_SYSTEM: Final = "gen_ai.system"
CHOICE_EVENT: Final = "gen_ai.choice"
MESSAGE_EVENTS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}

OPENINFERENCE_INPUT_MESSAGES: Final = "llm.input_messages"
OPENINFERENCE_OUTPUT_MESSAGES: Final = "llm.output_messages"
OPENINFERENCE_TOOL_PARAMETERS: Final = "tool.parameters"

TRACELOOP_KIND: Final = "traceloop.span.kind"
TRACELOOP_NAME: Final = "traceloop.entity.name"
TRACELOOP_INPUT: Final = "traceloop.entity.input"
TRACELOOP_OUTPUT: Final = "traceloop.entity.output"

LOGFIRE_MESSAGE: Final = "logfire.msg"
PYDANTIC_AI_MESSAGES: Final = "pydantic_ai.all_messages"

VERCEL_OPERATION: Final = "ai.operationId"
VERCEL_PROMPT: Final = "ai.prompt"
VERCEL_PROMPT_MESSAGES: Final = "ai.prompt.messages"
VERCEL_TEXT: Final = "ai.response.text"
VERCEL_OBJECT: Final = "ai.response.object"
VERCEL_TOOL_CALLS: Final = "ai.response.toolCalls"
VERCEL_TOOL_NAME: Final = "ai.toolCall.name"
VERCEL_TOOL_ARGS: Final = "ai.toolCall.args"
VERCEL_TOOL_INPUT: Final = "ai.toolCall.input"
VERCEL_TOOL_RESULT: Final = "ai.toolCall.result"
VERCEL_TOOL_OUTPUT: Final = "ai.toolCall.output"

MLFLOW_TYPE: Final = "mlflow.spanType"
MLFLOW_INPUTS: Final = "mlflow.spanInputs"
MLFLOW_OUTPUTS: Final = "mlflow.spanOutputs"

LANGFUSE_TYPE: Final = "langfuse.observation.type"
LANGFUSE_INPUT: Final = "langfuse.observation.input"
LANGFUSE_OUTPUT: Final = "langfuse.observation.output"

LANGSMITH_KIND: Final = "langsmith.span.kind"

ADK_REQUEST: Final = "gcp.vertex.agent.llm_request"
ADK_RESPONSE: Final = "gcp.vertex.agent.llm_response"
ADK_TOOL_ARGS: Final = "gcp.vertex.agent.tool_call_args"
ADK_TOOL_RESPONSE: Final = "gcp.vertex.agent.tool_response"

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
        "gen_ai.task.input",
        "gen_ai.task.output",
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
        "return",
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
METRIC_TRAJECTORIES_DROPPED: Final = "spanscore.trajectory.dropped"
METRIC_JUDGE_TOKENS: Final = "spanscore.judge.tokens"
METRIC_JUDGE_COST: Final = "spanscore.judge.cost"
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
