"""The fields and the explanation of a StaticJson score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import Final, overload

from spanscore.evaluators.static_json.flat import tokens
from spanscore.evaluators.static_json.rows import Comparison, Row
from spanscore.score import FieldReason, FieldScore

__all__ = ["KeyFields", "explanation"]

_SHOWN_ROWS: Final = 3
_SHOWN_CHARACTERS: Final = 60


class KeyFields(Sequence[FieldScore]):
    """The FieldScore of every key, made when first looked at."""

    __slots__ = ("_fields", "_late", "_result")

    def __init__(self, result: Comparison, *, late: bool) -> None:
        self._result = result
        self._late = late
        self._fields: tuple[FieldScore, ...] | None = None

    def _all(self) -> tuple[FieldScore, ...]:
        if self._fields is None:
            self._fields = tuple(_fields(self._result, late=self._late))
        return self._fields

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> FieldScore: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[FieldScore, ...]: ...
    def __getitem__(self, index: int | slice) -> FieldScore | tuple[FieldScore, ...]:
        return self._all()[index]

    def __iter__(self) -> Iterator[FieldScore]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # a sequence of JSON values, which do not hash

    def __repr__(self) -> str:
        return repr(self._all())


def _fields(result: Comparison, *, late: bool) -> Iterator[FieldScore]:
    missing, listed = set(result.missing), set()
    weight = _missing_weight(result) if late else 1.0
    for row in result.rows:
        listed.add(row.key)
        if row.match_type == "extra":
            yield _extra(row.key, row.model)
        elif row.key in missing:
            yield _field(row, "missing", weight)
        else:
            yield _field(row, "match" if _holds(row) else "similar" if row.similarity else "wrong", 2.0)
    for key in result.extra:
        if key not in listed:
            yield _extra(key, None)


def _missing_weight(result: Comparison) -> float:
    """Return what makes the weights of revision 2026-08 add up, where precision divides by the wider side."""
    missing, extra = len(result.missing), len(result.extra)
    return (2 * missing - extra) / missing if missing >= extra and missing else 1.0


def _holds(row: Row) -> bool:
    return row.exact or row.satisfied


def _field(row: Row, reason: FieldReason, weight: float) -> FieldScore:
    actual = None if reason == "missing" else row.model
    value = float(reason == "match")
    return FieldScore(
        path=_pointer(row.key), expected=row.gold, actual=actual, value=value, weight=weight, reason=reason
    )


def _extra(key: str, model: str | None) -> FieldScore:
    return FieldScore(path=_pointer(key), expected=None, actual=model, value=0.0, reason="extra")


def _pointer(key: str) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens(key))


def explanation(result: Comparison) -> str:
    """Return what the worst keys lack, in one line; quotes the normalised texts."""
    lost = [row for row in result.rows if not _holds(row)]
    shown = [_lost(row) for row in nsmallest(_SHOWN_ROWS, lost, key=itemgetter(5))]
    return "; ".join(shown if len(lost) <= _SHOWN_ROWS else [*shown, f"{len(lost) - _SHOWN_ROWS} more"])


def _lost(row: Row) -> str:
    place = _pointer(row.key) or "answer"
    if row.match_type == "extra":
        return f"{place}: not expected"
    return (
        f"{place}: expected {_shown(row.gold)}, {'missing' if row.model == 'MISSING' else 'got ' + _shown(row.model)}"
    )


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
