"""Panel: several verdicts for one score, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Final, Literal, get_args

from spanscore.errors import ConfigurationError

__all__ = ["Panel", "Rule", "Tie"]

Rule = Literal["mean", "median", "majority"]
Tie = Literal["abstain", "fail", "pass"]

_MAX_VERDICTS: Final = 100
_T: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Student's t for 95 %, by degrees of freedom from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Several verdicts for one score: from several models, several times.

    A verdict that failed abstains. Fewer than the quorum left give no score, but the error.

    Args:
        models: further models beside the judge's own, behind the same client.
        repeats: how often each model is asked; the verdicts of one round are asked for together. At
            temperature 0 most models repeat themselves, which says nothing of their noise.
        rule: ``mean``; ``median``; or ``majority``: the mean of the verdicts on the side of
            ``threshold`` where most are, so that it lies on that side too.
        threshold: what a verdict passes at; give the expectation's. Needed for ``majority``, the flip
            rate, and to stop early.
        quorum: verdicts that are needed; more than half of all by default.
        tie: what ``majority`` does where both sides are equal: ``abstain`` gives no score
            (``skipped``, ``abstained``), ``fail`` and ``pass`` take that side.

    Raises:
        ConfigurationError: a setting is not allowed.

    >>> Panel(repeats=3, rule="majority", threshold=0.5).value([0.2, 0.8, 1.0])
    0.9
    """

    models: Sequence[str] = ()
    repeats: int = 1
    rule: Rule = "mean"
    threshold: float | None = None
    quorum: int | None = None
    tie: Tie = "abstain"

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models))
        if self.repeats < 1 or self.size > _MAX_VERDICTS:
            raise ConfigurationError(f"a panel of {self.size} verdicts is not allowed; give 1 to {_MAX_VERDICTS}")
        if self.rule not in get_args(Rule) or self.tie not in get_args(Tie):
            raise ConfigurationError(
                f"rule {self.rule!r} must be one of {', '.join(get_args(Rule))}, "
                f"and tie {self.tie!r} one of {', '.join(get_args(Tie))}"
            )
        if self.threshold is None and self.rule == "majority":
            raise ConfigurationError("the rule 'majority' needs threshold=, what a verdict passes at")
        if self.threshold is not None and not 0.0 <= self.threshold <= 1.0:
            raise ConfigurationError(f"threshold {self.threshold!r} is not allowed; give a number in 0..1, or None")
        if self.quorum is not None and not 1 <= self.quorum <= self.size:
            raise ConfigurationError(f"quorum {self.quorum!r} is not allowed; give 1 to {self.size}, or None")

    @property
    def size(self) -> int:
        """Return how many verdicts there are at most."""
        return self.repeats * (1 + len(self.models))

    def reached(self, verdicts: int, asked: int) -> bool:
        """Return True if so many verdicts of those asked for are enough."""
        return verdicts >= (self.quorum if self.quorum is not None else asked // 2 + 1)

    def value(self, values: Sequence[float]) -> float | None:
        """Return what the verdicts come to, 0..1; None where the panel abstains."""
        if self.rule != "majority":
            return fmean(values) if self.rule == "mean" else median(values)
        assert self.threshold is not None
        passing = [value for value in values if value >= self.threshold]
        failing = [value for value in values if value < self.threshold]
        if len(passing) == len(failing) and self.tie == "abstain":
            return None
        tied_to_pass = len(passing) == len(failing) and self.tie == "pass"
        return fmean(passing if len(passing) > len(failing) or tied_to_pass else failing)

    def figures(self, values: Sequence[float]) -> dict[str, float]:
        """Return ``judge.verdicts``, ``judge.spread`` and ``judge.flip_rate`` of the verdicts.

        The spread is their standard deviation, the flip rate the share on the smaller side of the
        threshold.
        """
        found = {"judge.verdicts": float(len(values))}
        if len(values) > 1:
            found["judge.spread"] = stdev(values)
        if self.threshold is not None:
            passing = sum(value >= self.threshold for value in values)
            found["judge.flip_rate"] = min(passing, len(values) - passing) / len(values)
        return found

    def is_clear(self, values: Sequence[float], left: int, step: float) -> bool:
        """Return True if the verdicts that are left need not be asked for.

        Under ``majority`` when they cannot change the side; else when the 95 % interval of the mean
        lies on one side of the threshold. Verdicts come in steps, so their spread is taken as half a
        step at least.
        """
        if self.threshold is None or len(values) < 2:
            return False
        if self.rule == "majority":
            passing = sum(value >= self.threshold for value in values)
            return abs(2 * passing - len(values)) > left
        margin = _T[min(len(values) - 1, len(_T)) - 1] * max(stdev(values), step / 2) / len(values) ** 0.5
        mean = fmean(values)
        return bool(mean - margin >= self.threshold or mean + margin < self.threshold)
