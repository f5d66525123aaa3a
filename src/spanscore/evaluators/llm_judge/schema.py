"""VerdictSchema: what a judge's answer must look like, and how its text is read."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Annotated, Any, Final, NoReturn, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from spanscore.errors import JudgeResponseError

__all__ = ["VerdictSchema", "object_of", "portable_schema", "verdict_of"]

NonBlank = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
SchemaT = TypeVar("SchemaT", bound="VerdictSchema")

_FENCED: Final = re.compile(r"```[A-Za-z0-9]*\n([^`]*)\n?```\Z")
_KEPT: Final = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "items",
        "properties",
        "required",
    }
    | {"type"}
)
"""What strict structured output takes everywhere; several endpoints refuse a schema with bounds in it."""


class VerdictSchema(BaseModel):
    """Base of every verdict; add the fields of yours, each without a default.

    Declare a scale as ``Literal[0, 1, 2, 3, 4, 5]``: endpoints enforce an enumeration, while bounds
    such as ``Field(ge=0)`` are checked here alone. Numbers in text, numbers that are not finite,
    unknown fields and a blank justification are refused.
    """

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)

    nonce: str
    justification: NonBlank


@lru_cache(maxsize=64)
def portable_schema(schema: type[VerdictSchema]) -> dict[str, Any]:
    """Return the JSON schema to send, without what some endpoints refuse.

    >>> sorted(portable_schema(VerdictSchema)["properties"]["justification"])
    ['type']
    """
    kept: dict[str, Any] = _portable(schema.model_json_schema())
    return kept


def object_of(text: str) -> dict[str, Any] | None:
    """Return the one JSON object that is the whole text, or the whole of one fence; None if there is none.

    Raises:
        JudgeResponseError: it has a field twice, or a number that is not finite.

    >>> object_of('{"score": 4}'), object_of("I would say 4.")
    ({'score': 4}, None)
    """
    fenced = _FENCED.match(text.strip())
    try:
        found = _DECODER.decode(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def verdict_of(found: dict[str, Any], schema: type[SchemaT]) -> SchemaT:
    """Return the verdict that an object is.

    Raises:
        JudgeResponseError: it is none; the message names fields, no values.
    """
    try:
        return schema.model_validate_json(orjson.dumps(found))
    except orjson.JSONEncodeError:
        raise JudgeResponseError("the judge's answer has a number of more than 64 bits") from None
    except ValidationError as error:
        raise JudgeResponseError(f"the judge's answer is no valid verdict: {_told(error)}") from None


def _portable(node: Any) -> Any:
    if isinstance(node, list):
        return [_portable(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _portable(one) for name, one in value.items()}
        elif key in _KEPT:
            kept[key] = _portable(value)
    return kept


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JudgeResponseError("the judge's answer has a field twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _not_finite(text)


def _not_finite(_: str) -> NoReturn:
    raise JudgeResponseError("the judge's answer has a number that is not finite")


def _told(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    told = [f"{'.'.join(str(part) for part in one['loc'])[:64] or 'it'}: {one['type']}" for one in problems[:5]]
    return ", ".join(told)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_not_finite)
