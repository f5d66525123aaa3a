"""StrictJsonJudge: a model classifies the fields that code cannot decide; code computes the score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, Final

from spanscore.errors import ConfigurationError, EvaluationError, OutputDecodeError
from spanscore.evaluators.exact_match import select_from
from spanscore.evaluators.explanation import told
from spanscore.evaluators.extraction import extract_json
from spanscore.evaluators.llm_judge.bench import Ballot, Bench, Question
from spanscore.evaluators.llm_judge.panel import Panel
from spanscore.evaluators.llm_judge.policy import JudgePolicy
from spanscore.evaluators.llm_judge.prompt import ACTUAL, STRICT_JSON_PROMPT, Template
from spanscore.evaluators.llm_judge.screening import refusal
from spanscore.evaluators.structured_match.identity import identity
from spanscore.evaluators.target import check_target
from spanscore.json_text import plain
from spanscore.score import FieldReason, FieldScore, Score
from spanscore.step import MISSING, Step

__all__ = ["StrictJsonJudge", "strict_value"]

_WORTH: Final = {"identical": 1.0, "similar": 0.5, "different": 0.0}
_EXTRA_WEIGHT: Final = 0.1
_MAX_JUDGED: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictJsonJudge:
    """How many top-level fields are right. Source: UiPath ``uipath-llm-judge-output-strict-json-similarity``.

    ``value = max(0, 1 - lost / N)`` for ``N`` expected keys, at least 1: a key that is missing or wrong
    loses 1, a similar one 0.5, an extra one 0.1. Code decides which keys are missing, extra, equal,
    or filled with nothing, and computes the value; the model only calls the other fields identical,
    similar or different, all in one verdict, and is not asked where none is left. Nothing expected
    and nothing given is 1.0.

    ``fields`` has every key, an extra one with the weight 0.1; what they lost, by weight, over N adds
    up to ``1 - value`` where that is not cut at 0. ``metrics`` has ``expected_keys``, ``judged_keys``
    and those of `LLMJudge`.

    Args:
        name: key of the score.
        model: name of the model, as the endpoint knows it.
        prompt: the message, with ``{{ActualOutput}}``, where the list of fields goes: key, expected
            value, value given.
        target_output_key: the object on both sides, see `spanscore.evaluators.target.select`. Text is
            read as JSON.
        rubric, temperature, max_tokens, timeout_s, client, policy: as for `LLMJudge`.
        panel: several verdicts; each field then has the mean of its values.

    Raises:
        ConfigurationError: a placeholder is missing or unknown, or a setting is not allowed.

    >>> import asyncio
    >>> judge = StrictJsonJudge(model="m")  # no field here needs the model
    >>> asyncio.run(judge.evaluate({"id": 7}, {"id": 7, "city": "Paris"})).value
    0.5
    """

    name: str = "strict_json_judge"
    model: str
    prompt: str = STRICT_JSON_PROMPT
    rubric: str = ""
    target_output_key: str | Sequence[str] = "*"
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
        object.__setattr__(self, "_template", Template(self.prompt, required=(ACTUAL,)))
        object.__setattr__(self, "_bench", Bench.of(self))
        if self._bench.panel.rule != "mean":
            raise ConfigurationError(
                f"rule {self._bench.panel.rule!r} is not allowed here: fields have the mean of their verdicts"
            )

    @property
    def version(self) -> str:
        """Version of the rule, with the id of the calibration where there is one."""
        return self._bench.version

    @property
    def annotator_kind(self) -> str:
        """What OpenInference calls the kind of evaluator."""
        return "LLM"

    async def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score.

        Raises:
            EvaluationError: the expected value is no object, or a side has no such target.
            OutputDecodeError: the output is no object, and no text with one.
            JudgeError: there is no verdict.
        """
        wanted = _object(select_from(plain(expected), self.target_output_key, "expected", compat=False))
        if wanted is None:
            raise EvaluationError(f"{self.name}: the expected value must be a JSON object")
        given = _object(select_from(plain(output), self.target_output_key, "output", compat=False))
        if given is None:
            raise OutputDecodeError(f"{self.name}: the output is neither a JSON object nor text with one")

        async def judged() -> Score:
            return await self._judged(wanted, given)

        return await self._bench.score(given, wanted, step, judged)

    async def _judged(self, wanted: Mapping[str, Any], given: Mapping[str, Any]) -> Score:
        decided = {key: found for key in wanted if (found := _decided(key, wanted, given)) is not None}
        open_keys = [key for key in wanted if key not in decided]
        ballot: Ballot | None = None
        if open_keys:
            ballot = await self._bench.ballot(self._question(open_keys, wanted, given, decided))
            decided.update(_voted(open_keys, wanted, given, ballot))
        fields = [*(decided[key] for key in wanted), *(_extra(key, given[key]) for key in given if key not in wanted)]
        figures: Mapping[str, float] = {"judge.calls": 0.0} if ballot is None else ballot.metrics
        return Score(
            evaluator=self.name,
            value=strict_value(len(wanted), fields),
            explanation=_explanation(fields, ballot),
            fields=tuple(fields),
            metrics={**figures, "expected_keys": float(len(wanted)), "judged_keys": float(len(open_keys))},
            version=self.version,
        )

    def _question(
        self,
        keys: Sequence[str],
        wanted: Mapping[str, Any],
        given: Mapping[str, Any],
        decided: Mapping[str, FieldScore],
    ) -> Question:
        from spanscore.evaluators.llm_judge.answers import classified

        if len(keys) > _MAX_JUDGED:
            raise EvaluationError(f"{self.name}: {len(keys)} fields need a judge; at most {_MAX_JUDGED} do")
        entries = {
            f"k{number}": {"key": key, "expected": wanted[key], "given": given[key]}
            for number, key in enumerate(keys, 1)
        }
        known = fsum(found.value for found in decided.values()) - _EXTRA_WEIGHT * len(given.keys() - wanted.keys())
        return Question(
            user=lambda nonce: self._template.render({ACTUAL: entries}, nonce),
            asked=f'for every entry, under its own name ({", ".join(entries)}), one of the words "identical", '
            '"similar" and "different"',
            schema=classified(len(keys)),
            value_of=lambda answer: max(0.0, (known + fsum(_words(answer, len(keys)))) / len(wanted)),
            step=0.5 / len(wanted),
        )


