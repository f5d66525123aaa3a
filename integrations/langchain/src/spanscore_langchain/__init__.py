"""spanscore for LangChain and LangGraph: every run becomes a span, and the spans that matter have scores."""

from spanscore_langchain.handler import SpanscoreCallbackHandler
from spanscore_langchain.judge import langchain_judge_client
from spanscore_langchain.switch import disable, enable, follow_environment

__all__ = ["SpanscoreCallbackHandler", "disable", "enable", "langchain_judge_client"]

follow_environment()
