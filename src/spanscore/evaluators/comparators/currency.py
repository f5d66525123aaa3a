"""Currencies: which ones a code, a symbol or a name may mean. The data are Babel's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

__all__ = ["Currencies", "currencies"]

Currencies = Mapping[str, frozenset[str]]
"""Code, symbol or name, case folded -> the ISO 4217 codes it may mean."""

# Symbols that several currencies share, by the words in their English names.
_SHARED: Final = {
    "$": ("dollar", "peso"),
    "\u00a5": ("yen", "yuan"),
    "\uffe5": ("yen", "yuan"),
    "kr": ("krona", "krone", "króna"),
    "kr.": ("krona", "krone", "króna"),
    "rs": ("rupee",),
    "rs.": ("rupee",),
    "dollars": ("dollar",),
    "dollar": ("dollar",),
    "pesos": ("peso",),
    "pounds": ("pound",),
}
_WRITTEN: Final = {"us$": "USD", "c$": "CAD", "au$": "AUD", "s$": "SGD", "rmb": "CNY"}


@lru_cache(maxsize=16)
def currencies(locale: str) -> Currencies:
    """Return the currencies by what is written in ``locale`` and in English. Needs Babel."""
    from babel import Locale
    from babel.numbers import get_currency_name

    english = Locale.parse("en")
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one in (english, Locale.parse(locale, sep="-" if "-" in locale else "_")):
        for code, symbol in one.currency_symbols.items():
            found[str(symbol).casefold()].add(str(code))
        for code in map(str, one.currencies):
            for count in (None, 1, 2):
                found[get_currency_name(code, count, one).casefold()].add(code)
    for symbol, words in _SHARED.items():
        found[symbol] = {code for code, name in english.currencies.items() if any(w in name.lower() for w in words)}
    found.update((symbol, {code}) for symbol, code in _WRITTEN.items())
    found.update((code.casefold(), {code}) for code in map(str, english.currencies))
    return {text: frozenset(codes) for text, codes in found.items()}
