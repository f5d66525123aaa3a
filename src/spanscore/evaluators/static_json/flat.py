"""Answers as flat maps from key path to normalised text."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from spanscore.errors import EvaluationError
from spanscore.evaluators.static_json.read import NUMBER, read_answer, read_structure
from spanscore.json_text import plain
from spanscore.step import MISSING

__all__ = ["NonFinite", "escaped", "flatten", "flatten_compat", "normal", "tokens"]

_MAX_DEPTH: Final = 200
_PLAIN: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple})
_SPECIAL: Final = re.compile(r"[.\[\]\\]")
_ESCAPED: Final = re.compile(r"\\(.)")
_TOKEN: Final = re.compile(r"\[(\d+)\]|\.((?:\\.|[^.\[\\])*)")


class NonFinite(str):
    """The text of NaN or an infinity, which equals nothing."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def flatten(answer: Any, *, top: bool = True) -> dict[str, str]:
    r"""Return key path -> normalised text, every key of an object escaped, empty containers kept.

    Text is read by `read_answer`; inside a structure only text that is an object or a list as a
    whole is read, and text that is a JSON number counts as the number.

    Raises:
        EvaluationError: nested deeper than 200 levels.

    >>> flatten({"a.b": 1, "a": {"b": ["x", {}]}})
    {'answer.a\\.b': '1', 'answer.a.b[0]': 'x', 'answer.a.b[1]': '{}'}
    """
    flat: dict[str, str] = {}
    parsed = read_answer(answer) if top else answer
    try:
        _flatten(parsed, "answer", flat, _MAX_DEPTH)
    except RecursionError:
        raise _too_deep() from None
    return flat


def _flatten(value: Any, path: str, flat: dict[str, str], depth: int) -> None:
    if depth == 0:
        raise _too_deep()
    kind = type(value)
    if kind is str:
        value = _reread(value)
        kind = type(value)
    elif kind not in _PLAIN:
        value = plain(value)
        kind = type(value)
    if kind is dict and value:
        for key, child in value.items():
            _flatten(child, f"{path}.{escaped(_key(key))}", flat, depth - 1)
    elif (kind is list or kind is tuple) and value:
        for index, child in enumerate(value):
            _flatten(child, f"{path}[{index}]", flat, depth - 1)
    else:
        flat[path] = normal(value)


def _too_deep() -> EvaluationError:
    return EvaluationError(f"the value is nested deeper than {_MAX_DEPTH} levels, or holds itself")


def _key(key: Any) -> str:
    return key if type(key) is str else next(iter(plain({key: None})))


def escaped(key: str) -> str:
    """Return the key with a backslash before every dot, bracket and backslash."""
    return _SPECIAL.sub(r"\\\g<0>", key) if _SPECIAL.search(key) else key


def _reread(text: str) -> Any:
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] in ("{}", "[]"):
        found = read_structure(stripped)
        return text if found is MISSING else found
    return text


def normal(value: Any) -> str:
    """Return the text by which a leaf is compared.

    Numbers to six decimals, one that is smaller than that in full; true, false and none; text
    trimmed and lower-cased, and as the number, boolean or none that it spells.

    >>> normal(30.0), normal(" 3e1 "), normal(None), normal("NULL"), normal("COMP-01"), normal(1e-9)
    ('30', '30', 'none', 'none', 'comp-01', '1e-09')
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text == "null":
            return "none"
        if not NUMBER.fullmatch(text):
            return text
        value = float(text) if "." in text or "e" in text else text
        if isinstance(value, str) or not isfinite(value):
            return "0" if text == "-0" else text
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    if isinstance(value, int):
        return _digits(value)
    if isinstance(value, float):
        return _decimals(value) if isfinite(value) else NonFinite(value)
    return "{}" if isinstance(value, dict) else "[]"


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return hex(value)


def _decimals(value: float) -> str:
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    if text not in ("0", "-0"):
        return text
    return repr(value) if value else "0"


def tokens(key: str) -> list[str]:
    r"""Return the keys and indexes that a key path of `flatten` goes through, after ``answer``.

    >>> tokens("answer.a\\.b.c[0]")
    ['a.b', 'c', '0']
    """
    return [index or _ESCAPED.sub(r"\1", name) for index, name in _TOKEN.findall(key.removeprefix("answer"))]


def flatten_compat(value: Any, read: Callable[[Any], Any], read_part: Callable[[Any], Any]) -> dict[str, str]:
    """Return the flat map as the reference implementation makes it: keys collide, empty ones vanish.

    Args:
        value: the answer.
        read: reads the answer as a whole.
        read_part: reads what lies inside it, and every leaf once more.
    """
    flat: dict[str, str] = {}
    _flatten_compat(read(value), "answer", flat, read_part)
    return flat


def _flatten_compat(parsed: Any, path: str, flat: dict[str, str], read: Callable[[Any], Any]) -> None:
    if isinstance(parsed, dict):
        for key, child in parsed.items():
            _flatten_compat(read(child), f"{path}.{key}", flat, read)
    elif isinstance(parsed, (list, tuple)):
        for index, child in enumerate(parsed):
            _flatten_compat(read(child), f"{path}[{index}]", flat, read)
    else:
        flat[path] = _normal_compat(read(parsed))


def _normal_compat(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    if isinstance(value, (set, frozenset)) and value:
        return ("{" + ", ".join(sorted(map(repr, value))) + "}").lower()
    return str(value).strip().lower()
