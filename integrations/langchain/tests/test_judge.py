"""Any chat model as a judge."""

from __future__ import annotations

import json

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from spanscore import ConfigurationError
from spanscore_langchain import langchain_judge_client

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "reason": {"type": "string"}},
    "required": ["score", "reason"],
}
REQUEST = {
    "model": "any",
    "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "42"}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}},
    "max_tokens": 100,
    "temperature": 0.0,
}


class Counting(FakeListChatModel):
    """Answers with what it was sent, and what that cost."""

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        sent = [[message.type, message.content] for message in messages]
        usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
        message = AIMessage(
            json.dumps(sent), usage_metadata=usage, response_metadata={"model_name": "counter", "finish_reason": "stop"}
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


class Structured(Counting):
    """Takes a schema, like the models of providers."""

    def with_structured_output(self, schema, *, include_raw=False, **kwargs):
        assert include_raw and schema["properties"] == SCHEMA["properties"] and schema["title"] == "verdict"
        return self | RunnableLambda(
            lambda raw: {"raw": raw, "parsed": {"score": 1, "reason": "so"}, "parsing_error": None}
        )


@pytest.mark.anyio
async def test_a_model_without_structured_output_answers_the_prompt():
    found = await langchain_judge_client(Counting(responses=[""]))(REQUEST)
    (choice,) = found["choices"]
    assert json.loads(choice["message"]["content"]) == [["system", "Judge."], ["human", "42"]]
    assert choice["finish_reason"] == "stop" and found["model"] == "counter"
    assert found["usage"] == {"prompt_tokens": 5, "completion_tokens": 2}


@pytest.mark.anyio
async def test_a_model_with_structured_output_is_given_the_schema():
    found = await langchain_judge_client(Structured(responses=[""]))(REQUEST)
    assert json.loads(found["choices"][0]["message"]["content"]) == {"score": 1, "reason": "so"}
    assert found["usage"]["prompt_tokens"] == 5


@pytest.mark.anyio
async def test_a_request_for_text_is_asked_as_it_is():
    found = await langchain_judge_client(Structured(responses=[""]))({**REQUEST, "response_format": None})
    assert "Judge." in found["choices"][0]["message"]["content"]


def test_what_is_no_chat_model_is_refused():
    with pytest.raises(ConfigurationError, match="give a chat model"):
        langchain_judge_client("gpt-5")
