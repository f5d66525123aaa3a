"""ExpectedTree: an expected JSON value laid out so that many outputs compare fast.

An expectation is fixed long before outputs arrive. Laid out once, the leaves of one object are
fetched and compared together, so that only what differs costs Python time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from operator import itemgetter
from typing import Any, Final, overload

from spanscore.evaluators.explanation import SHOWN_CHARACTERS, shown
from spanscore.evaluators.leaves import leaf_similarity, number_similarity, text_similarity
from spanscore.evaluators.tree_code import Container, Miss, compiled, get
from spanscore.json_text import plain
from spanscore.score import FieldReason, FieldScore
from spanscore.step import MISSING

__all__ = ["ExpectedTree", "LeafFields"]

_PLAIN: Final = frozenset({dict, list, tuple, str, int, float, bool, type(None)})
_SCALARS: Final = _PLAIN - {dict, list, tuple}
_NUMBERS: Final = frozenset({int, float})
_USES_BEFORE_CODE: Final = 20  # making code takes as long as a few hundred comparisons
_MAX_LEAVES_OF_CODE: Final = 500
_SHOWN: Final = 3


class _NotPlainError(Exception):
    """The output holds an object that is no JSON type; it must be converted first."""


class ExpectedTree:
    """An expected JSON value, prepared for comparing outputs with it.

    Objects are compared over the expected keys, lists position by position; what the output has
    beyond that is not looked at. An empty object or list is a leaf.

    Args:
        expected: JSON value of at most 254 levels.

    Attributes:
        leaves: JSON Pointer and expected value of every leaf.
    """

    __slots__ = ("_code", "_containers", "_told", "_uses", "leaves")

    def __init__(self, expected: Any) -> None:
        self.leaves: list[tuple[str, Any]] = []
        self._told: dict[int, str] = {}
        self._code: Callable[[Any], list[Miss]] | None = None
        self._uses = 0
        self._containers: list[Container] = []
        if isinstance(expected, (dict, list)) and expected:
            self._lay_out(expected, "", -1, None)
        else:
            self.leaves.append(("", expected))

    def _lay_out(self, expected: dict[str, Any] | list[Any], path: str, parent: int, key: Any) -> None:
        together: list[tuple[Any, Any, int]] = []
        others: list[tuple[Any, Any, int]] = []
        inner = []
        for name, child in expected.items() if isinstance(expected, dict) else enumerate(expected):
            child_path = f"{path}/{_escaped(name)}"
            if isinstance(child, (dict, list)) and child:
                inner.append((child, child_path, name))
            else:
                group = together if _decided_by_equality(child) else others
                group.append((name, child, len(self.leaves)))
                self.leaves.append((child_path, child))
        if len(together) == 1:  # itemgetter of one key gives no tuple
            others += together
            together = []
        self._containers.append(
            Container(
                parent=parent,
                key=key,
                kind=dict if isinstance(expected, dict) else list,
                fetch=itemgetter(*(name for name, _, _ in together)) if together else None,
                keys=tuple(name for name, _, _ in together),
                values=tuple(value for _, value, _ in together),
                indexes=tuple(index for _, _, index in together),
                flags=tuple(at for at, (_, value, _) in enumerate(together) if type(value) is bool),
                others=tuple(others),
            )
        )
        own = len(self._containers) - 1
        for child, child_path, name in inner:
            self._lay_out(child, child_path, own, name)

    def compare(self, output: Any) -> list[Miss]:
        """Return every leaf that the output does not equal; the order is not defined."""
        try:
            if self._code is not None:
                return self._code(output)
            self._uses += 1
            if self._uses == _USES_BEFORE_CODE and self._containers and len(self.leaves) <= _MAX_LEAVES_OF_CODE:
                self._code = compiled(self._containers, _compare_leaf, _as_found)
            return self._compare(output)
        except (_NotPlainError, ValueError):  # ValueError: arrays compare element by element
            return self._compare(plain(output))

    def _compare(self, output: Any) -> list[Miss]:
        misses: list[Miss] = []
        if not self._containers:
            _compare_leaf(0, self.leaves[0][1], output, misses)
            return misses
        found: list[Any] = []  # the container of the output at each container of the expected value
        for parent, key, kind, fetch, keys, values, indexes, flags, others in self._containers:
            actual = output if parent < 0 else get(found[parent], key)
            if type(actual) is not kind and not (kind is list and type(actual) is tuple):
                actual = _as_found(actual)
                misses += [(index, actual, 0.0) for index in indexes]
                misses += [(index, actual, 0.0) for _, _, index in others]
                found.append(MISSING)
                continue
            found.append(actual)
            if fetch is not None:
                try:
                    leaves = fetch(actual)
                except (KeyError, IndexError):
                    leaves = tuple([get(actual, name) for name in keys])
                if leaves != values:
                    for index, expected, value in zip(indexes, values, leaves, strict=True):
                        if value != expected:
                            _compare_leaf(index, expected, value, misses)
                for at in flags:  # 1 and 0 equal booleans in Python
                    if leaves[at] is not values[at] and leaves[at] == values[at]:
                        _compare_leaf(indexes[at], values[at], leaves[at], misses)
            for name, expected, index in others:
                value = get(actual, name)
                # One object is one value, but for the floats that equal nothing.
                if value is not expected or type(value) is float:
                    _compare_leaf(index, expected, value, misses)
        return misses

    def explain(self, misses: list[Miss]) -> str:
        """Return the three worst leaves in words, the worst first; "" if there are none."""
        if not misses:
            return ""
        worst = sorted(misses, key=_by_similarity)[:_SHOWN] if len(misses) > 1 else misses
        told = self._told
        parts = []
        for index, actual, _ in worst:
            expected = told.get(index) or self._expected_text(index)
            if type(actual) is str and len(actual) <= SHOWN_CHARACTERS:  # the common case, without a call
                parts.append(f'{expected}got "{actual}"')
            else:
                parts.append(expected + ("missing" if actual is MISSING else "got " + shown(actual)))
        if len(misses) > _SHOWN:
            parts.append(f"{len(misses) - _SHOWN} more")
        return "; ".join(parts)

    def _expected_text(self, index: int) -> str:
        path, expected = self.leaves[index]
        text = self._told[index] = f"{path or '(whole)'}: expected {shown(expected)}, "
        return text


def _decided_by_equality(leaf: Any) -> bool:
    """Return True if ``==`` alone tells whether an output equals the leaf.

    Not so for 0 and 1, which booleans equal, for NaN and infinities, and for empty containers. Of
    booleans the container keeps note.
    """
    if isinstance(leaf, bool):
        return True
    if isinstance(leaf, float):
        return leaf not in (0, 1) and isfinite(leaf)
    return leaf is None or isinstance(leaf, str) or (isinstance(leaf, int) and leaf not in (0, 1))


def _compare_leaf(index: int, expected: Any, actual: Any, misses: list[Miss]) -> None:
    kind, wanted = type(actual), type(expected)
    if kind is str and wanted is str:
        similarity = text_similarity(expected, actual)
    elif kind in _NUMBERS and wanted in _NUMBERS:
        similarity = number_similarity(expected, actual)
    elif kind in _PLAIN:
        similarity = leaf_similarity(expected, actual)
    elif actual is MISSING:
        similarity = 0.0
    else:
        raise _NotPlainError
    if similarity != 1.0:
        misses.append((index, actual if kind in _SCALARS else _as_found(actual), similarity))


def _as_found(actual: Any) -> Any:
    """Return what stands in place of a leaf, copied if the caller may change it later."""
    kind = type(actual)
    if actual is MISSING or kind in _SCALARS:
        return actual
    if kind not in _PLAIN:
        raise _NotPlainError
    return plain(actual)


def _escaped(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


class LeafFields(Sequence[FieldScore]):
    """The FieldScore of every leaf, made when first looked at; most never are.

    Args:
        tree: the expected value; a JSON value is made a tree when it is needed.
        total: number of leaves.
        misses: the leaves that the output does not equal.
    """

    __slots__ = ("_fields", "_misses", "_total", "_tree")

    def __init__(self, tree: Any, total: int, misses: Sequence[tuple[Any, ...]]) -> None:
        self._tree = tree
        self._total = total
        self._misses = misses
        self._fields: tuple[FieldScore, ...] | None = None

    def _all(self) -> tuple[FieldScore, ...]:
        if self._fields is None:
            tree = self._tree if isinstance(self._tree, ExpectedTree) else ExpectedTree(self._tree)
            missed = {miss[0]: (miss[1], miss[2]) for miss in self._misses}
            self._fields = tuple(
                _field(path, expected, *missed.get(index, (expected, 1.0)))
                for index, (path, expected) in enumerate(tree.leaves)
            )
        return self._fields

    def __len__(self) -> int:
        return self._total

    @overload
    def __getitem__(self, index: int) -> FieldScore: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[FieldScore, ...]: ...
    def __getitem__(self, index: int | slice) -> FieldScore | tuple[FieldScore, ...]:
        return self._all()[index]

    def __iter__(self) -> Iterator[FieldScore]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # a sequence of JSON values, which do not hash

    def __repr__(self) -> str:
        return repr(self._all())


def _field(path: str, expected: Any, actual: Any, value: float) -> FieldScore:
    shown = None if actual is MISSING else actual
    return FieldScore(path=path, expected=expected, actual=shown, value=value, reason=_reason(expected, actual, value))


def _reason(expected: Any, actual: Any, value: float) -> FieldReason:
    if value == 1.0:
        return "match"
    if actual is MISSING:
        return "missing"
    if _kind(expected) is not _kind(actual):
        return "type"
    return "similar" if value > 0.0 else "wrong"


def _kind(value: Any) -> type:
    if isinstance(value, tuple):
        return list
    return float if type(value) is int else type(value)


_by_similarity: Final = itemgetter(2, 0)
