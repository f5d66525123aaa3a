"""Which expected element of a list is compared with which element of the output."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from rapidfuzz.distance import LCSseq

from spanscore.errors import EvaluationError, MissingDependencyError
from spanscore.evaluators.structured_match.identity import identity
from spanscore.evaluators.structured_match.plan import Node, leaves_below
from spanscore.evaluators.structured_match.rules import escaped, segments
from spanscore.step import MISSING

__all__ = ["Pairs", "Points", "paired"]

Pairs = list[tuple[int, int]]
Points = Callable[[Node, Any], float]
"""Weight that an expected element would keep if it were compared with an element of the output."""

_MAX_ALIGNED: Final = 25_000_000  # pairs of positions in which a common sequence is looked for
_MAX_COMPARED: Final = 10_000  # pairs of elements that are compared in full, for each gap or list
_MAX_ASSIGNED: Final = 4_000_000  # pairs of unequal elements that an assignment is solved for; beyond, in order


def paired(node: Node, actual: Sequence[Any], points: Points) -> Pairs:
    """Return pairs of positions (expected, output), each position at most once, in the expected order.

    Equal elements are paired first. ``ordered``: a longest common sequence of equal elements, and
    in each gap the alignment that keeps most points; what is left of a gap is paired in order.
    ``unordered``: the assignment that keeps most points. ``set``, ``multiset``: equal elements only.
    ``keyed``: elements whose keys are equal, the first of each key.

    Args:
        node: the expected list.
        actual: the elements of the output.
        points: see `Points`.
    """
    children = node.children or ()
    policy = node.setting.list
    if policy == "ordered":
        return _ordered(children, actual, points)
    if policy == "keyed":
        return _keyed(children, actual, segments(node.setting.key or ""))
    pairs, left, right = _equal(children, actual, once=policy == "set")
    if policy == "unordered" and left and right:
        pairs += _assigned([(at, children[at]) for at in left], [(at, actual[at]) for at in right], points)
    return sorted(pairs)


def _ordered(children: Sequence[Node], actual: Sequence[Any], points: Points) -> Pairs:
    start, end = 0, 0
    short = min(len(children), len(actual))
    while start < short and children[start].value == actual[start]:
        start += 1
    while end < short - start and children[-1 - end].value == actual[-1 - end]:
        end += 1
    pairs = [(at, at) for at in range(start)]
    pairs += _middle(children, actual, range(start, len(children) - end), range(start, len(actual) - end), points)
    return pairs + [(len(children) - at, len(actual) - at) for at in range(end, 0, -1)]


def _middle(children: Sequence[Node], actual: Sequence[Any], left: range, right: range, points: Points) -> Pairs:
    pairs: Pairs = []
    from_left, from_right = left.start, right.start
    for at, other in [*_common(children, actual, left, right), (left.stop, right.stop)]:
        pairs += _gap(children, actual, range(from_left, at), range(from_right, other), points)
        if at < left.stop and other < right.stop:
            pairs.append((at, other))
        from_left, from_right = at + 1, other + 1
    return pairs


def _common(children: Sequence[Node], actual: Sequence[Any], left: range, right: range) -> Pairs:
    """Return a longest common sequence of equal elements."""
    if len(left) * len(right) > _MAX_ALIGNED:
        return [(at, other) for at, other in zip(left, right, strict=False) if children[at].value == actual[other]]
    numbers: dict[Any, int] = {}
    one = [numbers.setdefault(children[at].identity, len(numbers)) for at in left]
    two = [numbers.setdefault(identity(actual[at]), len(numbers)) for at in right]
    pairs: Pairs = []
    for block in LCSseq.opcodes(one, two):
        if block.tag == "equal":
            pairs += zip(
                range(left.start + block.src_start, left.start + block.src_end),
                range(right.start + block.dest_start, right.start + block.dest_end),
                strict=True,
            )
    return pairs


def _gap(children: Sequence[Node], actual: Sequence[Any], left: range, right: range, points: Points) -> Pairs:
    """Return the best alignment of a gap; of one that is too large, position by position."""
    if not left or not right:
        return []
    if len(left) * len(right) > _MAX_COMPARED or len(left) == len(right) == 1:
        return list(zip(left, right, strict=False))
    kept = [[points(children[at], actual[other]) for other in right] for at in left]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for row in range(len(left) - 1, -1, -1):
        for column in range(len(right) - 1, -1, -1):
            best[row][column] = max(
                kept[row][column] + best[row + 1][column + 1], best[row + 1][column], best[row][column + 1]
            )
    pairs: Pairs = []
    row = column = last_row = last_column = 0
    while row < len(left) and column < len(right):
        if kept[row][column] > 0 and best[row][column] == kept[row][column] + best[row + 1][column + 1]:
            pairs += zip(left[last_row:row], right[last_column:column], strict=False)
            pairs.append((left[row], right[column]))
            row, column = row + 1, column + 1
            last_row, last_column = row, column
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return [*pairs, *zip(left[last_row:], right[last_column:], strict=False)]


def _equal(
    children: Sequence[Node], actual: Sequence[Any], *, once: bool
) -> tuple[Pairs, Sequence[int], Sequence[int]]:
    """Pair equal elements in order; return the pairs and what is left on both sides."""
    places: dict[Any, deque[int]] = {}
    for at, value in enumerate(actual):
        places.setdefault(identity(value), deque()).append(at)
    pairs: Pairs = []
    left: list[int] = []
    used: set[int] = set()
    met: set[Any] = set()
    for at, child in enumerate(children):
        if once and child.identity in met:
            continue
        met.add(child.identity)
        waiting = places.get(child.identity)
        if waiting:
            pairs.append((at, waiting.popleft()))
            used.add(pairs[-1][1])
        else:
            left.append(at)
    return pairs, left, [at for at in range(len(actual)) if at not in used]


def _keyed(children: Sequence[Node], actual: Sequence[Any], key: Sequence[str]) -> Pairs:
    places: dict[Any, int] = {}
    for at, value in enumerate(actual):
        found = _at(value, key)
        if found is not MISSING:
            places.setdefault(identity(found), at)
    pairs = []
    for at, child in enumerate(children):
        found = _at(child.value, key)
        if found is MISSING:
            raise EvaluationError(
                f"{child.path} of the expected value has no key /{'/'.join(key)}, which pairs the list"
            )
        other = places.pop(identity(found), None)
        if other is not None:
            pairs.append((at, other))
    return pairs


def _at(value: Any, key: Sequence[str]) -> Any:
    for segment in key:
        name = segment.replace("~1", "/").replace("~0", "~")
        if type(value) is dict and name in value:
            value = value[name]
        elif type(value) in (list, tuple) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
    return value


def _assigned(left: Sequence[tuple[int, Node]], right: Sequence[tuple[int, Any]], points: Points) -> Pairs:
    """Return the assignment that keeps most points.

    Beyond 10,000 pairs of elements the points of a pair are the weight of their equal leaves, and
    only elements that have none in common with any are compared in full; beyond 4,000,000 they are
    paired in order.
    """
    if len(left) * len(right) > _MAX_ASSIGNED:
        return [(at, other) for (at, _), (other, _) in zip(left, right, strict=False)]
    if len(left) * len(right) <= _MAX_COMPARED:
        return _solved(left, right, [[points(child, value) for _, value in right] for _, child in left])
    shared = _shared(left, right)
    pairs = _solved(left, right, shared)
    row_of = {at: row for row, (at, _) in enumerate(left)}
    column_of = {at: column for column, (at, _) in enumerate(right)}
    sure = [(at, other) for at, other in pairs if shared[row_of[at]][column_of[other]] > 0]
    rest = [(at, other) for at, other in pairs if shared[row_of[at]][column_of[other]] == 0]
    if not rest or len(rest) ** 2 > _MAX_COMPARED:
        return pairs
    unsure_left = [left[row_of[at]] for at, _ in rest]
    unsure_right = [right[column_of[at]] for at in sorted(other for _, other in rest)]
    return sure + _assigned(unsure_left, unsure_right, points)


def _solved(left: Sequence[tuple[int, Any]], right: Sequence[tuple[int, Any]], kept: Any) -> Pairs:
    try:
        from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]  # SciPy has no types
    except ImportError as error:
        raise MissingDependencyError(
            "lists in any order need SciPy: pip install 'spanscore[structured]', or use the policy 'multiset'"
        ) from error
    rows, columns = linear_sum_assignment(kept, maximize=True)
    return [(left[row][0], right[column][0]) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]


def _shared(left: Sequence[tuple[int, Node]], right: Sequence[tuple[int, Any]]) -> Any:
    """Return the weight of equal leaves for each pair of elements, as an array."""
    import numpy

    places: dict[tuple[str, Any], list[int]] = {}
    for column, (_, value) in enumerate(right):
        for place in _flat(value):
            places.setdefault(place, []).append(column)
    columns = {leaf: numpy.array(found) for leaf, found in places.items()}
    shared = numpy.zeros((len(left), len(right)))
    for row, (_, child) in enumerate(left):
        for leaf in leaves_below(child):
            found = columns.get((leaf.path[len(child.path) :], leaf.identity))
            if found is not None:
                shared[row, found] += leaf.weight
    return shared


def _flat(value: Any) -> list[tuple[str, Any]]:
    found, stack = [], [("", value)]
    while stack:
        path, inner = stack.pop()
        pairs = inner.items() if type(inner) is dict else enumerate(inner) if type(inner) in (list, tuple) else ()
        below = [(f"{path}/{escaped(str(key))}", child) for key, child in pairs]
        if below:
            stack += below
        else:
            found.append((path, identity(inner)))
    return found
