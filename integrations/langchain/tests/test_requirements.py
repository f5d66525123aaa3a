"""L1 to L12: what goes wrong with handlers for LangChain elsewhere, and does not here."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import TypedDict

import pytest
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, LLMResult
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from opentelemetry import trace

from spanscore import ExactMatch, Expectations
from spanscore_langchain import SpanscoreCallbackHandler
from spanscore_langchain import runs as table


class State(TypedDict, total=False):
    question: str
    answer: str


def graph(*nodes, checkpointer=None, name="support"):
    builder = StateGraph(State)
    before = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
        before = node.__name__
    builder.add_edge(before, END)
    return builder.compile(checkpointer=checkpointer, name=name)


def expecting_of(name, expected="yes", **more):
    expectations = Expectations()
    expectations.add(name, ExactMatch(), expected=expected, threshold=1.0, **more)
    return expectations


# L1: parents come from run ids; nothing is attached but inside tools and nodes, and that undoes itself.


def test_l1_parents_come_from_run_ids_and_no_span_is_current_in_a_chain(traced):
    seen = []

    def look(value):
        seen.append(trace.get_current_span().get_span_context().is_valid)
        return value

    chain = RunnableLambda(look).with_config(run_name="inner") | RunnableLambda(look).with_config(run_name="last")
    chain.with_config(run_name="outer").invoke("x", traced.config)
    assert seen == [False, False]
    assert traced.parents() == {
        "inner": "invoke_workflow outer",
        "last": "invoke_workflow outer",
        "invoke_workflow outer": None,
    }


def test_l1_a_root_is_the_child_of_the_span_that_is_current_when_it_starts(traced):
    with traced.provider.get_tracer("app").start_as_current_span("request"):
        RunnableLambda(str).with_config(run_name="chain").invoke("x", traced.config)
    assert traced.parents()["invoke_workflow chain"] == "request"


def test_l1_a_span_opened_inside_a_tool_is_the_tools_child(traced):
    tracer = traced.provider.get_tracer("app")

    @tool
    def lookup(key: str) -> str:
        """Look a key up."""
        with tracer.start_as_current_span("database"):
            return key

    lookup.invoke({"key": "a"}, traced.config)
    assert not trace.get_current_span().get_span_context().is_valid
    assert traced.parents() == {"database": "execute_tool lookup", "execute_tool lookup": None}


@pytest.mark.anyio
async def test_l1_a_span_opened_inside_an_async_tool_is_its_child_also_beside_others(traced):
    tracer = traced.provider.get_tracer("app")

    @tool
    async def lookup(key: str) -> str:
        """Look a key up."""
        await asyncio.sleep(0)
        with tracer.start_as_current_span(f"database {key}"):
            await asyncio.sleep(0)
            return key

    await asyncio.gather(*(lookup.ainvoke({"key": str(n)}, traced.config) for n in range(8)))
    assert not trace.get_current_span().get_span_context().is_valid
    of_tools = {
        dict(span.attributes)["input.value"]: span.context.span_id for span in traced.spans("execute_tool lookup")
    }
    for n in range(8):
        assert traced.span(f"database {n}").parent.span_id == of_tools[f'{{"key":"{n}"}}']


@pytest.mark.anyio
async def test_l1_a_cancelled_tool_leaves_no_current_span_behind(traced):
    started = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    async def chain(_):
        return await wait.ainvoke({})

    task = asyncio.ensure_future(RunnableLambda(chain).ainvoke("x", traced.config))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert traced.attributes("execute_tool wait")["langchain.run.outcome"] == "incomplete"


@pytest.mark.anyio
async def test_l1_a_tool_that_ran_into_a_timeout_is_no_longer_current_in_the_same_task(traced):
    @tool
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    async def chain(_):
        try:
            async with asyncio.timeout(0.01):
                await wait.ainvoke({})
        except TimeoutError:
            return "late"

    await RunnableLambda(chain).ainvoke("x", traced.config)
    with traced.provider.get_tracer("app").start_as_current_span("after"):
        pass
    assert traced.span("after").parent is None


# L2, L3: control flow.


def test_l2_an_interrupt_is_no_error_and_is_skipped_with_what_it_asks(make_traced):
    traced = make_traced(expecting_of("*"))

    def ask(state: State):
        return {"answer": interrupt({"sure": True})}

    app = graph(ask, checkpointer=MemorySaver())
    config = {**traced.config, "configurable": {"thread_id": "t1"}}
    app.invoke({"question": "?"}, config)
    for name in ("ask", "invoke_workflow support"):
        span, found = traced.span(name), traced.attributes(name)
        assert span.status.status_code is trace.StatusCode.UNSET and not [
            event for event in span.events if event.name == "exception"
        ]
        assert (found["spanscore.label"], found["spanscore.exact_match.reason"]) == ("skipped", "interrupted")
        assert found["langchain.run.outcome"] == "interrupted"
    assert traced.attributes("ask")["output.value"] == '{"interrupts":[{"sure":true}]}'


def test_l2_a_command_to_the_parent_graph_is_no_error(traced):
    def leave(state: State):
        return Command(graph=Command.PARENT, goto="after", update={"answer": "yes"})

    def after(state: State):
        return {"question": "done"}

    inner = graph(leave, name="inner")
    builder = StateGraph(State)
    builder.add_node("inner", inner)
    builder.add_node("after", after)
    builder.add_edge(START, "inner")
    builder.add_edge("after", END)
    builder.compile(name="outer").invoke({"question": "?"}, traced.config)
    assert {span.status.status_code for span in traced.spans()} == {trace.StatusCode.UNSET}
    assert traced.attributes("leave")["langchain.run.outcome"] == "interrupted"
    assert "langchain.run.outcome" not in traced.attributes("invoke_workflow outer")


def test_l2_an_exception_that_only_has_the_name_of_control_flow_is_an_error(traced):
    class GraphInterrupt(Exception):
        pass

    def fail(value):
        raise GraphInterrupt

    with pytest.raises(GraphInterrupt):
        RunnableLambda(fail).with_config(run_name="chain").invoke("x", traced.config)
    assert traced.span("invoke_workflow chain").status.status_code is trace.StatusCode.ERROR


def test_l3_a_resumed_run_is_linked_to_the_one_that_waited_and_scored(make_traced):
    traced = make_traced(expecting_of("support", {"question": "?", "answer": "yes"}))

    def ask(state: State):
        return {"answer": interrupt("sure?")}

    app = graph(ask, checkpointer=MemorySaver())
    config = {**traced.config, "configurable": {"thread_id": "t1"}}
    app.invoke({"question": "?"}, config)
    app.invoke(Command(resume="yes"), config)
    first, second = traced.spans("invoke_workflow support")
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert second.attributes["spanscore.label"] == "pass"
    assert second.attributes["gen_ai.conversation.id"] == "t1"


def test_l3_only_so_many_waiting_conversations_are_remembered(monkeypatch):
    runs = table.Runs(max_age_s=60, max_roots=10)
    for n in range(table._MAX_WAITING + 10):
        runs.wait(str(n), trace.INVALID_SPAN_CONTEXT)
    assert len(runs._waiting) == table._MAX_WAITING
    assert runs.resumed("0") is None and runs.resumed("20") is not None


# L4: nothing is left.


def test_l4_nothing_is_left_after_many_runs_that_end_and_fail(traced):
    def sometimes(value):
        if value % 3 == 0:
            raise ValueError(value)
        return value

    chain = RunnableLambda(lambda value: value) | RunnableLambda(sometimes)
    for n in range(200):
        if n % 3:
            chain.invoke(n, traced.config)
        else:
            with pytest.raises(ValueError):
                chain.invoke(n, traced.config)
    assert traced.handler.open_runs() == 0
    assert len(traced.spans()) == 600


def test_l4_what_a_root_leaves_below_it_ends_with_it(traced):
    root, child = uuid.uuid4(), uuid.uuid4()
    traced.handler.on_chain_start(None, {}, run_id=root, name="root")
    traced.handler.on_chain_start(None, {}, run_id=child, parent_run_id=root, name="child")
    traced.handler.on_chain_end({}, run_id=root)
    assert traced.handler.open_runs() == 0
    assert traced.attributes("child")["langchain.run.outcome"] == "incomplete"


def test_l4_a_run_whose_end_never_comes_ages_out_with_all_below_it(make_traced):
    traced = make_traced(expecting_of("root"), max_age_s=0.02)
    root, child = uuid.uuid4(), uuid.uuid4()
    traced.handler.on_chain_start(None, {}, run_id=root, name="root")
    traced.handler.on_chain_start(None, {}, run_id=child, parent_run_id=root, name="child")
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        assert traced.handler.open_runs() > 0
    RunnableLambda(str).invoke("x", traced.config)
    assert traced.handler.open_runs() == 0
    assert traced.attributes("invoke_workflow root")["spanscore.exact_match.reason"] == "incomplete"
    traced.handler.on_chain_end({}, run_id=child)  # too late, and no harm


def test_l4_only_so_many_roots_are_kept(make_traced):
    traced = make_traced(max_roots=5)
    roots = [uuid.uuid4() for _ in range(20)]
    for root in roots:
        traced.handler.on_chain_start(None, {}, run_id=root, name="root")
    assert traced.handler.open_runs() <= 2 * 6
    for root in roots:
        traced.handler.on_chain_end({}, run_id=root)
    assert len(traced.spans("invoke_workflow root")) == 20


# L5, L9: threads and loops.


def test_l5_one_handler_serves_many_threads_and_loops_at_once(make_traced):
    traced = make_traced(expecting_of("work", where={"langchain.metadata.odd": True}))
    chain = RunnableParallel(
        a=RunnableLambda(lambda n: n).with_config(run_name="a"), b=RunnableLambda(lambda n: n).with_config(run_name="b")
    )
    work = (chain | RunnableLambda(lambda found: "yes" if found["a"] == found["b"] else "no")).with_config(
        run_name="work"
    )

    def run(n):
        config = {**traced.config, "metadata": {"odd": bool(n % 2)}}
        return asyncio.run(work.ainvoke(n, config)) if n % 4 < 2 else work.invoke(n, config)

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(run, range(128))) == {"yes"}
    spans = traced.spans()
    traces: dict[int, list] = {}
    for span in spans:
        traces.setdefault(span.context.trace_id, []).append(span)
    assert len(traces) == 128
    for members in traces.values():
        (root,) = [span for span in members if span.parent is None]
        assert len(members) == 5 and len({span.attributes["input.value"] for span in members}) <= 2
        assert root.attributes.get("spanscore.label") == ("pass" if root.attributes["langchain.metadata.odd"] else None)


def test_l9_a_thread_pool_without_the_context_keeps_the_tree(traced):
    def outer(value, config):
        inner = RunnableLambda(lambda x: x).with_config(run_name="inner")
        found = []
        thread = threading.Thread(target=lambda: found.append(inner.invoke(value, {"callbacks": config["callbacks"]})))
        thread.start()
        thread.join()
        return found[0]

    RunnableLambda(outer).with_config(run_name="outer").invoke("x", traced.config)
    assert traced.parents()["inner"] == "invoke_workflow outer"


# L6: unknown ids.


def test_l6_an_unknown_parent_starts_a_root_and_an_unknown_run_is_ignored(traced):
    run, nobody = uuid.uuid4(), uuid.uuid4()
    traced.handler.on_tool_end("x", run_id=nobody)
    traced.handler.on_llm_error(ValueError(), run_id=nobody)
    traced.handler.on_chain_start(None, {}, run_id=run, parent_run_id=nobody, name="late")
    traced.handler.on_chain_end({}, run_id=run, parent_run_id=nobody)
    assert traced.parents() == {"invoke_workflow late": None}


# L7: streams that are left.


def streaming_chain(chunks=("a ", "b ", "c ")):
    model = GenericFakeChatModel(messages=iter([AIMessage("".join(chunks))] * 10))
    return (RunnableLambda(lambda value: value) | model).with_config(run_name="chain")


def test_l7_a_sync_stream_that_is_left_ends_incomplete_with_what_was_said(make_traced):
    traced = make_traced(expecting_of("*"))
    stream = streaming_chain().stream("hi", traced.config)
    next(stream)
    stream.close()
    del stream
    gc.collect()
    chat = traced.attributes("chat")
    if version("langchain-core").split(".")[0] != "0":  # older ones do not say what came so far
        assert chat["output.value"].startswith("a") and "c" not in chat["output.value"]
    for name in ("chat", "invoke_workflow chain"):
        found = traced.attributes(name)
        assert (found["spanscore.label"], found["spanscore.exact_match.reason"]) == ("skipped", "incomplete")
        assert traced.span(name).status.status_code is trace.StatusCode.UNSET


@pytest.mark.anyio
async def test_l7_an_async_stream_that_is_left_ends_incomplete(make_traced):
    traced = make_traced(expecting_of("*"))
    stream = streaming_chain().astream("hi", traced.config)
    await anext(stream)
    await stream.aclose()
    del stream
    for _ in range(10_000):  # the loop closes the inner generators when they are collected
        gc.collect(0)
        await asyncio.sleep(0)
        if not traced.handler.open_runs():
            break
    for name in ("chat", "invoke_workflow chain"):
        assert traced.attributes(name)["langchain.run.outcome"] == "incomplete"
        assert traced.attributes(name)["spanscore.label"] == "skipped"


@pytest.mark.anyio
async def test_l7_a_cancelled_run_ends_incomplete_and_is_no_error(make_traced):
    traced = make_traced(expecting_of("*"))
    started = asyncio.Event()

    async def wait(_):
        started.set()
        await asyncio.Event().wait()

    chain = (RunnableLambda(str) | RunnableLambda(wait).with_config(run_name="wait")).with_config(run_name="chain")
    task = asyncio.ensure_future(chain.ainvoke("x", traced.config))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for name in ("wait", "invoke_workflow chain"):
        assert traced.attributes(name)["spanscore.exact_match.reason"] == "incomplete"
        assert traced.span(name).status.status_code is trace.StatusCode.UNSET


# L8: output and usage.


class Reply(FakeListChatModel):
    """Answers with one message."""

    message: AIMessage
    info: dict | None = None
    output: dict | None = None

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        from langchain_core.outputs import ChatResult

        return ChatResult(
            generations=[ChatGeneration(message=self.message, generation_info=self.info)], llm_output=self.output
        )


USAGE = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "input_token_details": {"cache_read": 3}}


@pytest.mark.parametrize(
    ("message", "info", "output", "counts"),
    [
        (AIMessage("x", usage_metadata=USAGE), {"token_usage": {"prompt_tokens": 9}}, None, (5, 2)),
        (AIMessage("x"), {"token_usage": {"prompt_tokens": 9, "completion_tokens": 1}}, None, (9, 1)),
        (AIMessage("x"), None, {"token_usage": {"prompt_tokens": 4, "completion_tokens": 6}}, (4, 6)),
        (AIMessage("x"), None, {"token_usage": {}}, (None, None)),
        (AIMessage("x"), None, None, (None, None)),
    ],
)
def test_l8_tokens_come_from_the_message_then_the_generation_then_the_output_or_are_absent(
    traced, message, info, output, counts
):
    Reply(responses=[""], message=message, info=info, output=output).invoke("hi", traced.config)
    found = traced.attributes("chat")
    assert (found.get("gen_ai.usage.input_tokens"), found.get("gen_ai.usage.output_tokens")) == counts
    assert (found.get("llm.token_count.prompt"), found.get("llm.token_count.completion")) == counts


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("Paris", "Paris"),
        ([{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}], "Paris"),
        ('{"city": "Paris"}', '{"city":"Paris"}'),
    ],
)
def test_l8_the_output_is_the_text_of_the_message_or_the_json_that_it_is(traced, content, output):
    Reply(responses=[""], message=AIMessage(content)).invoke("hi", traced.config)
    assert traced.attributes("chat")["output.value"] == output


def test_l8_a_message_without_text_counts_by_its_tool_calls(traced):
    call = {"name": "lookup", "args": {"key": "a"}, "id": "c1", "type": "tool_call"}
    Reply(responses=[""], message=AIMessage("", tool_calls=[call])).invoke("hi", traced.config)
    found = traced.attributes("chat")
    assert found["output.value"] == '{"tool_calls":[{"name":"lookup","args":{"key":"a"},"id":"c1"}]}'
    assert '"type":"tool_call"' in found["gen_ai.output.messages"]


def test_l8_a_streamed_answer_is_scored_whole(make_traced):
    traced = make_traced(expecting_of("chat", "a b c "))
    list(streaming_chain().stream("hi", traced.config))
    assert traced.attributes("chat")["spanscore.label"] == "pass"


# L10: times.


def test_l10_scoring_does_not_lengthen_the_span(make_traced):
    from spanscore import Score

    class Slow:
        name, version = "slow", "1"

        def evaluate(self, output, expected, *, step=None):
            until = time.monotonic() + 0.05
            while time.monotonic() < until:
                pass
            return Score(evaluator="slow", value=1.0)

    expectations = Expectations()
    expectations.add("chain", Slow(), expected="x")
    traced = make_traced(expectations)
    RunnableLambda(str).with_config(run_name="chain").invoke("x", traced.config)
    span = traced.span("invoke_workflow chain")
    assert span.attributes["spanscore.slow.score"] == 1.0
    assert span.end_time - span.start_time < 50_000_000


def test_l10_callbacks_run_on_the_thread_or_the_loop_of_the_run():
    assert SpanscoreCallbackHandler.run_inline is True


# L11 stands in test_other_instrumentations.py.


# L12: strange values.


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__


@pytest.mark.parametrize(
    "value",
    [Unspeakable(), {"a": Unspeakable()}, {1: {2}}, {"n": float("nan")}, object(), b"\xff", "\ud800", None, [[]]],
)
def test_l12_any_value_goes_in_and_out(traced, value):
    RunnableLambda(lambda found: found).with_config(run_name="chain").invoke(value, traced.config)
    assert {"input.value", "output.value"} <= traced.attributes("invoke_workflow chain").keys()


def test_l12_a_cycle_goes_in_and_out(traced):
    value: dict = {}
    value["self"] = value
    RunnableLambda(lambda found: found).with_config(run_name="chain").invoke(value, traced.config)
    assert "<cycle>" in traced.attributes("invoke_workflow chain")["output.value"]


@pytest.mark.parametrize("serialized", [None, {}, {"id": []}, {"name": None}])
def test_l12_a_run_without_a_name_is_captured(traced, serialized):
    for kind, argument, end in (
        ("chain", {}, {}),
        ("tool", "x", "y"),
        ("retriever", "x", []),
        ("llm", ["x"], LLMResult(generations=[[Generation(text="y")]])),
        ("chat_model", [[HumanMessage("x")]], LLMResult(generations=[])),
    ):
        run = uuid.uuid4()
        getattr(traced.handler, f"on_{kind}_start")(serialized, argument, run_id=run)
        getattr(traced.handler, f"on_{kind.removesuffix('_model') if kind != 'chat_model' else 'llm'}_end")(
            end, run_id=run
        )
    assert len(traced.spans()) == 5


def test_l12_tokens_of_any_name_warn_of_nothing(traced):
    run = uuid.uuid4()
    traced.handler.on_chat_model_start({}, [[HumanMessage("x")]], run_id=run)
    traced.handler.on_llm_new_token("a", chunk=ChatGenerationChunk(message=AIMessageChunk("a")), run_id=run)
    traced.handler.on_llm_new_token(token=[{"a": 1}], run_id=run)
    traced.handler.on_interrupt(None)
    traced.handler.on_resume(None)
    traced.handler.on_llm_end(LLMResult(generations=[[ChatGeneration(message=AIMessage("a"))]]), run_id=run)
    assert traced.attributes("chat")["output.value"] == "a"
