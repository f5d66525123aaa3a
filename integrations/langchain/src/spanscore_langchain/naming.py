"""What a run is called, and the attributes that say what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import Generation, LLMResult

from spanscore_langchain import attributes as names

__all__ = ["agent_of", "model_attributes", "name_of", "response_attributes", "run_attributes", "thread_of"]

_AGENT_KEYS: Final = ("lc_agent_name", "agent_name")
_THREAD_KEYS: Final = ("thread_id", "session_id", "conversation_id")
_INTERNAL_TAGS: Final = ("seq:step:", "map:key:", "graph:step:", "langsmith:", "condition:", "branch:")
_INTERNAL_METADATA: Final = ("langgraph_", "ls_", "lc_", "checkpoint_", "__pregel", "spanscore.", "versions")
_OWN_IDS: Final = ("run-", "lc_run-")  # LangChain gives a message its run's id where the model gave none
_MAX_METADATA: Final = 32
_MAX_TEXT: Final = 1_000
_PARAMETERS: Final = (
    (names.REQUEST_TEMPERATURE, "temperature", "ls_temperature"),
    (names.REQUEST_MAX_TOKENS, "max_tokens", "ls_max_tokens"),
    (names.REQUEST_TOP_P, "top_p", "ls_top_p"),
)


def name_of(serialized: Mapping[str, Any] | None, name: str | None, otherwise: str) -> str:
    """Return the name of a run; LangChain may give it in one of three places, or nowhere."""
    if name:
        return str(name)
    if serialized:
        found = serialized.get("name")
        if found:
            return str(found)
        ids = serialized.get("id")
        if isinstance(ids, Sequence) and ids:
            return str(ids[-1])
    return otherwise


def agent_of(metadata: Mapping[str, Any]) -> str:
    """Return the name of the agent that a run belongs to, or ""."""
    for key in _AGENT_KEYS:
        if found := metadata.get(key):
            return str(found)
    return ""


def thread_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation that a run belongs to, where somebody gave one."""
    for key in _THREAD_KEYS:
        found = metadata.get(key)
        if found is not None:
            return str(found)
    return None


def run_attributes(found: dict[str, Any], tags: Sequence[str] | None, metadata: Mapping[str, Any] | None) -> None:
    """Add the user's tags and metadata, by which expectations can be chosen; LangChain's own are left out."""
    if tags:
        kept = [tag for tag in tags if isinstance(tag, str) and not tag.startswith(_INTERNAL_TAGS)]
        if kept:
            found[names.TAGS] = kept
    if metadata:
        left = _MAX_METADATA
        for key, value in metadata.items():
            if type(value) in (str, bool, int, float) and left and not str(key).startswith(_INTERNAL_METADATA):
                left -= 1
                found[names.METADATA_PREFIX + str(key)] = value[:_MAX_TEXT] if type(value) is str else value


def model_attributes(
    operation: str, metadata: Mapping[str, Any] | None, parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what is known of a model before it answers."""
    metadata, parameters = metadata or {}, parameters or {}
    found: dict[str, Any] = {names.OPERATION: operation, names.SPAN_KIND: "LLM"}
    provider = metadata.get("ls_provider")
    if provider:
        found[names.PROVIDER] = str(provider)
    model = parameters.get("model") or parameters.get("model_name") or metadata.get("ls_model_name")
    if model:
        found[names.REQUEST_MODEL] = found[names.LLM_MODEL] = str(model)
    for key, parameter, standard in _PARAMETERS:
        value = parameters.get(parameter, metadata.get(standard))
        if isinstance(value, (int, float)):
            found[key] = value
    return found


def response_attributes(
    response: LLMResult, generation: Generation | None, message: BaseMessage | None
) -> dict[str, Any]:
    """Return what a model's response says of itself; what it does not say is absent."""
    info: Mapping[str, Any] = (generation.generation_info if generation is not None else None) or {}
    metadata: Mapping[str, Any] = message.response_metadata if message is not None else {}
    output: Mapping[str, Any] = response.llm_output or {}
    found: dict[str, Any] = {}
    model = metadata.get("model_name") or metadata.get("model") or info.get("model_name") or output.get("model_name")
    if model:
        found[names.RESPONSE_MODEL] = str(model)
    if message is not None and message.id and not message.id.startswith(_OWN_IDS):
        found[names.RESPONSE_ID] = str(message.id)
    reason = finish_reason(info, metadata)
    if reason is not None:
        found[names.FINISH_REASONS] = [reason]
    for usage in (
        message.usage_metadata if isinstance(message, AIMessage) else None,
        info.get("usage_metadata") or info.get("token_usage") or info.get("usage"),
        output.get("token_usage") or output.get("usage"),
    ):
        if isinstance(usage, Mapping) and _add_usage(found, usage):
            break
    return found


def finish_reason(info: Mapping[str, Any], metadata: Mapping[str, Any]) -> str | None:
    """Return why the model stopped."""
    for source in (metadata, info):
        for key in ("finish_reason", "stop_reason", "done_reason"):
            if source.get(key):
                return str(source[key])
    return None


def _add_usage(found: dict[str, Any], usage: Mapping[str, Any]) -> bool:
    counts = [
        next((usage[key] for key in keys if isinstance(usage.get(key), int)), None)
        for keys in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    ]
    for key, second, count in zip(
        (names.INPUT_TOKENS, names.OUTPUT_TOKENS),
        (names.LLM_INPUT_TOKENS, names.LLM_OUTPUT_TOKENS),
        counts,
        strict=True,
    ):
        if count is not None:
            found[key] = found[second] = count
    if isinstance(usage.get("total_tokens"), int):
        found[names.LLM_TOTAL_TOKENS] = usage["total_tokens"]
    details = usage.get("input_token_details")
    if isinstance(details, Mapping) and isinstance(details.get("cache_read"), int):
        found[names.CACHE_READ_TOKENS] = details["cache_read"]
    return counts != [None, None]
