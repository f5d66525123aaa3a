"""The conventions, one row each: how their spans are known, where input and output stand, what captures them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spanscore import attributes as names

__all__ = ["CONVENTIONS", "Convention"]

_TOOL: Final = "execute_tool"
_AGENT: Final = "invoke_agent"
_MODEL: Final = "chat"
_WORKFLOW: Final = "invoke_workflow"
_RETRIEVAL: Final = "retrieval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """Where one family of instrumentations keeps things; of several keys the first that is there counts.

    Attributes:
        name: what ``spanscore.convention`` says.
        switch: how content is captured, for the log line where a span has none.
        marks: attributes of which its spans have at least one, beside those below.
        scopes: beginnings of the names of its instrumentation scopes.
        output_messages: keys of messages that are choices of a model or the end of a talk.
        output: keys of other outputs.
        input_messages: keys of messages that went in.
        input: keys of other inputs.
        flattened: prefixes of messages written as one attribute a field: of the output, of the input.
        kind: key of the kind of span.
        operations: kind -> ``gen_ai.operation.name``.
        tool_name: key of the name of a tool that was called, where it is not GenAI's.
        wrapped: keys inside a recorded object that hold the value itself.
        texts: keys whose values are text even if it looks like JSON.
        shared: its keys have no prefix of its own, so that they count on its own spans only.
        empty_is_hidden: where content is not captured it writes empty objects.
    """

    name: str
    switch: str
    marks: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    output_messages: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    input_messages: tuple[str, ...] = ()
    input: tuple[str, ...] = ()
    flattened: tuple[str, str] | None = None
    kind: str = names.OPERATION_NAME
    operations: Mapping[str, str] = field(default_factory=dict)
    tool_name: str = names.TOOL_NAME
    wrapped: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    shared: bool = False
    empty_is_hidden: bool = False

    def is_of(self, found: Mapping[str, Any], scope: str) -> bool:
        """Return True if a span with these attributes and this instrumentation scope looks like one of its own."""
        for key in self.marks:  # this is asked for every span that is scored; `any` takes twice the time
            if key in found:
                return True
        return bool(self.scopes) and scope.startswith(self.scopes)


CONVENTIONS: Final = (
    Convention(
        name="gen_ai",
        switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (older ones need "
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental too), or keep content off spans and set "
        "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK=spanscore",
        marks=(names.OPERATION_NAME, names.GEN_AI_SYSTEM),
        output_messages=(names.OUTPUT_MESSAGES,),
        output=(names.TOOL_CALL_RESULT, names.RETRIEVAL_DOCUMENTS),
        input_messages=(names.INPUT_MESSAGES,),
        input=(names.TOOL_CALL_ARGUMENTS, names.RETRIEVAL_QUERY),
    ),
    Convention(
        name="openinference",
        switch="OPENINFERENCE_HIDE_OUTPUTS, OPENINFERENCE_HIDE_OUTPUT_MESSAGES, OPENINFERENCE_HIDE_OUTPUT_TEXT=false",
        marks=(names.SPAN_KIND,),
        scopes=("openinference.",),
        output=(names.OUTPUT_VALUE,),
        input=(names.INPUT_VALUE, names.OPENINFERENCE_TOOL_PARAMETERS),
        flattened=(names.OPENINFERENCE_OUTPUT_MESSAGES, names.OPENINFERENCE_INPUT_MESSAGES),
        kind=names.SPAN_KIND,
        operations={"LLM": _MODEL, "AGENT": _AGENT, "TOOL": _TOOL, "RETRIEVER": _RETRIEVAL, "EMBEDDING": "embeddings"},
        tool_name=names.OPENINFERENCE_TOOL_NAME,
    ),
    Convention(
        name="traceloop",
        switch="TRACELOOP_TRACE_CONTENT=true",
        marks=(names.TRACELOOP_KIND, names.TRACELOOP_NAME),
        scopes=("opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.openai.", "traceloop."),
        output=(names.TRACELOOP_OUTPUT,),
        input=(names.TRACELOOP_INPUT,),
        kind=names.TRACELOOP_KIND,
        operations={"workflow": _WORKFLOW, "agent": _AGENT, "tool": _TOOL},
        tool_name=names.TRACELOOP_NAME,
        wrapped=("outputs", "inputs", "output", "input_str"),
    ),
    Convention(
        name="pydantic_ai",
        switch="Agent.instrument_all(InstrumentationSettings(include_content=True))",
        marks=(names.PYDANTIC_AI_MESSAGES, names.LOGFIRE_MESSAGE),
        scopes=("pydantic-ai", "logfire"),
        output=("final_result", "tool_response", "response_data", "return"),
        input_messages=(names.PYDANTIC_AI_MESSAGES, "all_messages_events"),
        input=("tool_arguments", "request_data"),
        texts=("final_result",),
        shared=True,
    ),
    Convention(
        name="vercel",
        switch="experimental_telemetry: {recordInputs: true, recordOutputs: true}",
        marks=(names.VERCEL_OPERATION,),
        output=(
            names.VERCEL_OBJECT,
            names.VERCEL_TEXT,
            names.VERCEL_TOOL_CALLS,
            names.VERCEL_TOOL_RESULT,
            names.VERCEL_TOOL_OUTPUT,
        ),
        input_messages=(names.VERCEL_PROMPT_MESSAGES,),
        input=(names.VERCEL_PROMPT, names.VERCEL_TOOL_ARGS, names.VERCEL_TOOL_INPUT),
        kind=names.VERCEL_OPERATION,
        operations={
            "ai.toolCall": _TOOL,
            "ai.generateText": _AGENT,
            "ai.streamText": _AGENT,
            "ai.generateText.doGenerate": _MODEL,
            "ai.streamText.doStream": _MODEL,
            "ai.generateObject": _MODEL,
            "ai.streamObject": _MODEL,
        },
        tool_name=names.VERCEL_TOOL_NAME,
        texts=(names.VERCEL_TEXT,),
    ),
    Convention(
        name="mlflow",
        switch="mlflow.tracing.configure without a span processor that removes outputs",
        marks=(names.MLFLOW_TYPE,),
        output=(names.MLFLOW_OUTPUTS,),
        input=(names.MLFLOW_INPUTS,),
        kind=names.MLFLOW_TYPE,
        operations={"CHAT_MODEL": _MODEL, "LLM": _MODEL, "AGENT": _AGENT, "TOOL": _TOOL, "RETRIEVER": _RETRIEVAL},
    ),
    Convention(
        name="langfuse",
        switch="Langfuse(mask=None), and update(output=...) on observations of your own",
        marks=(names.LANGFUSE_TYPE,),
        scopes=("langfuse",),
        output=(names.LANGFUSE_OUTPUT,),
        input=(names.LANGFUSE_INPUT,),
        kind=names.LANGFUSE_TYPE,
        operations={"generation": _MODEL, "agent": _AGENT, "tool": _TOOL, "retriever": _RETRIEVAL},
    ),
    Convention(
        name="langsmith",
        switch="LANGSMITH_HIDE_OUTPUTS=false",
        marks=(names.LANGSMITH_KIND,),
        output=(names.COMPLETION,),
        input=(names.PROMPT,),
        kind=names.LANGSMITH_KIND,
        operations={"llm": _MODEL, "tool": _TOOL, "retriever": _RETRIEVAL},
        wrapped=("output", "input"),
        shared=True,
        empty_is_hidden=True,
    ),
    Convention(
        name="adk",
        switch="ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true",
        marks=(names.ADK_REQUEST, names.ADK_TOOL_ARGS),
        scopes=("gcp.vertex.agent",),
        output=(names.ADK_TOOL_RESPONSE, names.ADK_RESPONSE),
        input=(names.ADK_TOOL_ARGS, names.ADK_REQUEST),
        empty_is_hidden=True,
    ),
    Convention(
        name="gen_ai_legacy",
        switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
        output=(names.COMPLETION,),
        input=(names.PROMPT,),
        flattened=(names.COMPLETION, names.PROMPT),
        texts=(names.COMPLETION,),
    ),
)
"""In the order in which they are asked; the first that holds an output counts."""
