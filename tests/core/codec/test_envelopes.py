"""The envelopes themselves, what is opaque and why, and what a decoder does with files that are not to be trusted."""

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.strategies import TYPES, Color, Odd, Plan, Right, plain

from agent_tt.codec.builtin_values import BUILTIN
from agent_tt.codec.class_values import CLASSES as CLASS_RULES
from agent_tt.codec.decode import Typed, decode
from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.errors import NotRebuildable


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (float("nan"), {"$type": "float", "$v": "nan"}),
        (float("-inf"), {"$type": "float", "$v": "-inf"}),
        (2**64, {"$type": "int", "$v": "0x10000000000000000"}),
        ("\ud800", {"$type": "str", "$v": "7aCA"}),
        ({1: 2}, {"$type": "dict", "$v": [[1, 2]]}),
        ({"$type": 1}, {"$type": "dict", "$v": [["$type", 1]]}),
        ({"$v": 1}, {"$type": "dict", "$v": [["$v", 1]]}),
        (b"ab", {"$type": "bytes", "$v": "YWI="}),
        ({3, 1, 2}, {"$type": "set", "$v": [1, 2, 3]}),
        (collections.deque([1]), {"$type": "deque", "maxlen": None, "$v": [1]}),
        (dt.timedelta(1, 2, 3), {"$type": "timedelta", "$v": [1, 2, 3]}),
        (Color.RED, {"$type": "enum", "class": "tests.core.strategies:Color", "name": "RED", "$v": 1}),
        (Odd(), {"$type": "opaque", "class": "tests.core.strategies:Odd", "repr": "<odd>", "why": "type", "$v": None}),
    ],
)
def test_envelopes_are_written_in_one_form(value: object, wire: Any) -> None:
    assert tlv(encode(value)) == tlv(wire)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (1, "1"),
        (0.0, -0.0),
        ((1,), [1]),
        (b"x", bytearray(b"x")),
        (float("nan"), None),
        (2**70, float(2**70)),
        ({"a": 1}, collections.OrderedDict(a=1)),
    ],
)
def test_values_of_different_types_differ_on_the_wire(one: object, other: object) -> None:
    assert tlv(encode(one)) != tlv(encode(other))


def test_a_cycle_is_cut_where_it_closes() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    wire: Any = encode(loop)
    assert wire[0] == 1
    assert (wire[1]["$type"], wire[1]["why"]) == ("opaque", "cycle")


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {1: inner}])
def test_what_lies_too_deep_is_opaque_and_the_rest_can_be_written(wrap: Any) -> None:
    import orjson

    value: Any = "bottom"
    for _ in range(500):
        value = wrap(value)
    assert b'"why":"depth"' in orjson.dumps(encode(value))


