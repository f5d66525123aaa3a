"""Score, FieldScore and the labels: what one evaluator says of one output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

__all__ = ["FieldReason", "FieldScore", "LABELS", "Label", "Score", "SkipReason", "new_score", "worst_label"]

Label = Literal["fail", "error", "pending", "skipped", "pass", "scored"]
"""``pass``/``fail``: a threshold was set. ``scored``: none was. The rest carry no value."""

LABELS: Final[tuple[Label, ...]] = get_args(Label)
"""Every label, worst first."""

FieldReason = Literal["match", "similar", "wrong", "missing", "extra", "type"]

SkipReason = Literal[
    "abstained",
    "exception",
    "incomplete",
    "interrupted",
    "no_content",
    "no_expected",
    "not_sampled",
    "queue_full",
    "shutdown",
]
"""Why a matched span was not scored."""


def worst_label(labels: Sequence[Label]) -> Label:
    """Return the worst of ``labels`` in the order of ``LABELS``; there must be at least one."""
    return labels[0] if len(labels) == 1 else min(labels, key=LABELS.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldScore:
    """One compared leaf.

    Attributes:
        path: JSON Pointer (RFC 6901) into the expected value, or into the output for ``extra``.
        expected: expected JSON value; None when the field is ``extra``.
        actual: JSON value of the output; None when it is ``missing``.
        value: 0..1, 1 is best.
        weight: share of the whole, > 0; the score is the weighted mean over all fields.
        reason: why the value is what it is.
        actual_path: JSON Pointer into the output, where that is another than ``path``: the element of a
            list was found in another place.
    """

    path: str
    expected: Any
    actual: Any
    value: float
    weight: float = 1.0
    reason: FieldReason
    actual_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one evaluator says of one output. No score is never score 0.

    Attributes:
        evaluator: name, ``[a-z][a-z0-9_]*``.
        value: 0..1, finite, 1 is best; None when there is no score.
        label: evaluators leave ``scored``; the engine sets ``pass`` or ``fail`` by the threshold.
        explanation: short text, the worst fields first. May quote content.
        fields: one record a leaf; may be computed on first access.
        metrics: further figures under the evaluator's own names.
        version: version of the evaluator's rule; scores of other versions do not compare.
        error_type: exception class name when the label is ``error``.
        reason: why the label is ``skipped``.

    >>> Score(evaluator="json_similarity", value=0.5).label
    'scored'
    """

    evaluator: str
    value: float | None
    label: Label = "scored"
    explanation: str = ""
    fields: Sequence[FieldScore] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    version: str = "1"
    error_type: str | None = None
    reason: SkipReason | None = None


_new: Final = object.__new__
_evaluator, _value, _label, _explanation, _fields, _metrics, _version, _error_type, _reason = [
    Score.__dict__[name].__set__ for name in Score.__slots__
]


def new_score(
    evaluator: str,
    value: float,
    *,
    explanation: str,
    fields: Sequence[FieldScore],
    metrics: Mapping[str, float],
    version: str,
) -> Score:
    """Return ``Score(...)`` in half the time, for evaluators that score on the caller's thread.

    The constructor of a frozen dataclass looks up every field by name.
    """
    score = _new(Score)
    _evaluator(score, evaluator)
    _value(score, value)
    _label(score, "scored")
    _explanation(score, explanation)
    _fields(score, fields)
    _metrics(score, metrics)
    _version(score, version)
    _error_type(score, None)
    _reason(score, None)
    return score
