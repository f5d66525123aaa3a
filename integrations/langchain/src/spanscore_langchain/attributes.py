"""Every name that this integration writes beside those of spanscore; README.md describes them."""

from __future__ import annotations

from typing import Final

# Of a run.
RUN_NAME: Final = "langchain.run.name"
RUN_OUTCOME: Final = "langchain.run.outcome"
METADATA_PREFIX: Final = "langchain.metadata."
TAGS: Final = "tag.tags"
EXPECTED: Final = "spanscore.expected"

# GenAI conventions (Development).
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
RETRIEVAL_QUERY: Final = "gen_ai.retrieval.query.text"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_TOP_P: Final = "gen_ai.request.top_p"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"

# OpenInference.
SPAN_KIND: Final = "openinference.span.kind"
LLM_MODEL: Final = "llm.model_name"
LLM_INPUT_TOKENS: Final = "llm.token_count.prompt"
LLM_OUTPUT_TOKENS: Final = "llm.token_count.completion"
LLM_TOTAL_TOKENS: Final = "llm.token_count.total"
