"""Any chat model of LangChain as the judge of an evaluator."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from spanscore import ConfigurationError
from spanscore_langchain.messages import text_of

__all__ = ["langchain_judge_client"]

JudgeService = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def langchain_judge_client(chat_model: BaseChatModel) -> JudgeService:
    """Return a judge client that asks ``chat_model``: give it to an evaluator as its ``client``.

    The client is a coroutine function from the published request (``model``, ``messages``,
    ``response_format``, ``max_tokens``, ``temperature``) to a chat completion. A JSON schema goes to
    the model through ``with_structured_output`` where the model has it; otherwise the model is asked
    as it is, since the prompt itself asks for JSON. Which model answers, its temperature and its
    limits are the chat model's own settings.

    Raises:
        ConfigurationError: it is no chat model.
    """
    if not isinstance(chat_model, BaseChatModel):
        raise ConfigurationError(
            f"a judge cannot be {type(chat_model).__name__}; give a chat model, for example init_chat_model('gpt-5')"
        )

    async def complete(request: dict[str, Any]) -> dict[str, Any]:
        messages = [(message["role"], message["content"]) for message in request["messages"]]
        schema = _schema(request.get("response_format"))
        structured = None if schema is None else _structured(chat_model, schema)
        if structured is None:
            return _completion(await chat_model.ainvoke(messages), None)
        answer = await structured.ainvoke(messages)
        return _completion(answer["raw"], answer["parsed"])

    return complete


def _schema(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the JSON schema that is asked for, with the title that LangChain wants."""
    found = (response_format or {}).get("json_schema")
    if not isinstance(found, Mapping) or not isinstance(found.get("schema"), Mapping):
        return None
    return {"title": found.get("name", "verdict"), "description": "The verdict.", **found["schema"]}


def _structured(chat_model: BaseChatModel, schema: dict[str, Any]) -> Any:
    try:
        return chat_model.with_structured_output(schema, include_raw=True)
    except NotImplementedError:
        return None


def _completion(message: BaseMessage, parsed: Any) -> dict[str, Any]:
    metadata = message.response_metadata
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    text = text_of(message.content) if parsed is None else json.dumps(parsed, default=lambda one: one.model_dump())
    return {
        "model": metadata.get("model_name") or metadata.get("model"),
        "choices": [
            {
                "message": {"role": "assistant", "content": text},
                "finish_reason": metadata.get("finish_reason") or metadata.get("stop_reason"),
            }
        ],
        "usage": None
        if usage is None
        else {"prompt_tokens": usage["input_tokens"], "completion_tokens": usage["output_tokens"]},
    }
