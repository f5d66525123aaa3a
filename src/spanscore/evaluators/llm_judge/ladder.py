"""Ladder: the ways to ask for a verdict, best first, and what is known of an endpoint's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from spanscore.errors import JudgeResponseError
from spanscore.evaluators.llm_judge.client import JudgeReply

if TYPE_CHECKING:
    from spanscore.evaluators.llm_judge.schema import VerdictSchema

__all__ = ["Ladder", "MODES", "Mode", "StepDown", "instructions", "ladder_of", "shape_of", "text_of"]

Mode = Literal["json_schema", "tool", "json_object", "text"]

MODES: Final[Sequence[Mode]] = ("json_schema", "tool", "json_object", "text")

_IGNORED_OFTEN: Final = 3  # answers in a row that were no JSON, until a mode is no longer tried
_TAGGED: Final = re.compile(r"<verdict>(.*?)</verdict>", re.DOTALL)
_TOOL: Final = "submit_evaluation"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDown:
    """What was not used, and why.

    Attributes:
        what: a mode, or the parameter ``max_tokens`` (sent as ``max_completion_tokens``) or
            ``temperature`` (left out).
        reason: ``unsupported``: the endpoint refused it; ``ignored``: several answers in a row were no JSON.
    """

    what: str
    reason: Literal["unsupported", "ignored"]


@dataclass(slots=True)
class Ladder:
    """What is known of one model of one endpoint.

    Attributes:
        steps_down: what does not work there, in the order it was found.
        ignored: answers in a row that were no JSON, in the best mode that is left.
    """

    steps_down: Sequence[StepDown] = ()
    ignored: int = 0

    def read(self, mode: Mode, *, readable: bool) -> None:
        """Note whether a first answer in a mode was JSON; one that is ignored too often is given up."""
        self.ignored = 0 if readable else self.ignored + 1
        if self.ignored >= _IGNORED_OFTEN and mode != MODES[-1]:
            self.learn((*self.steps_down, StepDown(what=mode, reason="ignored")))

    def learn(self, steps_down: Sequence[StepDown]) -> None:
        """Keep steps that led to a verdict."""
        known = {step.what for step in self.steps_down}
        new = [step for step in steps_down if step.what not in known]
        if new:
            self.steps_down, self.ignored = (*self.steps_down, *new), 0


@lru_cache(maxsize=1024)
def ladder_of(endpoint: str, model: str) -> Ladder:  # noqa: ARG001 -- they are the cache's key
    """Return what all judges know of a model."""
    return Ladder()


def shape_of(mode: Mode, schema: type[VerdictSchema]) -> Mapping[str, Any]:
    """Return the fields of a request that ask for a verdict in a mode."""
    from spanscore.evaluators.llm_judge.schema import portable_schema

    if mode == "json_schema":
        described = {"name": "evaluation_response", "strict": True, "schema": portable_schema(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": described}}
    if mode == "tool":
        told = "Hand in the evaluation."
        function = {"name": _TOOL, "description": told, "parameters": portable_schema(schema)}
        return {"tool": {"type": "function", "function": function}}
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def instructions(mode: Mode, schema: type[VerdictSchema]) -> str:
    """Return what the model is told of the form, where the request does not say it or it was not heeded."""
    from spanscore.evaluators.llm_judge.schema import portable_schema

    form = orjson.dumps(portable_schema(schema)).decode()
    if mode == "tool":
        return f"Call the function {_TOOL} exactly once, with arguments of this JSON schema: {form}"
    if mode == "text":
        return (
            "End with the verdict, once, as a JSON object between <verdict> and </verdict>. "
            f"The object has this JSON schema: {form}"
        )
    return f"Answer with one JSON object and nothing else. It has this JSON schema: {form}"


def text_of(reply: JudgeReply, mode: Mode) -> str | None:
    """Return the text that must be the verdict; None if there is none.

    Raises:
        JudgeResponseError: there are several.
    """
    if mode == "tool":
        found: Sequence[str] = reply.arguments
    elif mode == "text":
        found = _TAGGED.findall(reply.text or "")
    else:
        found = [reply.text] if reply.text else []
    if len(found) > 1:
        raise JudgeResponseError("the judge gave several verdicts")
    return found[0] if found else None
