"""Evaluators of the tools that an agent called: which, how often, with what, and what came of it."""

from __future__ import annotations

from spanscore.evaluators.tool_calls.args import ToolCallArgs
from spanscore.evaluators.tool_calls.count import ToolCallCount
from spanscore.evaluators.tool_calls.order import ToolCallOrder
from spanscore.evaluators.tool_calls.output import ToolCallOutput

__all__ = ["ToolCallArgs", "ToolCallCount", "ToolCallOrder", "ToolCallOutput"]
