"""The runs of one handler as spans: begin, end, fail, give up."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from langchain_core.outputs import LLMResult
from opentelemetry.trace import SpanKind

from spanscore import MISSING, Call, CallRecorder
from spanscore_langchain import attributes as names
from spanscore_langchain.messages import answer_of, genai_messages, json_text, plain, reply_of
from spanscore_langchain.naming import response_attributes, run_attributes, thread_of
from spanscore_langchain.others import others_are_on, span_of
from spanscore_langchain.runs import Run, Runs

__all__ = ["Tracing", "record_text"]

_LEFT: Final = "the stream was left or the call was cancelled"


class Tracing:
    """Makes spans of runs, by their ids; safe for many threads.

    Args:
        recorder: makes the spans.
        score_only: True: describe the spans of others; False: make spans; None: whichever is needed.
        runs: keeps what runs.
    """

    def __init__(self, recorder: CallRecorder, *, score_only: bool | None, runs: Runs) -> None:
        self._recorder = recorder
        self._score_only = score_only
        self.content = recorder.capture_content
        self.runs = runs

    def begin(
        self,
        run_id: UUID,
        parent: Run | None,
        span_name: str,
        *,
        name: str,
        found: dict[str, Any],
        tags: Sequence[str] | None,
        metadata: Mapping[str, Any] | None,
        kind: SpanKind = SpanKind.INTERNAL,
        resumes: bool = False,
    ) -> Run:
        """Start a run and its span; ``found`` are its attributes, to which the user's are added."""
        run = Run(run_id, None, parent)
        if name != span_name:
            found[names.RUN_NAME] = name
        expected: Any = MISSING
        if metadata:
            run.expected = given = metadata.get(names.EXPECTED, MISSING)
            if given is not MISSING:
                inherited = MISSING if parent is None else parent.expected
                if given is not inherited and given != inherited:  # metadata are passed on to the runs below
                    expected = given
            run.thread = thread_of(metadata)
            if run.thread is not None:
                found[names.CONVERSATION_ID] = run.thread
        if tags or metadata:
            run_attributes(found, tags, metadata)
        if parent is None:
            self._give_up()
        else:
            run.agent = parent.agent
        if self._leaves_spans_to_others(parent):
            run.other = {names.RUN_NAME: name, **_described(found, expected)}
            _describe(run)
        elif parent is None or parent.call is not None:  # what an evaluator calls has no spans
            waited = self.runs.resumed(run.thread) if resumes and run.thread is not None else None
            run.call = self._recorder.begin(
                span_name,
                found,
                parent=None if parent is None else parent.call,
                kind=kind,
                expected=expected,
                aliases=(name,) if name != span_name else (),
                follows=(waited,) if waited is not None else (),
            )
        self.runs.add(run)
        return run

    def begin_model(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        name: str,
        *,
        found: dict[str, Any],
        tags: Sequence[str] | None,
        metadata: Mapping[str, Any] | None,
    ) -> Call | None:
        """Start the run of a model and return its call, if it has one; the span bears the model's name."""
        operation, model = found[names.OPERATION], found.get(names.REQUEST_MODEL)
        return self.begin(
            run_id,
            self.runs.get(parent_run_id),
            f"{operation} {model}" if model else operation,
            name=name,
            found=found,
            tags=tags,
            metadata=metadata,
            kind=SpanKind.CLIENT,
        ).call

    def end(self, run_id: UUID) -> Run | None:
        """Take a run out of the table, its end time taken; None if it is not known."""
        run = self.runs.pop(run_id)
        if run is None:
            return None
        if run.call is not None:
            run.call.stop_clock()
        elif run.other is not None:
            _describe(run)
        run.leave()
        return run

    def finish(self, run: Run, output: Any, *, streamed: bool = False) -> None:
        """End the span of a run with its output, and what is left below it.

        LangChain reports a sync stream that was left as ended, before what it reads from.
        """
        if streamed and run.root is run and run.live:
            self.runs.close(run)
        else:
            self._finish_below(run)
        call = run.call
        if call is None:
            return
        if run.root.closed:
            _stop(run, _LEFT, output)
        elif run.interrupted:
            call.record({names.RUN_OUTCOME: "interrupted"})
            call.stop("interrupted", "the graph waits for its user", None, output)
            if run.root is run and run.thread is not None:
                self.runs.wait(run.thread, call.span_context)
        elif output is MISSING:
            call.stop("no_content", "the response holds no answer")
        else:
            call.finish(output)

    def fail(self, run_id: UUID, error: BaseException, response: LLMResult | None = None) -> None:
        """End a run that raised, was cancelled, left or interrupted."""
        parent = getattr(self.runs.get(run_id), "parent", None)
        run = self.end(run_id)
        if run is None:
            return
        if run.root is run and isinstance(error, GeneratorExit):
            self.runs.close(run)  # who reads a stream is told before who writes it
        else:
            self._finish_below(run)
        if run.call is not None:
            output = MISSING if response is None else self.reply(run.call, response)
            if _is_control_flow(error):
                if parent is not None and _is_interrupt(error):
                    parent.interrupted = True
                run.call.record({names.RUN_OUTCOME: "interrupted"})
                run.call.stop("interrupted", f"control left with {type(error).__name__}", None, _payload(error))
            elif isinstance(error, (GeneratorExit, asyncio.CancelledError)):
                _stop(run, _LEFT, output)
            else:
                run.call.stop("exception", f"the call raised {type(error).__name__}", error, output)

    def reply(self, call: Call, response: LLMResult) -> Any:
        """Return what a model said, and record what its response says beside that."""
        generation, message = reply_of(response)
        if generation is None:
            return MISSING
        found = response_attributes(response, generation, message)
        if self.content and message is not None:
            reasons = found.get(names.FINISH_REASONS)
            record_text(call, names.OUTPUT_MESSAGES, genai_messages([message], reasons[0] if reasons else None))
        call.record(found)
        return answer_of(message if message is not None else generation.text)

    def _leaves_spans_to_others(self, parent: Run | None) -> bool:
        if parent is not None and parent.call is not None:
            return False
        return self._score_only is True or (self._score_only is None and others_are_on())

    def _finish_below(self, run: Run) -> None:
        """End what a root leaves behind."""
        if run.root is run and run.live:
            self._abandon(run, "the run that it is part of has ended")

    def _give_up(self) -> None:
        for root in self.runs.overdue():
            self._abandon(root, "its end was not reported")
            if not root.closed:
                _stop(root, "its end was not reported")
                root.leave()

    def _abandon(self, root: Run, why: str) -> None:
        for run in reversed(list(self.runs.below(root))):
            _stop(run, why)
            run.leave()


