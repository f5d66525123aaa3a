"""Number and Percent: numbers that may be written as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from spanscore.evaluators.comparators.comparison import MATCH, Comparison, unread
from spanscore.evaluators.comparators.leaf_match import leaf_match
from spanscore.evaluators.comparators.localised import MAX_NUMBER, NumberFormat, number_format
from spanscore.evaluators.comparators.settings import choice
from spanscore.evaluators.comparators.tolerance import EXACT, Decay, Tolerance, decimal_of, tolerance_of

__all__ = ["Number", "Percent"]

_NO_NUMBER: Final = "no number"
_SIGN: Final = re.compile(r"\s*(?:[%\uff05\u066a]|per ?cent|pct\.?)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """Numbers and text that is a number in the stated locale, within a tolerance.

    What is no number (null, booleans, other text, NaN): 0, note "no number", but 1 where both sides
    are the same.

    Args:
        locale: how text is written: "1,200.00" in ``en``, "1.200,00" in ``de``. Groups must be whole.
        abs: full credit up to this difference.
        rel: full credit up to this part of the expected number's size.
        decay: credit outside, see `Tolerance`: ``step``, ``linear`` or ``banded``.
        bands: pairs of relative error and credit, for ``banded``.

    Raises:
        ConfigurationError: a bad setting.
        MissingDependencyError: Babel is not installed.

    >>> Number().compare(1200, "1,200.00").similarity
    1.0
    """

    locale: str = "en"
    abs: float = 0.0
    rel: float = 0.0
    decay: Decay = "step"
    bands: Sequence[tuple[float, float]] = ()
    _format: NumberFormat = field(init=False, repr=False, compare=False)
    _tolerance: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_format", number_format("number", self.locale))
        object.__setattr__(self, "_tolerance", tolerance_of("number", self))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return the similarity of two values read as numbers."""
        left, right = self._read(expected), self._read(actual)
        if left is None or right is None:
            return unread(expected, actual, _NO_NUMBER)
        found = self._tolerance.compare(left, right)
        # an integer may equal a float without being its shortest text
        return MATCH if found.similarity < 1.0 and leaf_match(expected, actual) == 1.0 else found

    def _read(self, value: Any) -> Decimal | None:
        return self._format.read(value) if isinstance(value, str) else decimal_of(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Percent:
    """Percentages: ``"12.5 %"``, ``"12.5 percent"``, or a bare number.

    What is none: 0, note "no number", but 1 where both sides are the same.

    Args:
        bare: what a number without a sign is: ``percent`` (12.5 is 12.5 %) or ``fraction`` (0.125 is).
        locale: how text is written.
        abs: full credit up to this difference, in percentage points.
        rel: full credit up to this part of the expected percentage.
        decay: credit outside, see `Tolerance`: ``step``, ``linear`` or ``banded``.
        bands: pairs of relative error and credit, for ``banded``.

    Raises:
        ConfigurationError: a bad setting.
        MissingDependencyError: Babel is not installed.

    >>> Percent(bare="fraction").compare("12.5 %", 0.125).similarity
    1.0
    """

    bare: Literal["percent", "fraction"] = "percent"
    locale: str = "en"
    abs: float = 0.0
    rel: float = 0.0
    decay: Decay = "step"
    bands: Sequence[tuple[float, float]] = ()
    _format: NumberFormat = field(init=False, repr=False, compare=False)
    _tolerance: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        choice("percent", "bare", self.bare, ("percent", "fraction"))
        object.__setattr__(self, "_format", number_format("percent", self.locale))
        object.__setattr__(self, "_tolerance", tolerance_of("percent", self))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return the similarity of two values read as percentages."""
        left, right = self._read(expected), self._read(actual)
        if left is None or right is None:
            return unread(expected, actual, _NO_NUMBER)
        return self._tolerance.compare(left, right)

    def _read(self, value: Any) -> Decimal | None:
        """Return the value in percent."""
        signed = False
        if isinstance(value, str):
            if len(value) > MAX_NUMBER:
                return None
            text, signs = _SIGN.subn("", value.strip())
            if signs > 1 or not (value.strip().startswith(text) or value.strip().endswith(text)):
                return None
            signed, number = signs == 1, self._format.read(text)
        else:
            number = decimal_of(value)
        if number is None or signed or self.bare == "percent":
            return number
        return decimal_of(EXACT.scaleb(number, 2))
