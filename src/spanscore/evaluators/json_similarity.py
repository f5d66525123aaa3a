"""JsonSimilarity: how much of the expected JSON value the output holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from math import fsum
from typing import Any, Final

from rapidfuzz.distance import Levenshtein

from spanscore.errors import ConfigurationError, EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.exact_match import compat_form, select_from
from spanscore.evaluators.expected_tree import ExpectedTree, LeafFields
from spanscore.evaluators.leaf_walk import LeafWalk
from spanscore.evaluators.leaves import ZERO
from spanscore.evaluators.target import check_target
from spanscore.json_text import parse_json, plain
from spanscore.score import FieldScore, Score, new_score
from spanscore.step import MISSING, Step

__all__ = ["JsonSimilarity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSimilarity:
    """Mean similarity of the expected leaves. Source: UiPath ``uipath-json-similarity``.

    ``value = sum of leaf similarities / number of expected leaves``, over the leaves of the
    expected value: objects by key, lists by position. Text: ``1 - Levenshtein / longer length``.
    Numbers: ``1 - |e - a| / |e|``, at least 0. Booleans and null: equal or not. A missing leaf, or
    one of another type, is 0; extra keys and surplus elements are not looked at. An empty
    object or list counts as one leaf that only an empty one equals. NaN and infinities are never
    similar to anything. Where an object or a list is expected and the output is text, the text is
    read as JSON.

    ``metrics`` has ``matched_leaves`` (real number) and ``total_leaves``.

    Args:
        name: key of the score.
        target_output_key: the part to compare on both sides: ``*``, a key, a path, a JSON Pointer
            or a list of these, see `spanscore.evaluators.target.select`.
        line_by_line: compare the lines of two texts pairwise, blank lines left out, and take the
            mean over the longer side; ``metrics`` then has ``expected_lines`` and ``output_lines``.
        line_delimiter: what separates lines.
        default_evaluation_criteria: ``{"expected_output": ...}``, used where no expected value is given.
        compat: give UiPath's result to the bit, defects included: an empty container weighs
            nothing, NaN equals any number, only an exact path selects, text is never read as JSON.

    Raises:
        ConfigurationError: a bad name, target, delimiter or default.

    >>> JsonSimilarity().evaluate({"total": 49.5, "city": "Pari"}, {"total": 50, "city": "Paris"}).value
    0.895
    """

    name: str = "json_similarity"
    target_output_key: str | Sequence[str] = "*"
    line_by_line: bool = False
    line_delimiter: str = "\n"
    default_evaluation_criteria: Mapping[str, Any] | None = None
    compat: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        check_target(self.target_output_key)
        if not self.line_delimiter:
            raise ConfigurationError("line_delimiter is empty; give the text that separates lines")
        if self.default_evaluation_criteria is not None and self._default() is MISSING:
            raise ConfigurationError(
                f"default_evaluation_criteria has the keys {sorted(self.default_evaluation_criteria)}; "
                "it needs 'expected_output'"
            )

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score; raise EvaluationError for a target that is not there, or text that is no JSON."""
        if self.target_output_key != "*" or self.line_by_line or self.compat or expected is None or expected is MISSING:
            return self.prepare(expected)(output)
        if isinstance(expected, (dict, list)) and type(output) is str:
            output = parse_json(output)
        try:
            walk = LeafWalk(expected, output)
        except RecursionError:
            raise EvaluationError(_TOO_DEEP) from None
        return self._scored(expected, walk.total, walk.misses, walk.explain())

    def prepare(self, expected: Any) -> Callable[[Any], Score]:
        """Return a function from output to score, equal to `evaluate` and several times faster."""
        if expected is None or expected is MISSING or (self.compat and expected == {}):
            default = self._default()
            expected = expected if default is MISSING else default
        if self.line_by_line:
            return partial(self._score_lines, expected)
        if self.compat:
            return partial(self._score_compat, expected)
        if self.target_output_key == "*":
            return partial(self._score, _tree(expected), isinstance(expected, (dict, list)))
        wanted = select_from(_as_json(expected), self.target_output_key, "expected", compat=False)
        return partial(self._score_target, _tree(wanted), isinstance(wanted, (dict, list)))

    def _default(self) -> Any:
        criteria = self.default_evaluation_criteria or {}
        return criteria.get("expected_output", criteria.get("expectedOutput", MISSING))

    def _score(self, tree: ExpectedTree, wants_json: bool, output: Any) -> Score:
        if wants_json and type(output) is str:
            output = parse_json(output)
        misses = tree.compare(output)
        return self._scored(tree, len(tree.leaves), misses, tree.explain(misses))

    def _scored(self, tree: Any, total: int, misses: Sequence[tuple[Any, ...]], explanation: str) -> Score:
        matched = total - len(misses) + fsum([miss[2] for miss in misses]) if misses else float(total)
        return new_score(
            self.name,
            matched / total,
            explanation=explanation,
            fields=LeafFields(tree, total, misses),
            metrics={"matched_leaves": matched, "total_leaves": float(total)},
            version="1",
        )

    def _score_target(self, tree: ExpectedTree, wants_json: bool, output: Any) -> Score:
        value = _as_json(plain(output))
        try:
            value = select_from(value, self.target_output_key, "output", compat=False)
        except EvaluationError:
            value = MISSING  # the field that was asked for is not there: an answer, and a wrong one
        return self._score(tree, wants_json, value)

    def _score_lines(self, expected: Any, output: Any) -> Score:
        left = self._lines(expected, "expected")
        right = self._lines(plain(output), "output")
        tree = ExpectedTree(["" if line is None else line for line, _ in zip_longest(left, right)])
        if not left and not right:
            return Score(evaluator=self.name, value=0.0 if self.compat else 1.0, version=self.version)
        score = self._score(tree, False, [*right, *[""] * (len(left) - len(right))])
        lines = {"expected_lines": float(len(left)), "output_lines": float(len(right))}
        return Score(
            evaluator=self.name,
            value=score.value,
            explanation=score.explanation,
            fields=score.fields,
            metrics=lines,
            version=self.version,
        )

    def _lines(self, value: Any, side: str) -> list[str]:
        text = select_from(value, self.target_output_key, side, self.compat)
        if not isinstance(text, str):
            raise EvaluationError(f"line_by_line compares text; the {side} is a {type(text).__name__}")
        return [line for line in text.split(self.line_delimiter) if line.strip()]

    def _score_compat(self, expected: Any, output: Any) -> Score:
        output = plain(output)
        if self.target_output_key != "*":
            if isinstance(self.target_output_key, (list, tuple)) and not isinstance(output, dict):
                raise EvaluationError(f"a list of target keys needs an object; the output is a {type(output).__name__}")
            expected = select_from(_as_json(expected), self.target_output_key, "expected", compat=True)
            output = select_from(output, self.target_output_key, "output", compat=True)
        try:
            matched, total = _compare_compat(compat_form(expected), compat_form(output))
        except RecursionError:
            raise EvaluationError(_TOO_DEEP) from None
        value = 1.0 if total == 0 else _clamp(matched / total)
        return Score(
            evaluator=self.name,
            value=value,
            fields=(FieldScore(path="", expected=expected, actual=output, value=value, reason=_whole(value)),),
            metrics={"matched_leaves": float(matched), "total_leaves": float(total)},
            version=self.version,
        )


