"""The workload of every benchmark: five parameters in, a 40-leaf answer of 1.5 kB out, four leaves wrong."""

from __future__ import annotations

import copy
import random
from typing import Any

WORDS = [
    "invoice",
    "total",
    "amount",
    "shipping",
    "customer",
    "pending",
    "approved",
    "Paris",
    "London",
    "late",
    "order",
    "number",
    "item",
]

INPUT: dict[str, Any] = {
    "question": "Where is my order, and what will it cost me in the end?",
    "customer_id": 48213,
    "locale": "en-GB",
    "history": ["hello", "I ordered two lamps last week"],
    "verbose": False,
}


def answer() -> dict[str, Any]:
    """Return an expected answer: five objects of eight leaves, half of them text."""
    random.seed(7)
    return {f"section_{s}": {f"field_{f}": _leaf(f) for f in range(8)} for s in range(5)}


def _leaf(position: int) -> Any:
    kinds = [_text, _text, _integer, _text, _decimal, _text, _flag, _integer]
    return kinds[position]()


def _text() -> str:
    return " ".join(random.choices(WORDS, k=6))


def _integer() -> int:
    return random.randint(2, 100_000)


def _decimal() -> float:
    return round(random.uniform(2, 1_000), 2)


def _flag() -> bool:
    return random.random() < 0.5


def edited(expected: dict[str, Any]) -> dict[str, Any]:
    """Return an output in which 10 % of the leaves differ: two texts, a number, a flag."""
    output = copy.deepcopy(expected)
    output["section_0"]["field_0"] += " soon"
    output["section_1"]["field_3"] = "something else entirely"
    output["section_2"]["field_4"] *= 1.1
    output["section_3"]["field_6"] = not output["section_3"]["field_6"]
    return output
