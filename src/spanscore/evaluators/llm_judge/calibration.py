"""calibrate: how far a judge agrees with people, and what its pass rate is worth."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from os import PathLike
from pathlib import Path
from typing import Any, Final

from spanscore.errors import ConfigurationError
from spanscore.evaluators.llm_judge.agreement import Interval, Z, cohen_kappa, wilson
from spanscore.json_text import serialise
from spanscore.score import Score

__all__ = ["Calibration", "calibrate", "load_labels"]

_WORDS: Final = {"pass": True, "fail": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far a judge agrees with people.

    Attributes:
        id: of labels, scores and threshold; give it as `JudgePolicy.calibration`, so that it stands in
            the version of every later score.
        threshold: what a score passes at.
        true_pass, false_pass, false_fail, true_fail: the confusion matrix; false is where people disagree.
        unscored: ids of labelled outputs to which the judge gave no score; they are in no other figure.
        disagreements: ids to read: on which the judge errs most first.
        agreement: share on which both agree. Read it beside the base rate: where 95 % pass, always
            saying pass agrees in 95 %.
        base_rate: share that people pass.
        kappa: Cohen's, which takes agreement by chance out.
        sensitivity: share passed of what people pass.
        specificity: share failed of what people fail.
    """

    id: str
    threshold: float
    true_pass: int
    false_pass: int
    false_fail: int
    true_fail: int
    unscored: tuple[str, ...]
    disagreements: tuple[str, ...]
    agreement: Interval
    base_rate: Interval
    kappa: Interval
    sensitivity: Interval
    specificity: Interval

    def pass_rate(self, passed: int, total: int) -> Interval:
        """Return the share that people would pass, where the judge passed ``passed`` of ``total`` others.

        Rogan and Gladen's ``(rate + specificity - 1) / (sensitivity + specificity - 1)``, within 0..1.
        The interval holds the chance in both sets: the delta method on counts to which one of each
        kind was added. Not defined where the judge is no better than chance.
        """
        judged_good = self.true_pass + self.false_fail
        judged_bad = self.true_fail + self.false_pass
        if not total or not judged_good or not judged_bad:
            return Interval(None, None, None)
        plain = passed / total + self.true_fail / judged_bad - 1
        better = self.true_pass / judged_good + self.true_fail / judged_bad - 1
        if better <= 0:
            return Interval(None, None, None)
        rate, spread = _smoothed(passed, total)
        sensitivity, spread_good = _smoothed(self.true_pass, judged_good)
        specificity, spread_bad = _smoothed(self.true_fail, judged_bad)
        gain = max(sensitivity + specificity - 1, 1e-9)
        middle = (rate + specificity - 1) / gain
        margin = Z * sqrt(spread + middle**2 * spread_good + (1 - middle) ** 2 * spread_bad) / gain
        return Interval(_clamped(plain / better), _clamped(middle - margin), _clamped(middle + margin))

    def __str__(self) -> str:
        lines = [
            f"calibration {self.id}: {self._rated} labels, {len(self.unscored)} without a score",
            f"judge passes what scores {self.threshold} or more",
            "             people pass  people fail",
            f"judge passes {self.true_pass:11d}  {self.false_pass:11d}",
            f"judge fails  {self.false_fail:11d}  {self.true_fail:11d}",
        ]
        return "\n".join([*lines, *(f"{name:12s} {getattr(self, name.replace(' ', '_'))}" for name in _TOLD)])

    @property
    def _rated(self) -> int:
        return self.true_pass + self.false_pass + self.false_fail + self.true_fail


_TOLD: Final = ("agreement", "base rate", "kappa", "sensitivity", "specificity")


def calibrate(
    labels: Mapping[str, bool] | str | PathLike[str],
    scores: Mapping[str, Score | float | None],
    *,
    threshold: float = 0.5,
) -> Calibration:
    """Return how far the scores of a judge agree with the labels of people.

    Args:
        labels: by id, whether people pass the output; or a file of them, see `load_labels`.
        scores: by id, what the judge gave; None, or a Score without a value, where it failed.
        threshold: what a score passes at.

    Raises:
        ConfigurationError: no label has a score, or a score has no label.

    >>> calibrate({"a": True, "b": False}, {"a": 0.9, "b": 0.1}).kappa.value
    1.0
    """
    found = labels if isinstance(labels, Mapping) else load_labels(labels)
    values = {key: one.value if isinstance(one, Score) else one for key, one in scores.items()}
    unknown = sorted(values.keys() - found.keys())
    rated = {key: value for key in found if (value := values.get(key)) is not None}
    if unknown or not rated:
        raise ConfigurationError(
            f"these scores have no label: {', '.join(unknown[:5])}" if unknown else "no label has a score"
        )
    cells = {(label, passed): 0 for label in (True, False) for passed in (True, False)}
    for key, value in rated.items():
        cells[found[key], value >= threshold] += 1
    true_pass, false_fail = cells[True, True], cells[True, False]
    false_pass, true_fail = cells[False, True], cells[False, False]
    wrong = [key for key, value in rated.items() if (value >= threshold) is not found[key]]
    content = serialise([sorted(found.items()), sorted(rated.items()), threshold])
    return Calibration(
        id=hashlib.blake2s(content, digest_size=4).hexdigest(),
        threshold=threshold,
        true_pass=true_pass,
        false_pass=false_pass,
        false_fail=false_fail,
        true_fail=true_fail,
        unscored=tuple(sorted(found.keys() - rated.keys())),
        disagreements=tuple(sorted(wrong, key=lambda key: -abs(rated[key] - threshold))),
        agreement=wilson(true_pass + true_fail, len(rated)),
        base_rate=wilson(true_pass + false_fail, len(rated)),
        kappa=cohen_kappa([[true_pass, false_fail], [false_pass, true_fail]]),
        sensitivity=wilson(true_pass, true_pass + false_fail),
        specificity=wilson(true_fail, true_fail + false_pass),
    )


def load_labels(path: str | PathLike[str]) -> Mapping[str, bool]:
    """Return the labels of a file of JSON lines: ``{"id": ..., "label": true}``; also ``"pass"`` and ``"fail"``.

    Raises:
        ConfigurationError: the file cannot be read; the message names the line.
    """
    found: dict[str, bool] = {}
    number = 0
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):  # noqa: B007  # the message names it
            if line.strip():
                _add(found, json.loads(line))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path}:{number}: {error!r}; a line is {{'id': 'a', 'label': true}}, or 'pass' or 'fail'"
        ) from error
    return found


def _add(found: dict[str, bool], entry: Any) -> None:
    key, label = str(entry["id"]), entry["label"]
    if key in found:
        raise ValueError(f"the id {key!r} stands twice")
    found[key] = label if isinstance(label, bool) else _WORDS[label]


def _smoothed(successes: int, trials: int) -> tuple[float, float]:
    """Return a share and its variance, with one success and one failure added (Laplace)."""
    share = (successes + 1) / (trials + 2)
    return share, share * (1 - share) / (trials + 2)


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))
