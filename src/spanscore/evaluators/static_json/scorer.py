"""StaticJson: an answer that is structured, or says so in prose, against the expected one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, get_args

from spanscore.errors import ConfigurationError, EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.static_json.choices import choice_of, is_choice
from spanscore.evaluators.static_json.compare import compare, similarity, similarity_compat
from spanscore.evaluators.static_json.fields import KeyFields, explanation
from spanscore.evaluators.static_json.flat import flatten, flatten_compat
from spanscore.evaluators.static_json.late import compare_late
from spanscore.evaluators.static_json.modes import compare_mode, is_mode
from spanscore.evaluators.static_json.read import read_answer
from spanscore.evaluators.static_json.read_compat import read_2026_06, read_2026_08
from spanscore.evaluators.static_json.rows import Answer, Comparison, Row
from spanscore.evaluators.static_json.specs import check_specs
from spanscore.json_text import plain
from spanscore.score import Score
from spanscore.step import MISSING, Step

__all__ = ["Revision", "StaticJson"]

Revision = Literal["2026-06", "2026-08"]
_NO_GOLD: Final = "scenario has neither expected_answer nor characteristic_form for static_json scoring"
_DIFFERS: Final = "structured answer differs from ground truth"
_PASSED: Final = {"2026-06": "strict structured match", "2026-08": "all gold keys satisfied"}
_MEANS: Final = (
    "partial_exact_match_accuracy",
    "strict_exact_match_accuracy",
    "partial_similarity_score",
    "precision",
    "recall",
    "f1",
)
_EARLY_COLUMNS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticJson:
    """Share of keys that the answer and the expected one have in common. Source: AssetOpsBench ``static_json``.

    Both are read (JSON, Python literals, fenced blocks, "Final Answer: ...", a number in prose; see
    `spanscore.evaluators.static_json.read.read_answer`) and flattened to key path -> normalised
    text, ``{"a": [14]}`` to ``{"answer.a[0]": "14"}``. With G expected keys, M keys of the answer
    and X keys whose texts are equal, ``precision = X / M``, ``recall = X / G`` and
    ``value = f1 = 2 X / (G + M)``.

    Text is trimmed and lower-cased; numbers count to six decimals, and text that is a JSON number is
    one; "null" and "none" are null; true is "true" and not 1. An empty object or list is a leaf that
    equals an empty one of its kind; NaN and infinities equal nothing; a backslash stands before dots
    and brackets in keys. A missing or an extra key costs half as much as a wrong value. A blank or
    missing expected answer is an error.

    ``fields`` has one record a key: value 1 or 0 for equal or not, weight 2 for a key on both sides
    and 1 for a missing or an extra one, so that their weighted mean is ``value``; the similarity of
    values that differ stands in `report` and, as a mean over G, in
    ``metrics["partial_similarity_score"]``. With compat, which rounds, the mean is near the value.

    Args:
        name: key of the score.
        similarity_threshold: a similarity above it is labelled partial in `report`, else mismatch.
        revision: "2026-06", the documented one, or "2026-08": a key is satisfied if it is equal or
            within what ``evaluation_metadata`` allows, ``precision`` divides by the wider side, and a
            single letter, or an object with the one key response, clarification or abstain, is
            judged as a choice or a mode. Passed means satisfied in full, in "2026-06" equal.
        evaluation_metadata: revision 2026-08 only, ``{"keys": {top-level key: {"mode": ...}}}``:
            ``measure`` accepts a difference of 1 and what lies in a range, ``timestamp`` a distance
            of ``tolerance_s`` (at most a day), ``set_match`` and ``set_contained`` take a list
            without order as a whole (``match_on``: fields that tell its items apart; ``n``: number of items).
        compat: give the reference result to the bit, rounded to 3 decimals, defects included: one
            number in any text is all of it, marker words cut anywhere, anagrams are equal, keys
            collide, empty containers vanish, two empty answers score 0.

    Raises:
        ConfigurationError: a bad name, threshold, revision or specification.

    >>> StaticJson().evaluate('Final Answer: {"energy": 14, "material": 27}', "{'energy': 14, 'material': 48}").value
    0.5
    """

    name: str = "static_json"
    similarity_threshold: float = 0.0
    revision: Revision = "2026-06"
    evaluation_metadata: Mapping[str, Any] | None = None
    compat: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        if isinstance(self.similarity_threshold, bool) or not isinstance(self.similarity_threshold, (int, float)):
            raise ConfigurationError(f"similarity_threshold is {self.similarity_threshold!r}; give a number in 0..1")
        if not 0 <= self.similarity_threshold <= 1:
            raise ConfigurationError(f"similarity_threshold is {self.similarity_threshold!r}; it must lie in 0..1")
        if self.revision not in get_args(Revision):
            raise ConfigurationError(
                f"revision {self.revision!r} is unknown; use one of {', '.join(get_args(Revision))}"
            )
        if self.evaluation_metadata and self.revision == "2026-06":
            raise ConfigurationError("evaluation_metadata needs revision='2026-08'; revision 2026-06 has no such thing")
        if self.evaluation_metadata and not self.compat:
            check_specs(self.evaluation_metadata)

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return the score; raise EvaluationError for no expected answer, or one too deep to be read."""
        return self.prepare(expected)(output)

    def prepare(self, expected: Any) -> Callable[[Any], Score]:
        """Return a function from output to score; the expected answer is read once."""
        blank = _is_blank(expected)
        if blank and not self.compat:
            raise EvaluationError(
                f"{self.name}: the expected answer is blank; give the value that the output should have"
            )
        return partial(self._score, self._read(expected), blank)

    def report(self, output: Any, expected: Any) -> dict[str, Any]:
        """Return the full document of the source, as its reports hold it under ``score``.

        ``{"scorer", "passed", "score", "rationale", "details"}``; ``details`` has the figures,
        ``missing_keys``, ``extra_keys`` and ``details``, a list of objects with key, gold_value,
        model_value, exact, match_type and similarity (and five more in revision 2026-08): keys of
        both sides sorted, then missing, then extra ones. Without an expected answer ``details`` is
        empty and ``score`` is None, with compat 0.0.
        """
        if _is_blank(expected):
            nothing = 0.0 if self.compat else None
            return {"scorer": self.name, "passed": False, "score": nothing, "rationale": _NO_GOLD, "details": {}}
        result = self._compare(self._read(expected), output)
        return {
            "scorer": self.name,
            "passed": result.passed,
            "score": self._value(result),
            "rationale": _PASSED[self.revision] if result.passed else _DIFFERS,
            "details": self._details(result),
        }

    def batch(self, outputs: Sequence[Any], expected: Sequence[Any]) -> dict[str, Any]:
        """Return the means of the six ratios over all pairs, ``num_examples`` and ``examples``.

        Each example is what `report` gives under ``details``. Of no pairs every mean is 0.0.
        """
        examples = [
            self._details(self._compare(self._read(gold), output))
            for output, gold in zip(outputs, expected, strict=True)
        ]
        means = {name: sum(one[name] for one in examples) / len(examples) if examples else 0.0 for name in _MEANS}
        return {"num_examples": len(examples), **means, "examples": examples}

    def _score(self, gold: Answer, blank: bool, output: Any) -> Score:
        result = self._compare(gold, output)
        return Score(
            evaluator=self.name,
            value=0.0 if blank else self._value(result),
            explanation=explanation(result),
            fields=KeyFields(result, late=self.revision == "2026-08"),
            metrics={name: float(figure) for name, figure in result.figures.items()},
            version=self.version,
        )

    def _value(self, result: Comparison) -> float:
        if self.compat:
            return round(result.figures["f1"], 3)
        return result.figures["f1"]

    def _details(self, result: Comparison) -> dict[str, Any]:
        columns = len(Row._fields) if self.revision == "2026-08" else _EARLY_COLUMNS
        names = ["key", "gold_value", "model_value", *Row._fields[3:columns]]
        rows = [dict(zip(names, row, strict=False)) for row in result.rows]
        return {**result.figures, "missing_keys": result.missing, "extra_keys": result.extra, "details": rows}

    def _compare(self, gold: Answer, output: Any) -> Comparison:
        if self.compat:
            with _reference_errors():
                return self._compared(gold, output, similarity_compat)
        return self._compared(gold, output, similarity)

    def _compared(self, gold: Answer, output: Any, similar: Callable[[str, str], float]) -> Comparison:
        if self.revision == "2026-06":
            return compare(
                gold.flat, self._read(output).flat, similar, self.similarity_threshold, exact_at_one=self.compat
            )
        if is_mode(gold.value):
            return compare_mode(gold.value, self._read(output).value, similar)
        model = self._read(choice_of(output) if is_choice(gold.value) else output)
        specs = (self.evaluation_metadata or {}).get("keys") or {}
        return compare_late(
            gold, model, specs, similar=similar, threshold=self.similarity_threshold, compat=self.compat
        )

    def _read(self, answer: Any) -> Answer:
        if not self.compat:
            value = read_answer(answer)
            value = plain(value) if self.revision == "2026-08" else value
            return Answer(value, flatten(value, top=False))
        with _reference_errors():
            if self.revision == "2026-06":
                return Answer(None, flatten_compat(answer, read_2026_06, read_2026_06))
            part = partial(read_2026_08, count=False)
            return Answer(read_2026_08(answer), flatten_compat(answer, read_2026_08, part))


@contextmanager
def _reference_errors() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        raise EvaluationError(
            f"the reference implementation fails on this answer with {type(error).__name__}; use compat=False"
        ) from None


def _is_blank(expected: Any) -> bool:
    return expected is MISSING or (isinstance(expected, str) and not expected.strip())
