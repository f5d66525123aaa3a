"""Where the default of an evaluator differs from its reference implementation, and by how much.

The documentation's table and the tests read this one; `compat=True` gives the reference's value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["DEVIATIONS", "Deviation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One measured case.

    Attributes:
        value: our default; None where it is an error.
        reference: what the reference implementation returns; None where it crashes.
        why: the rule behind ours.
    """

    value: float | None
    reference: float | None
    why: str


_NAN: Final = "NaN and infinities are similar to nothing"
_TINY: Final = "a number that six decimals make zero is compared in full"
_CRASH: Final = "what is no Python literal is read as text"
_EMPTY: Final = "an empty container is a leaf that only an empty one equals"

DEVIATIONS: Final[Mapping[tuple[str, str], Deviation]] = {
    ("json_similarity", "empty_dict_expected_vs_string_actual_weighs_zero"): Deviation(
        value=0.5, reference=1.0, why=_EMPTY
    ),
    ("json_similarity", "number_vs_nan_scores_one"): Deviation(value=0.0, reference=1.0, why=_NAN),
    ("json_similarity", "inf_expected_vs_number_scores_one"): Deviation(value=0.0, reference=1.0, why=_NAN),
    ("json_similarity", "expected_dict_actual_string"): Deviation(
        value=None, reference=0.0, why="text is read as JSON where an object is expected; other text is an error"
    ),
    ("json_similarity", "target_list_actual_is_string"): Deviation(
        value=None, reference=0.0, why="text is read as JSON before its parts are looked up; other text is an error"
    ),
    ("exact_match", "target_number_vs_int_string"): Deviation(
        value=1.0, reference=0.0, why="a number beside text is compared in its JSON form, 8, not as the float 8.0"
    ),
    ("contains", "dict_json_form_not_found"): Deviation(
        value=1.0, reference=0.0, why="an object is searched in its JSON form, compact or spaced, not as a Python dict"
    ),
    ("contains", "empty_search_text_always_true"): Deviation(
        value=None, reference=1.0, why="every output contains the empty text, so it is an error"
    ),
    ("json_diff", "pizza_second_menu_missing_is_free"): Deviation(
        value=0.7557942340305258,
        reference=0.8869417750141324,
        why="the mean of a list is over its longer side: what is missing or surplus costs",
    ),
    ("json_diff", "weight_for_unknown_key_ignored"): Deviation(
        value=None,
        reference=0.6666666666666667,
        why="a weight that names no key is an error; `unknown_weights='ignore'` gives the reference's value",
    ),
    ("static_json", "tiny_float_becomes_zero"): Deviation(value=0.0, reference=1.0, why=_TINY),
    ("static_json", "string_anagram_similarity_one_counts_as_exact"): Deviation(
        value=0.0, reference=1.0, why="a value is exact if it is equal, not if it has the same characters"
    ),
    ("static_json", "date_three_numbers_stay_text"): Deviation(
        value=0.0, reference=1.0, why="a value is exact if it is equal, not if it has the same characters"
    ),
    ("static_json", "string_with_parentheses_is_cut_to_them"): Deviation(
        value=0.0, reference=1.0, why="no piece is cut out of a text inside an answer"
    ),
    ("static_json", "inf_vs_inf"): Deviation(value=0.0, reference=1.0, why=_NAN),
    ("static_json", "text_two_objects_first_wins"): Deviation(
        value=1.0, reference=0.0, why="of several objects in prose the last is the answer"
    ),
    ("static_json", "text_single_value_dict_collapses_to_the_number"): Deviation(
        value=0.0, reference=1.0, why="a structure that holds one number is not that number"
    ),
    ("static_json", "text_dict_with_output_key_loses_everything_before"): Deviation(
        value=0.5, reference=1.0, why="JSON is read as a whole, before labels such as Output are looked for"
    ),
    ("static_json", "text_unhashable_key_crashes"): Deviation(value=0.0, reference=None, why=_CRASH),
    ("static_json", "text_json_nan"): Deviation(value=2 / 3, reference=1.0, why=_NAN),
    ("static_json", "text_empty_dict"): Deviation(value=1.0, reference=0.0, why=_EMPTY),
    ("static_json 2026-08", "tiny_float_becomes_zero"): Deviation(value=0.0, reference=1.0, why=_TINY),
    ("static_json 2026-08", "inf_vs_inf"): Deviation(value=0.0, reference=1.0, why=_NAN),
    ("static_json 2026-08", "text_unhashable_key_crashes"): Deviation(value=0.0, reference=None, why=_CRASH),
    ("static_json 2026-08", "text_json_nan"): Deviation(value=2 / 3, reference=1.0, why=_NAN),
    ("static_json 2026-08", "text_empty_dict"): Deviation(value=1.0, reference=0.0, why=_EMPTY),
    ("tool_call_order", "expected_empty"): Deviation(
        value=None, reference=0.0, why="an empty expectation is an error, as UiPath documents it"
    ),
}


def table() -> str:
    """The Markdown table of the documentation."""
    lines = ["| evaluator | case | ours | reference | why |", "|---|---|---|---|---|"]
    for (evaluator, case), one in DEVIATIONS.items():
        ours = "error" if one.value is None else f"{one.value:g}"
        theirs = "error" if one.reference is None else f"{one.reference:g}"
        lines.append(f"| `{evaluator}` | `{case}` | {ours} | {theirs} | {one.why} |")
    return "\n".join(lines)
