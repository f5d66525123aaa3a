"""Step and Trajectory: what was captured of one operation. Knows nothing of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["MISSING", "Step", "Trajectory"]


class _Missing:
    """The type of ``MISSING``: no value was given, which differs from None and from any JSON."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One finished operation.

    Attributes:
        name: span name.
        operation: ``gen_ai.operation.name``, for example ``invoke_agent``; "" when unknown.
        input: JSON value: the parameters by name, or the messages. MISSING when not captured.
        output: JSON value as it was when the operation returned. MISSING when not captured.
        error: class name of the exception that ended the operation, or None.
        attributes: attributes of the span, by key.
        trajectory: the steps of the run this step is the root of, when they were gathered.
        convention: name of the convention under which a span recorded it; "" where spanscore captured it.
        trace_id: id of the run, the same in every process; None when it was not traced.
        duration_s: how long it took, in seconds, or None.
    """

    name: str
    operation: str = ""
    input: Any = MISSING
    output: Any = MISSING
    error: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    trajectory: Trajectory | None = None
    convention: str = ""
    trace_id: str | None = None
    duration_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The ordered steps of one run, by start time.

    Attributes:
        steps: what was done below the step that the run belongs to; without that step.
        dropped: how many more there were that could not be kept. Of a run with gaps nothing is said.
    """

    steps: tuple[Step, ...] = ()
    dropped: int = 0
