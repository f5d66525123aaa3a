"""Bench: what the judges have in common: sampling, screening, the panel's verdicts and their figures."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

from spanscore import attributes as names
from spanscore.errors import ConfigurationError, JudgeError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.llm_judge.budget import Usage
from spanscore.evaluators.llm_judge.client import JudgeClient, as_client
from spanscore.evaluators.llm_judge.panel import Panel
from spanscore.evaluators.llm_judge.policy import JudgePolicy
from spanscore.evaluators.llm_judge.prompt import prompt_for
from spanscore.evaluators.llm_judge.screening import suspects_injection
from spanscore.evaluators.llm_judge.verdict import JudgeSettings, Mode, ask
from spanscore.json_text import serialise
from spanscore.score import Score
from spanscore.step import Step

__all__ = ["Ballot", "Bench", "Question", "Vote", "usage_metrics"]

_logger = logging.getLogger(__name__)
_MODES: Final = get_args(Mode)
_DATE: Final = re.compile(r"[-@:]?\d{4}-?\d{2}-?\d{2}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What every member of a panel is asked.

    Attributes:
        user: returns the message with the values to judge, for a nonce.
        asked: words for the fields of the answer.
        schema: a `VerdictSchema`.
        value_of: returns the value of an answer, 0..1.
        step: smallest difference of two values.
    """

    user: Callable[[str], str]
    asked: str
    schema: Any
    value_of: Callable[[Any], float]
    step: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One verdict: its answer, what that is worth, how many modes were given up for it."""

    answer: Any
    value: float
    steps_down: int = 0
    cached: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """The votes that came, by their place in the panel, what they come to, and their figures."""

    votes: Mapping[int, Vote]
    value: float | None
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where the verdicts of one judge are made."""

    name: str
    settings: JudgeSettings
    client: JudgeClient
    panel: Panel
    policy: JudgePolicy
    rubric: str = ""

    @classmethod
    def of(cls, judge: Any) -> Bench:
        """Return the bench of a judge, whose settings from a file become objects.

        Raises:
            ConfigurationError: a setting is not allowed.
        """
        check_name(judge.name)
        if not isinstance(judge.model, str) or not judge.model:
            raise ConfigurationError(f"model {judge.model!r} is not allowed; give the name that the endpoint knows")
        policy = JudgePolicy.of(judge.policy)
        panel = _panel(judge.panel)
        object.__setattr__(judge, "panel", panel)
        object.__setattr__(judge, "policy", policy)
        settings = JudgeSettings(
            model=judge.model,
            temperature=judge.temperature,
            max_tokens=judge.max_tokens,
            timeout_s=judge.timeout_s,
            limits=policy.limits,
            budget=policy.budget,
            price=policy.price,
        )
        return cls(
            name=judge.name,
            settings=settings,
            client=as_client(judge.client),
            panel=panel,
            policy=policy,
            rubric=judge.rubric,
        )

    @property
    def version(self) -> str:
        """Version of the rule, and of the calibration."""
        return "1" if self.policy.calibration is None else f"1.cal-{self.policy.calibration}"

    async def score(
        self, output: Any, expected: Any, step: Step | None, judged: Callable[[], Awaitable[Score]]
    ) -> Score:
        """Return what ``judged`` gives, if the output is chosen, with what is to be said of output and model."""
        chance = await self.policy.sampling.chance(self.name, output, expected, step)
        if chance is None:
            return Score(
                evaluator=self.name,
                value=None,
                label="skipped",
                reason="not_sampled",
                version=self.version,
                metrics={"sample_rate": self.policy.sampling.rate},
            )
        score = await judged()
        metrics = {"sample_rate": chance, **score.metrics}
        told = score.explanation
        if suspects_injection(output):
            metrics["judge.suspected_injection"] = 1.0
            told = f"[the answer seems to address the judge] {told}"
        if self._is_own_work(step):
            metrics["judge.self_judged"] = 1.0
        return replace(score, metrics=metrics, explanation=told)

    async def ballot(self, question: Question) -> Ballot:
        """Return the verdicts of the panel.

        Raises:
            JudgeError: fewer than the quorum; the members' own error where they agree on its kind.
        """
        votes: dict[int, Vote] = {}
        errors: list[JudgeError] = []
        models = (self.settings.model, *self.panel.models)
        for repeat in range(self.panel.repeats):
            found = await asyncio.gather(
                *(self._vote(question, model, repeat) for model in models), return_exceptions=True
            )
            for place, vote in enumerate(found, repeat * len(models)):
                if isinstance(vote, JudgeError):
                    errors.append(vote)
                elif isinstance(vote, BaseException):
                    raise vote
                else:
                    votes[place] = vote
            left = (self.panel.repeats - repeat - 1) * len(models)
            if left and self.panel.is_clear([vote.value for vote in votes.values()], left, question.step):
                break
        usage = _total([*(vote.usage for vote in votes.values()), *(error.usage for error in errors if error.usage)])
        if not self.panel.reached(len(votes), len(votes) + len(errors)):
            raise _no_quorum(errors, len(votes), usage)
        return Ballot(votes=votes, value=self._value(votes), metrics=self._metrics(votes, usage))

    async def _vote(self, question: Question, model: str, repeat: int) -> Vote:
        store, settings = self.policy.store, replace(self.settings, model=model)
        key = ""
        if store is not None:
            key = self._key(question, settings)
            kept = await asyncio.to_thread(store.fetch, key, repeat)
            if kept is not None:
                answer = question.schema.model_validate({**kept, "nonce": ""})
                return Vote(answer=answer, value=question.value_of(answer), cached=True)
        prompt = prompt_for(question.user, rubric=self.rubric, asked=question.asked)
        verdict = await ask(self.client, prompt, question.schema, settings)
        if store is not None:
            await asyncio.to_thread(store.keep, key, repeat, verdict.answer.model_dump(exclude={"nonce"}))
        return Vote(
            answer=verdict.answer,
            value=question.value_of(verdict.answer),
            steps_down=_MODES.index(verdict.mode),
            usage=verdict.usage,
        )

    def _key(self, question: Question, settings: JudgeSettings) -> str:
        """Return what is equal for equal rubric, model, parameters and input, whatever the nonce."""
        prompt = prompt_for(question.user, rubric=self.rubric, asked=question.asked, nonce="")
        schema = question.schema.model_json_schema()
        parts = [settings.model, settings.temperature, settings.max_tokens, prompt.system, prompt.user, schema]
        return hashlib.sha256(serialise(parts)).hexdigest()

    def _value(self, votes: Mapping[int, Vote]) -> float | None:
        return self.panel.value([vote.value for vote in votes.values()])

    def _metrics(self, votes: Mapping[int, Vote], usage: Usage) -> dict[str, float]:
        found = usage_metrics(usage)
        found["judge.steps_down"] = float(max(vote.steps_down for vote in votes.values()))
        if self.policy.store is not None:
            found["judge.cached"] = float(sum(vote.cached for vote in votes.values()))
        if self.panel.size > 1:
            found.update(self.panel.figures([vote.value for vote in votes.values()]))
            found.update({f"vote_{place + 1}": vote.value for place, vote in votes.items()})
        return found

    def _is_own_work(self, step: Step | None) -> bool:
        """Return True, and say so once, if the judge judges the model that it is."""
        if step is None:
            return False
        own = {_bare(model) for model in (self.settings.model, *self.panel.models)}
        keys = (names.REQUEST_MODEL, names.RESPONSE_MODEL)
        if not own & {_bare(str(step.attributes[key])) for key in keys if key in step.attributes}:
            return False
        if (self.name, self.settings.model) not in _warned:
            _warned.add((self.name, self.settings.model))
            _logger.warning("judge %r judges the output of its own model %r", self.name, self.settings.model)
        return True


