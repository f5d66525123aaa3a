"""TrajectoryJudge: a model says how well a run went as it should."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spanscore.errors import EvaluationError
from spanscore.evaluators.llm_judge.bench import Bench
from spanscore.evaluators.llm_judge.judge import ballot_score, check_scale, refused_score, scored_question
from spanscore.evaluators.llm_judge.panel import Panel
from spanscore.evaluators.llm_judge.policy import JudgePolicy
from spanscore.evaluators.llm_judge.prompt import (
    ACTUAL,
    BEHAVIOR,
    HISTORY,
    INPUT,
    TRAJECTORY_PROMPT,
    Template,
    history_of,
)
from spanscore.json_text import plain
from spanscore.score import Score
from spanscore.step import MISSING, Step

__all__ = ["TrajectoryJudge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryJudge:
    """How well a run went as it should, as a model says. Source: UiPath ``uipath-llm-judge-trajectory-similarity``.

    ``value = score / scale``, as for `LLMJudge`. The expected value is the expected behaviour, text or
    any JSON, or ``{"expected_agent_behavior": ...}``. The history is ``step.trajectory``: every step
    with its name, operation, input, output and error. A run without a step is 0.0 without a call; a
    trajectory that was not gathered is an error.

    Args:
        name: key of the score.
        model: name of the model, as the endpoint knows it.
        prompt: the message, with ``{{AgentRunHistory}}`` and ``{{ExpectedAgentBehavior}}``, and
            ``{{Input}}`` and ``{{ActualOutput}}`` where wanted.
        rubric, scale, temperature, max_tokens, timeout_s, client, panel, policy: as for `LLMJudge`.

    Raises:
        ConfigurationError: a placeholder is missing or unknown, or a setting is not allowed.

    >>> TrajectoryJudge(model="m").name
    'trajectory_judge'
    """

    name: str = "trajectory_judge"
    model: str
    prompt: str = TRAJECTORY_PROMPT
    rubric: str = ""
    scale: int = 5
    temperature: float | None = 0.0
    max_tokens: int | None = 1024
    timeout_s: float = field(default=60.0, compare=False)
    client: Any = field(default=None, compare=False, repr=False)
    panel: Panel | Mapping[str, Any] = field(default_factory=Panel)
    policy: JudgePolicy | Mapping[str, Any] = field(default_factory=JudgePolicy, compare=False)
    _template: Template = field(init=False, repr=False, compare=False)
    _bench: Bench = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_scale(self.scale)
        template = Template(self.prompt, required=(HISTORY, BEHAVIOR), allowed=(INPUT, ACTUAL))
        object.__setattr__(self, "_template", template)
        object.__setattr__(self, "_bench", Bench.of(self))

    @property
    def version(self) -> str:
        """Version of the rule, with the id of the calibration where there is one."""
        return self._bench.version

    @property
    def annotator_kind(self) -> str:
        """What OpenInference calls the kind of evaluator."""
        return "LLM"

    async def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score; raise JudgeError where there is no verdict, EvaluationError without a trajectory."""
        history = history_of(step)
        if history is MISSING:
            raise EvaluationError(
                "the run is read from the trajectory, and there is none; score the root step of a run "
                "whose steps were gathered"
            )
        values = {HISTORY: history, BEHAVIOR: _behavior(expected), ACTUAL: plain(output)}
        values[INPUT] = MISSING if step is None else step.input

        async def judged() -> Score:
            if not history:
                return refused_score(self._bench, "a run without a step")
            question = scored_question(self._template, values, self.scale)
            return ballot_score(self._bench, await self._bench.ballot(question))

        return await self._bench.score(history, expected, step, judged)


def _behavior(expected: Any) -> Any:
    if isinstance(expected, Mapping) and len(expected) == 1:
        return expected.get("expected_agent_behavior", expected.get("expectedAgentBehavior", expected))
    return expected
