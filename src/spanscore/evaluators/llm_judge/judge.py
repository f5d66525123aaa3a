"""LLMJudge: a model says how well the output fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from spanscore.errors import ConfigurationError
from spanscore.evaluators.exact_match import select_from
from spanscore.evaluators.llm_judge.bench import Ballot, Bench, Question
from spanscore.evaluators.llm_judge.panel import Panel
from spanscore.evaluators.llm_judge.policy import JudgePolicy
from spanscore.evaluators.llm_judge.prompt import (
    ACTUAL,
    EXPECTED,
    HISTORY,
    INPUT,
    OUTPUT_PROMPT,
    Template,
    history_of,
)
from spanscore.evaluators.llm_judge.screening import refusal
from spanscore.evaluators.target import check_target
from spanscore.json_text import plain
from spanscore.score import Score
from spanscore.step import MISSING, Step

__all__ = ["LLMJudge", "asked_for", "ballot_score", "check_scale", "refused_score", "scored_question"]

_MAX_SCALE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMJudge:
    """How well the output fits, as a model says. Source: UiPath ``uipath-llm-judge-output-semantic-similarity``.

    ``value = score / scale``, where the model gives a whole number, 0 to ``scale``, and why
    (``explanation``). It decides neither pass nor fail: the threshold does. An output that says
    nothing (empty, only punctuation, only an opener such as "Thought process:", only an echo of the
    input or the prompt) is 0.0 without a call, unless just that is expected. Anything but a valid
    verdict is an error, never a score. The verdict is awaited on spanscore's own loop.

    ``metrics`` has ``judge.calls``, ``judge.input_tokens``, ``judge.output_tokens``,
    ``judge.steps_down``, ``sample_rate``, and where they apply ``judge.cost_usd``, ``judge.cached``,
    ``judge.verdicts``, ``judge.spread``, ``judge.flip_rate``, ``judge.suspected_injection``,
    ``judge.self_judged`` and the single votes as ``vote_1``, ``vote_2``, ...

    Args:
        name: key of the score.
        model: name of the model, as the endpoint knows it.
        prompt: the message, with ``{{ActualOutput}}`` and ``{{ExpectedOutput}}``, and ``{{Input}}`` and
            ``{{AgentRunHistory}}`` where wanted. Values go in as JSON between two lines with a number
            that is new for every verdict, which the verdict must repeat.
        rubric: instructions of yours, added to the system message: what each level means, an example.
        scale: the highest score. 1 is yes or no; models agree with people best on short scales.
        target_output_key: the part of both sides to judge, see `spanscore.evaluators.target.select`.
        reference: False for a judge that needs no expected value; ``{{ExpectedOutput}}`` may then lack.
        temperature, max_tokens: sent along where they are not None.
        timeout_s: deadline of a verdict, retries included.
        client: None for the OpenAI-compatible endpoint in ``OPENAI_BASE_URL`` with ``OPENAI_API_KEY``;
            else see `spanscore.evaluators.llm_judge.client.as_client`.
        panel: several verdicts, of several models.
        policy: sampling, limits, budget, price, cache, calibration.

    Raises:
        ConfigurationError: a placeholder is missing or unknown, or a setting is not allowed.

    >>> LLMJudge(model="m", prompt="Is {{ActualOutput}} as polite as {{ExpectedOutput}}?", scale=1).version
    '1'
    """

    name: str = "llm_judge"
    model: str
    prompt: str = OUTPUT_PROMPT
    rubric: str = ""
    scale: int = 5
    target_output_key: str | Sequence[str] = "*"
    reference: bool = True
    temperature: float | None = 0.0
    max_tokens: int | None = 1024
    timeout_s: float = field(default=60.0, compare=False)
    client: Any = field(default=None, compare=False, repr=False)
    panel: Panel | Mapping[str, Any] = field(default_factory=Panel)
    policy: JudgePolicy | Mapping[str, Any] = field(default_factory=JudgePolicy, compare=False)
    _template: Template = field(init=False, repr=False, compare=False)
    _bench: Bench = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_target(self.target_output_key)
        check_scale(self.scale)
        required = (ACTUAL, EXPECTED) if self.reference else (ACTUAL,)
        template = Template(self.prompt, required=required, allowed=(EXPECTED, INPUT, HISTORY))
        object.__setattr__(self, "_template", template)
        object.__setattr__(self, "_bench", Bench.of(self))

    @property
    def version(self) -> str:
        """Version of the rule, with the id of the calibration where there is one."""
        return self._bench.version

    @property
    def needs_expected(self) -> bool:
        """Whether there is no score without an expected value."""
        return self.reference

    @property
    def annotator_kind(self) -> str:
        """What OpenInference calls the kind of evaluator."""
        return "LLM"

    async def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score; raise JudgeError where there is no verdict, EvaluationError for a missing target."""
        actual = select_from(plain(output), self.target_output_key, "output", compat=False)
        if expected is not MISSING and not isinstance(expected, str):
            expected = select_from(expected, self.target_output_key, "expected", compat=False)
        values = {ACTUAL: actual, EXPECTED: expected, HISTORY: history_of(step)}
        values[INPUT] = MISSING if step is None else step.input
        why = refusal(actual, expected, values[INPUT], self.prompt)

        async def judged() -> Score:
            if why is not None:
                return refused_score(self._bench, why)
            return ballot_score(self._bench, await self._bench.ballot(self._question(values)))

        return await self._bench.score(actual, expected, step, judged)

    def _question(self, values: Mapping[str, Any]) -> Question:
        return scored_question(self._template, values, self.scale)


def scored_question(template: Template, values: Mapping[str, Any], scale: int) -> Question:
    """Return the question for a whole number, 0 to ``scale``."""
    from spanscore.evaluators.llm_judge.answers import scored

    return Question(
        user=lambda nonce: template.render(values, nonce),
        asked=asked_for(scale),
        schema=scored(scale),
        value_of=lambda answer: float(answer.score) / scale,
        step=1 / scale,
    )


def asked_for(scale: int) -> str:
    """Return the words that ask for a score.

    >>> asked_for(1)
    '"score", 1 for yes or 0 for no'
    """
    if scale == 1:
        return '"score", 1 for yes or 0 for no'
    return f'"score", a whole number from 0 (as bad as can be) to {scale} (nothing to fault)'


def check_scale(scale: Any) -> None:
    """Raise ConfigurationError for a scale that is not allowed."""
    if not isinstance(scale, int) or isinstance(scale, bool) or not 1 <= scale <= _MAX_SCALE:
        raise ConfigurationError(f"scale {scale!r} is not allowed; give the highest score, 1 to {_MAX_SCALE}")


def refused_score(bench: Bench, why: str) -> Score:
    """Return 0.0 for an output that says nothing."""
    return Score(
        evaluator=bench.name,
        value=0.0,
        explanation=f"refused without asking the model: the answer is {why}",
        metrics={"judge.calls": 0.0},
        version=bench.version,
    )


def ballot_score(bench: Bench, ballot: Ballot) -> Score:
    """Return the score that the votes come to, with the justification of the one nearest to it."""
    if ballot.value is None:
        return Score(
            evaluator=bench.name,
            value=None,
            label="skipped",
            reason="abstained",
            explanation="as many verdicts pass as fail",
            metrics=ballot.metrics,
            version=bench.version,
        )
    value = ballot.value
    nearest = min(ballot.votes.values(), key=lambda vote: abs(vote.value - value))
    return Score(
        evaluator=bench.name,
        value=value,
        explanation=nearest.answer.justification,
        metrics=ballot.metrics,
        version=bench.version,
    )
