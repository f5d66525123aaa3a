"""Revision 2026-06 of static_json: keys are equal or not, and values more or less similar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from spanscore.evaluators.static_json.flat import NonFinite
from spanscore.evaluators.static_json.read import NUMBER
from spanscore.evaluators.static_json.rows import Comparison, Flat, Row, f1_of, label_of, ratio, unmatched

__all__ = ["compare", "similarity", "similarity_compat"]

_BANDS: Final = ((0.01, 0.9), (0.05, 0.7), (0.10, 0.5))  # relative error below, similarity
_CONTAINED: Final = 0.6
_MOST_UNEQUAL: Final = 0.9  # as for numbers
_WORDS: Final = frozenset({"true", "false", "none", "{}", "[]"})


def compare(
    gold: Flat, model: Flat, similar: Callable[[str, str], float], threshold: float, *, exact_at_one: bool = False
) -> Comparison:
    """Return the comparison by the rule of revision 2026-06.

    Args:
        gold: the expected answer.
        model: the answer.
        similar: gives the similarity of two normalised texts.
        threshold: a similarity above it is called partial, else a mismatch.
        exact_at_one: whether similarity 1 makes a match, else equal texts do.
    """
    rows = []
    for key in sorted(gold.keys() & model.keys()):
        wanted, found = gold[key], model[key]
        near = similar(wanted, found)
        exact = near == 1.0 if exact_at_one else wanted == found
        rows.append(Row(key, wanted, found, exact, "exact" if exact else label_of(near, threshold), near))
    exact_count = sum(row.exact for row in rows)
    precision = ratio(exact_count, len(model))
    recall = ratio(exact_count, len(gold))
    strict = float(gold == model)
    figures = {
        "partial_exact_match_accuracy": recall,
        "strict_exact_match_accuracy": strict,
        "partial_similarity_score": ratio(sum(row.similarity for row in rows), len(gold)),
        "precision": precision,
        "recall": recall,
        "f1": f1_of(precision, recall),
        "total_gold_keys": len(gold),
        "total_model_keys": len(model),
        "matched_keys": len(rows),
        "exact_value_matches": exact_count,
    }
    missing, extra = sorted(gold.keys() - model.keys()), sorted(model.keys() - gold.keys())
    return Comparison(figures, missing, extra, rows + unmatched(gold, missing, model, extra), strict == 1.0)


def similarity(gold: str, model: str) -> float:
    """Return the similarity of two normalised texts: 1 if equal, else at most 0.9.

    Numbers by relative error: 0.9 below 1 %, 0.7 below 5 %, 0.5 below 10 %, else 0; to an expected
    0 nothing else is similar. Text by the characters that both have over all that either has, at
    least 0.6 where one, not empty, is contained in the other. Booleans, null, NaN, infinities and
    empty containers are similar to nothing.

    >>> similarity("100", "104"), similarity("listen", "silent"), similarity("", "abc")
    (0.7, 0.9, 0.0)
    """
    if gold == model:
        return 1.0
    if gold in _WORDS or model in _WORDS or isinstance(gold, NonFinite) or isinstance(model, NonFinite):
        return 0.0
    if NUMBER.fullmatch(gold) and NUMBER.fullmatch(model):
        return _band(float(gold), float(model)) if gold != "0" else 0.0
    shared = min(_shared_characters(gold, model), _MOST_UNEQUAL)
    contained = gold and model and (gold in model or model in gold)
    return max(shared, _CONTAINED) if contained else shared


def similarity_compat(gold: str, model: str) -> float:
    """Return the similarity of two normalised texts as the reference implementation gives it."""
    if gold == model:
        return 1.0
    try:
        wanted, found = float(gold), float(model)
    except ValueError:
        shared = _shared_characters(gold, model)
        return max(shared, _CONTAINED) if gold in model or model in gold else shared
    return float(found == 0) if wanted == 0 else _band(wanted, found)


def _band(wanted: float, found: float) -> float:
    error = abs(wanted - found) / abs(wanted)
    return next((value for bound, value in _BANDS if error < bound), 0.0)


def _shared_characters(gold: str, model: str) -> float:
    wanted, found = set(gold), set(model)
    return len(wanted & found) / len(wanted | found)