def strict_value(expected_keys: int, fields: Iterable[FieldScore]) -> float:
    """Return ``1 - lost / N``, at least 0; N is the number of expected keys, at least 1.

    >>> strict_value(0, [])
    1.0
    """
    lost = fsum(one.weight * (1.0 - one.value) for one in fields)
    count = max(1, expected_keys)
    return max(0.0, (count - lost) / count)


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        value = extract_json(value).value
    return value if isinstance(value, dict) else None


def _decided(key: str, wanted: Mapping[str, Any], given: Mapping[str, Any]) -> FieldScore | None:
    """Return the field if code can tell what it is, else None."""
    if key not in given:
        return _field(key, wanted[key], None, 0.0, "missing")
    if identity(wanted[key]) == identity(given[key]):
        return _field(key, wanted[key], given[key], 1.0, "match")
    if given[key] is None or refusal(given[key], wanted[key]) is not None:
        return _field(key, wanted[key], given[key], 0.0, "wrong")
    return None


def _words(answer: Any, count: int) -> list[float]:
    return [_WORTH[getattr(answer, f"k{number}")] for number in range(1, count + 1)]


def _voted(
    keys: Sequence[str], wanted: Mapping[str, Any], given: Mapping[str, Any], ballot: Ballot
) -> dict[str, FieldScore]:
    votes = [_words(vote.answer, len(keys)) for vote in ballot.votes.values()]
    found = {}
    for key, worths in zip(keys, zip(*votes, strict=True), strict=True):
        value = fsum(worths) / len(worths)
        reason: FieldReason = "match" if value == 1.0 else "wrong" if value == 0.0 else "similar"
        found[key] = _field(key, wanted[key], given[key], value, reason)
    return found


def _extra(key: str, given: Any) -> FieldScore:
    return FieldScore(path=_pointer(key), expected=None, actual=given, value=0.0, weight=_EXTRA_WEIGHT, reason="extra")


def _field(key: str, expected: Any, actual: Any, value: float, reason: FieldReason) -> FieldScore:
    return FieldScore(path=_pointer(key), expected=expected, actual=actual, value=value, reason=reason)


def _pointer(key: str) -> str:
    return f"/{key.replace('~', '~0').replace('/', '~1')}"


def _explanation(fields: Iterable[FieldScore], ballot: Ballot | None) -> str:
    worst = sorted((one for one in fields if one.value < 1.0), key=lambda one: -one.weight * (1.0 - one.value))
    lines = [
        told(
            one.path,
            MISSING if one.reason == "extra" else one.expected,
            MISSING if one.reason == "missing" else one.actual,
        )
        for one in worst[:5]
    ]
    if ballot is not None:
        lines.append(next(iter(ballot.votes.values())).answer.justification)
    return "; ".join(lines)
