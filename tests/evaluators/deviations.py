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
        reference: what the reference implementation returns.
        why: the rule behind ours.
    """

    value: float | None
    reference: float
    why: str


_NAN: Final = "NaN and infinities are similar to nothing"
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
}


def table() -> str:
    """The Markdown table of the documentation."""
    lines = ["| evaluator | case | ours | reference | why |", "|---|---|---|---|---|"]
    for (evaluator, case), one in DEVIATIONS.items():
        ours = "error" if one.value is None else f"{one.value:g}"
        lines.append(f"| `{evaluator}` | `{case}` | {ours} | {one.reference:g} | {one.why} |")
    return "\n".join(lines)
