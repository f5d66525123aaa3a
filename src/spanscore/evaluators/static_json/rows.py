"""What a comparison of two answers says: a row for every key, and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Answer", "Comparison", "Flat", "Row", "f1_of", "label_of", "ratio", "unmatched"]

Flat = Mapping[str, str]
"""Key path -> normalised text, for example ``{"answer.items[0]": "14"}``."""


class Answer(NamedTuple):
    """An answer that was read: its value and its flat map."""

    value: Any
    flat: Flat


class Row(NamedTuple):
    """One compared key; a tuple, because thousands are made for a large answer.

    The last five are of revision 2026-08 only.
    """

    key: str
    gold: str
    model: str
    exact: bool
    match_type: str
    similarity: float
    accepted: bool = False
    satisfied: bool = False
    numeric: bool = False
    range_match: bool | None = None
    delta_1_match: bool | None = None


class Comparison(NamedTuple):
    """What one answer is worth: the figures, the keys on one side only, and a row for every key."""

    figures: dict[str, float]
    missing: list[str]
    extra: list[str]
    rows: list[Row]
    passed: bool


def unmatched(gold: Flat, missing: Sequence[str], model: Flat, extra: Sequence[str]) -> list[Row]:
    """Return the rows of the keys that one side only has."""
    rows = [Row(key, gold[key], "MISSING", False, "missing", 0.0) for key in missing]
    return rows + [Row(key, "NOT_IN_GOLD", model[key], False, "extra", 0.0) for key in extra]


def label_of(similarity: float, threshold: float) -> str:
    """Return what a pair that does not match is called."""
    return f"partial ({similarity:.2f})" if similarity > threshold else "mismatch"


def ratio(part: float, whole: float) -> float:
    """Return ``part / whole``, 0 of nothing."""
    return part / whole if whole else 0.0


def f1_of(precision: float, recall: float) -> float:
    """Return the harmonic mean, 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
