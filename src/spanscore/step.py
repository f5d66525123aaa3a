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
    """

    name: str
    operation: str = ""
    input: Any = MISSING
    output: Any = MISSING
    error: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    trajectory: Trajectory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The ordered steps of one run, by start time."""

    steps: tuple[Step, ...] = ()
