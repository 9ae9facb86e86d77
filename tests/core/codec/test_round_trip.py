"""What goes in comes out: by type, bit, order and attribute, or it says that it cannot."""

from __future__ import annotations

import json
import struct

import attrs
import orjson
import pytest
from hypothesis import given, settings
from tests.core.strategies import TYPES, identical, plain, values

from agent_tt.codec.decode import Typed, check_envelopes, decode
from agent_tt.codec.encode import encode, encode_with_plainness
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import envelope_type
from agent_tt.errors import NotRebuildable


@attrs.define
class Item:
    name: str
    _sizes: list[int] = attrs.field(factory=list)


@attrs.frozen(slots=False)
class Basket:
    items: tuple[Item, ...]


@attrs.frozen(cache_hash=True)
class Hashed:
    name: str


many = settings(max_examples=100, deadline=None)


@many
@given(values)
def test_a_value_comes_back_exactly_through_json_text(value: object) -> None:
    wire = encode(value)
    read = orjson.loads(orjson.dumps(wire))
    assert tlv(read) == tlv(wire)
    assert identical(decode(read, TYPES), value)


@many
@given(values)
def test_what_is_encoded_is_strict_json_and_well_formed(value: object) -> None:
    wire = encode(value)
    json.dumps(wire, allow_nan=False)
    check_envelopes(wire)


@many
@given(plain)
def test_a_value_is_plain_exactly_when_it_is_its_own_wire_value(value: object) -> None:
    wire, is_plain = encode_with_plainness(value)
    try:
        unchanged = tlv(value) == tlv(wire)
    except ValueError:
        unchanged = False
    assert is_plain == unchanged


@many
@given(values)
def test_without_classes_lenient_decoding_always_gives_something(value: object) -> None:
    wire = encode(value)
    decoded = decode(wire, lenient=True)
    if isinstance(decoded, Typed):
        assert decoded == wire


def test_a_nan_keeps_its_bits_and_other_floats_are_not_written_so():
    (odd,) = struct.unpack(">d", bytes.fromhex("fff8000000000001"))
    wire = encode(odd)
    assert wire == {"$type": "float", "$v": "nan:fff8000000000001"}
    assert struct.pack(">d", decode(wire)).hex() == "fff8000000000001"
    with pytest.raises(NotRebuildable, match="its payload is not a float"):
        decode({"$type": "float", "$v": "nan:3ff0000000000000"})  # the bits of 1.0


def test_objects_of_attrs_come_back_with_their_fields_and_no_code_of_theirs_runs():
    basket = Basket((Item("tea", [1, 2]), Item("cake")))
    classes = {f"{__name__}:{kind.__name__}": kind for kind in (Item, Basket)}
    read = decode(orjson.loads(orjson.dumps(encode(basket))), classes)
    assert type(read) is Basket
    assert read == basket


def test_an_object_of_attrs_that_keeps_its_hash_is_shown_only_as_it_would_keep_it_in_another_process():
    assert envelope_type(encode(Hashed("tea"))) == "opaque"
