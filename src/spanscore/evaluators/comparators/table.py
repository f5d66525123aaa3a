"""The table of comparators, and `comparator_from`: what users write becomes a Comparator."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from spanscore.errors import ConfigurationError
from spanscore.evaluators.comparators.auto import Auto
from spanscore.evaluators.comparators.comparison import MATCH, Comparator, Comparison
from spanscore.evaluators.comparators.custom import EvaluatorComparator, FunctionComparator
from spanscore.evaluators.comparators.dates import Date, DateTime
from spanscore.evaluators.comparators.leaf_match import leaf_match
from spanscore.evaluators.comparators.money import Money
from spanscore.evaluators.comparators.numeric import Number, Percent
from spanscore.evaluators.comparators.quantity import Quantity
from spanscore.evaluators.comparators.settings import nearest, refuse
from spanscore.evaluators.comparators.texts import Enumerated, Regex, Text

__all__ = ["COMPARATORS", "Comparator", "Comparison", "Ignore", "OneOf", "comparator_from", "leaf_match"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """The best similarity to any of the accepted values; the note is the best one's.

    Without ``values`` the expected value lists them; one that is no list is the only one accepted.
    An empty list: 0, note "no accepted value".

    Args:
        values: the accepted values; None: the expected value lists them.
        by: how each is compared, anything that `comparator_from` takes.

    Raises:
        ConfigurationError: a bad setting.

    >>> OneOf(by="number").compare([12, 13], "13.0").similarity
    1.0
    """

    values: Sequence[Any] | None = None
    by: Any = "auto"
    _comparator: Comparator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.values is not None and (not isinstance(self.values, (list, tuple)) or not self.values):
            refuse("one_of", "values", self.values, "a list of the accepted values, or nothing")
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "_comparator", comparator_from(self.by))

    @property
    def is_async(self) -> bool:
        """Return True if the nested comparator must be awaited."""
        return bool(getattr(self._comparator, "is_async", False))

    def compare(self, expected: Any, actual: Any) -> Comparison | Awaitable[Comparison]:
        """Return the best comparison with an accepted value."""
        accepted = self.values if self.values is not None else expected
        values = iter(accepted if isinstance(accepted, (list, tuple)) else (accepted,))
        best = Comparison(0.0, "no accepted value") if accepted in ([], ()) else None
        for value in values:
            found = self._comparator.compare(value, actual)
            if not isinstance(found, Comparison):
                return self._best_awaited(found, best, values, actual)
            best = found if best is None or found.similarity > best.similarity else best
            if best.similarity == 1.0:
                break
        return best or MATCH

    async def _best_awaited(
        self, first: Awaitable[Comparison], best: Comparison | None, values: Iterator[Any], actual: Any
    ) -> Comparison:
        found = await first
        best = found if best is None or found.similarity > best.similarity else best
        for value in values:
            if best.similarity == 1.0:
                break
            result = self._comparator.compare(value, actual)
            found = await result if inspect.isawaitable(result) else result
            best = found if found.similarity > best.similarity else best
        return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Always 1; give the field no weight.

    >>> Ignore().compare("a", None).similarity
    1.0
    """

    def compare(self, expected: Any, actual: Any) -> Comparison:
        """Return 1.0."""
        return MATCH


COMPARATORS: Final[Mapping[str, type]] = MappingProxyType(
    {
        "auto": Auto,
        "date": Date,
        "datetime": DateTime,
        "enum": Enumerated,
        "ignore": Ignore,
        "money": Money,
        "number": Number,
        "one_of": OneOf,
        "percent": Percent,
        "quantity": Quantity,
        "regex": Regex,
        "text": Text,
    }
)
"""The comparators by the names that a rule may use."""


def comparator_from(spec: Any) -> Comparator:
    """Return the Comparator that ``spec`` describes.

    Args:
        spec: a name of ``COMPARATORS``, a mapping of ``type`` and settings
            (``{"type": "number", "abs": 0.01}``), a Comparator, an Evaluator, or a function
            ``f(output, expected)`` that returns a number in 0..1 or a bool, both perhaps awaitable.

    Raises:
        ConfigurationError: no such comparator or setting; the message names what is allowed.
        MissingDependencyError: the comparator needs a library that is not installed.

    >>> comparator_from({"type": "number", "abs": 0.01}).compare(1.0, 1.005)
    Comparison(similarity=1.0, note='')
    """
    if isinstance(spec, str):
        return _built(spec, {})
    if isinstance(spec, Mapping):
        settings = dict(spec)
        return _built(settings.pop("type", None), settings)
    if not isinstance(spec, type):
        if isinstance(spec, Comparator):
            return spec
        if hasattr(spec, "evaluate") and hasattr(spec, "name"):
            return EvaluatorComparator(evaluator=spec)
        if callable(spec):
            return FunctionComparator(function=spec)
    raise ConfigurationError(
        f"{_shown(spec)} is no comparator; give a name ({', '.join(COMPARATORS)}), a mapping such as "
        "{'type': 'number', 'abs': 0.01}, a Comparator, an Evaluator or a function f(output, expected)"
    )


def _built(name: Any, settings: dict[Any, Any]) -> Comparator:
    kind = COMPARATORS.get(name) if isinstance(name, str) else None
    if kind is None:
        given = "a comparator without 'type'" if name is None else f"unknown comparator {name!r:.60}"
        raise ConfigurationError(f"{given}; known are {', '.join(COMPARATORS)}{nearest(name, COMPARATORS)}")
    allowed = [one.name for one in dataclasses.fields(kind) if one.init]
    for setting in settings:
        if setting not in allowed:
            raise ConfigurationError(
                f"comparator {name!r} has no setting {setting!r:.60}; "
                f"it has {', '.join(allowed) or 'none'}{nearest(setting, allowed)}"
            )
    comparator: Comparator = kind(**settings)
    return comparator


def _shown(spec: Any) -> str:
    return f"the class {spec.__name__}, not an instance," if isinstance(spec, type) else f"a {type(spec).__name__}"
