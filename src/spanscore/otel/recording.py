"""What is settled about calls before there are any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from opentelemetry.context import create_key
from opentelemetry.trace import Tracer

from spanscore.expectations import Expectation, Expectations

__all__ = ["EXPECTING", "Recording", "Refusal"]

EXPECTING: Final = create_key("spanscore-expecting")
"""Context key of the expected value that `expecting` gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """How calls are recorded.

    Attributes:
        tracer: makes the spans.
        expectation: what is expected of every call; None leaves it to a registry.
        registry: the registry of whoever captures; None leaves it to the processor's.
        fallback: scores a call that has an expected value of its own but no expectation.
        capture_content: whether values may stand on the span.
        inline_max_bytes: outputs up to this size, serialised, are scored on the caller's thread.
    """

    tracer: Tracer
    expectation: Expectation | None = None
    registry: Expectations | None = None
    fallback: Expectation | None = None
    capture_content: bool = True
    inline_max_bytes: int = 65_536

    @property
    def needs_trajectory(self) -> bool:
        """Return True if the steps of the calls' runs must be kept."""
        registry, expectation = self.registry, self.expectation
        return (registry is not None and registry.needs_trajectory) or (
            expectation is not None and expectation.needs_trajectory
        )


class Refusal:
    """Stands in for an expected value that the user's function failed to give."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
