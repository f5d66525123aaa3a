"""Auto: the comparator of every field for which none was named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from spanscore.evaluators.comparators.comparison import MATCH, MISS, Comparison
from spanscore.evaluators.comparators.leaf_match import kind_of, leaf_match
from spanscore.evaluators.comparators.tolerance import Decay, Tolerance, decimal_of, tolerance_of

__all__ = ["Auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """`leaf_match`, or a tolerance for numbers where one is set.

    Equal values, empty ones too: 1. Another kind: 0, note "type"; another sign: 0, note "sign".

    Args:
        abs: full credit up to this difference.
        rel: full credit up to this part of the expected number's size.
        decay: credit outside, see `Tolerance`: ``step``, ``linear`` or ``banded``.
        bands: pairs of relative error and credit, for ``banded``.

    Raises:
        ConfigurationError: a bad setting.

    >>> Auto(rel=0.1).compare(100, 109).similarity
    1.0
    """

    abs: float = 0.0
    rel: float = 0.0
    decay: Decay = "step"
    bands: Sequence[tuple[float, float]] = ()
    _tolerance: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tolerance", tolerance_of("auto", self))

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return the similarity of two JSON leaves."""
        similarity = leaf_match(expected, actual)
        if similarity == 1.0:
            return MATCH
        kind = kind_of(expected)
        if kind != kind_of(actual):
            return Comparison(0.0, "type")
        if kind == "number" and (similarity == 0.0 or self.abs or self.rel or self.bands):
            left, right = decimal_of(expected), decimal_of(actual)
            return MISS if left is None or right is None else self._tolerance.compare(left, right)
        return Comparison(similarity)
