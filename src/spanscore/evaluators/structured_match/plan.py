"""Node: an expected JSON value with the rules that hold at each of its places, laid out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from operator import itemgetter
from typing import Any, Final

from spanscore.errors import ConfigurationError, EvaluationError
from spanscore.evaluators.comparators.auto import Auto
from spanscore.evaluators.comparators.dates import Date, DateTime
from spanscore.evaluators.comparators.numeric import Number, Percent
from spanscore.evaluators.comparators.table import Comparator, Ignore
from spanscore.evaluators.comparators.texts import Regex, Text
from spanscore.evaluators.structured_match.identity import identity
from spanscore.evaluators.structured_match.rules import Position, Rules, Setting, escaped

__all__ = ["MAX_DEPTH", "Node", "extras_below", "laid_out", "leaves_below"]

MAX_DEPTH: Final = 200
_READS_LEAVES: Final = (Auto, Number, Percent, Date, DateTime, Text, Regex)
_MATCHER: Final = "$match"


class Node:
    """One place of an expected value.

    Attributes:
        path: JSON Pointer.
        value: expected JSON value at the place.
        kind: type of the value; ``Leaf`` is told by ``keys`` and ``children`` being None.
        keys: for an object: key and node, in order.
        together: for an object: the nodes of the leaves that ``==`` decides; ``fetch`` gets what an
            output has at their keys as one tuple, ``values`` is what is expected of it.
        apart: for an object: key and node of what is looked at one by one.
        exact: ``==`` tells whether an output is equal, all the way down.
        children: for a list: the nodes of its elements.
        comparator: compares a leaf; None: `leaf_match`.
        weight: product of the weights on the path.
        total: weight of all leaves below.
        nulls: weight of the leaves below that are null.
        setting: what the rules say of the place.
        position: where the rules stand, for what an output has beside the expected keys.
    """

    __slots__ = (
        "_identity",
        "apart",
        "children",
        "comparator",
        "exact",
        "fetch",
        "keys",
        "kind",
        "names",
        "nulls",
        "path",
        "position",
        "setting",
        "together",
        "total",
        "value",
        "values",
        "weight",
    )

    def __init__(self, value: Any, path: str, weight: float, position: Position, setting: Setting) -> None:
        self.path = path
        self.value = value
        self.kind = type(value)
        self.keys: tuple[tuple[str, Node], ...] | None = None
        self.names: dict[str, Any] = {}
        self.together: tuple[Node, ...] = ()
        self.fetch: Callable[[Any], tuple[Any, ...]] | None = None
        self.values: tuple[Any, ...] = ()
        self.apart: tuple[tuple[str, Node], ...] = ()
        self.exact = False
        self.children: tuple[Node, ...] | None = None
        self.comparator: Comparator | None = None
        self.weight = weight
        self.total = 0.0
        self.nulls = 0.0
        self.setting = setting
        self.position = position
        self._identity: Any = None

    @property
    def identity(self) -> Any:
        """What equals the identity of an equal value; made when first asked for."""
        if self._identity is None:
            self._identity = identity(self.value)
        return self._identity


def laid_out(expected: Any, rules: Rules) -> Node:
    """Return the node of the whole expected value.

    Raises:
        ConfigurationError: a matcher inside the value is wrong.
        EvaluationError: the value is nested too deep, or every field of it is ignored.
    """
    root = _Layout(rules).node(expected, "", 1.0, rules.start(), depth=0)
    if root.total == 0.0:
        raise EvaluationError("every field of the expected value is ignored, so nothing is left to compare")
    return root


class _Layout:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def node(
        self,
        value: Any,
        path: str,
        weight: float,
        position: Position,
        *,
        depth: int,
        ignore: Comparator | None = None,
    ) -> Node:
        if depth > MAX_DEPTH:
            raise EvaluationError(f"the expected value is nested deeper than {MAX_DEPTH} levels")
        setting = self._rules.setting(position)
        if type(value) is dict and _MATCHER in value:
            value, setting = _matcher(value, path, setting)
        node = Node(value, path, weight * setting.weight, position, setting)
        comparator = setting.comparator or ignore
        is_container = type(value) in (dict, list) and bool(value)
        if isinstance(comparator, Ignore):
            if is_container and self._rules.more_to_come(position, self._ignored_by(setting)):
                self._fill(node, depth + 1, comparator)
            else:
                node.comparator = comparator
        elif is_container and not _reads_container(setting):
            self._fill(node, depth + 1, None)
        else:
            node.comparator = None if type(value) in (dict, list) and not value else setting.comparator
            node.total = node.weight
            node.nulls = node.weight if value is None else 0.0
            node.exact = node.comparator is None and _decided_by_equality(value)
            if isinstance(node.comparator, Regex):
                node.comparator.compare(value, "")  # a pattern that is none shows at set-up
        return node

    @staticmethod
    def _ignored_by(setting: Setting) -> str:
        pattern = setting.comparator_from
        return "" if pattern is None or pattern == _MATCHER else pattern

    def _fill(self, node: Node, depth: int, ignore: Comparator | None) -> None:
        if node.kind is dict:
            node.keys = tuple((key, self._child(node, key, value, depth, ignore)) for key, value in node.value.items())
            node.names = node.value
            below = [child for _, child in node.keys]
            _group(node)
        else:
            node.children = tuple(
                self._child(node, index, value, depth, ignore) for index, value in enumerate(node.value)
            )
            below = list(node.children)
            if node.setting.list == "set":  # an element counts once
                below = list({child.identity: child for child in reversed(below)}.values())
        node.total = sum(child.total for child in below)
        node.nulls = sum(child.nulls for child in below)
        node.exact = all(child.exact for child in below)

    def _child(self, node: Node, key: str | int, value: Any, depth: int, ignore: Comparator | None) -> Node:
        segment = str(key)
        path = f"{node.path}/{escaped(segment)}"
        return self.node(value, path, node.weight, self._rules.step(node.position, segment), depth=depth, ignore=ignore)


def _group(node: Node) -> None:
    """Put the leaves that equality decides together, so that an output that has them all is compared at once."""
    keys = node.keys or ()
    together = [(key, child) for key, child in keys if child.exact and child.keys is None and child.children is None]
    if len(together) < 2:  # itemgetter of one key gives no tuple
        together = []
    if together:
        node.fetch = itemgetter(*(key for key, _ in together))
    node.together = tuple(child for _, child in together)
    node.values = tuple(child.value for child in node.together)
    grouped = {key for key, _ in together}
    node.apart = tuple((key, child) for key, child in keys if key not in grouped)


def _decided_by_equality(value: Any) -> bool:
    """Return True unless a value of another kind is equal to it in Python: booleans beside 0 and 1."""
    if type(value) is float:
        return isfinite(value) and value not in (0, 1)
    return type(value) not in (dict, list, bool) and value not in (0, 1)


def _reads_container(setting: Setting) -> bool:
    """Return True if an object or list is compared as a whole; a rule that ends in ``**`` is for leaves."""
    if setting.comparator is None or (setting.comparator_from or "").endswith("/**"):
        return False
    return not isinstance(setting.comparator, _READS_LEAVES)


def _matcher(value: dict[str, Any], path: str, setting: Setting) -> tuple[Any, Setting]:
    """Return the expected value in a matcher such as ``{"$match": "money", "value": "$12"}``, and its rule."""
    unknown = sorted(set(value) - {_MATCHER, "value"})
    if unknown or "value" not in value:
        raise ConfigurationError(
            f"the matcher at {path or '(whole)'} has the keys {sorted(value)}; write "
            '{"$match": "number" or {"type": "number", "abs": 0.01, "weight": 2}, "value": <expected>}'
        )
    own = Rules({path: value[_MATCHER]}, setting.list)
    said = own.setting(_position_of(own, path))
    return value["value"], Setting(
        comparator=said.comparator or setting.comparator,
        comparator_from=_MATCHER if said.comparator else setting.comparator_from,
        weight=setting.weight if said.weight_from is None else said.weight,
        weight_from=setting.weight_from if said.weight_from is None else _MATCHER,
        list=setting.list if said.list_from is None else said.list,
        list_from=setting.list_from if said.list_from is None else _MATCHER,
        key=setting.key if said.list_from is None else said.key,
    )


def _position_of(rules: Rules, path: str) -> Position:
    position = rules.start()
    for segment in path.split("/")[1:]:
        position = rules.step(position, segment.replace("~1", "/").replace("~0", "~"))
    return position


def leaves_below(node: Node) -> Iterator[Node]:
    """Yield the leaves at and below a node that have weight."""
    stack = [node]
    while stack:
        found = stack.pop()
        if found.keys is not None:
            stack += [child for _, child in reversed(found.keys)]
        elif found.children is not None:
            unique = found.children
            if found.setting.list == "set":
                unique = tuple({child.identity: child for child in reversed(unique)}.values())
            stack += reversed(unique)
        elif found.total:
            yield found


def extras_below(
    value: Any, path: str, weight: float, rules: Rules, position: Position
) -> Iterator[tuple[str, Any, float]]:
    """Yield path, value and weight of every leaf of something that the expected value has not."""
    stack = [(value, path, weight, position)]
    while stack:
        found, at, factor, where = stack.pop()
        setting = rules.setting(where)
        if isinstance(setting.comparator, Ignore):
            continue
        factor *= setting.weight
        pairs = found.items() if type(found) is dict else enumerate(found) if type(found) in (list, tuple) else ()
        inner = [(child, f"{at}/{escaped(str(key))}", factor, rules.step(where, str(key))) for key, child in pairs]
        if inner:
            stack += reversed(inner)
        else:
            yield at, found, factor
