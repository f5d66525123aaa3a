"""Comparison of an output with an expected value that is used once; an ExpectedTree is for those used often."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, Final

from spanscore.evaluators.explanation import told
from spanscore.evaluators.leaves import leaf_similarity, text_similarity
from spanscore.json_text import plain
from spanscore.step import MISSING

__all__ = ["LeafWalk"]

_SHOWN: Final = 3
_by_similarity: Final = itemgetter(2, 0)
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_PLAIN: Final = _SCALARS | {dict, list, tuple}


class _NotPlainError(Exception):
    """The output holds an object that is no JSON type; it must be converted first."""


class LeafWalk:
    """The leaves that an output does not equal, as `ExpectedTree.compare` finds them.

    Args:
        expected: JSON value.
        output: JSON value, or a Python value that `plain` makes one.

    Attributes:
        misses: index of the leaf in an ExpectedTree, what stands in the output, similarity below 1,
            linked path, and expected value.
        total: number of expected leaves.
    """

    __slots__ = ("misses", "total")

    def __init__(self, expected: Any, output: Any) -> None:
        self.misses: list[tuple[int, Any, float, Any, Any]] = []
        self.total = 0
        try:
            self._start(expected, output)
        except (_NotPlainError, ValueError):  # ValueError: arrays compare element by element
            self.misses, self.total = [], 0
            self._start(expected, plain(output))

    def explain(self) -> str:
        """Return the three worst leaves in words, the worst first; "" if there are none."""
        misses = self.misses
        if not misses:
            return ""
        worst = sorted(misses, key=_by_similarity)[:_SHOWN] if len(misses) > 1 else misses
        parts = [told(_pointer(path), expected, actual) for _, actual, _, path, expected in worst]
        if len(misses) > _SHOWN:
            parts.append(f"{len(misses) - _SHOWN} more")
        return "; ".join(parts)

    def _start(self, expected: Any, output: Any) -> None:
        if type(expected) in (dict, list) and expected:
            self._container(expected, output, None)
        else:
            self.total = 1
            self._leaf(0, expected, output, None)

    def _container(self, expected: Any, actual: Any, path: Any) -> None:
        """Compare the leaves of a container, then the containers in it; an ExpectedTree counts in this order."""
        kind, is_object = type(actual), type(expected) is dict
        if not (kind is dict if is_object else kind is list or kind is tuple):
            self._lost(expected, actual, path)
            return
        inner: list[tuple[Any, Any, Any]] = []
        index = self.total
        pairs: Iterable[tuple[Any, Any, Any]]
        if is_object:
            pairs = zip(expected, expected.values(), map(actual.get, expected, repeat(MISSING)), strict=True)
        else:
            pairs = zip(range(len(expected)), expected, chain(actual, repeat(MISSING)), strict=False)
        for key, child, value in pairs:
            wanted = type(child)
            if wanted is str:
                if value != child:
                    self._leaf(index, child, value, (path, key))
            elif wanted is dict or wanted is list:
                if child:
                    inner.append((child, value, key))
                    continue
                self._leaf(index, child, value, (path, key))
            elif type(value) is not wanted or value != child or (wanted is float and child - child != 0.0):
                self._leaf(index, child, value, (path, key))
            index += 1
        self.total = index
        for child, value, key in inner:
            self._container(child, value, (path, key))

    def _lost(self, expected: Any, actual: Any, path: Any) -> None:
        """Count every leaf of a container that has no counterpart of its kind."""
        found = self._as_found(actual)
        inner = []
        for key, child in expected.items() if type(expected) is dict else enumerate(expected):
            if type(child) in (dict, list) and child:
                inner.append((child, key))
                continue
            self.misses.append((self.total, found, 0.0, (path, key), child))
            self.total += 1
        for child, key in inner:
            self._lost(child, MISSING, (path, key))

    @staticmethod
    def _as_found(actual: Any) -> Any:
        if actual is MISSING or type(actual) in _SCALARS:
            return actual
        if type(actual) not in _PLAIN:
            raise _NotPlainError
        return plain(actual)

    def _leaf(self, index: int, expected: Any, actual: Any, path: Any) -> None:
        kind = type(actual)
        if kind is str and type(expected) is str:
            similarity = text_similarity(expected, actual)
        elif kind in _PLAIN:
            similarity = leaf_similarity(expected, actual)
        elif actual is MISSING:
            similarity = 0.0
        else:
            raise _NotPlainError
        if similarity != 1.0:
            found = actual if kind in _SCALARS or actual is MISSING else plain(actual)
            self.misses.append((index, found, similarity, path, expected))


def _pointer(path: Any) -> str:
    parts = []
    while path is not None:
        path, key = path
        parts.append(str(key).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{part}" for part in reversed(parts))
