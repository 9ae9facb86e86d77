"""Values as LangGraph's own serializer writes them, against what recording them here would have given."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import ipaddress
import math
import pathlib
import re
import uuid
import zoneinfo
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send

from agent_tt.codec.encode import encode
from agent_tt.interop.langgraph.checkpoint import Checkpoint
from agent_tt.interop.langgraph.decode import read_value
from agent_tt.interop.langgraph.envelopes import to_wire

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Order:
    id: int
    lines: list[str]


class Model(pydantic.BaseModel):
    name: str
    inner: list[int]


def through_langgraph(value: object) -> Wire:
    encoding, blob = JsonPlusSerializer().dumps_typed(value)
    return to_wire(read_value(encoding, blob))


SAME = [
    None,
    b"\x00\xff",
    {"nested": [1, 1.0, True, None, "é"], "": {}},
    {1: "int key", 2: {3: []}},
    2**64 - 1,
    -(2**63),
    math.inf,
    -0.0,
    {1, 2, 3},
    frozenset({"a"}),
    collections.deque([1, 2]),
    uuid.UUID(int=5),
    decimal.Decimal("-1.50"),
    dt.datetime(2025, 3, 30, 1, 2, 3, 4),  # noqa: DTZ001  # one without a zone is meant
    dt.datetime(2025, 3, 30, tzinfo=dt.UTC),
    dt.datetime(2025, 3, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=45))),
    dt.date(2024, 2, 29),
    dt.time(23, 59, 58, 7, fold=1),
    dt.time(1, 2, tzinfo=dt.UTC),
    dt.time(1, 2, tzinfo=dt.timezone(-dt.timedelta(hours=3, minutes=30))),
    dt.timedelta(days=-1, seconds=3, microseconds=4),
    pathlib.Path("/tmp/x y/é"),
    np.arange(6, dtype="<f8"),
    np.arange(6, dtype="<i4").reshape(2, 3),
    np.asfortranarray(np.arange(24).reshape(2, 3, 4)),
    np.array(["ab", "c"]),
    np.zeros((0, 3)),
    np.array(7),
    {"$type": "opaque", "$v": 1},
    {"lc": 1, "type": "constructor", "id": ["a", "B"], "kwargs": {}},
    {"lc": 1, "type": "constructor", "id": []},
]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_plain_and_standard_values_are_what_recording_would_have_made_of_them(value: object) -> None:
    assert through_langgraph({"value": value}) == {"value": encode(value)}
    assert through_langgraph(value) == encode(value)


def test_bytearrays_are_kept_only_as_whole_values() -> None:
    assert through_langgraph(bytearray(b"abc")) == encode(bytearray(b"abc"))
    assert through_langgraph([bytearray(b"abc")]) == [encode(b"abc")]


def test_nan_stays_nan() -> None:
    assert through_langgraph([math.nan]) == [{"$type": "float", "$v": "nan"}]


def made(class_name: str, *arguments: Wire, **keywords: Wire) -> dict[str, Wire]:
    return {"$type": "made", "class": class_name, "method": None, "$v": [list(arguments), keywords]}


HERE = __name__

MADE: list[tuple[Any, Wire]] = [
    (Colour.RED, made(f"{HERE}:Colour", "red")),
    (Point(1, 2), made(f"{HERE}:Point", x=1, y=2)),
    (Order(1, ["a"]), made(f"{HERE}:Order", id=1, lines=["a"])),
    (re.compile("a+", re.IGNORECASE), made("re:compile", "a+", 34)),
    (ipaddress.ip_address("::1"), made("ipaddress:IPv6Address", "::1")),
    (zoneinfo.ZoneInfo("Europe/Berlin"), made("zoneinfo:ZoneInfo", "Europe/Berlin")),
    (Send("worker", {"i": 1}), made("langgraph.types:Send", "worker", {"i": 1})),
]


@pytest.mark.parametrize(("value", "wire"), MADE, ids=lambda value: type(value).__name__)
def test_other_constructors_are_shown_with_their_class_and_arguments(value: object, wire: Wire) -> None:
    assert through_langgraph([value]) == [wire]


def test_constructors_are_understood_where_json_holds_them() -> None:
    stored = b'[{"lc": 1, "type": "constructor", "id": ["a", "b", "C"], "kwargs": {"x": {"lc": 0}}}]'
    assert to_wire(read_value("json", stored)) == [made("a.b:C", x={"lc": 0})]


def test_sends_are_packets_as_python_and_as_javascript_keep_them() -> None:
    sends: list[object] = [{"node": "worker", "args": {"i": i}} for i in range(2)]
    for stored in (sends, [[], sends]):
        checkpoint = Checkpoint({"__pregel_tasks": stored}, {}, {})
        assert checkpoint.packets() == checkpoint.next_nodes(()) == ["worker", "worker"]


def test_pydantic_models_keep_their_fields_by_name() -> None:
    wire = through_langgraph(Model(name="x", inner=[1]))
    assert isinstance(wire, dict)
    assert (wire["$type"], wire["class"], wire["$v"]) == ("pydantic", f"{HERE}:Model", {"name": "x", "inner": [1]})


def test_a_set_of_typed_values_has_one_order() -> None:
    forms = {
        str(through_langgraph({"s": set(order)}))
        for order in ([Colour.RED, dt.date(2020, 1, 1)], [dt.date(2020, 1, 1), Colour.RED])
    }
    assert len(forms) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=100)
def test_json_like_values_survive_exactly(value: object) -> None:
    assert repr(through_langgraph([value])) == repr([encode(value)])


def old(values: dict[str, object], versions: dict[str, object], seen: dict[str, object]) -> Checkpoint:
    """A checkpoint as LangGraph wrote it before format 4: a channel named after a node says that it has run."""
    return Checkpoint(values, versions, seen, format=1)


def test_of_old_checkpoints_next_is_known_by_what_the_thread_shows_or_said_to_be_unknown() -> None:
    start = old({"x": 1, "start:plan": "__start__"}, {"start:plan": 2}, {"__start__": {"__start__": 1}})
    planned = old({"x": 2, "plan": "plan"}, {"start:plan": 3, "plan": 3}, {"plan": {"start:plan": 2}})
    acted = old({"x": 3, "act": "act"}, {"plan": 4, "act": 4}, {"plan": {"start:plan": 2}, "act": {"plan": 3}})
    asked = old({"x": 3, "act": "act", "branch:act:choose:plan": "act"}, {"act": 5, "branch:act:choose:plan": 5}, {})
    assert start.next_nodes(()) == ["plan"]
    assert planned.next_nodes(()) is None
    shown = acted.edges_shown(planned)
    assert shown == {"plan": frozenset({"act"})}
    assert planned.next_nodes((), lambda: shown) == ["act"]
    assert acted.next_nodes((), lambda: shown) is None
    again = old({"x": 4, "plan": "plan"}, {"plan": 6}, {"plan": {"branch:act:choose:plan": 5}, "act": {"plan": 3}})
    shown = {**shown, **again.edges_shown(asked)}
    assert shown["act"] == frozenset()
    assert (asked.next_nodes((), lambda: shown), acted.next_nodes((), lambda: shown)) == (["plan"], [])
    sent = Checkpoint({}, {}, {}, format=1, sends=[{"node": "worker", "args": 1}])
    assert sent.next_nodes(()) == ["worker"]
