"""Answers in a mode: an object whose single key says whether it responds, asks back or abstains."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from spanscore.evaluators.static_json.rows import Comparison, Row, f1_of, ratio

__all__ = ["compare_mode", "is_mode"]

_MODES: Final = frozenset({"response", "clarification", "abstain"})
_DOMAIN_TERMS: Final = [
    "air conditioner",
    "cannot determine",
    "date",
    "dataset",
    "exhaust leak",
    "handrail",
    "lately",
    "main unit",
    "pressure vessel",
    "pump",
    "steering",
    "tag",
    "time",
    "unreliable",
    "usual suspect",
]
_NO_TERMS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "because",
        "by",
        "do",
        "does",
        "for",
        "has",
        "have",
        "is",
        "it",
        "of",
        "or",
        "the",
        "this",
        "to",
        "what",
        "which",
        "why",
        "with",
        "you",
    ]
)
_QUOTES: Final = "\"'“”‘’"  # noqa: RUF001 - quotes that people write
_QUOTED: Final = re.compile(f"[{_QUOTES}]([^{_QUOTES}]{{2,80}})[{_QUOTES}]")
_ACRONYM: Final = re.compile(r"[A-Z]{2,4}")
_IDENTIFIER: Final = re.compile(r"\b(?=[A-Z]{2})[A-Z-]*\d[A-Z0-9-]*\b")
_GAP: Final = re.compile(r"[^a-z0-9]+")


def is_mode(answer: Any) -> bool:
    """Return True if the expected answer is an object with one of the three mode keys and no other."""
    return isinstance(answer, dict) and len(answer) == 1 and _mode(next(iter(answer))) in _MODES


def compare_mode(gold: Any, model: Any, similar: Callable[[str, str], float]) -> Comparison:
    """Return the comparison of two answers in a mode, the first by `is_mode`.

    The mode and every term that the expected text calls for count as keys: quoted phrases,
    identifiers, terms of the field, and a yes or no in front.
    """
    (gold_key, gold_text), *_ = gold.items()
    wanted = _mode(gold_key)
    keys = [_mode(key) for key in model] if isinstance(model, dict) else []
    single = len(keys) == 1
    found = keys[0] if single else "INVALID"
    same = found == wanted
    near = 1.0 if same else similar(wanted, found)
    rows = [Row("answer.mode", wanted, found, same, "exact" if same else "mode_mismatch", near, accepted=same)]
    answered = f" {_words(next(iter(model.values())) if single else '')} "
    rows += [_term(term, f" {term} " in answered) for term in _terms(gold_text)]
    if isinstance(model, dict):
        extra = [f"answer.{key}" for key in keys if key != wanted or not single]
    else:
        extra = [] if model is None else ["answer"]
    return _comparison(rows, [] if same else [f"answer.{wanted}"], extra, single=single)


def _comparison(rows: list[Row], missing: list[str], extra: list[str], *, single: bool) -> Comparison:
    exact = sum(row.exact for row in rows)
    model_keys = len(rows) + len(extra)
    precision, recall = ratio(exact, model_keys), ratio(exact, len(rows))
    passed = exact == len(rows) and not extra
    terms = rows[1:]
    figures = {
        "partial_match_accuracy": recall,
        "partial_exact_match_accuracy": recall,
        "strict_exact_match_accuracy": float(passed),
        "partial_similarity_score": ratio(sum(row.similarity for row in rows), len(rows)),
        "partial_numeric_match_accuracy": 0.0,
        "range_match_accuracy": 0.0,
        "delta_1_match_accuracy": 0.0,
        "precision": precision,
        "recall": recall,
        "f1": f1_of(precision, recall),
        "total_gold_keys": len(rows),
        "total_model_keys": model_keys,
        "matched_keys": int(rows[0].exact),
        "accepted_value_matches": exact,
        "exact_value_matches": exact,
        "numeric_gold_keys": 0,
        "numeric_value_matches": 0,
        "range_eligible_keys": 0,
        "range_value_matches": 0,
        "delta_1_eligible_keys": 0,
        "delta_1_value_matches": 0,
        "satisfied_value_matches": 0,
        "all_keys_satisfied": float(passed),
        "exact_precision": 0.0,
        "exact_recall": 0.0,
        "exact_f1": 0.0,
        "mode_key_match": float(rows[0].exact),
        "mode_exactly_one_key": float(single),
        "mode_term_coverage": sum(row.exact for row in terms) / len(terms) if terms else 1.0,
    }
    return Comparison(figures, missing, extra, rows, passed)


def _mode(key: Any) -> str:
    return str(key).strip().lower()


def _term(term: str, found: bool) -> Row:
    label, model = ("term_present", term) if found else ("term_missing", "MISSING")
    return Row(f"answer.required_term.{term}", term, model, found, label, float(found), accepted=found)


def _terms(value: Any) -> list[str]:
    text = str(value)
    words = _words(value if isinstance(value, str) else text)
    found = [phrase for phrase in _QUOTED.findall(text) if not _ACRONYM.fullmatch(phrase.strip())]
    found += _IDENTIFIER.findall(text)
    found += [term for term in _DOMAIN_TERMS if f" {term} " in f" {words} "]
    found += [stance for stance in ("no", "yes") if words.startswith(f"{stance} ")]
    terms = dict.fromkeys(re.sub(r"\A(?:a|an|the)(?: |\Z)", "", _words(term)) for term in found)
    return [term for term in terms if term and term not in _NO_TERMS]


def _words(value: Any) -> str:
    """Return the lower-case words and numbers of the value, one space between them."""
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True) if isinstance(value, (dict, list, tuple)) else str(value).strip().lower()
    return _GAP.sub(" ", text).strip()
