"""Cases: the expected values of a golden file, by test-case id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from spanscore.errors import ConfigurationError
from spanscore.json_text import parse_config
from spanscore.step import MISSING

__all__ = ["Cases"]

_FORM = '{"id": "case-1", "expected": {...}, "tags": ["smoke"]}'


class Cases:
    """Expected values by test-case id.

    Args:
        expected: test-case id -> JSON value.

    >>> Cases({"case-1": {"total": 50}}).expected("case-1")
    {'total': 50}
    """

    def __init__(self, expected: Mapping[str, Any]) -> None:
        self._expected = dict(expected)

    def __len__(self) -> int:
        return len(self._expected)

    def expected(self, case: str) -> Any:
        """Return the expected value of ``case``, or MISSING if there is no such case."""
        return self._expected.get(case, MISSING)

    @classmethod
    def load(cls, path: str | PathLike[str], *, tags: Iterable[str] = ()) -> Cases:
        """Return the cases of a JSON-lines file: an object a line with ``id``, ``expected`` and ``tags``.

        Args:
            path: the file; blank lines are left out.
            tags: keep only cases that have one of these tags; all cases if empty.

        Raises:
            ConfigurationError: the file cannot be read, is empty, or a line is not valid or
                repeats an id or a key, or no case has one of the tags; the message names file and line.
        """
        wanted = frozenset(tags)
        found: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip():
                continue
            case, expected, has = _read(line, f"{path}:{number}")
            if case in lines:
                raise ConfigurationError(f"{path}:{number}: case id {case!r} is already used on line {lines[case]}")
            lines[case] = number
            if not wanted or wanted & has:
                found[case] = expected
        if not lines:
            raise ConfigurationError(f"{path} has no cases; write one a line, for example {_FORM}")
        if not found:
            raise ConfigurationError(f"{path}: no case has one of the tags {sorted(wanted)}")
        return cls(found)


def _lines(path: str | PathLike[str]) -> list[bytes]:
    try:
        return Path(path).read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"cannot read the cases file {path}: {error.strerror}") from error


def _read(line: bytes, place: str) -> tuple[str, Any, frozenset[str]]:
    try:
        record = parse_config(line)
    except ValueError as error:
        raise ConfigurationError(
            f"{place}: not JSON ({error}); write one object a line, for example {_FORM}"
        ) from error
    if not isinstance(record, dict) or not isinstance(record.get("id"), str) or "expected" not in record:
        raise ConfigurationError(f"{place}: needs a text 'id' and 'expected', for example {_FORM}")
    unknown = sorted(set(record) - {"id", "expected", "tags"})
    tags = record.get("tags", [])
    if unknown or not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        what = f"unknown keys {', '.join(unknown)}" if unknown else "tags must be a list of texts"
        raise ConfigurationError(f"{place}: {what}; allowed are id, expected and tags, for example {_FORM}")
    return record["id"], record["expected"], frozenset(tags)
