"""SpanscoreCallbackHandler: LangChain's callbacks as spans with scores."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from opentelemetry.trace import SpanKind, TracerProvider

from spanscore import MISSING, CallRecorder, ConfigurationError, Expectations
from spanscore_langchain import attributes as names
from spanscore_langchain.ambient import Ambient
from spanscore_langchain.messages import answer_of, genai_messages, plain
from spanscore_langchain.naming import agent_of, model_attributes, name_of
from spanscore_langchain.runs import Runs
from spanscore_langchain.tracing import Tracing, record_text

__all__ = ["SpanscoreCallbackHandler"]

_logger = logging.getLogger(__name__)
_logged: Final[set[str]] = set()
_CHAIN: Final = {names.SPAN_KIND: "CHAIN"}
_AGENT: Final = {names.SPAN_KIND: "AGENT"}


class SpanscoreCallbackHandler(BaseCallbackHandler):
    """Makes one span a run, with input, output, what the GenAI conventions know of it, and its scores.

    For chains, chat models, LLMs, tools, retrievers, agents and LangGraph graphs, sync and async,
    streamed or not. One handler serves any number of runs, threads and event loops at once.
    Scores are those of `spanscore.evaluate_output`, made after the end time of the span is taken.

    A run is found by expectations under the name of its span, under its run name (for tools, chains
    and graphs the name it has in the program), and with ``where=`` by ``tag.tags``,
    ``langchain.metadata.<key>``, ``gen_ai.agent.name``, ``gen_ai.tool.name`` and all other attributes.
    The metadata key ``spanscore.expected`` gives the expected value of the one run it is passed to.

    Args:
        expectations: the registry; None leaves it to the processor's.
        tracer_provider: the global one by default.
        capture_content: if False, or if ``SPANSCORE_EXPORT_CONTENT=false`` is set, values are scored
            but never stand on a span.
        inline_max_bytes: outputs up to this size are scored before the span ends.
        score_only: make no spans, and put run name, tags, metadata and expected value on those of
            another instrumentation, which the processor then scores. None: where OpenInference's or
            Traceloop's instrumentor is on and no ``expectations`` are given.
        max_age_s: a run whose end was not reported after so many seconds is ended as incomplete.
        max_roots: so many runs without a parent are kept at once; the oldest are ended as incomplete.

    Raises:
        ConfigurationError: a setting is wrong.

    >>> from langchain_core.runnables import RunnableLambda
    >>> from spanscore import ExactMatch
    >>> from spanscore.testing import MemoryPipeline
    >>> pipeline, expectations = MemoryPipeline(), Expectations()
    >>> _ = expectations.add("capital", ExactMatch(), expected="Paris", threshold=1.0)
    >>> handler = SpanscoreCallbackHandler(expectations, tracer_provider=pipeline.provider)
    >>> chain = RunnableLambda(lambda country: "Paris").with_config(run_name="capital")
    >>> chain.invoke("France", {"callbacks": [handler]})
    'Paris'
    >>> pipeline.attributes("invoke_workflow capital")["spanscore.label"]
    'pass'
    """

    run_inline = True  # the order of events counts, and what runs in an executor sees copied contexts

    def __init__(
        self,
        expectations: Expectations | None = None,
        *,
        tracer_provider: TracerProvider | None = None,
        capture_content: bool = True,
        inline_max_bytes: int = 65_536,
        score_only: bool | None = None,
        max_age_s: float = 3_600.0,
        max_roots: int = 10_000,
    ) -> None:
        if score_only and expectations is not None:
            raise ConfigurationError(
                "score_only=True leaves scoring to the processor: give it the expectations, "
                "spanscore.install(provider, expectations)"
            )
        if max_age_s <= 0 or max_roots < 1:
            raise ConfigurationError(f"max_age_s {max_age_s!r} must be above 0, max_roots {max_roots!r} 1 or more")
        recorder = CallRecorder(
            expectations,
            tracer_provider=tracer_provider,
            capture_content=capture_content,
            inline_max_bytes=inline_max_bytes,
        )
        self._tracing = Tracing(
            recorder,
            score_only=score_only if expectations is None else False,
            runs=Runs(max_age_s=max_age_s, max_roots=max_roots),
        )
        self._content = recorder.capture_content

    @property
    def ignore_retry(self) -> bool:
        """Retries are part of the run that they retry."""
        return True

    @property
    def ignore_custom_event(self) -> bool:
        """Custom events are the program's own."""
        return True

    def open_runs(self) -> int:
        """Return how many runs have started and not ended; 0 when nothing runs."""
        return len(self._tracing.runs)

    # What starts.

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Start the span of a chain, a graph, a node or an agent."""
        try:
            name = name_of(serialized, name, "chain")
            parent = self._tracing.runs.get(parent_run_id)
            found: dict[str, Any] = {}
            span_name, agent, kind = name, agent_of(metadata) if metadata else "", _CHAIN
            if agent and (parent is None or parent.agent != agent):
                span_name, kind = f"invoke_agent {agent}", _AGENT
                found = {names.OPERATION: "invoke_agent", names.AGENT_NAME: agent}
            elif parent is None:
                span_name = f"invoke_workflow {name}"
                found = {names.OPERATION: "invoke_workflow", names.WORKFLOW_NAME: name}
            run = self._tracing.begin(
                run_id,
                parent,
                span_name,
                name=name,
                found=found,
                tags=tags,
                metadata=metadata,
                resumes=parent is None and _is_command(inputs),
            )
            if run.call is None:
                return
            run.agent = agent
            run.call.record(kind)  # attributes at the start cost twice
            run.call.record_input(plain(inputs))
            if metadata and metadata.get("langgraph_node") == name:
                run.ambient = Ambient(run.call.context)
        except Exception:
            _log_once("start")

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        invocation_params: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start the span of a chat model's call."""
        try:
            name = name_of(serialized, name, "chat")
            found = model_attributes("chat", metadata, invocation_params)
            call = self._tracing.begin_model(run_id, parent_run_id, name, found=found, tags=tags, metadata=metadata)
            if call is None or not self._content:
                return
            sent = messages[0] if messages else []
            call.record_input([plain(message) for message in sent])
            record_text(call, names.INPUT_MESSAGES, genai_messages(sent))
        except Exception:
            _log_once("start")

    def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        invocation_params: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start the span of a text model's call."""
        try:
            name = name_of(serialized, name, "llm")
            found = model_attributes("text_completion", metadata, invocation_params)
            call = self._tracing.begin_model(run_id, parent_run_id, name, found=found, tags=tags, metadata=metadata)
            if call is not None:
                call.record_input(prompts[0] if len(prompts) == 1 else prompts)
        except Exception:
            _log_once("start")

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        name: str | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Start the span of a tool's call; spans that the tool opens are its children."""
        try:
            tool = name_of(serialized, None, name or "tool")
            found: dict[str, Any] = {
                names.OPERATION: "execute_tool",
                names.TOOL_NAME: tool,
                names.TOOL_TYPE: "function",
                names.SPAN_KIND: "TOOL",
            }
            if serialized and serialized.get("description"):
                found[names.TOOL_DESCRIPTION] = str(serialized["description"])[:1_000]
            if tool_call_id:
                found[names.TOOL_CALL_ID] = tool_call_id
            run = self._tracing.begin(
                run_id,
                self._tracing.runs.get(parent_run_id),
                f"execute_tool {tool}",
                name=name or tool,
                found=found,
                tags=tags,
                metadata=metadata,
            )
            if run.call is None:
                return
            arguments = plain(inputs) if inputs is not None else answer_of(input_str)
            run.call.record_input(arguments)
            if self._content:
                record_text(run.call, names.TOOL_ARGUMENTS, arguments)
            run.ambient = Ambient(run.call.context)
        except Exception:
            _log_once("start")

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Start the span of a retriever's call."""
        try:
            name = name_of(serialized, name, "retriever")
            found: dict[str, Any] = {names.OPERATION: "retrieval", names.SPAN_KIND: "RETRIEVER"}
            if self._content:
                found[names.RETRIEVAL_QUERY] = str(query)
            run = self._tracing.begin(
                run_id,
                self._tracing.runs.get(parent_run_id),
                f"retrieval {name}",
                name=name,
                found=found,
                tags=tags,
                metadata=metadata,
                kind=SpanKind.CLIENT,
            )
            if run.call is not None:
                run.call.record_input(query)
        except Exception:
            _log_once("start")

    # What ends.

    def on_chain_end(
        self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, inputs: Any = None, **kwargs: Any
    ) -> None:
        """End the span of a chain; of one that was streamed the whole input is known only now."""
        try:
            run = self._tracing.end(run_id)
            if run is None:
                return
            if inputs is not None and run.call is not None:
                run.call.record_input(plain(inputs))
            output = plain(outputs) if run.interrupted else answer_of(outputs)
            self._tracing.finish(run, output, streamed=inputs is not None)
        except Exception:
            _log_once("end")

    def on_llm_end(
        self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """End the span of a model's call."""
        try:
            run = self._tracing.end(run_id)
            if run is not None:
                self._tracing.finish(run, MISSING if run.call is None else self._tracing.reply(run.call, response))
        except Exception:
            _log_once("end")

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """End the span of a tool's call."""
        try:
            run = self._tracing.end(run_id)
            if run is None:
                return
            answer = answer_of(output)
            if self._content and run.call is not None:
                record_text(run.call, names.TOOL_RESULT, answer)
            self._tracing.finish(run, answer)
        except Exception:
            _log_once("end")

    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """End the span of a retriever's call."""
        try:
            run = self._tracing.end(run_id)
            if run is not None:
                found = [{"id": one.id, "content": one.page_content, "metadata": one.metadata} for one in documents]
                self._tracing.finish(run, found)
        except Exception:
            _log_once("end")

    # What fails, or is left.

    def on_chain_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: Any = None,
        **kwargs: Any,
    ) -> None:
        """End the span of a chain that raised, was cancelled, left or interrupted."""
        self._failed(run_id, error)

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        response: LLMResult | None = None,
        **kwargs: Any,
    ) -> None:
        """End the span of a model's call, with what it said so far."""
        self._failed(run_id, error, response)

    def on_tool_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """End the span of a tool that raised, was cancelled or interrupted."""
        self._failed(run_id, error)

    def on_retriever_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """End the span of a retriever that raised."""
        self._failed(run_id, error)

    def _failed(self, run_id: UUID, error: BaseException, response: LLMResult | None = None) -> None:
        try:
            self._tracing.fail(run_id, error, response)
        except Exception:
            _log_once("error")

    # LangGraph asks for these by name; nodes and graphs report what is needed themselves.

    def on_interrupt(self, event: Any) -> None:
        """Do nothing: the node that was interrupted has said so."""

    def on_resume(self, event: Any) -> None:
        """Do nothing: the resumed run is a root, linked to the one that waited."""


def _is_command(inputs: Any) -> bool:
    types = sys.modules.get("langgraph.types")
    return types is not None and isinstance(inputs, types.Command)


def _log_once(kind: str) -> None:
    """Log the exception being handled, once a kind: LangChain would log it each time."""
    if kind not in _logged:
        _logged.add(kind)
        _logger.warning("a run could not be captured at its %s (logged once)", kind, exc_info=True)
