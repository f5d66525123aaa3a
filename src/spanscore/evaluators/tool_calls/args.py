"""ToolCallArgs: were the tools called with the expected arguments?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanscore.errors import EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.tool_calls.matching import (
    Pool,
    Wanted,
    args_compat,
    args_of,
    contains_args,
    contains_args_compat,
)
from spanscore.evaluators.tool_calls.records import ToolCall, calls_of, canonical
from spanscore.evaluators.tool_calls.scoring import fields_of, mean_of, score_of, score_of_empty, wanted_calls
from spanscore.score import Score
from spanscore.step import Step

__all__ = ["ToolCallArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallArgs:
    """Share of the expected calls that were made with these arguments. Source: UiPath ``uipath-tool-call-args``.

    The expected value is a list of ``{"name", "args"}``, with an optional ``"id"``, or
    ``{"tool_calls": [...]}``; the calls are read from ``step.trajectory``, in any order, each for one
    expected call. ``value`` is the number of expected calls found over their number. Arguments are
    compared as JSON: true is not 1, NaN equals nothing. ``{}`` stands for a call without arguments,
    with ``subset`` for any call of the tool. A call whose input is not known or no object does not
    count. No calls give 0; an empty expectation and a missing trajectory are errors.

    ``fields`` has one record an expected call, 1 or 0, whose mean is ``value`` unless ``strict``.
    ``metrics`` has ``expected_calls`` and ``actual_calls``.

    Args:
        name: key of the score.
        strict: 1 if every expected call was found, else 0. Further calls cost nothing.
        subset: if True, a call may have arguments that are not expected; the expected calls with
            most arguments then choose first.
        compat: give UiPath's result to the bit: arguments that are not expected are ignored with and
            without ``subset``, so that ``{}`` is any call, and true equals 1; nothing expected and
            nothing called is 1.

    Raises:
        ConfigurationError: a bad name.

    >>> from spanscore.step import Step, Trajectory
    >>> call = Step(name="execute_tool search", operation="execute_tool", input={"city": "Paris", "days": 2})
    >>> run = Step(name="agent", trajectory=Trajectory(steps=(call,)))
    >>> ToolCallArgs(subset=True).evaluate(None, [{"name": "search", "args": {"city": "Paris"}}], step=run).value
    1.0
    """

    name: str = "tool_call_args"
    strict: bool = False
    subset: bool = False
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
        wanted = wanted_calls(self.name, expected, "tool_calls", "args")
        if not all(isinstance(one.value, dict) for one in wanted):
            raise EvaluationError(f"{self.name}: args of every expected call must be an object: argument -> value")
        calls = calls_of(step, compat=self.compat)
        empty = score_of_empty(self.name, wanted, calls, compat=self.compat)
        fields = fields_of(wanted, calls, self._matches(wanted, calls), "input")
        value = mean_of(fields, strict=self.strict) if empty is None else empty
        return score_of(self.name, self.version, value, fields, calls)

    def _matches(self, wanted: Sequence[Wanted], calls: Sequence[ToolCall]) -> list[int | None]:
        pool = Pool(calls, compat=self.compat)
        places = range(len(wanted))
        if self.compat:
            plain_args = [args_compat(call) for call in calls]
            return [
                pool.take(one, lambda place, one=one: contains_args_compat(one.value, plain_args[place]))  # type: ignore[misc]
                for one in wanted
            ]
        found = [args_of(call) for call in calls]
        asked = [{str(key): canonical(value) for key, value in one.value.items()} for one in wanted]
        order = sorted(places, key=lambda place: -len(asked[place])) if self.subset else places
        taken = {
            place: pool.take(
                wanted[place],
                lambda index, args=asked[place]: contains_args(args, found[index], subset=self.subset),  # type: ignore[misc]
            )
            for place in order
        }
        return [taken[place] for place in places]
