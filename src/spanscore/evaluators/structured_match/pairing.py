"""Which expected element of a list is compared with which element of the output."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
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

_MAX_ALIGNED: Final = 100_000_000  # pairs of positions in which a common sequence is looked for
_MAX_COMPARED: Final = 10_000  # pairs of elements that are compared in full, for each gap or list
_LEAST_BAND: Final = 8  # positions to either side of the diagonal that a large gap is aligned within
_SORTABLE: Final = 1e300
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
    if left and right:
        one, two = [(at, children[at]) for at in left], [(at, actual[at]) for at in right]
        if policy == "unordered":
            pairs += _assigned(one, two, points)
        elif len(one) * len(two) <= _MAX_COMPARED:  # what rules ignore or take for equal
            found = _assigned(one, two, points)
            pairs += [(at, other) for at, other in found if points(children[at], actual[other]) >= children[at].total]
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
    """Return a longest common sequence of equal elements.

    Of very long lists, one through the elements that occur once on both sides.
    """
    numbers: dict[Any, int] = {}
    one = [numbers.setdefault(children[at].identity, len(numbers)) for at in left]
    two = [numbers.setdefault(identity(actual[at]), len(numbers)) for at in right]
    if len(one) * len(two) > _MAX_ALIGNED:
        return [(left[at], right[other]) for at, other in _unique_in_order(one, two)]
    pairs: Pairs = []
    for block in LCSseq.opcodes(one, two):
        if block.tag == "equal":
            pairs += zip(
                range(left.start + block.src_start, left.start + block.src_end),
                range(right.start + block.dest_start, right.start + block.dest_end),
                strict=True,
            )
    return pairs


def _unique_in_order(one: Sequence[int], two: Sequence[int]) -> Pairs:
    """Return the longest increasing sequence of pairs of equal elements that occur once on both sides."""
    counts, others = Counter(one), Counter(two)
    places = {number: at for at, number in enumerate(two) if others[number] == 1}
    found = [(at, places[number]) for at, number in enumerate(one) if counts[number] == 1 and number in places]
    ends: list[int] = []  # smallest last position of a sequence of each length
    chain: list[int] = []  # index in `found` of that sequence's last pair
    before: list[int] = []
    for index, (_, other) in enumerate(found):
        length = bisect_left(ends, other)
        before.append(chain[length - 1] if length else -1)
        ends[length : length + 1] = [other]
        chain[length : length + 1] = [index]
    pairs: Pairs = []
    index = chain[-1] if chain else -1
    while index >= 0:
        pairs.append(found[index])
        index = before[index]
    return pairs[::-1]


def _gap(children: Sequence[Node], actual: Sequence[Any], left: range, right: range, points: Points) -> Pairs:
    """Return the alignment of a gap that keeps most points; what it leaves is paired in order.

    Of a large gap only pairs near the diagonal are looked at, about 20,000 of them.
    """
    if not left or not right or len(left) == len(right) == 1:
        return list(zip(left, right, strict=False))
    band = max(_LEAST_BAND, _MAX_COMPARED // max(len(left), len(right)))
    slope = (len(right) - 1) / max(1, len(left) - 1)
    columns = [
        range(max(0, int(row * slope) - band), min(len(right), int(row * slope) + band + 1)) for row in range(len(left))
    ]
    kept = [
        {column: points(children[at], actual[right[column]]) for column in columns[row]} for row, at in enumerate(left)
    ]
    best: list[dict[int, float]] = [{} for _ in range(len(left) + 1)]
    for row in range(len(left) - 1, -1, -1):
        below, here, last = best[row + 1], best[row], 0.0
        for column in reversed(columns[row]):
            last = max(kept[row][column] + _at_or_after(below, column + 1), _at_or_after(below, column), last)
            here[column] = last
    return _aligned(left, right, kept, best)


def _at_or_after(row: dict[int, float], column: int) -> float:
    """Return the best from a column on; beyond the band nothing more is kept, before it what its first column has."""
    if column in row:
        return row[column]
    first = next(reversed(row), None) if row else None
    return row[first] if first is not None and column < first else 0.0


def _aligned(left: range, right: range, kept: list[dict[int, float]], best: list[dict[int, float]]) -> Pairs:
    pairs: Pairs = []
    row = column = last_row = last_column = 0
    while row < len(left) and column < len(right):
        own = kept[row].get(column, 0.0)
        here = _at_or_after(best[row], column)
        if own > 0 and here == own + _at_or_after(best[row + 1], column + 1):
            pairs += zip(left[last_row:row], right[last_column:column], strict=False)
            pairs.append((left[row], right[column]))
            row, column = row + 1, column + 1
            last_row, last_column = row, column
        elif here == _at_or_after(best[row + 1], column):
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
        found = _expected_at(child, key)
        if found is MISSING:
            raise EvaluationError(
                f"{child.path} of the expected value has no key /{'/'.join(key)}, which pairs the list"
            )
        other = places.pop(identity(found), None)
        if other is not None:
            pairs.append((at, other))
    return pairs


def _expected_at(node: Node, key: Sequence[str]) -> Any:
    for depth, segment in enumerate(key):
        name = segment.replace("~1", "/").replace("~0", "~")
        below = (
            dict(node.keys)
            if node.keys is not None
            else dict(zip(map(str, range(len(node.children or ()))), node.children or (), strict=True))
        )
        if name not in below:
            return _at(node.value, key[depth:])
        node = below[name]
    return node.value


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
    unsure_left = [left[row_of[at]] for at, _ in rest]
    unsure_right = [right[column_of[at]] for at in sorted(other for _, other in rest)]
    if len(rest) ** 2 <= _MAX_COMPARED:
        return sure + (_assigned(unsure_left, unsure_right, points) if rest else [])
    return sure + _sorted_alignment(unsure_left, unsure_right, points)


def _sorted_alignment(left: Sequence[tuple[int, Node]], right: Sequence[tuple[int, Any]], points: Points) -> Pairs:
    """Align elements that have no equal leaf after sorting both sides by their leaves: near values come together."""
    one = sorted(left, key=lambda item: _sort_key(item[1].value))
    two = sorted(right, key=lambda item: _sort_key(item[1]))
    pairs = _gap([node for _, node in one], [value for _, value in two], range(len(one)), range(len(two)), points)
    return [(one[at][0], two[other][0]) for at, other in pairs]


def _sort_key(value: Any) -> list[tuple[str, int, float, str]]:
    found = []
    for path, leaf in sorted(_leaves(value), key=lambda pair: pair[0]):
        number = isinstance(leaf, (int, float)) and not isinstance(leaf, bool) and abs(leaf) < _SORTABLE
        found.append((path, 0, float(leaf), "") if number else (path, 1, 0.0, str(leaf).casefold()[:200]))
    return found


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
    return [(path, identity(leaf)) for path, leaf in _leaves(value)]


def _leaves(value: Any) -> list[tuple[str, Any]]:
    found, stack = [], [("", value)]
    while stack:
        path, inner = stack.pop()
        pairs = inner.items() if type(inner) is dict else enumerate(inner) if type(inner) in (list, tuple) else ()
        below = [(f"{path}/{escaped(str(key))}", child) for key, child in pairs]
        if below:
            stack += below
        else:
            found.append((path, inner))
    return found
