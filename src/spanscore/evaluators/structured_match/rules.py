"""Rules by path: which comparator, weight and list policy holds where."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, get_args

from spanscore.errors import ConfigurationError
from spanscore.evaluators.comparators.table import COMPARATORS, Comparator, comparator_from

__all__ = ["ListPolicy", "Position", "Rule", "Rules", "Setting", "escaped", "merged", "segments"]

ListPolicy = Literal["ordered", "unordered", "set", "multiset", "keyed"]
Position = tuple[tuple[int, int], ...]
"""Where all rules stand after some segments of a path: (rule, segments of its pattern that are used)."""

_OWN: Final = ("compare", "weight", "list", "key")
_LEAST_WEIGHT: Final = 1e-6
_MOST_WEIGHT: Final = 1e6
_ANY: Final = "*"
_DEEP: Final = "**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What holds for the paths that a pattern matches; None leaves it to less specific rules.

    Attributes:
        pattern: JSON Pointer in which ``*`` stands for one key or position, ``**`` for any number.
        comparator: compares the field; an object or a list too, where the comparator reads such.
        weight: factor, > 0, for every leaf at or below the path.
        list: how the elements of a list are paired.
        key: JSON Pointer in an element to what identifies it; for ``keyed``.
    """

    pattern: str
    comparator: Comparator | None = None
    weight: float | None = None
    list: ListPolicy | None = None
    key: str | None = None


class Setting(NamedTuple):
    """What the rules say of one path, and which pattern said it (None where none did)."""

    comparator: Comparator | None
    comparator_from: str | None
    weight: float
    weight_from: str | None
    list: ListPolicy
    list_from: str | None
    key: str | None


class Rules:
    """The rules of one evaluator, found by walking a path down from the root.

    ``has_async`` tells whether a comparator must be awaited.

    For each of comparator, weight and list policy the most specific rule that sets it wins: the one
    with more literal segments, then with more ``*``, then the later one.

    Args:
        specs: pattern -> rule: a comparator as `comparator_from` takes it, or a mapping of its
            ``type`` and settings, ``weight``, ``list`` and ``key``.
        default_list: list policy where no rule sets one.

    Raises:
        ConfigurationError: a pattern, key or value that is not allowed; the message names it, what
            is allowed, and the nearest valid name.
    """

    def __init__(self, specs: Mapping[str, Any], default_list: ListPolicy) -> None:
        self.rules = [_rule(pattern, spec) for pattern, spec in specs.items()]
        self._patterns = [segments(rule.pattern) for rule in self.rules]
        self._default_list = default_list
        ranks = [_rank(pattern) for pattern in self._patterns]
        self._order = sorted(range(len(ranks)), key=lambda index: (ranks[index], index), reverse=True)
        self._literals = {
            _unescaped(part) for pattern in self._patterns for part in pattern if part not in (_ANY, _DEEP)
        }
        self.has_async = any(getattr(rule.comparator, "is_async", False) for rule in self.rules)
        self._steps: dict[tuple[Position, str | None], Position] = {}
        self._settings: dict[Position, Setting] = {}

    def start(self) -> Position:
        """Return the position at the root."""
        return self._closed({(index, 0) for index in range(len(self._patterns))})

    def step(self, position: Position, segment: str) -> Position:
        """Return the position one key or list index further down."""
        key = (position, segment if segment in self._literals else None)
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._closed(set(self._moved(position, segment)))
        return found

    def setting(self, position: Position) -> Setting:
        """Return what the rules say of the path that led to the position."""
        found = self._settings.get(position)
        if found is None:
            found = self._settings[position] = self._setting(position)
        return found

    def more_to_come(self, position: Position, than: str) -> bool:
        """Return True if a rule that is more specific than the pattern ``than`` may match further down."""
        rank = _rank(segments(than))
        return any(
            used < len(self._patterns[rule])
            and _rank(self._patterns[rule]) > rank
            and self.rules[rule].comparator is not None
            for rule, used in position
        )

    def _moved(self, position: Position, segment: str) -> list[tuple[int, int]]:
        moved = []
        for rule, used in position:
            pattern = self._patterns[rule]
            if used < len(pattern):
                if pattern[used] == _DEEP:
                    moved.append((rule, used))
                elif pattern[used] == _ANY or _unescaped(pattern[used]) == segment:
                    moved.append((rule, used + 1))
        return moved

    def _closed(self, position: set[tuple[int, int]]) -> Position:
        for rule, used in list(position):  # `**` may stand for nothing
            while used < len(self._patterns[rule]) and self._patterns[rule][used] == _DEEP:
                used += 1  # noqa: PLW2901  # walks over the pattern
                position.add((rule, used))
        return tuple(sorted(position))

    def _setting(self, position: Position) -> Setting:
        whole = {rule for rule, used in position if used == len(self._patterns[rule])}
        winners = [self.rules[index] for index in self._order if index in whole]
        comparator = next((rule for rule in winners if rule.comparator is not None), None)
        weight = next((rule for rule in winners if rule.weight is not None), None)
        policy = next((rule for rule in winners if rule.list is not None), None)
        return Setting(
            comparator=comparator.comparator if comparator else None,
            comparator_from=comparator.pattern if comparator else None,
            weight=weight.weight if weight and weight.weight is not None else 1.0,
            weight_from=weight.pattern if weight else None,
            list=policy.list if policy and policy.list else self._default_list,
            list_from=policy.pattern if policy else None,
            key=policy.key if policy else None,
        )