_TOO_DEEP: Final = "a value is nested too deep to compare; about 250 levels are allowed"


def _tree(expected: Any) -> ExpectedTree:
    try:
        return ExpectedTree(expected)
    except RecursionError:
        raise EvaluationError(_TOO_DEEP) from None


def _as_json(value: Any) -> Any:
    """Read text as JSON before a part of it is looked up; other text stays text."""
    return parse_json(value, "the value to take the target from") if isinstance(value, str) else value


def _whole(value: float) -> Any:
    return "match" if value == 1.0 else "similar" if value else "wrong"


def _clamp(value: float) -> float:
    return max(0.0, min(1.0, value))  # NaN gives 1.0 in this order of arguments, as upstream


def _compare_compat(expected: Any, actual: Any) -> tuple[float, float]:
    """Return (matched, total) as the reference implementation adds them up."""
    if type(expected) is float and type(actual) is float:
        if abs(expected) <= ZERO:
            return (1.0 if abs(actual) <= ZERO else 0.0), 1.0
        return _clamp(1.0 - abs(expected - actual) / abs(expected)), 1.0
    if type(expected) is not type(actual):
        return 0.0, _leaves_compat(expected)
    if isinstance(expected, dict):
        pairs = [(child, actual.get(key, MISSING)) for key, child in expected.items()]
    elif isinstance(expected, list):
        pairs = [(child, actual[index] if index < len(actual) else MISSING) for index, child in enumerate(expected)]
    elif isinstance(expected, str):
        return (_clamp(Levenshtein.normalized_similarity(expected, actual)) if expected or actual else 1.0), 1.0
    else:
        return float(str(expected) == str(actual)), 1.0
    matched = total = 0.0
    for child, found in pairs:
        part, count = (0.0, _leaves_compat(child)) if found is MISSING else _compare_compat(child, found)
        matched, total = matched + part, total + count
    return matched, total


def _leaves_compat(value: Any) -> float:
    if isinstance(value, dict):
        return sum(map(_leaves_compat, value.values()), 0.0)
    return sum(map(_leaves_compat, value), 0.0) if isinstance(value, list) else 1.0
