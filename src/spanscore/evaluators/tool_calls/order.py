"""ToolCallOrder: were the tools called in the expected order?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanscore.errors import EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.tool_calls.common_subsequence import common_subsequence
from spanscore.evaluators.tool_calls.matching import keys_of
from spanscore.evaluators.tool_calls.records import ToolCall, calls_of, criteria
from spanscore.evaluators.tool_calls.scoring import field_of, score_of, score_of_empty
from spanscore.score import Score
from spanscore.step import Step

__all__ = ["ToolCallOrder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallOrder:
    """Share of the expected calls that were made in order. Source: UiPath ``uipath-tool-call-trajectory``.

    The expected value is the list of tool names, or ``{"tool_calls_order": [...]}``; the calls are
    read from ``step.trajectory``. ``value`` is the length of the longest common subsequence over the
    number of expected calls. Calls in between cost nothing. A name means a call by its name, blanks
    as underscores, or by its id. No calls give 0; an empty expectation, a missing trajectory and
    names that are no text are errors.

    ``fields`` has one record an expected call, 1 or 0, whose mean is ``value`` unless ``strict``.
    ``metrics`` has ``lcs_length``, ``expected_calls`` and ``actual_calls``.

    Args:
        name: key of the score.
        strict: 1 if the calls are exactly the expected ones, else 0.
        compat: give UiPath's result to the bit: a call with ``tool.id`` has no name, names lose what is
            not ASCII, nothing expected and nothing called is 1, and only one of both empty is 0.

    Raises:
        ConfigurationError: a bad name.

    >>> from spanscore.step import Step, Trajectory
    >>> steps = tuple(Step(name=f"execute_tool {tool}", operation="execute_tool") for tool in ("search", "log", "book"))
    >>> run = Step(name="agent", trajectory=Trajectory(steps=steps))
    >>> ToolCallOrder().evaluate(None, ["search", "pay", "book"], step=run).value
    0.6666666666666666
    """

    name: str = "tool_call_order"
    strict: bool = False
    compat: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def needs_trajectory(self) -> bool:
        """Return True: the calls are steps of the run."""
        return True

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score of the step's trajectory; raise EvaluationError where it or the expectation is missing."""
        names = criteria(expected, "tool_calls_order", list, "a list of tool names, in order")
        if not all(isinstance(name, str) for name in names):
            raise EvaluationError(f"{self.name}: every expected call must be the name of a tool, as text")
        calls = calls_of(step, compat=self.compat)
        empty = score_of_empty(self.name, names, calls, compat=self.compat)
        found = set(common_subsequence(_masks(names, calls, compat=self.compat), len(names)))
        fields = [
            field_of(f"/{index}", name, name if index in found else None, "match" if index in found else "missing")
            for index, name in enumerate(names)
        ]
        value = empty if empty is not None else len(found) / len(names)
        if self.strict and empty is None:
            value = float(len(found) == len(names) == len(calls))
        return score_of(self.name, self.version, value, fields, calls, lcs_length=float(len(found)))


def _masks(names: Sequence[str], calls: Sequence[ToolCall], *, compat: bool) -> list[int]:
    """Return for every call the bits of the expected names that mean it."""
    bits: Counter[tuple[str, str]] = Counter()
    for index, name in enumerate(names):
        for key in (("id", name), *(key for key in keys_of(ToolCall(name, (), None, None), compat=compat))):
            bits[key] |= 1 << index
    masks = []
    for call in calls:
        mask = 0
        for key in keys_of(call, compat=compat):
            mask |= bits[key]
        masks.append(mask)
    return masks