class Hostile:
    """Raises from wherever it is touched."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("repr")


class LyingRepr:
    def __repr__(self) -> str:
        return "\ud800" * 1000


class BrokenDict(dict):  # type: ignore[type-arg]
    __dict__ = property(lambda self: 1 / 0)  # type: ignore[assignment]


class SneakyName(type):
    @property
    def __module__(cls) -> str:
        raise RuntimeError("module")


MAKERS: dict[str, Any] = {
    "raises everywhere": Hostile,
    "repr is not text that can be written": LyingRepr,
    "attributes raise": lambda: BrokenDict(a=1),
    "class has no name": lambda: SneakyName("X", (), {})(),
    "class": lambda: object,
    "function": lambda: len,
    "module": lambda: sys,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_encoding_never_raises(kind: str) -> None:
    wire: Any = encode({"state": [MAKERS[kind]()]})
    assert wire["state"][0]["$type"] == "opaque"
    assert len(wire["state"][0]["repr"]) <= 400


@pytest.mark.parametrize("zone", [dt.timezone(dt.timedelta(hours=1), "CET"), dt.timezone(dt.timedelta(microseconds=1))])
def test_a_zone_that_iso_text_cannot_say_is_opaque(zone: dt.tzinfo) -> None:
    wire: Any = encode(dt.datetime(2026, 1, 1, tzinfo=zone))
    assert (wire["$type"], wire["why"]) == ("opaque", "tzinfo")


def test_what_cannot_be_rebuilt_is_refused_with_its_path() -> None:
    state = {"plan": [Plan("go", [Odd()])]}
    with pytest.raises(NotRebuildable, match=r"plan\[0\]\.steps\[0\] cannot be rebuilt") as refused:
        decode(encode(state), TYPES)
    assert refused.value.path == "plan[0].steps[0]"
    assert refused.value.class_name == "tests.core.strategies:Odd"


def test_a_class_is_used_only_if_it_is_offered() -> None:
    wire = encode([Plan("go", [])])
    with pytest.raises(NotRebuildable, match="is not offered"):
        decode(wire)
    (shown,) = decode(wire, lenient=True)  # type: ignore[misc]
    assert isinstance(shown, Typed)
    assert shown["class"] == "tests.core.strategies:Plan"


def test_rebuilding_does_not_run_the_class() -> None:
    class Loud:
        def __init__(self) -> None:
            raise AssertionError("called")

        def __setattr__(self, name: str, value: object) -> None:
            raise AssertionError("called")

    wire: Any = {"$type": "dataclass", "class": "m:Loud", "$v": {"x": 1}}
    assert vars(decode(wire, {"m:Loud": Loud})) == {"x": 1}


def test_a_combination_of_flags_comes_back() -> None:
    both = Right.READ | Right.WRITE
    assert decode(encode(both), TYPES) is both


def test_a_default_factory_that_is_not_offered_is_refused() -> None:
    wire = encode(collections.defaultdict(Odd))
    with pytest.raises(NotRebuildable, match="factory"):
        decode(wire, TYPES)


@pytest.mark.parametrize(
    "wire",
    [
        {"$type": "int", "$v": "0x" + "f" * 5_000_000},
        {"$type": "int", "$v": "9" * 100_000},
        {"$type": "range", "$v": [0, 10**18, 0]},
        {"$type": "range", "$v": [0, 1]},
        {"$type": "ndarray", "dtype": "<f8", "shape": [10**9, 10**9], "$v": ""},
        {"$type": "ndarray", "dtype": "|O", "shape": [1], "$v": "AAAAAAAAAAA="},
        {"$type": "ndarray", "dtype": "<f8", "shape": [-1, -1], "$v": "AAAAAAAAAAA="},
        {"$type": "datetime", "zone": "../../etc/passwd", "$v": "2026-01-02T03:04:00"},
        {"$type": "timedelta", "$v": [10**12, 0, 0]},
        {"$type": "Decimal", "$v": "one"},
        {"$type": "bytes", "$v": "!!"},
        {"$type": "set", "$v": [[]]},
        {"$type": "dict", "$v": [[1]]},
        {"$type": "dict", "$v": [[[], 1]]},
        {"$type": "deque", "maxlen": -1, "$v": []},
        {"$type": "path", "flavour": "os", "$v": "/"},
        {"$type": "opaque", "$v": None},
        {"$type": "made", "class": "os:system", "method": None, "$v": [["true"], {}]},
        {"$type": "unheard of", "$v": 1},
        {"$type": "tuple"},
        {"$type": 1, "$v": 1},
        {"$type": "enum", "class": "builtins:int", "name": "x", "$v": 1},
        {"$type": "exception", "class": "m:E", "$v": {"args": 1, "attrs": {}}},
    ],
)
def test_damaged_or_hostile_envelopes_are_refused_cleanly(wire: Any) -> None:
    with pytest.raises(NotRebuildable):
        decode(wire, {**TYPES, "builtins:int": int})
    assert isinstance(decode(wire, lenient=True), Typed)


def test_values_nested_beyond_reason_are_refused_cleanly() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotRebuildable, match="nested"):
        decode(deep)


KINDS = sorted({*BUILTIN, *CLASS_RULES, "opaque", "made", "other"})
HEADERS = ["class", "name", "base", "zone", "fold", "maxlen", "shape", "dtype", "set", "extra", "attrs", "factory"]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(KINDS), plain.map(encode), st.dictionaries(st.sampled_from(HEADERS), plain.map(encode), max_size=3)
)
def test_no_payload_makes_a_decoder_crash(kind: str, payload: Any, header: Any) -> None:
    wire = {"$type": kind, **header, "$v": payload}
    decode([wire], TYPES, lenient=True)
    with contextlib.suppress(NotRebuildable):
        decode([wire], TYPES)
