"""Usage, Price, Budget: what verdicts cost, and what they may."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Final

from spanscore.errors import ConfigurationError, JudgeBudgetError

__all__ = ["Budget", "Price", "Reservation", "Usage"]

_logger = logging.getLogger(__name__)
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the calls of one verdict used.

    Attributes:
        calls: requests that were sent.
        input_tokens, output_tokens: as counted by the endpoint; calls without an answer are not in it.
        cost_usd: None if no price is known.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens.

    >>> Price(input_usd=2.5, output_usd=10).cost_usd(1_000, 100)
    0.0035
    """

    input_usd: float
    output_usd: float

    def __post_init__(self) -> None:
        if not (0 <= self.input_usd < float("inf") and 0 <= self.output_usd < float("inf")):
            raise ConfigurationError(f"{self!r}: a price is US dollars for a million tokens, 0 or more")

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of that many tokens."""
        return (self.input_usd * input_tokens + self.output_usd * output_tokens) / _MILLION


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one call may use at most; it is held until the call is settled."""

    tokens: int
    cost_usd: float


@dataclass(slots=True, kw_only=True, eq=False)
class Budget:
    """What may be spent by all judges that are given this object, on any thread.

    Each call reserves the most that it could use: a token for every byte of the request, and its
    ``max_tokens``. It is not made where that might pass a hard limit, so calls under way together
    do not pass it either. When it is answered, what was really used counts. A call that got no
    answer (time-out, closed connection) counts in full: the endpoint may have charged for it.

    Args:
        tokens: hard limit of input and output tokens; None for none.
        usd: hard limit in US dollars; needs the judge's `Price`.
        warn_tokens, warn_usd: soft limits; passing one is logged once.

    >>> Budget(usd=5.0, warn_usd=4.0).spent_usd
    0.0
    """

    tokens: int | None = None
    usd: float | None = None
    warn_tokens: int | None = None
    warn_usd: float | None = None
    spent_tokens: int = field(default=0, init=False)
    spent_usd: float = field(default=0.0, init=False)
    _held_tokens: int = field(default=0, init=False, repr=False)
    _held_usd: float = field(default=0.0, init=False, repr=False)
    _warned: bool = field(default=False, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("tokens", "usd", "warn_tokens", "warn_usd"):
            limit = getattr(self, name)
            if limit is not None and not 0 <= limit < float("inf"):
                raise ConfigurationError(
                    f"Budget({name}={limit!r}) is not allowed: give a number of 0 or more, or None"
                )

    @property
    def is_hard(self) -> bool:
        """Return True if a call can be refused."""
        return self.tokens is not None or self.usd is not None

    def reserve(self, tokens: int, cost_usd: float) -> Reservation:
        """Hold what a call may use at most.

        Raises:
            JudgeBudgetError: that might pass a hard limit; nothing is held.
        """
        with self._lock:
            if self.tokens is not None and self.spent_tokens + self._held_tokens + tokens > self.tokens:
                raise JudgeBudgetError(f"the call might pass the budget of {self.tokens} tokens; it was not made")
            if self.usd is not None and self.spent_usd + self._held_usd + cost_usd > self.usd:
                raise JudgeBudgetError(f"the call might pass the budget of {self.usd} US dollars; it was not made")
            self._held_tokens += tokens
            self._held_usd += cost_usd
        return Reservation(tokens, cost_usd)

    def settle(self, reservation: Reservation, tokens: int, cost_usd: float) -> None:
        """Count what the call used instead of what was held for it."""
        with self._lock:
            self._held_tokens -= reservation.tokens
            self._held_usd -= reservation.cost_usd
            self.spent_tokens += tokens
            self.spent_usd += cost_usd
            passed = (self.warn_tokens is not None and self.spent_tokens > self.warn_tokens) or (
                self.warn_usd is not None and self.spent_usd > self.warn_usd
            )
            warn, self._warned = passed and not self._warned, self._warned or passed
        if warn:
            _logger.warning(
                "judges spent %d tokens, %.4f US dollars: more than the soft budget", self.spent_tokens, self.spent_usd
            )
