"""Contains: a text occurs in the output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from spanscore.errors import EvaluationError
from spanscore.evaluators.evaluator import check_name
from spanscore.evaluators.exact_match import compat_form, select_from, text_form
from spanscore.evaluators.target import check_target
from spanscore.json_text import plain
from spanscore.score import FieldScore, Score
from spanscore.step import Step

__all__ = ["Contains"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """1 if the output contains the expected text, else 0. Source: UiPath ``uipath-contains``.

    The expected value is the text to search for, or ``{"search_text": ...}``. The output is
    searched as text where it is text, else in its JSON form, compact or with spaces. An empty text to search for
    is an error, because every output contains it.

    Args:
        name: key of the score.
        target_output_key: the part of the output to search, see `spanscore.evaluators.target.select`.
        case_sensitive: False, the default, ignores case.
        negated: score 1 where the text does not occur.
        compat: give UiPath's result to the bit: Python's text form of the output with every number
            a float, and an empty text always found.

    Raises:
        ConfigurationError: a bad name or target.

    >>> Contains(target_output_key="answer").evaluate({"answer": "It is Paris."}, "paris").value
    1.0
    """

    name: str = "contains"
    target_output_key: str | Sequence[str] = "*"
    case_sensitive: bool = False
    negated: bool = False
    compat: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        check_target(self.target_output_key)

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def evaluate(self, output: Any, expected: Any, *, step: Step | None = None) -> Score:
        """Return 1.0 or 0.0; raise EvaluationError for no text to search, or no such target."""
        return self.prepare(expected)(output)

    def prepare(self, expected: Any) -> Callable[[Any], Score]:
        """Return a function from output to score."""
        return partial(self._score, self._search_text(expected))

    def _search_text(self, expected: Any) -> str:
        if isinstance(expected, Mapping):
            expected = expected.get("search_text", expected.get("searchText"))
        if not isinstance(expected, str):
            raise EvaluationError(
                f"{self.name}: the expected value must be the text to search for, or {{'search_text': ...}}"
            )
        if not expected and not self.compat:
            raise EvaluationError(f"{self.name}: the text to search for is empty, every output contains it")
        return expected

    def _score(self, search_text: str, output: Any) -> Score:
        actual = select_from(plain(output), self.target_output_key, "output", self.compat)
        texts = [str(compat_form(actual))] if self.compat else _forms(actual)
        if not self.case_sensitive:
            search_text, texts = search_text.lower(), [text.lower() for text in texts]
        found = any(search_text in text for text in texts)
        value = float(found is not self.negated)
        return Score(
            evaluator=self.name,
            value=value,
            version=self.version,
            explanation="" if value else f"{'found' if found else 'not found'}: {search_text[:200]}",
            fields=(
                FieldScore(
                    path="", expected=search_text, actual=actual, value=value, reason="match" if value else "wrong"
                ),
            ),
        )


def _forms(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text_form(value), json.dumps(value, ensure_ascii=False)]
