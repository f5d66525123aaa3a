"""Tolerance: the similarity of two numbers that need not be equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, Final, Literal, Protocol

from spanscore.evaluators.comparators.comparison import MATCH, MISS, Comparison
from spanscore.evaluators.comparators.leaf_match import is_huge
from spanscore.evaluators.comparators.settings import choice, number, refuse

__all__ = ["Decay", "EXACT", "ROUNDED", "Tolerance", "decimal_of", "tolerance_of"]

Decay = Literal["step", "linear", "banded"]

EXACT: Final = Context(prec=4_500, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Decimal arithmetic that rounds nothing of up to 4,500 digits and never raises."""

ROUNDED: Final = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Decimal arithmetic for what divides; it never raises either."""

_SIGN: Final = Comparison(0.0, "sign")


class _Tolerant(Protocol):
    @property
    def abs(self) -> float: ...
    @property
    def rel(self) -> float: ...
    @property
    def decay(self) -> Decay: ...
    @property
    def bands(self) -> Sequence[tuple[float, float]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Full credit inside ``max(abs, rel * |expected|)``, less outside.

    ``step``: 0 outside. ``linear``: from 1 at the tolerance down to 0 at twice the tolerance.
    ``banded``: the credit of the first band whose limit the relative error
    ``|expected - actual| / |expected|`` does not exceed; at an expected zero only ``abs`` counts.
    Numbers of opposite sign are never alike.
    """

    abs: Decimal
    rel: Decimal
    decay: Decay
    bands: tuple[tuple[Decimal, float], ...]

    def compare(self, expected: Decimal, actual: Decimal) -> Comparison:
        """Return the similarity of two finite numbers."""
        if expected == actual:
            return MATCH
        if expected and actual and (expected > 0) != (actual > 0):
            return _SIGN
        difference = EXACT.abs(EXACT.subtract(expected, actual))
        size = EXACT.abs(expected)
        tolerance = max(self.abs, EXACT.multiply(self.rel, size))
        if not difference.is_finite() or not tolerance.is_finite():
            return MISS
        return MATCH if difference <= tolerance else self._outside(difference, size, tolerance)

    def _outside(self, difference: Decimal, size: Decimal, tolerance: Decimal) -> Comparison:
        if self.decay == "linear" and difference < EXACT.multiply(tolerance, Decimal(2)):
            return Comparison(float(ROUNDED.subtract(Decimal(2), ROUNDED.divide(difference, tolerance))))
        for limit, credit in self.bands:
            if difference <= EXACT.multiply(limit, size):
                return Comparison(credit)
        return MISS


def tolerance_of(name: str, comparator: _Tolerant) -> Tolerance:
    """Return the Tolerance that a comparator's settings describe; raise ConfigurationError."""
    number(name, "abs", comparator.abs)
    number(name, "rel", comparator.rel)
    choice(name, "decay", comparator.decay, ("step", "linear", "banded"))
    bands = _bands(name, comparator.bands)
    if bool(bands) != (comparator.decay == "banded"):
        refuse(name, "bands", comparator.bands, "bands together with decay 'banded', and only then")
    return Tolerance(
        abs=_stated(comparator.abs),
        rel=_stated(comparator.rel),
        decay=comparator.decay,
        bands=tuple((_stated(limit), float(credit)) for limit, credit in bands),
    )


def decimal_of(value: Any) -> Decimal | None:
    """Return a JSON number as the Decimal it is written as.

    None for no number, for NaN and infinities, and for an integer of over 4,000 digits.
    """
    if isinstance(value, bool) or is_huge(value):
        return None
    if isinstance(value, float):
        value = Decimal(float.__repr__(value))
    elif isinstance(value, int):
        return Decimal(int(value))
    return value if isinstance(value, Decimal) and value.is_finite() else None


def _stated(setting: float) -> Decimal:
    return Decimal(repr(setting)) if isinstance(setting, float) else Decimal(setting)


def _bands(name: str, bands: Any) -> list[tuple[float, float]]:
    wanted = "pairs of a relative error and a credit, errors rising and credits falling, such as [[0.01, 0.9]]"
    pairs = list(bands) if isinstance(bands, (list, tuple)) else refuse(name, "bands", bands, wanted)
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            refuse(name, "bands", bands, wanted)
        number(name, "a limit of bands", pair[0])
        number(name, "a credit of bands", pair[1], 1)
    limits, credits_ = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if limits != sorted(set(limits)) or credits_ != sorted(credits_, reverse=True):
        refuse(name, "bands", bands, wanted)
    return [(pair[0], pair[1]) for pair in pairs]