def record_text(call: Call, key: str, value: Any) -> None:
    """Record a value as an attribute: text as it stands, anything else as JSON if it can be."""
    text = value if isinstance(value, str) else json_text(value)
    if text is not None:
        call.record({key: text})


def _stop(run: Run, why: str, output: Any = MISSING) -> None:
    if run.call is not None:
        run.call.record({names.RUN_OUTCOME: "incomplete"})
        run.call.stop("incomplete", why, None, output)


def _described(found: Mapping[str, Any], expected: Any) -> dict[str, Any]:
    """Return what another instrumentation's span lacks: by what it is found, and what is expected."""
    kept = {key: found[key] for key in found if key.startswith("langchain.") or key == names.TAGS}
    if expected is not MISSING and (text := json_text(expected)) is not None:
        kept[names.EXPECTED] = text
    return kept


def _describe(run: Run) -> None:
    """Write to the other's span, if it is there: their handler may come before ours, or after."""
    if run.other is not None and (span := span_of(run.run_id)) is not None:
        span.set_attributes(run.other)
        run.other = None


def _is_control_flow(error: BaseException) -> bool:
    errors = sys.modules.get("langgraph.errors")
    return errors is not None and isinstance(error, errors.GraphBubbleUp)


def _is_interrupt(error: BaseException) -> bool:
    return isinstance(error, sys.modules["langgraph.errors"].GraphInterrupt)


def _payload(error: BaseException) -> Any:
    """Return what an interrupt asks, or what a command says."""
    if not error.args:
        return MISSING
    interrupts = error.args[0]
    if isinstance(interrupts, (list, tuple)):
        return {"interrupts": [getattr(one, "value", one) for one in interrupts]}
    return plain(interrupts)
