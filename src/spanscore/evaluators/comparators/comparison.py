"""Comparison and the Comparator protocol: how alike two values of one field are."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from spanscore.evaluators.comparators.leaf_match import leaf_match

__all__ = ["Comparator", "Comparison", "MATCH", "MISS", "unread"]


class Comparison(NamedTuple):
    """How alike two values are.

    Attributes:
        similarity: 0..1, finite, 1 is equal.
        note: short reason where the number alone does not tell, for example "ambiguous date".
    """

    similarity: float
    note: str = ""


@runtime_checkable
class Comparator(Protocol):
    """Compares the two values of one field. `compare` may return an awaitable."""

    def compare(self, expected: Any, actual: Any) -> Comparison | Awaitable[Comparison]:
        """Return how alike ``actual`` is to ``expected``, both JSON values."""
        ...


MATCH: Final = Comparison(1.0)
MISS: Final = Comparison(0.0)


def unread(expected: Any, actual: Any, note: str) -> Comparison:
    """Return the comparison of values of which one cannot be read: 1 if they are equal, else 0."""
    return Comparison(1.0 if leaf_match(expected, actual) == 1.0 else 0.0, note)
