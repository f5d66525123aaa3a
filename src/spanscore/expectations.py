"""Expectation and Expectations: which spans are scored, by what, against which value."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Final

from spanscore.cases import Cases
from spanscore.checks import Bound, bind, check_fit
from spanscore.errors import ConfigurationError
from spanscore.evaluators.evaluator import Evaluator, check_name, needs_trajectory
from spanscore.json_text import strict_json
from spanscore.step import MISSING

__all__ = ["Expectation", "Expectations"]

_GLOB: Final = re.compile(r"[*?\[]")
_REMEMBERED_NAMES: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Which spans, which evaluators, which expected value.

    Attributes:
        span_name: exact span name, or a glob (``*``, ``?``, ``[...]``).
        evaluators: at least one, with different names.
        expected: JSON value, or MISSING if it comes from ``cases`` or from `spanscore.expecting`.
        where: attributes that the span must have, with exactly these values; of a list, one item is enough.
        cases: expected values by test-case id, looked up with ``case_key``.
        case_key: key of the span attribute or baggage entry that holds the test-case id.
        threshold: 0..1; a value at or above it passes. None: the score is neither pass nor fail.
        weight: share in the mean score of a span, > 0.
        id: name of the expectation on the span; made from the span name where it is "".
        needs_trajectory: an evaluator looks at the steps of the run.

    Raises:
        ConfigurationError: a setting is wrong.
    """

    span_name: str
    evaluators: tuple[Evaluator, ...]
    expected: Any = MISSING
    where: Mapping[str, Any] = field(default_factory=dict)
    cases: Cases | None = None
    case_key: str | None = None
    threshold: float | None = None
    weight: float = 1.0
    id: str = ""
    needs_trajectory: bool = field(default=False, init=False)
    _bound: dict[Any, Bound] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_settings(self)
        object.__setattr__(self, "needs_trajectory", any(map(needs_trajectory, self.evaluators)))
        if self.expected is not MISSING:
            value = strict_json(self.expected, f"the expected value for {self.span_name!r}")
            object.__setattr__(self, "expected", value)
            self._bound[MISSING] = bound = self.bind(value)
            check_fit(bound)

    def matches(self, attributes: Mapping[str, Any]) -> bool:
        """Return True if the attributes have every value in ``where``."""
        return all(_has(attributes.get(key, MISSING), value) for key, value in self.where.items())

    def bind(self, expected: Any) -> Bound:
        """Return the expectation with its evaluators prepared for ``expected``, a JSON value or MISSING.

        An evaluator that cannot work with it gives the error as its score.
        """
        return bind(self.id or self.span_name, self.evaluators, expected, threshold=self.threshold, weight=self.weight)

    def bound(self, case: str | None) -> Bound:
        """Return the expectation bound to the expected value of ``case``, or to its own."""
        if self.cases is None or case is None:
            bound = self._bound.get(MISSING)
            if bound is None:
                bound = self._bound[MISSING] = self.bind(MISSING)
            return bound
        bound = self._bound.get(case)
        if bound is None:
            found = self.cases.expected(case)
            bound = self.bind(found)
            if found is not MISSING:  # ids that no case has may be without number
                self._bound[case] = bound
        return bound


def _check_settings(expectation: Expectation) -> None:
    name = expectation.span_name
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"span_name {name!r} must be a span name or a glob, for example 'agent.*'")
    if not expectation.evaluators:
        raise ConfigurationError(
            f"the expectation for {name!r} has no evaluator; give at least one, for example JsonSimilarity()"
        )
    for candidate in expectation.evaluators:
        if isinstance(candidate, type) or not isinstance(candidate, Evaluator):
            raise ConfigurationError(
                f"{candidate!r} is no evaluator: it needs name, version and evaluate(output, expected, *, step=None); "
                "put @evaluator on a plain function, and () after a class"
            )
        check_name(candidate.name)
    names = [candidate.name for candidate in expectation.evaluators]
    if len(set(names)) < len(names):
        raise ConfigurationError(
            f"two evaluators for {name!r} have the same name in {names}; give one of them name=..."
        )
    _check_number("threshold", expectation.threshold, high=1.0)
    _check_number("weight", expectation.weight, high=None)
    if (expectation.cases is None) is not (expectation.case_key is None):
        raise ConfigurationError(f"the expectation for {name!r} needs both cases= and case_key=, or neither")


def _check_number(setting: str, value: Any, *, high: float | None) -> None:
    if value is None and setting == "threshold":
        return
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fits or not (0.0 <= value <= high if high is not None else 0.0 < value < float("inf")):
        allowed = "a number in 0..1, or None" if high is not None else "a finite number above 0"
        raise ConfigurationError(f"{setting} {value!r} is not allowed; give {allowed}")


