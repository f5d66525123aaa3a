"""Agreement of raters: Cohen's kappa, Krippendorff's alpha, intervals of shares. Plain arithmetic, no numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final, Literal

from spanscore.score import Score

__all__ = ["Interval", "Z", "cohen_kappa", "krippendorff_alpha", "votes_alpha", "wilson"]

Z: Final = NormalDist().inv_cdf(0.975)
"""Of a 95 % interval."""

_VOTE: Final = "vote_"


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % interval; all None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "not defined"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


_UNDEFINED: Final = Interval(None, None, None)


def wilson(successes: int, trials: int) -> Interval:
    """Return a share with Wilson's score interval.

    >>> str(wilson(8, 10))
    '0.800 (0.490 to 0.943)'
    """
    if not trials:
        return _UNDEFINED
    share = successes / trials
    middle = (share + Z * Z / (2 * trials)) / (1 + Z * Z / trials)
    margin = Z / (1 + Z * Z / trials) * sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    return Interval(share, max(0.0, middle - margin), min(1.0, middle + margin))


def cohen_kappa(table: Sequence[Sequence[int]]) -> Interval:
    """Return Cohen's kappa of a square table of counts, with the interval of Fleiss, Cohen and Everitt (1969).

    Not defined where nothing was rated, or both raters gave one and the same category throughout.

    >>> str(cohen_kappa([[20, 5], [10, 15]]))
    '0.400 (0.151 to 0.649)'
    """
    total = sum(map(sum, table))
    if not total:
        return _UNDEFINED
    size = range(len(table))
    rows = [sum(table[i]) / total for i in size]
    columns = [sum(table[i][j] for i in size) / total for j in size]
    agreed = sum(table[i][i] for i in size) / total
    chance = sum(rows[i] * columns[i] for i in size)
    if chance == 1.0:
        return _UNDEFINED
    kappa = (agreed - chance) / (1 - chance)
    rest = 1 - kappa
    on = sum(table[i][i] / total * (1 - (rows[i] + columns[i]) * rest) ** 2 for i in size)
    off = sum(table[i][j] / total * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j)
    variance = (on + rest**2 * off - (kappa - chance * rest) ** 2) / (1 - chance) ** 2 / total
    margin = Z * sqrt(max(0.0, variance))
    return Interval(kappa, kappa - margin, kappa + margin)


def krippendorff_alpha(
    units: Iterable[Sequence[float | None]], *, level: Literal["nominal", "interval"] = "interval"
) -> float | None:
    """Return Krippendorff's alpha; None where it is not defined: fewer than two values, or all equal.

    Args:
        units: for every rated thing its ratings, one a rater; None for a rating that is missing.
        level: how far two ratings are apart: equal or not, or the square of their difference.

    >>> krippendorff_alpha([(1, 1), (0, 0), (1, 0)], level="nominal")
    0.4444444444444444
    """
    rated = [[value for value in unit if value is not None] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    values = [value for unit in rated for value in unit]
    distance = _squares if level == "interval" else _unequal
    expected = distance(values) / (len(values) - 1) if len(values) > 1 else 0.0
    if not expected:
        return None
    return 1 - sum(distance(unit) / (len(unit) - 1) for unit in rated) / expected


def _squares(values: Sequence[float]) -> float:
    """Return the sum over ordered pairs of the square of their difference."""
    mean = sum(values) / len(values)
    return 2 * len(values) * sum((value - mean) ** 2 for value in values)


def _unequal(values: Sequence[float]) -> float:
    """Return the number of ordered pairs that differ."""
    return float(len(values) ** 2 - sum(count**2 for count in Counter(values).values()))


def votes_alpha(scores: Iterable[Score]) -> float | None:
    """Return Krippendorff's alpha, at interval level, of the votes that panels gave in a run.

    The place in the panel is the rater: a model, or one of its repeats.
    """
    return krippendorff_alpha(
        [value for name, value in score.metrics.items() if name.startswith(_VOTE)] for score in scores
    )
