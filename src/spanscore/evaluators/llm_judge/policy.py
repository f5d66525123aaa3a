"""JudgePolicy and Sampling: when a judge is asked, what it may cost, and what is remembered."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from spanscore.errors import ConfigurationError
from spanscore.evaluators.evaluator import Evaluator
from spanscore.evaluators.llm_judge.budget import Budget, Price
from spanscore.evaluators.llm_judge.limits import Limits
from spanscore.evaluators.llm_judge.store import Cassette, VerdictCache, VerdictStore
from spanscore.step import Step

__all__ = ["JudgePolicy", "Sampling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Which outputs are judged; the others are ``skipped`` with the reason ``not_sampled``.

    The share is decided from the trace id and the evaluator's name, so that every process decides
    alike, and whatever sampled the trace does not matter. A step that has no trace id, as in tests
    and on saved runs, is always judged. ``metrics["sample_rate"]`` has the chance that this output
    had, 1.0 where a rule chose it: weight by its inverse to get unbiased means.

    Args:
        rate: share of the traces that are judged, 0..1.
        gate: a cheap evaluator, or the name of one; an output that it scores below ``below``, or
            cannot score, is always judged.
        below: 0..1.
        slower_than_s: an operation that took longer is always judged.

    Raises:
        ConfigurationError: a setting is not allowed.
    """

    rate: float = 1.0
    gate: Evaluator | str | None = None
    below: float = 1.0
    slower_than_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("rate", "below"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigurationError(f"Sampling({name}={getattr(self, name)!r}): give a number in 0..1")
        if isinstance(self.gate, str):
            from spanscore.evaluators import create

            object.__setattr__(self, "gate", create(self.gate, {}))
        if self.gate is not None and not isinstance(self.gate, Evaluator):
            raise ConfigurationError(f"Sampling(gate={self.gate!r}): give an evaluator, such as JsonSimilarity()")

    async def chance(self, name: str, output: Any, expected: Any, step: Step | None) -> float | None:
        """Return the chance with which this output was chosen, or None if it is not judged."""
        if step is None or not step.trace_id or self.rate == 1.0:
            return 1.0
        if self.slower_than_s is not None and (step.duration_s or 0.0) > self.slower_than_s:
            return 1.0
        if self.gate is not None and await self._is_low(output, expected, step):
            return 1.0
        digest = hashlib.blake2s(step.trace_id.encode(), key=name.encode()[:32], digest_size=8).digest()
        return self.rate if int.from_bytes(digest) < self.rate * 2**64 else None

    async def _is_low(self, output: Any, expected: Any, step: Step) -> bool:
        assert isinstance(self.gate, Evaluator)
        try:
            found = self.gate.evaluate(output, expected, step=step)
            score = await found if inspect.isawaitable(found) else found
        except Exception:  # the gate may be the user's; what it cannot score, the judge must
            return True
        return score.value is None or score.value < self.below


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePolicy:
    """What surrounds a judge without changing its verdict. In a file each part is a mapping.

    Args:
        sampling: which outputs are judged.
        limits: rates, retries, circuit breaker; by default those that all judges of an endpoint share.
        budget: what may be spent, by all judges that were given the same object.
        price: US dollars for a million tokens.
        store: a `VerdictCache` or a `Cassette`; verdicts are not remembered by default.
        calibration: id of the `Calibration` of this judge; it becomes part of its version.
    """

    sampling: Sampling = Sampling()
    limits: Limits | None = None
    budget: Budget | None = None
    price: Price | None = None
    store: VerdictStore | None = None
    calibration: str | None = None

    @classmethod
    def of(cls, given: JudgePolicy | Mapping[str, Any]) -> Self | JudgePolicy:
        """Return the policy for a mapping, as it stands in a file.

        Raises:
            ConfigurationError: there is no such part, or a part has no such setting.
        """
        if isinstance(given, JudgePolicy):
            return given
        try:
            return cls(**{key: _part(key, value) for key, value in given.items()})
        except TypeError as error:
            raise ConfigurationError(f"the policy {dict(given)!r} is not allowed: {error}") from error

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """Let pydantic, which checks the settings of a file, take an object as it is."""
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)


def _part(key: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if key == "store":
        return Cassette(**value) if "record" in value else VerdictCache(**value)
    parts: Mapping[str, Any] = {"sampling": Sampling, "limits": Limits, "budget": Budget, "price": Price}
    if key not in parts:
        raise TypeError(f"{key!r} takes no mapping; mappings are taken by {', '.join(parts)} and store")
    return parts[key](**value)
