from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid

import numpy
import orjson
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore.content import MAX_EXPORT_BYTES, export_text
from spanscore.json_text import plain, serialise


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


class Model(pydantic.BaseModel):
    name: str
    when: datetime.date


class BrokenRepr:
    def __repr__(self):
        raise RuntimeError("no")


class BrokenClass:
    @property
    def __class__(self):
        raise RuntimeError("no")


class BrokenMapping(dict):
    def items(self):
        raise RuntimeError("no")


def _cycle():
    value: dict = {"a": [1]}
    value["a"].append(value)
    return value


def _deep(levels):
    value: dict = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": (1, 2)}, '{"a":[1,2]}'),
        (Point(1, Colour.RED), '{"x":1,"y":"red"}'),
        (Model(name="n", when=datetime.date(2026, 1, 2)), '{"name":"n","when":"2026-01-02"}'),
        ([Model(name="n", when=datetime.date(2026, 1, 2))], '[{"name":"n","when":"2026-01-02"}]'),
        ({"d": decimal.Decimal("1.50"), "i": decimal.Decimal(3)}, '{"d":1.5,"i":3}'),
        ({"s": {"b", "a"}}, '{"s":["a","b"]}'),
        (b"\xff", '"/w=="'),
        (numpy.float64(1.5), "1.5"),
        (numpy.array([[1, 2]]), "[[1,2]]"),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (float("nan"), "null"),
        ({1: 2, None: 3}, '{"1":2,"null":3}'),
        (BrokenRepr(), f'"<{__name__}.BrokenRepr>"'),
        ({"x": BrokenRepr(), "n": 2**80}, f'{{"x":"<{__name__}.BrokenRepr>","n":{2**80}}}'),
        (_cycle(), '{"a":[1,"<cycle>"]}'),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_whatever_an_agent_returns_becomes_json(value, text):
    assert serialise(value).decode() == text


@pytest.mark.parametrize(
    "value", [_deep(10_000), BrokenMapping(a=1), object(), lambda: 1, type, iter([1]), range(10**12)]
)
def test_hostile_values_become_valid_json(value):
    json.loads(serialise(value))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_values_come_back_unchanged(value):
    assert json.loads(serialise(value)) == value
    assert plain(value) == value


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [{"n": n, "text": "x" * 50} for n in range(5_000)]},
        ["y" * 1_000_000],
        {f"key {n}": n for n in range(10_000)},
        _deep(200) | {"pad": "x" * 40_000},
        [[[["z" * 100] * 50] * 50] * 50] * 3,
    ],
)
def test_a_large_value_is_cut_to_valid_json_within_the_cap(value):
    text, mime, cut = export_text(value, serialise(value))
    assert cut
    assert mime == "application/json"
    assert len(text.encode()) <= MAX_EXPORT_BYTES
    orjson.loads(text)


def test_text_is_exported_as_it_stands_and_cut_within_the_cap():
    assert export_text("it's", b'"it\'s"') == ("it's", "text/plain", False)
    long = "é" * 100_000
    text, mime, cut = export_text(long, serialise(long))
    assert (mime, cut) == ("text/plain", True)
    assert long.startswith(text)
    assert len(text.encode()) <= MAX_EXPORT_BYTES


def test_a_lone_surrogate_is_exported_as_something_that_can_be_encoded():
    export_text("a\ud800b", serialise("a\ud800b"))[0].encode()


def test_an_object_that_cannot_even_tell_its_class_becomes_valid_json():
    assert json.loads(serialise([BrokenClass()]))
