"""StructuredMatch: each field of two JSON values compared in its own way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from spanscore.errors import ConfigurationError, EvaluationError, OutputDecodeError
from spanscore.evaluators.comparators.custom import EvaluatorComparator, FunctionComparator
from spanscore.evaluators.comparators.table import COMPARATORS
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.extraction import extract_json
from spanscore.evaluators.structured_match.matching import ExtraKeys, Match
from spanscore.evaluators.structured_match.plan import Node, laid_out
from spanscore.evaluators.structured_match.result import scored
from spanscore.evaluators.structured_match.rules import ListPolicy, Rules, merged
from spanscore.evaluators.structured_match.sources import rules_of_model, rules_of_schema
from spanscore.json_text import as_json
from spanscore.score import Score
from spanscore.step import Step

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["StructuredMatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredMatch:
    """Weighted share of the leaves that are as expected; every leaf compared by its own rule.

    ``value = 1 - (lost + extra) / (expected + extra)``: ``expected`` is the weight of the expected
    leaves, ``lost`` the sum of ``weight * (1 - similarity)`` over them, ``extra`` the weight of the
    leaves that nobody expected. A leaf weighs 1, times the weights that rules give on its path.

    Where no rule names a comparator, `leaf_match` compares: text, numbers, booleans and null of
    different kinds are not alike at all. A missing leaf: 0; an object or list in place of another
    kind: all leaves below 0, reason ``type``; an empty object or list is a leaf, and each leaf in
    the output's place of it is extra. Lists are paired by policy: ``ordered`` (alignment with
    gaps), ``unordered`` (best assignment), ``set``, ``multiset``, ``keyed``; unpaired elements are
    missing or extra. NaN and infinities equal nothing.

    ``metrics``: ``strict_match``, ``similarity``, ``precision``, ``recall``, ``f1`` over leaves that
    match fully, the same with the prefix ``similarity_`` over similarities, ``coverage`` (expected
    leaves that are there), ``extra_weight``, ``expected_weight``, ``all_null_score`` (what an
    answer of nothing but null would get).

    Args:
        name: key of the score.
        rules: pattern of a path -> comparator, or mapping of ``type`` and its settings, ``weight``,
            ``list`` and ``key``. A pattern is a JSON Pointer in which ``*`` stands for one key or
            position and ``**`` for any number; the most specific wins. See docs/evaluators.md.
        schema: JSON Schema whose ``x-spanscore-*`` hints are further rules; ``rules`` win.
        lists: how lists are paired where no rule says it.
        extra_keys: ``penalise`` counts unexpected keys, ``ignore`` does not, ``fail`` makes the value 0.
            Surplus elements of a list always count.
        null_equals_missing: a null and a key that is not there are the same.
        extract: read an output that is text as JSON, see `extract_json`, where an object or a list
            is expected.

    Raises:
        ConfigurationError: a name, path, rule or setting is not allowed.
        MissingDependencyError: a comparator needs ``spanscore[structured]``.

    >>> match = StructuredMatch(rules={"/total": {"type": "number", "abs": 0.01}, "/id": {"weight": 2}})
    >>> match.evaluate({"id": "A-17", "total": "50.00"}, {"id": "A-18", "total": 50}).explanation
    '/id: expected "A-18", got "A-17"'
    """

    name: str = "structured_match"
    rules: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    lists: ListPolicy = "ordered"
    extra_keys: ExtraKeys = "penalise"
    null_equals_missing: bool = True
    extract: bool = True
    _rules: Rules = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        for setting, value, allowed in (
            ("lists", self.lists, get_args(ListPolicy)),
            ("extra_keys", self.extra_keys, get_args(ExtraKeys)),
        ):
            if value not in allowed:
                raise ConfigurationError(f"{setting} {value!r} is not allowed; use one of {', '.join(allowed)}")
        if self.lists == "keyed":
            raise ConfigurationError(
                "'keyed' needs a key for each list: rules={'/items': {'list': 'keyed', 'key': '/id'}}"
            )
        if not isinstance(self.rules, Mapping):
            raise ConfigurationError(f"rules is a {type(self.rules).__name__}; give a mapping of paths to rules")
        if self.schema is not None and not isinstance(self.schema, Mapping):
            raise ConfigurationError(f"schema is a {type(self.schema).__name__}; give a JSON Schema as a mapping")
        for setting, flag in (("null_equals_missing", self.null_equals_missing), ("extract", self.extract)):
            if not isinstance(flag, bool):
                raise ConfigurationError(f"{setting} {flag!r} is not allowed; use True or False")
        specs = _joined(self.rules, {} if self.schema is None else rules_of_schema(self.schema))
        object.__setattr__(self, "_rules", Rules(specs, self.lists))

    @classmethod
    def from_model(cls, model: type[BaseModel], **settings: Any) -> StructuredMatch:
        """Return the evaluator whose rules are the annotations of a pydantic model, see `Match`."""
        return cls(rules=_joined(settings.pop("rules", {}), rules_of_model(model)), **settings)

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    @property
    def is_async(self) -> bool:
        """Return True if a field is compared by what must be awaited."""
        return self._rules.has_async

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score | Awaitable[Score]:
        """Return the score, or what gives it when awaited where a judge compares a field.

        Raises:
            EvaluationError: nothing to compare, a list without the key that pairs it, or a value
                nested deeper than 200 levels.
            OutputDecodeError: the output is text in which there is no whole JSON value.
            ConfigurationError: a matcher inside the expected value is wrong.
        """
        return self._score(laid_out(as_json(expected)[0], self._rules), as_json(output)[0])

    def prepare(self, expected: Any) -> Callable[[Any], Score] | None:
        """Return a function from a JSON value to its score; None where rules call code of the user's."""
        if self.is_async or any(isinstance(rule.comparator, _CALLS) for rule in self._rules.rules):
            return None
        prepared: Callable[[Any], Any] = partial(self._score, laid_out(expected, self._rules))
        return prepared

    def explain_config(self, expected: Any) -> list[dict[str, Any]]:
        """Return, for each path of the expected value, what the rules say there and which rule said it.

        One mapping a path: ``path``, ``comparator`` and ``comparator_from``, ``weight`` (with all
        weights above) and ``weight_from``, and for lists ``list`` and ``list_from``; "" where no rule
        said it. Rules that no path matches come last, with ``unused`` True.
        """
        rows: list[dict[str, Any]] = []
        stack = [laid_out(as_json(expected)[0], self._rules)]
        while stack:
            node = stack.pop()
            rows.append(_row(node))
            below = [child for _, child in node.keys] if node.keys is not None else list(node.children or ())
            stack += reversed(below)
        used = {row[name] for row in rows for name in ("comparator_from", "weight_from", "list_from") if name in row}
        return rows + [{"path": rule.pattern, "unused": True} for rule in self._rules.rules if rule.pattern not in used]

    def _score(self, root: Node, output: Any) -> Score | Awaitable[Score]:
        stage = ""
        if self.extract and type(output) is str and root.kind in (dict, list):
            output, stage = _extracted(output)
        match = Match(self._rules, self.extra_keys, null_equals_missing=self.null_equals_missing)
        try:
            match.compare(root, output)
        except RecursionError:
            raise EvaluationError("the output is nested too deep to compare") from None
        except BaseException:
            match.close()
            raise
        if match.awaited:
            return self._settled(root, match, stage)
        return scored(self.name, self.version, root, match, stage)

    async def _settled(self, root: Node, match: Match, stage: str) -> Score:
        await match.settle()
        return scored(self.name, self.version, root, match, stage)


def _joined(rules: Mapping[str, Any], implied: Mapping[str, Any]) -> dict[str, Any]:
    """Return all rules; where both have one for a path, the second only adds what the first leaves open."""
    both = {path: merged(rule, implied[path]) for path, rule in rules.items() if path in implied}
    return {**implied, **rules, **both}


_CALLS = (EvaluatorComparator, FunctionComparator)
_NAMES = {kind: name for name, kind in COMPARATORS.items()}


def _extracted(text: str) -> tuple[Any, str]:
    found = extract_json(text)
    if found.problem is not None:
        raise OutputDecodeError(
            f"the output is text of {len(text)} characters with no whole JSON value in it: {found.problem}"
        )
    return found.value, "" if found.stage == "json" else f"{found.stage} JSON"


def _row(node: Node) -> dict[str, Any]:
    comparator = node.comparator
    row = {
        "path": node.path,
        "comparator": "" if comparator is None else _NAMES.get(type(comparator), type(comparator).__name__),
        "comparator_from": (node.setting.comparator_from or "") if comparator is not None else "",
        "weight": node.weight,
        "weight_from": node.setting.weight_from or "",
    }
    if node.children is not None:
        row |= {"list": node.setting.list, "list_from": node.setting.list_from or ""}
    return row
