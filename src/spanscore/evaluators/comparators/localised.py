"""NumberFormat: how numbers are written in one locale. The symbols and group sizes are Babel's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from spanscore.evaluators.comparators.settings import missing_library, nearest, refuse

__all__ = ["MAX_NUMBER", "NumberFormat", "number_format"]

MAX_NUMBER: Final = 200
"""A text of more characters is no number."""

MINUS: Final = "-\u2212"
_MARKS: Final = re.compile("[\u061c\u200e\u200f]")  # writing direction
_ALIKE: Final = ("'\u2019", " \u00a0\u2009\u202f")  # what people type for a group symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """How numbers are written in one locale.

    Attributes:
        body: pattern of a number without sign; no part of it repeats what another may match.
        group: characters that separate groups of digits.
        decimal: what separates the fraction.
    """

    body: str
    group: str
    decimal: str

    def read(self, text: str) -> Decimal | None:
        """Return the number that the whole text is; None if it is none in this locale."""
        text = _MARKS.sub("", text).strip()
        if len(text) > MAX_NUMBER:
            return None
        negative = text[:1] != "" and text[0] in MINUS
        return self.unsigned(text[1:] if negative or text[:1] == "+" else text, negative)

    def unsigned(self, text: str, negative: bool) -> Decimal | None:
        """Return the number whose text without sign is given."""
        if not re.fullmatch(self.body, text):
            return None
        for symbol in self.group:
            text = text.replace(symbol, "")
        value = Decimal(text.replace(self.decimal, "."))
        return value.copy_negate() if negative and value else value


def number_format(comparator: str, locale: Any) -> NumberFormat:
    """Return the format of a locale such as "en" or "de_CH".

    Raises:
        ConfigurationError: no such locale.
        MissingDependencyError: Babel is not installed.
    """
    try:
        import babel
    except ImportError as error:
        raise missing_library(comparator, "Babel") from error
    if not isinstance(locale, str):
        refuse(comparator, "locale", locale, "a locale such as 'en' or 'de_CH'")
    try:
        return _format(locale)
    except (babel.UnknownLocaleError, ValueError):
        near = nearest(locale.replace("-", "_"), babel.localedata.locale_identifiers())
        refuse(comparator, "locale", locale, f"a locale such as 'en' or 'de_CH'{near}")


@lru_cache(maxsize=64)
def _format(locale: str) -> NumberFormat:
    from babel import Locale
    from babel.numbers import get_decimal_symbol, get_group_symbol

    found = Locale.parse(locale, sep="-" if "-" in locale else "_")
    symbol, decimal = get_group_symbol(found), get_decimal_symbol(found)
    group = next((alike for alike in _ALIKE if symbol in alike), symbol)
    last, others = found.decimal_formats[None].grouping
    part = re.escape(decimal)
    grouped = rf"\d{{1,{others}}}(?:[{re.escape(group)}]\d{{{others}}})*[{re.escape(group)}]\d{{{last}}}(?:{part}\d*)?"
    plain = rf"(?:\d+(?:{part}\d*)?|{part}\d+)(?:[eE][+-]?\d{{1,3}})?"
    return NumberFormat(body=f"(?:{grouped}|{plain})", group=group, decimal=decimal)
