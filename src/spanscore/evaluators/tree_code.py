"""Python code made for one expected value: an ExpectedTree that is used often is compared twice as fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from spanscore.evaluators.leaves import text_similarity
from spanscore.step import MISSING

__all__ = ["Container", "Miss", "compiled", "get"]

Miss = tuple[int, Any, float]
"""Index of the leaf, what stands in the output (MISSING if nothing), similarity below 1."""

_LISTS: Final = frozenset({list, tuple})


class Container(NamedTuple):
    """One expected object or list that is not empty; a tuple, because it is unpacked for every output."""

    parent: int  # its place among the containers, -1 for the whole value
    key: Any  # where it stands in its parent
    kind: type
    fetch: Callable[[Any], tuple[Any, ...]] | None  # gets the leaves that equality decides
    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    indexes: tuple[int, ...]
    flags: tuple[int, ...]  # places among those of the booleans
    others: tuple[tuple[Any, Any, int], ...]  # key, expected value and index of the other leaves


def get(actual: Any, key: Any) -> Any:
    """Return what stands at a key or position of a dict, list or tuple; else MISSING."""
    kind = type(actual)
    if kind is dict:
        return actual.get(key, MISSING)
    return actual[key] if kind in _LISTS and key < len(actual) else MISSING


def compiled(
    containers: Sequence[Container],
    compare_leaf: Callable[[int, Any, Any, list[Miss]], None],
    as_found: Callable[[Any], Any],
) -> Callable[[Any], list[Miss]]:
    """Return a function from output to misses that does what the loop over ``containers`` does.

    No text of the expected value becomes code: keys and values are constants of the function.

    Args:
        containers: parents before their children.
        compare_leaf: compares one leaf in general.
        as_found: what to report in place of a container of the wrong kind.
    """

    def lost(container: Container, actual: Any, misses: list[Miss]) -> None:
        found = as_found(actual)
        misses += [(index, found, 0.0) for index in container.indexes]
        misses += [(index, found, 0.0) for _, _, index in container.others]

    names: dict[str, Any] = {
        "MISSING": MISSING,
        "get": get,
        "leaf": compare_leaf,
        "lost": lost,
        "similarity": text_similarity,
    }
    lines = ["def compare(c0):", " misses = []"]
    for number, container in enumerate(containers):
        lines += _container_code(number, container, names)
    lines.append(" return misses")
    exec("\n".join(lines), names)  # noqa: S102  # made of numbers only
    compare: Callable[[Any], list[Miss]] = names["compare"]
    return compare


def _container_code(number: int, container: Container, names: dict[str, Any]) -> list[str]:
    names[f"K{number}"] = container.key
    names[f"C{number}"] = container
    name, is_object = f"c{number}", container.kind is dict
    lines = [] if container.parent < 0 else [f" {name} = get(c{container.parent}, K{number})"]
    wrong = f"type({name}) is not dict" if is_object else f"type({name}) is not list and type({name}) is not tuple"
    lines += [f" if {wrong}:", f"  lost(C{number}, {name}, misses)", f"  {name} = MISSING", " else:"]
    if container.keys:
        together = [*zip(container.keys, container.values, container.indexes, strict=True)]
        lines += _together_code(number, together, names)
    for key, expected, index in container.others:
        names[f"K_{index}"], names[f"E{index}"] = key, expected
        lines += [f"  v = get({name}, K_{index})", f"  if v is not E{index} or type(v) is float:"]
        lines += [f"   leaf({index}, E{index}, v, misses)"]
    return [*lines, "  pass"]


def _together_code(number: int, together: Sequence[tuple[Any, Any, int]], names: dict[str, Any]) -> list[str]:
    """Return code that fetches leaves in one go and looks at each only if not all are equal."""
    keys = tuple(key for key, _, _ in together)
    names[f"F{number}"], names[f"N{number}"] = itemgetter(*keys), keys
    names[f"V{number}"] = tuple(expected for _, expected, _ in together)
    flags = [f"t[{at}] is not {value}" for at, (_, value, _) in enumerate(together) if type(value) is bool]
    lines = ["  try:", f"   t = F{number}(c{number})", "  except (KeyError, IndexError):"]
    lines += [f"   t = tuple([get(c{number}, key) for key in N{number}])"]
    lines += [f"  if {' or '.join([f't != V{number}', *flags])}:"]
    for at, (_, expected, index) in enumerate(together):
        names[f"E{index}"] = expected
        lines.append(f"   v = t[{at}]")
        lines.append(f"   if v {'is not' if type(expected) is bool else '!='} E{index}:")
        if type(expected) is str:
            lines.append(f"    if type(v) is str: misses.append(({index}, v, similarity(E{index}, v)))")
            lines.append(f"    else: leaf({index}, E{index}, v, misses)")
        else:
            lines.append(f"    leaf({index}, E{index}, v, misses)")
    return lines
