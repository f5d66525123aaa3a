"""Quantity: a number with a unit, read by Pint."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, Final, NamedTuple

from spanscore.evaluators.comparators.comparison import MATCH, Comparison, unread
from spanscore.evaluators.comparators.localised import MAX_NUMBER, MINUS, NumberFormat, number_format
from spanscore.evaluators.comparators.settings import missing_library, optional_text, refuse
from spanscore.evaluators.comparators.tolerance import EXACT, ROUNDED, Decay, Tolerance, decimal_of, tolerance_of

__all__ = ["Quantity"]

# Pint evaluates expressions, so only names with one small exponent each reach it.
_FACTOR: Final = r"(?:%|[°µμΩÅ]?[^\W\d]+|°)(?:\s?(?:\^|\*\*)\s?-?\d|⁻?[¹²³⁴])?"
_UNIT: Final = re.compile(rf"{_FACTOR}(?:(?:\s*[*/·⋅]\s*|\s+){_FACTOR}){{0,7}}")
_MAX_UNIT: Final = 60
_ROUNDING: Final = Decimal("1e-12")  # conversion factors are rounded
_READING: Final = (AttributeError, ArithmeticError, AssertionError, LookupError, SyntaxError, TypeError, ValueError)
_lock: Final = threading.Lock()


class _Measure(NamedTuple):
    value: Decimal
    unit: Any  # a Pint unit; None where none is written


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Quantities in any units of one dimension: ``"5 km"``, ``"5000 m"``, or an object.

    The object is ``{"value": ..., "unit": ...}``. The output is converted to the expected unit;
    equal to 12 digits is equal. Another dimension: 0, note "other unit"; a unit on one side only:
    0, note "no unit". What is no quantity, or has a unit that Pint does not know: 0, note "no
    quantity", but 1 where both sides are the same. Units are case-sensitive: ``mW`` is no ``MW``.

    Args:
        unit: unit of a bare number.
        locale: how numbers are written.
        abs: full credit up to this difference, in the expected unit.
        rel: full credit up to this part of the expected size.
        decay: credit outside, see `Tolerance`: ``step``, ``linear`` or ``banded``.
        bands: pairs of relative error and credit, for ``banded``.

    Raises:
        ConfigurationError: a bad setting.
        MissingDependencyError: Pint or Babel is not installed.

    >>> Quantity().compare("5 km", "5,000 m").similarity
    1.0
    """

    unit: str | None = None
    locale: str = "en"
    abs: float = 0.0
    rel: float = 0.0
    decay: Decay = "step"
    bands: Sequence[tuple[float, float]] = ()
    _format: NumberFormat = field(init=False, repr=False, compare=False)
    _written: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _tolerance: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            import pint  # noqa: F401 - only whether it is there; its registry takes 0.1 s and is made when needed
        except ImportError as error:
            raise missing_library("quantity", "Pint") from error
        form = number_format("quantity", self.locale)
        optional_text("quantity", "unit", self.unit, "km")
        if self.unit is not None and _unit(self.unit) is None:
            refuse("quantity", "unit", self.unit, "a unit that Pint knows, such as 'km' or 'm/s'")
        object.__setattr__(self, "_format", form)
        written = rf"(?P<sign>[+{re.escape(MINUS)}]?)\s?(?P<number>{form.body})\s*(?P<unit>(?!\d).*)"
        object.__setattr__(self, "_written", re.compile(written))
        object.__setattr__(self, "_tolerance", tolerance_of("quantity", self))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return the similarity of two values read as quantities."""
        left, right = self._read(expected), self._read(actual)
        if left is None or right is None:
            return unread(expected, actual, "no quantity")
        if (left.unit is None) != (right.unit is None):
            return Comparison(0.0, "no unit")
        if left.unit == right.unit:
            return self._tolerance.compare(left.value, right.value)
        if left.unit.dimensionality != right.unit.dimensionality:
            return Comparison(0.0, "other unit")
        if _same_size(left, right):
            return MATCH
        converted = _convert(right, left.unit)
        if converted is None:
            return unread(expected, actual, "no quantity")
        return self._tolerance.compare(left.value, converted)

    def _read(self, value: Any) -> _Measure | None:
        unit = self.unit
        if isinstance(value, Mapping):
            unit = value.get("unit", unit)
            value = value.get("value")
            if unit is not None and not isinstance(unit, str):
                return None
        if isinstance(value, str):
            found = self._written.fullmatch(value.strip()) if len(value) <= MAX_NUMBER else None
            if found is None:
                return None
            number = self._format.unsigned(found["number"], (found["sign"] or "+") in MINUS)
            unit = found["unit"] or unit
        else:
            number = decimal_of(value)
        measured = None if unit is None else _unit(unit)
        return None if number is None or (unit is not None and measured is None) else _Measure(number, measured)


def _same_size(left: _Measure, right: _Measure) -> bool:
    """Compare in base units, where no scale has a shifted zero."""
    sizes = _convert(left, None), _convert(right, None)
    if sizes[0] is None or sizes[1] is None:
        return False
    difference = EXACT.abs(EXACT.subtract(sizes[0], sizes[1]))
    return difference.is_finite() and difference <= EXACT.multiply(_ROUNDING, EXACT.abs(sizes[0]))


def _convert(measure: _Measure, unit: Any) -> Decimal | None:
    """Return the value in ``unit``, None for base units; None where there is no such value."""
    with _lock, localcontext(ROUNDED):
        try:
            quantity = _registry().Quantity(measure.value, measure.unit)
            converted = quantity.to_base_units() if unit is None else quantity.to(unit)
            magnitude = converted.magnitude
        except _READING:
            return None
    return decimal_of(magnitude)


@lru_cache(maxsize=1024)
def _unit(text: str) -> Any:
    """Return the Pint unit that a text names, or None."""
    text = text.strip()
    if len(text) > _MAX_UNIT or not _UNIT.fullmatch(text):
        return None
    with _lock:
        registry = _registry()
        try:
            return registry.parse_units("percent" if text == "%" else text)
        except _READING:
            return None


@lru_cache(maxsize=1)
def _registry() -> Any:
    """Return the registry; called under the lock, because units of two registries do not compare."""
    import pint

    return pint.UnitRegistry(non_int_type=Decimal)
