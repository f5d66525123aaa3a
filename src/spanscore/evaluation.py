"""evaluate_step: the only caller of evaluators, and Evaluation: a step's scores and verdict."""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final, get_args

import orjson

from spanscore.checks import Bound, Check
from spanscore.errors import EvaluationError, JudgeError, SpanscoreError
from spanscore.evaluators.llm_judge.bench import usage_metrics
from spanscore.score import Label, Score, SkipReason, worst_label
from spanscore.step import MISSING, Step

__all__ = ["Evaluation", "evaluate_live", "evaluate_step", "fail_step", "skip_step"]

_logger = logging.getLogger(__name__)
_logged: Final[set[tuple[str, type]]] = set()
_PASSED: Final = (GeneratorExit, asyncio.CancelledError)
"""In a verdict that is awaited these are meant for whoever awaits it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A step's scores and verdict.

    Attributes:
        bounds: the expectations that were applied, in order.
        checks: the evaluators that were applied, in order.
        scores: one a check.
        label: worst label of all scores.
        score: weighted mean of the values, None unless every score has one.
        duration_s: time that the evaluators took, verdicts included, in seconds.
        awaited: verdicts still to come, by position in ``scores``; those are ``pending``.
        convention: name of the convention under which the span recorded the output; "" where there is none.
    """

    bounds: Sequence[Bound]
    checks: Sequence[Check]
    scores: Sequence[Score]
    label: Label
    score: float | None
    duration_s: float = 0.0
    awaited: Sequence[tuple[int, Awaitable[Any]]] = ()
    convention: str = ""

    async def settled(self) -> Evaluation:
        """Return the evaluation with every awaited verdict in; raises only what cancels it."""
        started = perf_counter()
        scores = list(self.scores)
        verdicts = [_awaited(self.checks[position], verdict) for position, verdict in self.awaited]
        for (position, _), score in zip(self.awaited, await asyncio.gather(*verdicts), strict=True):
            scores[position] = score
        return self._with(scores, self.duration_s + perf_counter() - started)

    def abandoned(self, reason: SkipReason) -> Evaluation:
        """Return the evaluation with every awaited verdict given up for ``reason``."""
        return self._without_verdicts(lambda check: _skipped(check, reason, ""))

    def failed(self, error: BaseException) -> Evaluation:
        """Return the evaluation with every awaited verdict given up because of ``error``."""
        return self._without_verdicts(lambda check: _failed(check, error))

    def _without_verdicts(self, instead: Callable[[Check], Score]) -> Evaluation:
        scores = list(self.scores)
        for position, verdict in self.awaited:
            if inspect.iscoroutine(verdict) and inspect.getcoroutinestate(verdict) == inspect.CORO_CREATED:
                verdict.close()
            scores[position] = instead(self.checks[position])
        return self._with(scores, self.duration_s)

    def _with(self, scores: Sequence[Score], duration_s: float) -> Evaluation:
        return replace(_evaluation(self.bounds, self.checks, scores, duration_s), convention=self.convention)


def evaluate_step(step: Step, bounds: Sequence[Bound]) -> Evaluation:
    """Return the scores of ``step``; never raises.

    Evaluators run on the calling thread. One whose verdict must be awaited gives a score with
    label ``pending`` and an entry in `Evaluation.awaited`. An evaluator that raises, or gives
    something that is no score in 0..1, gives label ``error``.

    Args:
        step: what was captured, with the JSON value of the output.
        bounds: expectations with their expected values, at least one. Where two have an evaluator
            of the same name, the second is left out. Where the output is not known, those that do
            not look at the steps of the run are skipped.
    """
    if step.output is MISSING:
        return _evaluate_without_output(step, bounds)
    inside = _json_of(step.output) if step.convention and type(step.output) is str else MISSING
    found = evaluate_live(step.output, bounds, lambda: step, inside)
    return replace(found, convention=step.convention) if step.convention else found


