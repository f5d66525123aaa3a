"""ToolCallOutput: did the tools give the expected outputs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanscore.errors import EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.tool_calls.matching import Pool, Wanted, output_compat, outputs_of, same_output
from spanscore.evaluators.tool_calls.records import ToolCall, calls_of
from spanscore.evaluators.tool_calls.scoring import fields_of, mean_of, score_of, score_of_empty, wanted_calls
from spanscore.score import Score
from spanscore.step import MISSING, Step

__all__ = ["ToolCallOutput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallOutput:
    """Share of the expected calls that gave these outputs. Source: UiPath ``uipath-tool-call-output``.

    The expected value is a list of ``{"name", "output"}``, with an optional ``"id"``, or
    ``{"tool_outputs": [...]}``; the calls are read from ``step.trajectory``, in any order, each for one
    expected call. ``value`` is the number of expected calls found over their number. Two texts are
    equal by their characters, anything else as JSON, text that is JSON being read first; of an
    object, its ``content`` may be the expected output too. A call whose output is not known does
    not count. No calls give 0; an empty expectation and a missing trajectory are errors.

    ``fields`` has one record an expected call, 1 or 0, whose mean is ``value`` unless ``strict``.
    ``metrics`` has ``expected_calls`` and ``actual_calls``.

    Args:
        name: key of the score.
        strict: 1 if every expected call was found, else 0.
        compat: give UiPath's result to the bit: only text is compared, an object without ``content`` is
            the empty text, and strict takes the first call of the tool only; nothing expected and
            nothing called is 1.

    Raises:
        ConfigurationError: a bad name.

    >>> from spanscore.step import Step, Trajectory
    >>> calls = tuple(Step(name="t", operation="execute_tool", output={"content": text}) for text in ("no", "yes"))
    >>> run = Step(name="agent", trajectory=Trajectory(steps=calls))
    >>> ToolCallOutput(strict=True).evaluate(None, [{"name": "t", "output": "yes"}], step=run).value
    1.0
    """

    name: str = "tool_call_output"
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
        wanted = wanted_calls(self.name, expected, "tool_outputs", "output")
        if any(one.value is MISSING for one in wanted):
            raise EvaluationError(f"{self.name}: every expected call needs an output")
        calls = calls_of(step, compat=self.compat)
        empty = score_of_empty(self.name, wanted, calls, compat=self.compat)
        fields = fields_of(wanted, calls, self._matches(wanted, calls), "output")
        value = mean_of(fields, strict=self.strict) if empty is None else empty
        return score_of(self.name, self.version, value, fields, calls)

    def _matches(self, wanted: Sequence[Wanted], calls: Sequence[ToolCall]) -> list[int | None]:
        pool = Pool(calls, compat=self.compat)
        if self.compat:
            texts = [output_compat(call) for call in calls]
            return [_take_compat(pool, one, texts, strict=self.strict) for one in wanted]
        found = [outputs_of(call.output) for call in calls]
        asked = [outputs_of(one.value)[0] for one in wanted]
        return [
            pool.take(one, lambda place, value=value: same_output(value, found[place]))  # type: ignore[misc]
            for one, value in zip(wanted, asked, strict=True)
        ]


def _take_compat(pool: Pool, wanted: Wanted, texts: Sequence[str], *, strict: bool) -> int | None:
    first = next(pool.candidates(wanted), None)
    return pool.take(wanted, lambda place: texts[place] == wanted.value and (not strict or place == first))
