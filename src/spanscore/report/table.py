"""Scores as a plain-text table, for consoles."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Row", "render"]

_HEADERS = ("span", "evaluator", "score", "label", "worst fields")
_MIN_LAST = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One score of one span, as text; ``score`` is "" where there is none."""

    span: str
    evaluator: str
    score: str
    label: str
    note: str


def render(rows: Sequence[Row], *, width: int | None = None) -> str:
    """Return a table of ``rows`` and a line that counts the labels.

    Args:
        rows: in the order to print.
        width: columns of the terminal; asked for where None. The last column is cut to fit.

    >>> print(render([Row(span="agent", evaluator="exact_match", score="1.000", label="pass", note="")], width=80))
    span   evaluator    score  label  worst fields
    agent  exact_match  1.000  pass
    1 score: 1 pass
    """
    lines = [_HEADERS, *((row.span, row.evaluator, row.score, row.label, row.note) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    columns = width if width is not None else shutil.get_terminal_size((120, 24)).columns
    last = max(_MIN_LAST, columns - sum(widths) - 2 * len(widths))
    text = [
        "  ".join([*(cell.ljust(size) for cell, size in zip(line, widths, strict=False)), _cut(line[4], last)]).rstrip()
        for line in lines
    ]
    counts = Counter(row.label for row in rows)
    told = ", ".join(f"{count} {label}" for label, count in sorted(counts.items()))
    text.append(f"{len(rows)} score{'' if len(rows) == 1 else 's'}: {told or 'none'}")
    return "\n".join(text)


def _cut(text: str, size: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= size else text[: size - 3] + "..."