def _evaluate_without_output(step: Step, bounds: Sequence[Bound]) -> Evaluation:
    """Return what can be said of a step whose output was not recorded: what its run tells."""
    skipped = skip_step(bounds, "no_content", "the span holds no output", convention=step.convention)
    wanted = [replace(bound, checks=tuple(c for c in bound.checks if c.needs_trajectory)) for bound in bounds]
    if not any(bound.checks for bound in wanted):
        return skipped
    scored = evaluate_live(MISSING, wanted, lambda: step)
    by_name = {score.evaluator: (score, position) for position, score in enumerate(scored.scores)}
    places = {check.name: position for position, check in enumerate(skipped.checks)}
    scores = [by_name[score.evaluator][0] if score.evaluator in by_name else score for score in skipped.scores]
    awaited = [(places[scored.checks[position].name], verdict) for position, verdict in scored.awaited]
    found = _evaluation(bounds, skipped.checks, scores, scored.duration_s, awaited)
    return replace(found, convention=step.convention)


def _json_of(text: str) -> Any:
    """Return the object or list that a recorded text is, MISSING for any other text."""
    try:
        return orjson.loads(text) if text.lstrip()[:1] in ("{", "[") else MISSING
    except ValueError:
        return MISSING


def evaluate_live(
    output: Any, bounds: Sequence[Bound], describe: Callable[[], Step], inside: Any = MISSING
) -> Evaluation:
    """Return the scores of ``output``, a live Python object, like `evaluate_step`.

    Evaluators that were prepared see the live object. For the others ``describe`` is called, once,
    and gives the Step with the JSON value of the output.

    Args:
        output: what is scored.
        bounds: expectations with their expected values.
        describe: gives the Step.
        inside: the object or list that the output is the text of, for evaluators that expect one.
    """
    started = perf_counter()
    checks = bounds[0].checks if len(bounds) == 1 else _distinct(bounds)
    if len(checks) == 1 and checks[0].run is not None:  # by far the most common case
        score = _prepared_score(checks[0], output if inside is MISSING else _offered(checks[0], output, inside))
        return Evaluation(
            bounds=bounds,
            checks=checks,
            scores=(score,),
            label=score.label,
            score=score.value,
            duration_s=perf_counter() - started,
        )
    step: Step | None = None
    scores: list[Score] = []
    awaited: list[tuple[int, Awaitable[Any]]] = []
    for position, check in enumerate(checks):
        if check.run is not None:
            scores.append(_prepared_score(check, output if inside is MISSING else _offered(check, output, inside)))
            continue
        if check.lacks_expected:
            scores.append(_skipped(check, "no_expected", ""))
            continue
        try:
            step = step or describe()
        except BaseException as error:  # the output cannot be read back
            scores.append(_failed(check, error))
            continue
        if check.needs_trajectory and step.trajectory is not None and step.trajectory.dropped:
            scores.append(_skipped(check, "incomplete", f"{step.trajectory.dropped} steps of the run were not kept"))
            continue
        offered = output if inside is MISSING else _offered(check, output, inside)
        result = _called(check, step if offered is output else replace(step, output=offered))
        if isinstance(result, Score):
            scores.append(result)
        else:
            awaited.append((position, result))
            scores.append(Score(evaluator=check.name, value=None, label="pending", version=check.evaluator.version))
    return _evaluation(bounds, checks, scores, perf_counter() - started, awaited)


def _offered(check: Check, output: Any, inside: Any) -> Any:
    return inside if isinstance(check.expected, (dict, list)) else output


def skip_step(
    bounds: Sequence[Bound], reason: SkipReason, explanation: str = "", *, convention: str = ""
) -> Evaluation:
    """Return an evaluation in which every evaluator is skipped for ``reason``."""
    checks = _distinct(bounds)
    scores = [_skipped(check, reason, explanation) for check in checks]
    return replace(_evaluation(bounds, checks, scores), convention=convention)


def fail_step(bounds: Sequence[Bound], error: BaseException) -> Evaluation:
    """Return an evaluation in which no evaluator could run because of ``error``."""
    checks = _distinct(bounds)
    return _evaluation(bounds, checks, [_failed(check, error) for check in checks])


def _distinct(bounds: Sequence[Bound]) -> Sequence[Check]:
    found: dict[str, Check] = {}
    for bound in bounds:
        for check in bound.checks:
            found.setdefault(check.name, check)
    return tuple(found.values())


