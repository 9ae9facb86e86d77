"""Reading HTTP answers along: however the bytes are cut, the same answer, complete at the same byte."""

from __future__ import annotations

import gzip
import http.client
import io
import itertools
import zlib
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.seams.http.answer_text import LARGEST_READ, readable_answer
from agent_tt.seams.http.wire_answer import Head, WireAnswer

bodies = st.lists(st.binary(min_size=1, max_size=40), max_size=5)


def chunked(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x;ext=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: x\r\n\r\n"


def answers(pieces: list[bytes]) -> list[tuple[bytes, bool]]:
    """The same body in each framing, and whether only the end of the connection ends it."""
    body = b"".join(pieces)
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nX-A:  b \r\n"
    return [
        (interim + head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(pieces), False),
        (head + b"Content-Length: %d\r\n\r\n" % len(body) + body, False),
        (head + b"\r\n" + body, True),
    ]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(bodies, st.lists(st.integers(0, 10_000), max_size=30))
def test_any_cut_gives_the_same_answer(pieces: list[bytes], places: list[int]):
    for data, ends_with_connection in answers(pieces):
        reading = WireAnswer("GET")
        parts = cut(data, places)
        body = b""
        for index, part in enumerate(parts):
            assert not reading.is_complete
            body += reading.feed(part)
            assert index < len(parts) - 1 or reading.is_complete != ends_with_connection
        if ends_with_connection:
            assert reading.feed(b"") == b""
        assert reading.is_complete
        assert body == b"".join(pieces)
        assert reading.head is not None
        assert (reading.head.status, reading.head.reason, reading.head.headers[0]) == (200, "OK", ("X-A", "b"))


@given(bodies)
def test_it_reads_what_the_standard_library_reads(pieces: list[bytes]):
    class Socket:
        def __init__(self, data: bytes) -> None:
            self.data = data

        def makefile(self, *_: Any) -> io.BytesIO:
            return io.BytesIO(self.data)

    for answer, _ in answers(pieces):
        data = answer.replace(b"103 Early Hints", b"100 Continue")  # they know only this one
        theirs = http.client.HTTPResponse(Socket(data))  # type: ignore[arg-type]
        theirs.begin()
        assert WireAnswer("GET").feed(data) == theirs.read()


@given(st.lists(st.binary(max_size=60), max_size=10))
def test_no_bytes_are_too_odd(parts: list[bytes]):
    reading = WireAnswer("GET")
    for part in [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *parts, b""]:
        reading.feed(part)


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        ("GET", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
        ("GET", b"HTTP/1.1 200\nContent-Length: 0\n\n"),
        ("CONNECT", b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
)
def test_answers_without_a_body_are_complete_with_their_head(method: str, data: bytes):
    reading = WireAnswer(method)
    reading.feed(data)
    assert reading.is_complete
    assert reading.feed(b"more") == b""


@pytest.mark.parametrize("data", [b"SSH-2.0-x\r\n\r\n", b"x" * 70_000, b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n"])
def test_what_is_no_answer_is_never_complete(data: bytes):
    reading = WireAnswer("GET")
    reading.feed(data)
    reading.feed(b"")
    assert not reading.is_complete


def head(**headers: str) -> Head:
    return Head(200, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("identity", bytes),
    ],
)
def test_a_coded_body_is_read(coding: str, pack: Any):
    body = pack(b'{"a": [1, 2.0]}')
    shown: Any = readable_answer(head(Content_Type=JSON, Content_Encoding=coding), body, len(body))
    assert shown["body"] == {"a": [1, 2.0]}


JSON = "application/json"


def test_a_body_that_is_broken_is_shown_as_it_is():
    shown: Any = readable_answer(head(Content_Type=JSON, Content_Encoding="gzip"), b"{no gzip", 8)
    assert shown["body"] == "{no gzip"


def test_a_body_cut_off_in_its_coding_is_shown_as_far_as_it_came():
    body = gzip.compress(b"some words, and others" * 50)
    shown: Any = readable_answer(head(Content_Encoding="gzip"), body[:-12], len(body) - 12)
    assert shown["body"].startswith("some words")


def test_of_a_large_body_only_the_size_is_shown():
    shown: Any = readable_answer(head(Set_Cookie="a=secret"), b"x", LARGEST_READ + 1)
    assert shown == {"status": 200, "headers": {"set-cookie": "<redacted>"}, "size": LARGEST_READ + 1}
