"""The longest common subsequence of two sequences, in memory far below the product of their lengths."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

__all__ = ["common_subsequence"]


def common_subsequence(masks: Sequence[int], length: int) -> list[int]:
    """Return the places in the second sequence that a longest common subsequence takes, in order.

    Rows of the usual table are single integers (bit j is 0 where the length grows at column j); every
    isqrt(n)-th is kept and the rows between are computed again on the way back, so that n items
    against m take about ``sqrt(n) * m / 4`` bytes. Of several longest ones it is the one that a walk
    back from the ends finds which takes every match it meets, else leaves the last item of the
    second sequence out, if that costs nothing, else that of the first.

    Args:
        masks: for every item of the first sequence the bits of those of the second that it matches.
        length: length of the second sequence.

    >>> common_subsequence([0b100, 0b010, 0b001], 3)  # cba against abc
    [0]
    """
    block = max(1, isqrt(len(masks)))
    everything = (1 << length) - 1
    kept = [everything]
    row = everything
    for index, mask in enumerate(masks, 1):
        row = _next_row(row, mask, everything)
        if index % block == 0:
            kept.append(row)
    taken: list[int] = []
    column = length
    for first in range((len(masks) - 1) // block * block, -1, -block) if masks else ():
        rows = [kept[first // block]]
        for mask in masks[first : first + block]:
            rows.append(_next_row(rows[-1], mask, everything))
        column = _walk_back(rows, masks[first : first + block], column, taken)
    return taken[::-1]


def _next_row(row: int, mask: int, everything: int) -> int:
    matched = row & mask
    return ((row + matched) | (row - matched)) & everything


def _walk_back(rows: Sequence[int], masks: Sequence[int], column: int, taken: list[int]) -> int:
    """Go up the rows of one block from ``column``, note the places taken and return the column reached."""
    index = len(masks)
    while index > 0 and column > 0:
        if masks[index - 1] >> (column - 1) & 1:
            taken.append(column - 1)
            column -= 1
            index -= 1
        elif rows[index] >> (column - 1) & 1:
            column -= 1
        else:
            index -= 1
    return column
