"""Money: an amount in a currency."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

from spanscore.evaluators.comparators.comparison import Comparison, unread
from spanscore.evaluators.comparators.currency import Currencies, currencies
from spanscore.evaluators.comparators.localised import MAX_NUMBER, MINUS, NumberFormat, number_format
from spanscore.evaluators.comparators.settings import optional_text, refuse
from spanscore.evaluators.comparators.tolerance import Decay, Tolerance, decimal_of, tolerance_of

__all__ = ["Money"]

_CODE_LENGTH: Final = 3
_MARKS: Final = dict.fromkeys((0x200E, 0x200F, 0x061C))  # marks of direction
_NONE: Final[frozenset[str]] = frozenset()


class _Amount(NamedTuple):
    value: Decimal
    currency: frozenset[str]  # what it may be; empty where none is written


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Amounts, exact to the last decimal: ``"$1,200.00"``, ``"USD 1200"``, ``"(5 euros)"``, 1200, or an object.

    The object is ``{"amount": ..., "currency": ...}``. Another currency: 0, note "other currency".
    A symbol that several currencies share equals itself; beside one of these currencies it is 0,
    note "ambiguous currency". Where one side writes no currency the amounts decide, note "no
    currency". What is no amount: 0, note "no number", but 1 where both sides are the same.

    Args:
        currency: ISO 4217 code that a shared symbol or a bare number stands for.
        locale: how numbers and currencies are written.
        abs: full credit up to this difference.
        rel: full credit up to this part of the expected amount.
        decay: credit outside, see `Tolerance`: ``step``, ``linear`` or ``banded``.
        bands: pairs of relative error and credit, for ``banded``.

    Raises:
        ConfigurationError: a bad setting.
        MissingDependencyError: Babel is not installed.

    >>> Money().compare("USD 5", "EUR 5")
    Comparison(similarity=0.0, note='other currency')
    >>> Money(currency="USD").compare("USD 1200", "$1,200.00").similarity
    1.0
    """

    currency: str | None = None
    locale: str = "en"
    abs: float = 0.0
    rel: float = 0.0
    decay: Decay = "step"
    bands: Sequence[tuple[float, float]] = ()
    _format: NumberFormat = field(init=False, repr=False, compare=False)
    _currencies: Currencies = field(init=False, repr=False, compare=False)
    _written: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _tolerance: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        form = number_format("money", self.locale)
        known = currencies(self.locale)
        optional_text("money", "currency", self.currency, "USD")
        if self.currency is not None and known.get(self.currency.casefold()) != frozenset({self.currency}):
            refuse("money", "currency", self.currency, "an ISO 4217 code such as 'USD'")
        sign = rf"(?P<%s>[+{re.escape(MINUS)}]?)\s*"
        written = rf"{sign % 'sign'}(?P<before>[^\d+{re.escape(MINUS)}]*?)\s*{sign % 'inner'}(?P<number>{form.body})"
        object.__setattr__(self, "_format", form)
        object.__setattr__(self, "_currencies", known)
        object.__setattr__(self, "_written", re.compile(written + r"\s*(?P<after>\D*)"))
        object.__setattr__(self, "_tolerance", tolerance_of("money", self))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return the similarity of two values read as amounts."""
        left, right = self._read(expected), self._read(actual)
        if left is None or right is None:
            return unread(expected, actual, "no number")
        amounts = self._tolerance.compare(left.value, right.value)
        if left.currency == right.currency:
            return amounts
        if not left.currency or not right.currency:
            return Comparison(amounts.similarity, amounts.note or "no currency")
        return Comparison(0.0, "ambiguous currency" if left.currency & right.currency else "other currency")

    def _read(self, value: Any) -> _Amount | None:
        if isinstance(value, str):
            return self._read_text(value)
        if isinstance(value, Mapping):
            return self._read_object(value)
        number = decimal_of(value)
        return None if number is None else _Amount(number, self._meant(_NONE))

    def _read_object(self, value: Mapping[str, Any]) -> _Amount | None:
        amount, currency = value.get("amount"), value.get("currency")
        if isinstance(amount, Mapping) or not (currency is None or isinstance(currency, str)):
            return None
        read = self._read(amount)
        if read is None or not currency:
            return read
        known = self._currencies.get(currency.strip().casefold())
        if known is None or (read.currency and isinstance(amount, str) and not known & read.currency):
            return None  # "$5" in an object that says EUR
        return _Amount(read.value, self._meant(known))

    def _read_text(self, text: str) -> _Amount | None:
        text = text.translate(_MARKS).strip()
        if len(text) > MAX_NUMBER:
            return None
        accounting = text.startswith("(") and text.endswith(")")
        found = self._written.fullmatch(text[1:-1].strip() if accounting else text)
        if found is None or accounting + bool(found["sign"]) + bool(found["inner"]) > 1:
            return None
        negative = accounting or (found["sign"] or found["inner"] or "+") in MINUS
        number = self._format.unsigned(found["number"], negative)
        currency = self._named(found["before"], found["after"])
        return None if number is None or currency is None else _Amount(number, self._meant(currency))

    def _named(self, before: str, after: str) -> frozenset[str] | None:
        """Return what the words around a number may mean; None where they are no currency."""
        meant = _NONE
        for written in (before.strip(), after.strip()):
            word = written.casefold()
            if word:
                is_code = len(word) == _CODE_LENGTH and self._currencies.get(word) == frozenset({word.upper()})
                if is_code and not written.isupper():  # "top 5", "try 5": words, not TOP and TRY
                    return None
                known = self._currencies.get(word, _NONE)
                meant = known & meant if meant else known
                if not meant:
                    return None
        return meant

    def _meant(self, currency: frozenset[str]) -> frozenset[str]:
        stated = self.currency
        return frozenset({stated}) if stated is not None and (not currency or stated in currency) else currency
