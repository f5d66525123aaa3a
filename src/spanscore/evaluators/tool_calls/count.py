"""ToolCallCount: was every tool called as often as expected?"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spanscore.errors import EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.tool_calls.matching import Pool, Wanted
from spanscore.evaluators.tool_calls.records import ToolCall, calls_of, criteria, tool_key_compat
from spanscore.evaluators.tool_calls.scoring import field_of, mean_of, score_of, score_of_empty
from spanscore.score import Score
from spanscore.step import Step

__all__ = ["ToolCallCount"]

_COMPARATORS: Final = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallCount:
    """Share of the tools that were called as often as expected. Source: UiPath ``uipath-tool-call-count``.

    The expected value is tool -> ``[comparator, n]`` with one of ``> < >= <= = == !=``, or
    ``{"tool_calls_count": {...}}``; the calls are read from ``step.trajectory``. ``value`` is the share
    of entries that hold. A tool that was not called counts 0, also where no tool was called at all.
    An empty expectation, a missing trajectory, an unknown comparator and an n that is no integer
    are errors.

    ``fields`` has one record an entry, 1 or 0, whose mean is ``value`` unless ``strict``. ``metrics``
    has ``expected_calls`` (entries) and ``actual_calls``.

    Args:
        name: key of the score.
        strict: 1 if every entry holds, else 0.
        compat: give UiPath's result to the bit: no calls at all give 0 whatever is expected, nothing
            expected and nothing called is 1, a name is first looked up as it stands.

    Raises:
        ConfigurationError: a bad name.

    >>> from spanscore.step import Step, Trajectory
    >>> run = Step(name="agent", trajectory=Trajectory(steps=()))
    >>> ToolCallCount().evaluate(None, {"delete": ["=", 0], "search": [">=", 1]}, step=run).value
    0.5
    """

    name: str = "tool_call_count"
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
        entries = criteria(expected, "tool_calls_count", Mapping, "an object: tool -> [comparator, n]")
        limits = {str(tool): _limit(self.name, str(tool), limit) for tool, limit in entries.items()}
        calls = calls_of(step, compat=self.compat)
        empty = score_of_empty(self.name, limits, calls, compat=self.compat)
        counts = _counts(list(limits), calls, compat=self.compat)
        fields = [
            field_of(
                f"/{_escaped(tool)}",
                [sign, wanted],
                counts[tool],
                "match" if _COMPARATORS[sign](counts[tool], wanted) else "wrong",
            )
            for tool, (sign, wanted) in limits.items()
        ]
        value = mean_of(fields, strict=self.strict) if empty is None else empty
        return score_of(self.name, self.version, value, fields, calls)


def _limit(name: str, tool: str, limit: Any) -> tuple[str, int]:
    sign, wanted = limit if isinstance(limit, (list, tuple)) and len(limit) == len(("sign", "n")) else (None, None)
    if sign not in _COMPARATORS:
        raise EvaluationError(f"{name}: {tool!r} must be [comparator, n] with one of {' '.join(_COMPARATORS)}")
    if isinstance(wanted, float) and wanted.is_integer():
        wanted = int(wanted)
    if isinstance(wanted, bool) or not isinstance(wanted, int):
        raise EvaluationError(f"{name}: the number of calls of {tool!r} must be an integer")
    return sign, wanted


def _counts(tools: Sequence[str], calls: Sequence[ToolCall], *, compat: bool) -> dict[str, int]:
    if compat:
        seen = Counter(call.ids[0] if call.ids else call.name for call in calls)
        return {tool: seen[tool] if tool in seen else seen[tool_key_compat(tool)] for tool in tools}
    pool = Pool(calls, compat=False)
    return {tool: sum(1 for _ in pool.candidates(Wanted(tool, None, None))) for tool in tools}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
