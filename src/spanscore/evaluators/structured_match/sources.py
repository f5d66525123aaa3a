"""Rules from a JSON Schema, from a pydantic model, and what annotates one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from spanscore.errors import ConfigurationError
from spanscore.evaluators.structured_match.rules import escaped, merged

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Match", "rules_of_model", "rules_of_schema"]

T = TypeVar("T")

_HINT: Final = "x-spanscore-"
_FORMATS: Final = {"date": "date", "date-time": "datetime"}
_MAX_PARTS: Final = 20_000
_VARIANTS: Final = ("anyOf", "oneOf", "allOf")


class Match:
    """Annotation of a pydantic field: how it is compared.

    Args:
        type: name of a comparator; None leaves it to the JSON type.
        settings: of the comparator, and ``weight``, ``list``, ``key``.

    >>> from typing import Annotated
    >>> from pydantic import create_model
    >>> total = Annotated[float, Match("number", abs=0.01, weight=2)]
    >>> rules_of_model(create_model("Invoice", total=(total, ...)))
    {'/total': {'abs': 0.01, 'type': 'number', 'weight': 2}}
    """

    def __init__(self, type: str | None = None, /, **settings: Any) -> None:
        self._hints = {f"{_HINT}{name}": value for name, value in settings.items()}
        if type is not None:
            self._hints = {f"{_HINT}type": type, **self._hints}

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = dict(handler(core_schema))
        return {**schema, **self._hints}


def rules_of_model(model: type[BaseModel]) -> dict[str, Any]:
    """Return the rules that the annotations of a pydantic model say, as `StructuredMatch` takes them."""
    return rules_of_schema(model.model_json_schema())


def rules_of_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules that a JSON Schema says, as `StructuredMatch` takes them.

    ``x-spanscore-type``, ``-weight``, ``-list``, ``-key`` and any setting of the comparator
    (``x-spanscore-abs``) make a rule; ``format: date`` and ``date-time``, ``enum`` and ``const`` name
    a comparator where there is no hint. ``$ref`` into the schema itself is followed, but not again
    inside itself.

    Raises:
        ConfigurationError: a reference that leads nowhere or out of the schema.
    """
    found: dict[str, Any] = {}
    for count, (path, rule) in enumerate(_rules(schema, schema, "", ())):
        if count >= _MAX_PARTS:
            raise ConfigurationError(
                f"the schema refers to itself in more than {_MAX_PARTS} ways; give rules for the paths that matter"
            )
        if rule:
            found[path] = merged(found[path], rule) if path in found else rule  # what stands outside wins
    return found


def _rules(part: Any, schema: Mapping[str, Any], path: str, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if not isinstance(part, Mapping):
        return
    yield path, _rule(part)
    reference = _of(part, "$ref", str)
    if reference and reference not in above:
        yield from _rules(_resolved(reference, schema), schema, path, (*above, reference))
    for name in _VARIANTS:
        for variant in _of(part, name, list):
            yield from _rules(variant, schema, path, above)
    for key, child in _of(part, "properties", dict).items():
        yield from _rules(child, schema, f"{path}/{_literal(key)}", above)
    yield from _rules(part.get("additionalProperties"), schema, f"{path}/*", above)
    for index, child in enumerate(_of(part, "prefixItems", list)):
        yield from _rules(child, schema, f"{path}/{index}", above)
    yield from _rules(part.get("items"), schema, f"{path}/*", above)


def _rule(part: Mapping[str, Any]) -> dict[str, Any]:
    hints = {name[len(_HINT) :]: value for name, value in part.items() if name.startswith(_HINT)}
    implied = _FORMATS.get(_of(part, "format", str)) or ("enum" if "enum" in part or "const" in part else None)
    if implied is not None and "type" not in hints:
        return {"type": implied, **hints}
    return hints


def _of(part: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """Return the value of a keyword, empty where there is none; raise ConfigurationError for a wrong type."""
    value = part.get(key, kind())
    if not isinstance(value, kind):
        raise ConfigurationError(f"schema: {key!r} is a {type(value).__name__}; JSON Schema wants a {kind.__name__}")
    return value


def _literal(key: str) -> str:
    return escaped(key).replace("*", "~2")


def _resolved(reference: str, schema: Mapping[str, Any]) -> Any:
    found: Any = schema
    parts = reference.split("/")
    for part in parts[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if parts[0] != "#" or not isinstance(found, Mapping) or name not in found:
            raise ConfigurationError(f"$ref {reference!r:.80} leads nowhere in the schema; only '#/...' is followed")
        found = found[name]
    return found