def _evaluation(
    bounds: Sequence[Bound],
    checks: Sequence[Check],
    scores: Sequence[Score],
    duration_s: float = 0.0,
    awaited: Sequence[tuple[int, Awaitable[Any]]] = (),
) -> Evaluation:
    # What was not sampled says nothing of the step: it leaves label and mean to the others.
    counted = [pair for pair in zip(checks, scores, strict=True) if pair[1].reason != "not_sampled"]
    counted = counted or list(zip(checks, scores, strict=True))
    values = [(check.weight, score.value) for check, score in counted if score.value is not None]
    mean = None
    if len(values) == len(counted):
        mean = sum(weight * value for weight, value in values) / sum(weight for weight, _ in values)
    return Evaluation(
        bounds=bounds,
        checks=checks,
        scores=tuple(scores),
        label=worst_label([score.label for _, score in counted]),
        score=mean,
        duration_s=duration_s,
        awaited=awaited,
    )


def _prepared_score(check: Check, output: Any) -> Score:
    assert check.run is not None
    try:
        score = check.run(output)
        value, threshold = score.value, check.threshold
        if value is None or not 0.0 <= value <= 1.0:
            return _judged(check, score)
        if threshold is not None:  # a prepared score is new each time: no copy is needed
            object.__setattr__(score, "label", "pass" if value >= threshold else "fail")
        return score
    except BaseException as error:  # an evaluator may raise anything, or call sys.exit
        return _failed(check, error)


def _called(check: Check, step: Step) -> Score | Awaitable[Any]:
    try:
        result: Any = check.evaluator.evaluate(step.output, check.expected, step=step)
        return result if inspect.isawaitable(result) else _judged(check, result)
    except BaseException as error:  # an evaluator may raise anything, or call sys.exit
        return _failed(check, error)


async def _awaited(check: Check, verdict: Awaitable[Any]) -> Score:
    try:
        return _judged(check, await verdict)
    except _PASSED:
        raise
    except BaseException as error:  # an evaluator may raise anything, or call sys.exit
        return _failed(check, error)


def _judged(check: Check, score: Any) -> Score:
    """Return the score with the label that its value and the threshold give."""
    if not isinstance(score, Score):
        raise EvaluationError(f"evaluator {check.name!r} returned {type(score).__name__}, not a Score")
    value = score.value
    if value is None:
        if score.label in ("error", "skipped") and isinstance(score.explanation, str):
            reason = score.reason if score.reason in get_args(SkipReason) else None
            return replace(
                score, evaluator=check.name, error_type=score.error_type and "EvaluationError", reason=reason
            )
        raise EvaluationError(f"evaluator {check.name!r} returned no value and the label {score.label!r}")
    if not 0.0 <= value <= 1.0:
        raise EvaluationError(f"evaluator {check.name!r} returned {value!r}; a score is a number in 0..1")
    if not isinstance(score.explanation, str) or not isinstance(score.fields, Sequence):
        raise EvaluationError(f"evaluator {check.name!r} returned a Score with a wrong explanation or fields")
    threshold = check.threshold
    label: Label = "scored" if threshold is None else "pass" if value >= threshold else "fail"
    return replace(score, evaluator=check.name, value=float(value), label=label, error_type=None, reason=None)


def _skipped(check: Check, reason: SkipReason, explanation: str) -> Score:
    return Score(
        evaluator=check.name,
        value=None,
        label="skipped",
        explanation=explanation,
        version=check.evaluator.version,
        reason=reason,
    )


def _failed(check: Check, error: BaseException) -> Score:
    """Return an error score. Only messages written for it stand on a span; the log has the rest."""
    ours = isinstance(error, SpanscoreError)
    kind = (check.name, type(error))
    if kind not in _logged:
        _logged.add(kind)
        # Without the message: it may quote content, and logs may be exported.
        frames = None if ours else "".join(traceback.format_tb(error.__traceback__))
        _logger.warning(
            "evaluator %r gave no score (%s; logged once per kind)\n%s", check.name, kind[1].__name__, frames
        )
    return Score(
        evaluator=check.name,
        value=None,
        label="error",
        explanation=str(error) if ours else f"the evaluator raised {type(error).__name__}; see the log",
        version=check.evaluator.version,
        error_type=type(error).__name__,
        metrics=usage_metrics(error.usage) if isinstance(error, JudgeError) else {},
    )
