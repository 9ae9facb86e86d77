"""Lists in stretches that longer lists share: there and back, each stretch put once, and what is said of a lost one."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import pytest

from agent_tt.errors import Damaged
from agent_tt.history.hashing import HASH_SIZE
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.history.payloads.payload import names_of, pack_call_value, unpack_call_value
from agent_tt.history.payloads.shared_lists import SharedLists


class Held:
    """Blobs, and how often one was put."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}
        self.puts = 0

    def put(self, plain: bytes) -> str:
        name = blake2b(plain, digest_size=HASH_SIZE).digest()
        self.held[name] = plain
        self.puts += 1
        return name.hex()

    def get(self, name: bytes) -> bytes:
        if name not in self.held:
            raise Damaged("it is gone")
        return self.held[name]


def test_conversations_that_grow_come_back_and_put_each_stretch_once() -> None:
    said: list[Any] = [{"role": "user", "content": f"message {number}"} for number in range(200)]
    blobs, lists = Held(), SharedLists()
    for length in range(0, 201, 2):
        value = {"model": "m", "messages": said[:length], "short": [1, 2]}
        text = pack_call_value(value, blobs.put, lists=lists)
        assert unpack_call_value(text, "it", blobs.get) == value
        if length >= 8:
            kept = json.loads(text)
            assert kept["v"] == {"model": "m", "messages": None, "short": [1, 2]}
            assert names_of(kept["r"]) == lists.named
            assert {*lists.named} <= blobs.held.keys()
    assert blobs.puts < 200 * 2, "no stretch is put again"


def test_a_stretch_that_is_lost_leaves_a_placeholder_in_its_place() -> None:
    said: list[Any] = [{"n": number} for number in range(17)]
    blobs, lists = Held(), SharedLists()
    text = pack_call_value({"messages": said}, blobs.put, lists=lists)
    del blobs.held[lists.named[0]]
    unread: list[str] = []
    found: Any = unpack_call_value(text, "it", blobs.get, unread)
    assert is_placeholder(found["messages"][0])
    assert found["messages"][1:] == said[8:]
    assert unread


@pytest.mark.parametrize("named", ["[7]", '"ab"', "{}", '["zz"]'])
def test_references_that_name_no_lists_are_damage(named: str) -> None:
    unread: list[str] = []
    found = unpack_call_value(f'{{"v":{{"m":null}},"r":[[["m"],"l",{named}]]}}', "it", Held().get, unread)
    assert unread
    assert is_placeholder(found) or is_placeholder(found["m"][0])  # type: ignore[call-overload, index]
