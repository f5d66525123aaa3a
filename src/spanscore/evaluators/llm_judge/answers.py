"""The answers that the judges ask for, as pydantic models. Imported where a judge is made."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, create_model

from spanscore.evaluators.llm_judge.schema import VerdictSchema

__all__ = ["classified", "scored"]


@lru_cache(maxsize=64)
def scored(scale: int) -> type[VerdictSchema]:
    """Return the schema of a verdict whose ``score`` is a whole number, 0 to ``scale``."""
    levels: Any = Annotated[Literal[tuple(range(scale + 1))], BeforeValidator(_no_boolean)]
    return create_model("evaluation_response", __base__=VerdictSchema, score=(levels, ...))


def _no_boolean(value: Any) -> Any:
    """Refuse true and false, which equal 1 and 0 in Python."""
    if isinstance(value, bool):
        raise ValueError("a number is asked for, not a boolean")  # noqa: TRY004  # what pydantic takes
    return value


@lru_cache(maxsize=256)
def classified(count: int) -> type[VerdictSchema]:
    """Return the schema of a verdict on ``count`` entries: ``k1``, ``k2``, ... each in one of three words."""
    words: Any = Literal["identical", "similar", "different"]
    entries: dict[str, Any] = {f"k{number}": (words, ...) for number in range(1, count + 1)}
    return create_model("evaluation_response", __base__=VerdictSchema, **entries)