class Expectations:
    """The registry: explicit, filled before the run, found by span name in one look-up.

    Every expectation that matches a span applies to it. Where two bring an evaluator of the same
    name, the one added first counts.

    >>> from spanscore.evaluators import JsonSimilarity
    >>> expectations = Expectations()
    >>> expectations.add("agent.*", JsonSimilarity(), expected={"total": 50}, threshold=0.8).id
    'agent.*'
    >>> [found.id for found in expectations.match("agent.answer", {})]
    ['agent.*']

    Attributes:
        case_keys: keys under which a test-case id is looked for in attributes and baggage.
        needs_trajectory: an evaluator looks at the steps of a run.
    """

    def __init__(self, expectations: Sequence[Expectation] = ()) -> None:
        self._all: list[Expectation] = []
        self._candidates: dict[str, tuple[Expectation, ...]] = {}
        self.case_keys: frozenset[str] = frozenset()
        self.needs_trajectory = False
        self._used: set[str] = set()
        for expectation in expectations:
            self._append(expectation)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Expectation]:
        return iter(self._all)

    def add(
        self,
        span_name: str,
        *evaluators: Evaluator,
        expected: Any = MISSING,
        where: Mapping[str, Any] | None = None,
        cases: Cases | None = None,
        case_key: str | None = None,
        threshold: float | None = None,
        weight: float = 1.0,
        id: str = "",
    ) -> Expectation:
        """Add an expectation and return it; see `Expectation` for the arguments.

        Raises:
            ConfigurationError: a setting is wrong, or the id is taken.
        """
        return self._append(
            Expectation(
                span_name=span_name,
                evaluators=evaluators,
                expected=expected,
                where=dict(where or {}),
                cases=cases,
                case_key=case_key,
                threshold=threshold,
                weight=weight,
                id=id,
            )
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Expectations:
        """Return the expectations of a JSON or YAML file (docs/expectations.md has the form).

        Raises:
            ConfigurationError: the file cannot be read or is not valid; the message names file,
                place and allowed values.
            MissingDependencyError: YAML without the ``yaml`` extra.
        """
        from spanscore.expectations_file import load_expectations

        return cls(load_expectations(path))

    def candidates(self, span_name: str, *aliases: str) -> tuple[Expectation, ...]:
        """Return the expectations that fit the name or an alias, whatever the attributes; () for most spans."""
        found = self._candidates.get(span_name)
        if found is None:
            found = self._find(span_name)
        for alias in aliases:
            if more := self.candidates(alias):
                found = tuple(item for item in self._all if item in found or item in more)
        return found

    def match(self, span_name: str, attributes: Mapping[str, Any], *aliases: str) -> tuple[Expectation, ...]:
        """Return the expectations for a span, in the order they were added."""
        candidates = self.candidates(span_name, *aliases)
        found = tuple([candidate for candidate in candidates if not candidate.where or candidate.matches(attributes)])
        for expectation in found:
            self._used.add(expectation.id)
        return found

    @property
    def unused(self) -> tuple[str, ...]:
        """Ids of the expectations that have matched no span so far."""
        return tuple(item.id for item in self._all if item.id not in self._used)

    def _append(self, expectation: Expectation) -> Expectation:
        taken = {item.id for item in self._all}
        if expectation.id in taken:
            raise ConfigurationError(f"expectation id {expectation.id!r} is taken; give each expectation its own id")
        if not expectation.id:
            names = (expectation.span_name, *(f"{expectation.span_name}#{n}" for n in range(2, len(taken) + 3)))
            expectation = replace(expectation, id=next(name for name in names if name not in taken))
        self._all.append(expectation)
        if expectation.case_key is not None:
            self.case_keys |= {expectation.case_key}
        self.needs_trajectory |= expectation.needs_trajectory
        self._candidates = {}
        return expectation

    def _find(self, span_name: str) -> tuple[Expectation, ...]:
        found = tuple(item for item in self._all if _name_matches(item.span_name, span_name))
        if len(self._candidates) >= _REMEMBERED_NAMES:  # names with ids in them are without number
            self._candidates = {}
        self._candidates[span_name] = found
        return found


def _has(found: Any, value: Any) -> bool:
    return found == value or (isinstance(found, (tuple, list)) and value in found)


def _name_matches(pattern: str, span_name: str) -> bool:
    if pattern == span_name:
        return True
    return _GLOB.search(pattern) is not None and fnmatch.fnmatchcase(span_name, pattern)
