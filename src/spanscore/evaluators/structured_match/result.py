"""What a comparison comes to: value, figures, fields and explanation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, overload

from spanscore.evaluators.explanation import told
from spanscore.evaluators.structured_match.matching import Loss, Match, output_path
from spanscore.evaluators.structured_match.plan import Node, leaves_below
from spanscore.score import FieldScore, Score, new_score
from spanscore.step import MISSING

__all__ = ["scored"]

_SHOWN: Final = 3


def scored(name: str, version: str, root: Node, match: Match, stage: str) -> Score:
    """Return the score of a comparison.

    Args:
        name: of the evaluator.
        version: of its rule.
        root: the expected value.
        match: what was found.
        stage: how the output was read from text; "" where it was JSON.
    """
    total = root.total + match.extra
    value = 0.0 if match.failed else max(0.0, 1.0 - (match.lost + match.extra) / total)
    return new_score(
        name,
        value if match.losses else 1.0,
        explanation=_explained(match, stage) if match.losses or stage else "",
        fields=MatchFields(root, match),
        metrics=Figures(root, match),
        version=version,
    )


class Figures(Mapping[str, float]):
    """The metrics of a comparison, computed when first looked at."""

    __slots__ = ("_figures", "_match", "_root")

    def __init__(self, root: Node, match: Match) -> None:
        self._root = root
        self._match = match
        self._figures: dict[str, float] | None = None

    def _all(self) -> dict[str, float]:
        if self._figures is None:
            self._figures = _figures(self._root, self._match)
        return self._figures

    def __getitem__(self, name: str) -> float:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


def _figures(root: Node, match: Match) -> dict[str, float]:
    total = root.total
    exact_lost = math.fsum(loss.weight for loss in match.losses if loss.reason != "extra")
    missing = math.fsum(loss.weight for loss in match.losses if loss.reason == "missing")
    exact, kept, given = total - exact_lost, total - match.lost, total - missing + match.extra
    return {
        "strict_match": float(not match.losses),
        "similarity": _ratio(kept, total + match.extra),
        "precision": _ratio(exact, given),
        "recall": _ratio(exact, total),
        "f1": _ratio(2 * exact, given + total),
        "similarity_precision": _ratio(kept, given),
        "similarity_recall": _ratio(kept, total),
        "similarity_f1": _ratio(2 * kept, given + total),
        "coverage": _ratio(total - missing, total),
        "extra_weight": match.extra,
        "all_null_score": root.nulls / total,
        "expected_weight": total,
    }


def _ratio(part: float, whole: float) -> float:
    return max(0.0, min(1.0, part / whole)) if whole > 0.0 else 0.0


def _explained(match: Match, stage: str) -> str:
    parts = [f"read as {stage}"] if stage else []
    losses = sorted(match.losses, key=_by_loss)[:_SHOWN] if len(match.losses) > 1 else match.losses
    for path, expected, actual, _, _, _, note in losses:
        text = told(path, expected, actual)
        parts.append(f"{text} ({note})" if note else text)
    if len(match.losses) > _SHOWN:
        parts.append(f"{len(match.losses) - _SHOWN} more")
    return "; ".join(parts)


def _by_loss(loss: Loss) -> tuple[float, str]:
    path, _, _, weight, similarity, _, _ = loss
    return weight * (similarity - 1.0), path


class MatchFields(Sequence[FieldScore]):
    """The FieldScore of every leaf and of everything that was not expected, made when first looked at.

    Their weighted mean is the value; where an unexpected key fails the whole, only such keys stand here.
    """

    __slots__ = ("_fields", "_match", "_root")

    def __init__(self, root: Node, match: Match) -> None:
        self._root = root
        self._match = match
        self._fields: tuple[FieldScore, ...] | None = None

    def _all(self) -> tuple[FieldScore, ...]:
        if self._fields is None:
            self._fields = tuple(_fields(self._root, self._match))
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


def _fields(root: Node, match: Match) -> Iterator[FieldScore]:
    losses = {loss.path: loss for loss in match.losses if loss.reason != "extra"}
    for leaf in () if match.failed else leaves_below(root):
        path = output_path(leaf.path, match.moved)
        loss = losses.get(leaf.path)
        if loss is None:
            actual = match.accepted.get(leaf.path, leaf.value)
            loss = Loss(leaf.path, leaf.value, actual, leaf.total, 1.0, "match")
        yield _field(loss, path if path != leaf.path and loss.actual is not MISSING else None)
    for loss in sorted((loss for loss in match.losses if loss.reason == "extra"), key=itemgetter(0)):
        yield _field(loss, None)


def _field(loss: Loss, actual_path: str | None) -> FieldScore:
    return FieldScore(
        path=loss.path,
        expected=None if loss.expected is MISSING else loss.expected,
        actual=None if loss.actual is MISSING else loss.actual,
        value=loss.similarity,
        weight=loss.weight,
        reason=loss.reason,
        actual_path=actual_path,
    )
