"""Messages of WebSockets as a recording keeps them are the same bytes again."""

from __future__ import annotations

import json

import pytest

from agent_tt.seams.ws.frames import BINARY, CLOSE, NEXT, TEXT, Frame, frame_of

DEEP = "[" * 400 + "]" * 400


@pytest.mark.parametrize(
    "frame",
    [
        Frame(TEXT, b'{"a":1}'),
        Frame(TEXT, b'{"a": 1.0, "b": "\\u00e4"}'),
        Frame(TEXT, '{"a":"ä"}'.encode()),
        Frame(TEXT, b'{ "a":1}'),
        Frame(TEXT, b'{"a":1,"a":2}'),
        Frame(TEXT, b'{"a":NaN,"b":1e999}'),
        Frame(TEXT, b'{"$type":"bytes","$v":"AA=="}'),
        Frame(TEXT, b'{"a":' + DEEP.encode() + b"}"),
        Frame(TEXT, b"\xc3", is_last=False),
        Frame(NEXT, b"\xa4"),
        Frame(NEXT, b"", is_last=False),
        Frame(BINARY, b"\x00\xff"),
        Frame(CLOSE, b"\x03\xe8bye"),
        Frame(CLOSE, b""),
    ],
)
def test_a_frame_is_the_same_again(frame: Frame):
    assert frame_of(json.loads(json.dumps(frame.to_wire()))) == frame


def test_a_message_of_json_is_kept_as_the_object():
    assert Frame(TEXT, b'{"a": 1}').to_wire() == {"json": {"a": 1}, "written": "spaced", "ascii": False}


@pytest.mark.parametrize("kept", [None, 3, [], {}, {"held_back": "x"}, {"withheld": "x"}, {"status": 101}])
def test_what_is_no_message_is_none(kept):
    assert frame_of(kept) is None