_warned: Final[set[tuple[str, str]]] = set()


def _panel(given: Panel | Mapping[str, Any]) -> Panel:
    try:
        return given if isinstance(given, Panel) else Panel(**given)
    except TypeError as error:
        raise ConfigurationError(f"the panel {given!r} is not allowed: {error}") from error


def usage_metrics(usage: Usage | None) -> dict[str, float]:
    """Return the figures of what was used, as they stand in `Score.metrics`."""
    if usage is None:
        return {}
    found = {
        "judge.calls": float(usage.calls),
        "judge.input_tokens": float(usage.input_tokens),
        "judge.output_tokens": float(usage.output_tokens),
    }
    if usage.cost_usd is not None:
        found["judge.cost_usd"] = usage.cost_usd
    return found


def _bare(model: str) -> str:
    return _DATE.sub("", model.rpartition("/")[2].casefold())


def _total(usages: Sequence[Usage]) -> Usage:
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    return Usage(
        calls=sum(usage.calls for usage in usages),
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=sum(costs) if costs else None,
    )


def _no_quorum(errors: Sequence[JudgeError], votes: int, usage: Usage) -> JudgeError:
    kinds = {type(error) for error in errors}
    if len(kinds) == 1 and not votes:
        error = errors[0]
    else:
        told = ", ".join(sorted(kind.__name__ for kind in kinds))
        error = JudgeError(f"{votes} of {votes + len(errors)} verdicts came, too few for a score: {told}")
    error.usage = usage
    return error
