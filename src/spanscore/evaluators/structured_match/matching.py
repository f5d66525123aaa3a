"""Comparison of an output with an expected value: what was lost, and what was not expected."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from itertools import compress
from operator import ne
from typing import Any, Final, Literal, NamedTuple

from spanscore.evaluators.comparators.leaf_match import leaf_match
from spanscore.evaluators.comparators.table import Comparison
from spanscore.evaluators.structured_match.identity import identity
from spanscore.evaluators.structured_match.pairing import paired
from spanscore.evaluators.structured_match.plan import Node, extras_below, leaves_below
from spanscore.evaluators.structured_match.rules import Rules, escaped
from spanscore.score import FieldReason
from spanscore.step import MISSING

__all__ = ["ExtraKeys", "Loss", "Match", "output_path"]

ExtraKeys = Literal["ignore", "penalise", "fail"]
_HALF: Final = 0.5
_MAX_POINTS: Final = 200_000  # pairs of list elements that are compared for one output; then in order


class Loss(NamedTuple):
    """A leaf that kept less than its weight.

    Attributes:
        path: JSON Pointer into the expected value; into the output for ``extra``.
        expected: expected JSON value; MISSING for ``extra``.
        actual: JSON value of the output; MISSING where there is none.
        weight: weight of the leaf.
        similarity: 0..1.
        reason: as in FieldScore.
        note: what the comparator says besides.
    """

    path: str
    expected: Any
    actual: Any
    weight: float
    similarity: float
    reason: FieldReason
    note: str = ""


class Match:
    """The comparison of one output.

    Attributes:
        losses: leaves that kept less than their weight, extras too, in no order.
        lost: weight that the expected leaves lost.
        extra: weight of the leaves that were not expected.
        failed: True if a key was not expected and that fails the whole.
        awaited: leaves whose comparison must be awaited, with the awaitables.
        accepted: by path, what stands in the output where a comparator found a leaf equal.
        moved: by path of an expected list element, the position of the output's element it was compared with.
    """

    __slots__ = (
        "_extra_keys",
        "_null_equals_missing",
        "_quiet",
        "_rules",
        "_spent",
        "accepted",
        "awaited",
        "extra",
        "failed",
        "losses",
        "lost",
        "moved",
    )

    def __init__(self, rules: Rules, extra_keys: ExtraKeys, *, null_equals_missing: bool) -> None:
        self._rules = rules
        self._extra_keys: ExtraKeys = extra_keys
        self._null_equals_missing = null_equals_missing
        self._quiet = False
        self._spent = 0
        self.losses: list[Loss] = []
        self.lost = 0.0
        self.extra = 0.0
        self.failed = False
        self.accepted: dict[str, Any] = {}
        self.moved: dict[str, int] = {}
        self.awaited: list[tuple[Node, Any, Awaitable[Comparison]]] = []

    def compare(self, node: Node, actual: Any) -> None:
        """Compare one place of the expected value with what stands there in the output."""
        kind = type(actual)
        if node.keys is not None:
            if kind is dict:
                self._object(node, actual)
                return
        elif node.children is not None:
            if kind is list or kind is tuple:
                self._list(node, actual)
                return
        elif node.kind in _CONTAINERS and node.comparator is None:
            self._empty(node, actual)
            return
        else:
            self._leaf(node, actual)
            return
        self._all(node, actual)

    def _object(self, node: Node, actual: dict[str, Any]) -> None:
        absent = 0
        if node.fetch is not None:
            try:
                found = node.fetch(actual)
            except KeyError:
                found = tuple([actual.get(key, MISSING) for key, child in node.keys or () if child in node.together])
                absent = found.count(MISSING)
            if found != node.values:
                together = zip(node.together, found, strict=True)
                for child, value in compress(together, map(ne, found, node.values)):
                    if value is None or value is MISSING:
                        self._leaf(child, value)
                    elif (similarity := leaf_match(child.value, value)) != 1.0:
                        self._lose(child, value, similarity)
        for key, child in node.apart:
            value = actual.get(key, MISSING)
            if value is MISSING:
                absent += 1
            elif value is child.value and child.comparator is None and type(value) is bool:
                continue
            self.compare(child, value)
        if self._extra_keys != "ignore" and len(actual) > len(node.names) - absent:
            for key, value in actual.items():
                if key not in node.names and not (value is None and self._null_equals_missing):
                    self._extra(node, key, value, fails=self._extra_keys == "fail")

    def _list(self, node: Node, actual: Sequence[Any]) -> None:
        in_place = node.setting.list == "ordered" and len(node.children or ()) == len(actual)
        if not in_place or self._rules.has_async:  # a judge is not asked twice
            self._paired(node, actual)
            return
        before = len(self.losses), self.lost, self.extra, self.failed
        if self._in_place(node.children or (), actual):
            return
        found = self.losses[before[0] :], self.lost, self.extra, self.failed
        moved = dict(self.moved)
        del self.losses[before[0] :]
        _, self.lost, self.extra, self.failed = before
        self._paired(node, actual)
        if self.lost + self.extra > found[1] + found[2]:  # nothing is gained by moving elements
            del self.losses[before[0] :]
            losses, self.lost, self.extra, self.failed = found
            self.losses += losses
            self.moved = moved

    def _in_place(self, children: Sequence[Node], actual: Sequence[Any]) -> bool:
        """Compare position by position; return True if no element seems to have moved.

        One seems to if an object or list keeps less than half its weight, or if what is wrong in one
        place is expected in another that is wrong too.
        """
        wrong: list[tuple[Node, Any]] = []
        settled = True
        for child, value in zip(children, actual, strict=True):
            if child.exact and value == child.value:
                continue
            before = self.lost + self.extra
            self.compare(child, value)
            if self.lost + self.extra - before > _HALF * child.total:
                wrong.append((child, value))
                settled = settled and child.keys is None and child.children is None
        if not settled:
            return len(children) == 1
        return len(wrong) < 2 or {child.identity for child, _ in wrong}.isdisjoint(
            identity(value) for _, value in wrong
        )

    def _paired(self, node: Node, actual: Sequence[Any]) -> None:
        children = node.children or ()
        pairs = paired(node, actual, self._points)
        for at, other in pairs:
            if at != other and not self._quiet:
                self.moved[children[at].path] = other
            self.compare(children[at], actual[other])
        if len(pairs) < len(children):
            here = {at for at, _ in pairs}
            seen = {children[at].identity for at in here} if node.setting.list == "set" else set()
            for at, child in enumerate(children):
                if at not in here and (node.setting.list != "set" or child.identity not in seen):
                    seen.add(child.identity if node.setting.list == "set" else at)
                    self._all(child, MISSING, excused=False)
        if len(pairs) < len(actual):
            self._surplus(node, actual, {other for _, other in pairs})

    def _surplus(self, node: Node, actual: Sequence[Any], there: set[int]) -> None:
        known = {child.identity for child in node.children or ()} if node.setting.list == "set" else set()
        for at, value in enumerate(actual):
            if at in there:
                continue
            if node.setting.list == "set":
                if identity(value) in known:
                    continue
                known.add(identity(value))
            self._extra(node, at, value, fails=False)

    def _points(self, node: Node, actual: Any) -> float:
        """Return the weight that a list element would keep; 0 where too many were asked for already."""
        if self._spent >= _MAX_POINTS:
            return 0.0
        self._spent += 1
        before = self.lost, self.extra, self.failed, self._quiet
        self.lost = self.extra = 0.0
        self._quiet = True
        self.compare(node, actual)
        points = node.total - self.lost - self.extra
        self.lost, self.extra, self.failed, self._quiet = before
        return max(0.0, points)

    def _empty(self, node: Node, actual: Any) -> None:
        """Compare with an expected empty object or list: the first thing in it is the wrong leaf, others are extra."""
        kind = type(actual)
        if kind is not node.kind and not (node.kind is list and kind is tuple):
            self._all(node, actual)
            return
        if kind is dict and self._extra_keys == "ignore":
            return
        fails = kind is dict and self._extra_keys == "fail"
        leaves = [
            leaf
            for key, value in (actual.items() if kind is dict else enumerate(actual))
            if not (value is None and self._null_equals_missing and kind is dict)
            for leaf in self._leaves_of(node, key, value)
        ]
        if leaves and not fails:
            self._lose(node, actual, 0.0, "not empty")
            leaves = leaves[1:]
        self._count(leaves, fails=fails)

    def _leaf(self, node: Node, actual: Any) -> None:
        absent = actual is None and self._null_equals_missing and node.value is not None
        if actual is MISSING or (absent and (node.comparator is None or _is_async(node))):
            self._absent(node, actual)
            return
        if node.comparator is None:
            similarity = leaf_match(node.value, actual)
            if similarity != 1.0:
                self._lose(node, actual, similarity)
            return
        if node.total == 0.0:
            return
        if self._quiet and _is_async(node):  # a judge is not asked to find pairs
            found: Any = Comparison(leaf_match(node.value, actual))
        else:
            found = node.comparator.compare(node.value, actual)
        if inspect.isawaitable(found):
            self.awaited.append((node, actual, found))
        elif found.similarity == 1.0:
            if not self._quiet:
                self.accepted[node.path] = actual
        elif absent and found.similarity == 0.0:
            self._absent(node, actual)
        else:
            self._lose(node, actual, found.similarity, found.note)

    def _absent(self, node: Node, actual: Any, *, excused: bool = True) -> None:
        """Lose a leaf that is not there, unless null was expected there and says the same."""
        if node.value is None and self._null_equals_missing and excused:
            return
        self.lost += node.total
        if node.total and not self._quiet:
            self.losses.append(Loss(node.path, node.value, actual, node.total, 0.0, "missing"))

    def _lose(self, node: Node, actual: Any, similarity: float, note: str = "") -> None:
        weight = node.total
        self.lost += weight * (1.0 - similarity)
        if not self._quiet:
            expected = node.value
            reason: FieldReason = "similar" if similarity > 0.0 else _reason(expected, actual)
            self.losses.append(_new_loss(Loss, (node.path, expected, actual, weight, similarity, reason, note)))

    def _all(self, node: Node, actual: Any, *, excused: bool = True) -> None:
        """Lose everything at and below a node; below an element that is not in a list nothing is excused."""
        missing = actual is MISSING or (actual is None and self._null_equals_missing)
        for leaf in leaves_below(node):
            if missing:
                self._absent(leaf, MISSING if leaf is not node else actual, excused=excused)
            else:
                self.lost += leaf.total
                if not self._quiet:
                    self.losses.append(Loss(leaf.path, leaf.value, actual, leaf.total, 0.0, "type"))

    def _extra(self, node: Node, key: str | int, value: Any, *, fails: bool) -> None:
        self._count(self._leaves_of(node, key, value), fails=fails)

    def _leaves_of(self, node: Node, key: str | int, value: Any) -> Iterable[tuple[str, Any, float]]:
        """Return path in the output, value and weight of the leaves of something that nobody expected."""
        segment = str(key)
        path = f"{output_path(node.path, self.moved)}/{escaped(segment)}"
        return extras_below(value, path, node.weight, self._rules, self._rules.step(node.position, segment))

    def _count(self, extras: Iterable[tuple[str, Any, float]], *, fails: bool) -> None:
        for path, found, weight in extras:
            self.extra += weight
            self.failed = self.failed or fails
            if not self._quiet:
                self.losses.append(Loss(path, MISSING, found, weight, 0.0, "extra"))

    async def settle(self) -> None:
        """Await all that must be awaited, and take note of what was lost there."""
        found = await asyncio.gather(*(awaitable for _, _, awaitable in self.awaited))
        for (node, actual, _), comparison in zip(self.awaited, found, strict=True):
            if comparison.similarity != 1.0:
                self._lose(node, actual, comparison.similarity, comparison.note)

    def close(self) -> None:
        """Let go of what would have been awaited."""
        for _, _, awaitable in self.awaited:
            if inspect.iscoroutine(awaitable):
                awaitable.close()


_new_loss: Final = tuple.__new__  # a third of the time that the constructor of a NamedTuple takes
_CONTAINERS: Final = frozenset({dict, list})
_NUMBERS: Final = frozenset({int, float})


def output_path(path: str, moved: Mapping[str, int]) -> str:
    """Return where the output has what belongs to a path of the expected value, after elements moved in lists."""
    if not moved or not path:
        return path
    here = there = ""
    for segment in path[1:].split("/"):
        here = f"{here}/{segment}"
        there = f"{there}/{moved.get(here, segment)}"
    return there


def _is_async(node: Node) -> bool:
    return bool(getattr(node.comparator, "is_async", False))


def _reason(expected: Any, actual: Any) -> FieldReason:
    kind, wanted = type(actual), type(expected)
    same = kind is wanted or (kind in _NUMBERS and wanted in _NUMBERS)
    return "wrong" if same else "type"