def segments(pointer: str) -> tuple[str, ...]:
    """Return the segments of a JSON Pointer or pattern, still escaped; raise ConfigurationError for none."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        near = f", for example '/{pointer}'" if isinstance(pointer, str) else ""
        raise ConfigurationError(f"path {pointer!r:.80} must be '' (the whole value) or start with '/'{near}")
    return tuple(pointer[1:].split("/")) if pointer else ()


def escaped(segment: str) -> str:
    """Return a key as a segment of a JSON Pointer."""
    return segment.replace("~", "~0").replace("/", "~1") if "~" in segment or "/" in segment else segment


def _unescaped(segment: str) -> str:
    return segment.replace("~2", "*").replace("~1", "/").replace("~0", "~")


def _rank(pattern: tuple[str, ...]) -> tuple[int, int]:
    stars, deep = pattern.count(_ANY), pattern.count(_DEEP)
    return len(pattern) - stars - deep, stars


def merged(specific: Any, general: Any) -> dict[str, Any]:
    """Return one rule of two for the same path: of the second only what the first leaves open."""
    first, second = _as_mapping(specific), _as_mapping(general)
    if ("type" in first or "compare" in first) and first.get("type") != second.get("type"):
        second = {name: value for name, value in second.items() if name in ("weight", "list", "key")}
    if "list" in first:
        second.pop("key", None)
    return {**second, **first}


def _as_mapping(spec: Any) -> dict[str, Any]:
    if isinstance(spec, Mapping):
        own = {name for name in spec if name in _OWN}
        return dict(spec) if own == set(spec) or "type" in spec else {"type": "auto", **spec}
    return {"type": spec} if isinstance(spec, str) else {"compare": spec}


def _rule(pattern: str, spec: Any) -> Rule:
    segments(pattern)
    try:
        if not isinstance(spec, Mapping):
            return Rule(pattern=pattern, comparator=comparator_from(spec))
        return _rule_of_mapping(pattern, dict(spec))
    except ConfigurationError as error:
        raise ConfigurationError(f"rule {pattern!r}: {error}") from error


def _rule_of_mapping(pattern: str, spec: dict[str, Any]) -> Rule:
    own: dict[str, Any] = {name: spec.pop(name) for name in _OWN if name in spec}
    _check_own(own)
    if spec and "compare" in own:
        raise ConfigurationError(f"give either 'compare' or {', '.join(map(repr, sorted(spec)))}, not both")
    if spec:
        spec.setdefault("type", "auto")
        _check_known(spec)
        own["compare"] = spec
    if not own:
        raise ConfigurationError(f"an empty rule says nothing; give {', '.join(('type', *_OWN))}")
    comparator = comparator_from(own["compare"]) if "compare" in own else None
    return Rule(
        pattern=pattern,
        comparator=comparator,
        weight=None if own.get("weight") is None else float(own["weight"]),
        list=own.get("list"),
        key=own.get("key"),
    )


def _check_known(spec: dict[str, Any]) -> None:
    kind = COMPARATORS.get(spec["type"]) if isinstance(spec["type"], str) else None
    if kind is None:
        return  # comparator_from says what is wrong
    allowed = [one.name for one in dataclasses.fields(kind) if one.init]
    known = ["type", *allowed, *_OWN]
    for name in spec:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            told = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigurationError(f"unknown key {name!r:.60}; allowed are {', '.join(known)}{told}")


def _check_own(own: dict[str, Any]) -> None:
    weight, policy, key = own.get("weight"), own.get("list"), own.get("key")
    if weight is not None:
        fits = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if not fits or not _LEAST_WEIGHT <= weight <= _MOST_WEIGHT:
            raise ConfigurationError(
                f"weight {weight!r:.60} must be a number from {_LEAST_WEIGHT:g} to {_MOST_WEIGHT:g}; "
                "leave a field out with 'ignore'"
            )
    if policy is not None and policy not in get_args(ListPolicy):
        raise ConfigurationError(f"list {policy!r:.60} must be one of {', '.join(get_args(ListPolicy))}")
    if (policy == "keyed") is not (key is not None):
        raise ConfigurationError("'keyed' needs 'key', a JSON Pointer in the elements, and no other policy takes one")
    if key is not None:
        segments(key)
