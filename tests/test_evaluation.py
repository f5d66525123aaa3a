from __future__ import annotations

import asyncio
import logging

import pytest

from spanscore import (
    EvaluationError,
    ExactMatch,
    Expectations,
    JsonSimilarity,
    Score,
    Step,
    StructuredMatch,
    evaluate_output,
    evaluate_step,
    evaluator,
    expecting,
)
from spanscore.score import LABELS, worst_label


def _bound(*evaluators, **settings):
    return Expectations().add("a", *evaluators, **settings).bound(None)


def _evaluate(output, *bounds):
    return evaluate_step(Step(name="a", output=output), bounds)


@pytest.mark.parametrize(
    ("threshold", "label"), [(None, "scored"), (0.0, "pass"), (0.5, "pass"), (0.500001, "fail"), (1.0, "fail")]
)
def test_the_threshold_alone_decides_the_label(threshold, label):
    evaluation = _evaluate({"a": 5}, _bound(JsonSimilarity(), expected={"a": 10}, threshold=threshold))
    assert (evaluation.label, evaluation.score) == (label, 0.5)
    assert evaluation.scores[0].label == label


def test_a_span_has_the_worst_label_and_the_weighted_mean():
    evaluation = _evaluate(
        5,
        _bound(JsonSimilarity(), expected=10, threshold=0.4, weight=3),
        _bound(ExactMatch(), expected=10, threshold=0.4),
    )
    assert [score.label for score in evaluation.scores] == ["pass", "fail"]
    assert (evaluation.label, evaluation.score) == ("fail", pytest.approx(3 * 0.5 / 4))


def test_labels_are_ordered_from_worst():
    assert worst_label(LABELS[::-1]) == "fail"
    assert worst_label(["pass", "skipped"]) == "skipped"


@evaluator
def broken(output):
    raise ZeroDivisionError("/secret/path")


@evaluator
def outside(output):
    return 1.5


@evaluator
def not_a_number(output):
    return float("nan")


@evaluator
def refused(output):
    raise EvaluationError("there is no table in the answer")


@pytest.mark.parametrize(
    ("one", "error_type", "explanation"),
    [
        (broken, "ZeroDivisionError", "the evaluator raised ZeroDivisionError; see the log"),
        (outside, "EvaluationError", "evaluator 'outside' returned 1.5; a score is a number in 0..1"),
        (not_a_number, "EvaluationError", "evaluator 'not_a_number' returned nan; a score is a number in 0..1"),
        (refused, "EvaluationError", "there is no table in the answer"),
    ],
)
def test_an_evaluator_that_fails_gives_an_error_and_never_a_zero(one, error_type, explanation, caplog):
    with caplog.at_level(logging.WARNING):
        evaluation = _evaluate(1, _bound(one, ExactMatch(), expected=1))
    failed, good = evaluation.scores
    assert (failed.value, failed.label, failed.error_type, failed.explanation) == (
        None,
        "error",
        error_type,
        explanation,
    )
    assert (good.value, evaluation.label, evaluation.score) == (1.0, "error", None)


def test_an_output_that_is_no_json_is_a_decode_error():
    (score,) = _evaluate("I do not know", _bound(JsonSimilarity(), expected={"a": 1})).scores
    assert (score.label, score.error_type, score.value) == ("error", "OutputDecodeError", None)


def test_an_evaluator_without_the_expected_value_it_needs_is_skipped():
    evaluation = _evaluate(1, _bound(JsonSimilarity(), evaluator(name="any")(lambda output: 1.0)))
    assert [(score.label, score.reason) for score in evaluation.scores] == [
        ("skipped", "no_expected"),
        ("scored", None),
    ]


def test_default_criteria_stand_in_for_the_expected_value():
    default = JsonSimilarity(default_evaluation_criteria={"expected_output": {"a": 1}})
    assert _evaluate({"a": 1}, _bound(default)).score == 1.0


def test_of_two_evaluators_with_one_name_the_first_counts():
    evaluation = _evaluate(1, _bound(ExactMatch(), expected=1), _bound(ExactMatch(), expected=2))
    assert [score.value for score in evaluation.scores] == [1.0]


def test_a_coroutine_evaluator_is_pending_until_it_is_awaited():
    @evaluator
    async def judge(output, expected, *, step):
        await asyncio.sleep(0)
        return Score(evaluator="judge", value=0.25, explanation=step.name)

    evaluation = _evaluate(1, _bound(judge, ExactMatch(), expected=1, threshold=0.5))
    assert [score.label for score in evaluation.scores] == ["pending", "pass"]
    settled = asyncio.run(evaluation.settled())
    assert [(score.label, score.value, score.explanation) for score in settled.scores] == [
        ("fail", 0.25, "a"),
        ("pass", 1.0, ""),
    ]
    assert (settled.label, settled.score, settled.awaited) == ("fail", 0.625, ())


def test_a_verdict_that_is_given_up_is_skipped():
    @evaluator
    async def judge(output):
        return 1.0

    evaluation = _evaluate(1, _bound(judge)).abandoned("shutdown")
    assert [(score.label, score.reason) for score in evaluation.scores] == [("skipped", "shutdown")]


def test_an_expected_value_that_only_shows_to_be_wrong_at_run_time_is_an_error_on_the_span(pipeline):
    @evaluate_output(evaluators=[StructuredMatch()], threshold=0.5, name="agent", tracer_provider=pipeline.provider)
    def agent():
        return {"total": 1}

    with expecting({"total": {"$match": "nmber", "value": 1}}):
        agent()
    found = pipeline.attributes("agent")
    assert found["spanscore.structured_match.error.type"] == "ConfigurationError"
    assert "unknown comparator 'nmber'" in found["spanscore.structured_match.explanation"]


def test_a_field_may_be_judged_and_the_span_waits_for_it(pipeline):
    async def judge(output, expected):
        await asyncio.sleep(0)
        return 0.5

    match = StructuredMatch(rules={"/reply": {"compare": judge}, "/code": {"compare": lambda out, want: out == want}})

    @evaluate_output(
        evaluators=[match], expected={"reply": "yes", "code": 1}, name="agent", tracer_provider=pipeline.provider
    )
    def agent():
        return {"reply": "indeed", "code": 1}

    agent()
    assert pipeline.attributes("agent")["spanscore.structured_match.score"] == 0.75
