"""Twenty-one pairs through released comparators, as measured, beside StructuredMatch; the documentation shows the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from spanscore import StructuredMatch

__all__ = ["PAIRS", "Pair", "table"]

_PEERS: Final = ("anls*", "autoevals", "openevals", "deepdiff", "stickler", "UiPath rule")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One pair.

    Attributes:
        name: what differs.
        gold: expected value.
        output: what was answered.
        value: score of StructuredMatch with its defaults.
        peers: scores of the others, as text, "" where it was not applicable.
        policy: why ours is what it is.
        settings: another setting of ours that users may want, and
        other: its score.
    """

    name: str
    gold: Any
    output: Any
    value: float
    peers: tuple[str, ...]
    policy: str
    settings: dict[str, Any] = field(default_factory=dict)
    other: float | None = None


_ROWS: Final = [{"id": 1, "name": "desk lamp"}, {"id": 2, "name": "floor lamp"}]

PAIRS: Final = (
    Pair(
        name="identical",
        gold={"a": 1, "b": "x"},
        output={"b": "x", "a": 1},
        value=1.0,
        peers=("1.00", "1.00", "1.00", "1.00", "1.00", "1.00"),
        policy="the order of keys does not matter",
    ),
    Pair(
        name="scalar list reordered",
        gold={"tags": ["red", "green", "blue"]},
        output={"tags": ["blue", "red", "green"]},
        value=0.5,
        peers=("1.00", "0.00", "0.00", "1.00", "1.00", "0.00"),
        policy="a list has an order: two are in order, one is missing and one extra",
        settings={"lists": "unordered"},
        other=1.0,
    ),
    Pair(
        name="object list reordered",
        gold={"rows": _ROWS},
        output={"rows": _ROWS[::-1]},
        value=1 / 3,
        peers=("1.00", "0.33", "0.00", "1.00", "1.00", "0.13"),
        policy="the same: one of two rows is in order",
        settings={"lists": "unordered"},
        other=1.0,
    ),
    Pair(
        name="one invented row put first (3 rows for 2)",
        gold={"rows": _ROWS},
        output={"rows": [{"id": 9, "name": "sofa"}, *_ROWS]},
        value=2 / 3,
        peers=("0.67", "0.14", "0.00", "0.94", "0.67", "0.13"),
        policy="lists are aligned: only the invented row costs",
    ),
    Pair(
        name="key missing (1 of 2)",
        gold={"a": 1, "b": 2},
        output={"a": 1},
        value=0.5,
        peers=("0.50", "0.50", "0.50", "0.88", "0.50", "0.50"),
        policy="one leaf of two",
    ),
    Pair(
        name="extra invented key",
        gold={"a": 1},
        output={"a": 1, "b": 2},
        value=0.5,
        peers=("0.50", "0.50", "0.50", "0.88", "0.50", "1.00"),
        policy="one leaf of two was asked for",
        settings={"extra_keys": "ignore"},
        other=1.0,
    ),
    Pair(
        name="gold null, key absent",
        gold={"a": 1, "b": None},
        output={"a": 1},
        value=1.0,
        peers=("1.00", "1.00", "0.50", "1.00", "1.00", "0.50"),
        policy="absent is what null says",
        settings={"null_equals_missing": False},
        other=0.5,
    ),
    Pair(
        name="gold null, value invented",
        gold={"a": 1, "b": None},
        output={"a": 1, "b": "x"},
        value=0.5,
        peers=("0.50", "0.50", "0.50", "0.80", "0.50", "0.50"),
        policy="an invented value is wrong",
    ),
    Pair(
        name="1 vs 1.0",
        gold={"n": 1},
        output={"n": 1.0},
        value=1.0,
        peers=("0.00", "1.00", "1.00", "0.83", "1.00", "1.00"),
        policy="numbers are equal by value",
    ),
    Pair(
        name='1200 vs "1200"',
        gold={"n": 1200},
        output={"n": "1200"},
        value=0.0,
        peers=("1.00", "0.67", "0.00", "0.83", "1.00", "0.00"),
        policy="text is no number, and whoever reads the field will notice",
        settings={"rules": {"/n": "number"}},
        other=1.0,
    ),
    Pair(
        name='"1,200.00" vs "1200"',
        gold={"n": "1,200.00"},
        output={"n": "1200"},
        value=0.0,
        peers=("0.50", "0.50", "0.00", "0.83", "0.50", "0.50"),
        policy="a text with digits is right or wrong, never half right",
        settings={"rules": {"/n": {"type": "number", "locale": "en"}}},
        other=1.0,
    ),
    Pair(
        name="2024-03-01 vs March 1, 2024",
        gold={"d": "2024-03-01"},
        output={"d": "March 1, 2024"},
        value=0.0,
        peers=("0.00", "0.08", "0.00", "0.83", "0.00", "0.08"),
        policy="text until a rule says that it is a date",
        settings={"rules": {"/d": "date"}},
        other=1.0,
    ),
    Pair(
        name="1000 vs 1005",
        gold={"n": 1000},
        output={"n": 1005},
        value=0.475,
        peers=("0.83", "1.00", "0.00", "0.83", "0.00", "0.99"),
        policy="a near number is wrong and gets at most half; a tolerance makes it right",
        settings={"rules": {"/n": {"rel": 0.01}}},
        other=1.0,
    ),
    Pair(
        name="100 vs -100",
        gold={"n": 100},
        output={"n": -100},
        value=0.0,
        peers=("0.75", "0.00", "0.00", "0.83", "0.00", "0.00"),
        policy="another sign is always a miss",
    ),
    Pair(
        name="true vs 1",
        gold={"b": True},
        output={"b": 1},
        value=0.0,
        peers=("0.00", "1.00", "1.00", "0.83", "1.00", "0.00"),
        policy="booleans are no numbers",
    ),
    Pair(
        name="approved vs unapproved",
        gold={"s": "approved"},
        output={"s": "unapproved"},
        value=0.0,
        peers=("0.80", "0.80", "0.00", "0.83", "0.80", "0.80"),
        policy="one word is right or wrong",
    ),
    Pair(
        name='"New York" vs " new york "',
        gold={"s": "New York"},
        output={"s": " new york "},
        value=0.95,
        peers=("1.00", "0.60", "0.00", "0.83", "1.00", "0.60"),
        policy="the same words in another form",
        settings={"rules": {"/s": {"type": "text", "case_sensitive": False}}},
        other=1.0,
    ),
    Pair(
        name="both lists empty",
        gold={"l": []},
        output={"l": []},
        value=1.0,
        peers=("1.00", "1.00", "1.00", "1.00", "1.00", "1.00"),
        policy="an empty list is an answer",
    ),
    Pair(
        name="gold list empty, one item invented",
        gold={"l": []},
        output={"l": ["x"]},
        value=0.0,
        peers=("0.00", "0.00", "0.00", "0.86", "0.00", "1.00"),
        policy="nothing was right",
    ),
    Pair(
        name="fenced JSON text for an object",
        gold={"a": 1, "b": "x"},
        output='Here it is:\n```json\n{"a": 1, "b": "x",}\n```',
        value=1.0,
        peers=("0.00", "0.28", "raises", "0.50", "", "0.00"),
        policy="JSON is read from what models send, and the explanation says so",
        settings={"extract": False},
        other=0.0,
    ),
    Pair(
        name="duplicate row lost (x,x vs x)",
        gold={"l": ["x", "x"]},
        output={"l": ["x"]},
        value=0.5,
        peers=("0.50", "0.50", "0.00", "1.00", "0.50", "0.50"),
        policy="one of two is there",
        settings={"lists": "set"},
        other=1.0,
    ),
)


def table() -> str:
    """The Markdown table of the documentation."""
    heads = ("pair (gold, output)", *_PEERS, "StructuredMatch", "policy", "with another setting")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for pair in PAIRS:
        value = StructuredMatch().evaluate(pair.output, pair.gold).value
        other = ""
        if pair.other is not None:
            found = StructuredMatch(**pair.settings).evaluate(pair.output, pair.gold).value
            told = ", ".join(f"{key}={setting!r}" for key, setting in pair.settings.items())
            other = f"`{told}`: {found:.2f}"
        lines.append("| " + " | ".join((pair.name, *pair.peers, f"**{value:.2f}**", pair.policy, other)) + " |")
    return "\n".join(lines)
