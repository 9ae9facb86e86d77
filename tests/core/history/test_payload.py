"""JSON payloads with their large parts elsewhere: there and back, and what is said of those that were not made so."""

from __future__ import annotations

import copy
import json
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.strategies import identical

from agent_tt.errors import Damaged
from agent_tt.history.changes.large_parts import LARGE_CONTAINER, LARGE_TEXT, place
from agent_tt.history.hashing import HASH_SIZE
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.history.payloads.frames import MOST_PLAIN
from agent_tt.history.payloads.payload import (
    blob_value,
    bounded,
    hash_of,
    join,
    pack,
    pack_call_value,
    pack_ops,
    place_part,
    unpack,
    unpack_call_value,
)

LARGE = "x" * LARGE_TEXT
DEEP: Any = []
for _ in range(300):
    DEEP = [DEEP]

plain_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
    | st.sampled_from([LARGE, LARGE[:-3], LARGE[:-2], "é" * LARGE_TEXT]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3) | st.sampled_from("vr"), inner),
    max_leaves=8,
)


class Blobs:
    """Blobs as a file has them."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}

    def put(self, plain: bytes) -> str:
        name = blake2b(plain, digest_size=HASH_SIZE).digest()
        self.held[name] = plain
        return name.hex()

    def get(self, name: bytes) -> bytes:
        if name not in self.held:
            raise Damaged("this blob is gone")
        return self.held[name]


@given(plain_json)
def test_a_value_comes_back_whatever_was_taken_out_of_it(value: Any) -> None:
    blobs, before = Blobs(), copy.deepcopy(value)
    text = pack_call_value(value, blobs.put)
    assert identical(value, before)
    unread: list[str] = []
    assert identical(unpack_call_value(text, "it", blobs.get, unread), value)
    assert unread == []
    assert (LARGE in text) is False
    for blob in blobs.held.values():
        assert len(blob) >= LARGE_TEXT


@given(st.lists(plain_json, min_size=1, max_size=4))
def test_operations_come_back_whatever_was_taken_out_of_them(values: list[Any]) -> None:
    blobs = Blobs()
    ops = [["s", [str(n)], value] for n, value in enumerate(values)]
    ops += [["a", [], 0, values], ["x", [], 0, 0, values], ["d", ["k"]], ["t", [], 1, LARGE], ["o", [], [LARGE]]]
    before = copy.deepcopy(ops)
    payload = unpack(pack_ops(ops, blobs.put), "it")
    assert identical(ops, before)
    if isinstance(payload, dict):
        assert payload.keys() == {"o", "r"}
        made = payload["o"]
        for at, kind, name in payload["r"]:
            assert kind == "b"
            made[at[0]][-1] = place_part(made[at[0]][-1], at[1:], blob_value(name, blobs.get)[0])
        payload = made
    assert identical(payload, ops)


def test_a_text_of_operations_that_holds_nothing_large_is_a_plain_array() -> None:
    assert pack_ops([["s", ["a"], {"v": 1, "r": 2}]], lambda _: "") == b'[["s",["a"],{"v":1,"r":2}]]'


@pytest.mark.parametrize("value", [{"v": 1, "r": []}, {"r": 1, "v": {"v": 0, "r": 0}}])
def test_a_value_that_looks_like_the_form_with_blobs_is_wrapped(value: Any) -> None:
    text = pack_call_value(value, Blobs().put)
    assert json.loads(text) == {"v": value, "r": []}
    assert unpack_call_value(text, "it", Blobs().get) == value


@pytest.mark.parametrize("value", [{"v": 1}, {"r": []}, {"v": 1, "r": [], "x": 0}])
def test_one_that_does_not_is_kept_as_it_is(value: Any) -> None:
    assert json.loads(pack_call_value(value, Blobs().put)) == value


@pytest.mark.parametrize(("small", "large"), [("y" * (LARGE_TEXT - 3), "y" * (LARGE_TEXT - 2))])
def test_a_text_goes_out_from_so_many_bytes_on(small: str, large: str) -> None:
    blobs = Blobs()
    assert json.loads(pack_call_value([small], blobs.put)) == [small]
    assert json.loads(pack_call_value([large], blobs.put))["v"] == [None]
    assert list(blobs.held.values()) == [json.dumps(large).encode()]


def test_a_container_goes_out_where_nothing_in_it_does() -> None:
    blobs = Blobs()
    many = ["y" * 12, *["y" * 13] * (LARGE_CONTAINER // 16 - 1)]  # `"yyyyyyyyyyyyy",` is 16 bytes
    few = ["y" * 11, *many[1:]]
    assert (len(pack(many)), len(pack(few))) == (LARGE_CONTAINER, LARGE_CONTAINER - 1)
    assert json.loads(pack_call_value(few, blobs.put)) == few
    assert not blobs.held
    kept = json.loads(pack_call_value({"a": many, "b": [few, LARGE]}, blobs.put))
    assert kept["v"] == {"a": None, "b": [few, None]}
    assert [ref[:2] for ref in kept["r"]] == [[["a"], "b"], [["b", 1], "b"]]


def test_what_is_too_deep_for_the_fast_encoder_is_kept_whole() -> None:
    blobs = Blobs()
    value = {"large": LARGE, "deep": DEEP}
    text = pack_call_value(value, blobs.put)
    assert unpack_call_value(text, "it", blobs.get) == value
    assert pack(DEEP) == json.dumps(DEEP).replace(" ", "").encode()
    assert unpack(pack_ops([["s", ["a"], value], ["s", ["b"], LARGE]], blobs.put), "it") == {
        "o": [["s", ["a"], value], ["s", ["b"], None]],
        "r": [[[1], "b", Blobs().put(json.dumps(LARGE).encode())]],
    }


@pytest.mark.parametrize("value", ["é", {"ключ": 1.5}, [DEEP, "é"]])
def test_a_payload_is_utf_8_without_spaces(value: Any) -> None:
    assert pack(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# ---------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize("found", [None, 7, b"{", "{", "", b"\xff", "[1,]"])
def test_what_is_not_json_is_damage_that_says_what_it_is(found: object) -> None:
    with pytest.raises(Damaged, match=r"^the result is damaged: ") as caught:
        unpack(found, "the result")
    assert "agent-tt verify" in caught.value.hint


@pytest.mark.parametrize("unit", ["[],", "{},", "0,"])
def test_json_that_would_take_far_more_memory_than_it_has_bytes_is_refused(unit: str) -> None:
    most = 1 << 30
    each = len(unit) + 64 * (len(unit) - 1 if len(unit) > 2 else 1)
    body = "[" + unit * (most // each + 1) + "0]"
    for given_ in (body, body.encode()):
        with pytest.raises(Damaged, match="it holds more values than any does"):
            unpack(given_, "it")


def test_a_long_text_alone_is_read() -> None:
    text = "x" * (9 << 20)
    assert unpack(json.dumps(text), "it") == text


def test_a_column_that_is_null_holds_nothing() -> None:
    unread: list[str] = []
    assert unpack_call_value(None, "it", Blobs().get, unread) is None
    assert unread == []


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (b"{}", "the result is damaged: it is not text"),
        (7, "the result is damaged: it is not text"),
        ("{", "the result is damaged: "),
        ('{"v":1,"r":7}', "a reference to a blob is damaged: '7' is none"),
        ('{"v":1,"r":[7]}', "a reference to a blob is damaged: '7' is none"),
        ('{"v":1,"r":[[[],"b"]]}', "a reference to a blob is damaged: "),
        ('{"v":1,"r":[[[],"c","00"]]}', "a reference to a blob is damaged: "),
        ('{"v":1,"r":[["x","b","00"]]}', "a reference to a blob is damaged: "),
        ('{"v":1,"r":[[["other"],"t","00"]]}', "a reference to a blob is damaged: "),
        ('{"v":{"a":1},"r":[[["b"],"b","00"]]}', "a part belongs at 'b', where there is nothing"),
        ('{"v":[],"r":[[[0],"b","00"]]}', "a part belongs at 0, where there is nothing"),
    ],
)
def test_a_column_that_cannot_be_read_is_a_placeholder_that_says_why(column: object, why: str) -> None:
    unread: list[str] = []
    found = unpack_call_value(column, "the result", Blobs().get, unread)
    assert is_placeholder(found)
    assert found["why"].startswith(why)
    assert unread == [found["why"]]
    assert unpack_call_value(column, "the result", Blobs().get) == found


@pytest.mark.parametrize("name", ["00" * HASH_SIZE, "00" * (HASH_SIZE - 1), "xy", "", None, 7])
def test_a_part_that_cannot_be_read_is_a_placeholder_in_its_place_and_the_rest_is_read(name: Any) -> None:
    blobs, unread = Blobs(), list[str]()
    good = blobs.put(b'"good"')
    column = json.dumps({"v": {"a": None, "b": [1, None]}, "r": [[["a"], "b", good], [["b", 1], "b", name]]})
    found = unpack_call_value(column, "the result", blobs.get, unread)
    assert found["a"] == "good"
    assert found["b"][0] == 1
    assert is_placeholder(found["b"][1])
    assert unread == ["the result cannot be read in full: a blob that holds a part of it is damaged"]
    assert join(None, [[[], "b", name], [[], "b", good]], blobs.get) == ("good", False)
    assert join(None, [[[], "b", good], [[], "b", name]], blobs.get)[1] is False


@pytest.mark.parametrize("name", ["00" * (HASH_SIZE + 1), "00", "zz" * HASH_SIZE, None, 3, ["00" * HASH_SIZE]])
def test_what_is_no_hash_names_no_blob(name: Any) -> None:
    with pytest.raises(Damaged, match="a reference to a blob is damaged"):
        hash_of(name)


def test_a_hash_is_read_from_hex() -> None:
    assert hash_of("0a" * HASH_SIZE) == b"\n" * HASH_SIZE


def test_the_parts_of_one_value_are_bounded_together() -> None:
    half = b"x" * (MOST_PLAIN // 2)
    get = bounded(lambda _: half)
    assert get(b"") is half
    assert get(b"") is half
    for _ in range(2):
        with pytest.raises(Damaged, match="its parts are more than any are"):
            get(b"")
    asked: list[bytes] = []
    again = bounded(lambda name: asked.append(name) or half + b"x")  # type: ignore[func-returns-value]
    again(b"1")
    for name in (b"2", b"3"):
        with pytest.raises(Damaged):
            again(name)
    assert asked == [b"1", b"2"]  # nothing is read any more once it is too much


@pytest.mark.parametrize(
    ("root", "at"),
    [({"a": 1}, ["b"]), ([1], [1]), ([1], [-1]), ([1], ["0"]), ({"a": 1}, [0]), ("text", [0]), ({"a": {}}, ["a", "b"])],
)
def test_a_part_is_put_only_where_its_place_is(root: Any, at: list[Any]) -> None:
    with pytest.raises(Damaged, match="where there is nothing"):
        place_part(root, at, "part")


@pytest.mark.parametrize("at", [None, "a", 0, {"a": 0}])
def test_a_place_is_a_list(at: Any) -> None:
    with pytest.raises(Damaged, match="a reference to a blob is damaged"):
        place_part({"a": 0}, at, "part")


def test_a_part_is_put_in_its_place() -> None:
    root = {"a": [0, {"b": 0}]}
    assert place(root, ("a", 1, "b"), "part") is root
    assert root == {"a": [0, {"b": "part"}]}
    assert place(root, (), "part") == "part"
