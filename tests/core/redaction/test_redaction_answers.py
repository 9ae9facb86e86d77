"""Answers without their secrets: no longer and no shorter, however they are cut into pieces."""

from __future__ import annotations

import gzip
import itertools
import json
import zlib

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.core.redaction.test_redaction_values import HARMLESS

from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.marks import is_mark, numbered
from agent_tt.redaction.streams.answers import Veil
from agent_tt.seams.http.wire_answer import WireAnswer

SECRET = "opaque-0123456789-token"
ANSWER = {"token_type": "Bearer", "access_token": SECRET, "expires_in": 3600, "note": 'a "quoted\\ word'}
JSON = [("Content-Type", "application/json")]


def veiled(pieces: list[bytes], headers: list[tuple[str, str]]) -> list[bytes | None]:
    GIVEN.forget()
    veil = Veil()
    veil.headers(headers)
    shown: dict[int, bytes | None] = {}
    for number, piece in enumerate(pieces):
        shown |= {kept.number: kept.data for kept in veil.body(number, piece)}
    shown |= {kept.number: kept.data for kept in veil.end()}
    GIVEN.forget()
    return [shown[number] for number in range(len(pieces))]


def cut(data: bytes, *places: int) -> list[bytes]:
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[first:last] for first, last in itertools.pairwise(ends)]


@for_all(st.lists(st.integers(0, 400), max_size=4), st.booleans())
def test_every_piece_is_as_long_and_the_whole_is_json_still(places: list[int], indent: bool):
    body = json.dumps(ANSWER, indent=2 if indent else None).encode()
    pieces = cut(body, *places)
    shown = veiled(pieces, JSON)
    assert [len(piece or b"") for piece in shown] == [len(piece) for piece in pieces]
    whole = json.loads(b"".join(piece or b"" for piece in shown))
    assert {**whole, "access_token": ""} == {**ANSWER, "access_token": ""}
    assert len(whole["access_token"]) == len(SECRET)
    assert whole["access_token"] == numbered(1, len(SECRET))


def test_a_secret_across_pieces_is_covered_from_its_field_on():
    body = json.dumps(ANSWER).encode()
    middle = body.index(SECRET.encode()) + 9
    shown = b"".join(piece or b"" for piece in veiled(cut(body, middle), JSON))
    assert SECRET[:9].encode() not in shown
    assert SECRET[9:].encode() not in shown


def test_what_a_model_says_of_its_tokens_stays():
    body = json.dumps({"logprobs": {"content": [{"token": "word2vec", "logprob": -1.5}]}, "usage": {"total_tokens": 3}})
    assert veiled([body.encode()], JSON) == [body.encode()]
    events = b'data: {"choices":[{"logprobs":{"content":[{"token":"w0rd","logprob":-0.1}]},"delta":{}}]}\n\n'
    assert veiled([events] * 3, [("content-type", "text/event-stream")]) == [events] * 3


@pytest.mark.parametrize("value", HARMLESS, ids=range(len(HARMLESS)))
def test_what_is_no_secret_stays_byte_for_byte(value: object):
    body = json.dumps({"answer": value}).encode()
    assert veiled([body], JSON) == [body]


def test_what_a_model_says_of_secrets_stays_where_it_only_quotes():
    said = 'Write client = OpenAI(api_key="YOUR_KEY"), or {"password": "example", "token": "t0k3n-x"}, then\n"key": "v"'
    body = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
    assert veiled([body], JSON) == [body]
    given = json.dumps({"q": 'a "b', "password": 'pa"ss\\w1'})
    asked = json.dumps({"tool_calls": [{"function": {"arguments": given}}]})
    shown = veiled([asked.encode()], JSON)[0]
    arguments = json.loads(json.loads(shown or b"")["tool_calls"][0]["function"]["arguments"])
    assert arguments["q"] == 'a "b'
    assert "ss" not in arguments["password"]


def test_a_compressed_answer_is_packed_again_at_its_length():
    packed = gzip.compress(json.dumps({**ANSWER, "pad": "x" * 300}).encode())
    (shown,) = veiled([packed], [*JSON, ("Content-Encoding", "gzip")])
    assert shown is not None
    assert len(shown) == len(packed)
    assert json.loads(gzip.decompress(shown))["access_token"] == numbered(1, len(SECRET))
    clean = gzip.compress(b'{"a": 1}')
    assert veiled([clean], [*JSON, ("Content-Encoding", "gzip")]) == [clean]


@for_all(
    st.lists(st.integers(0, 400), max_size=4),
    st.sampled_from([json.dumps(ANSWER), "key: " + SECRET, '{"password": "', "Bearer " + SECRET, "sk-", "", "ü" * 9]),
    st.sampled_from(["application/json", "text/event-stream", "text/plain"]),
    st.booleans(),
)
def test_a_body_of_which_the_length_is_known_is_kept_the_same_and_waits_for_nothing(
    places: list[int], text: str, content_type: str, is_packed: bool
):
    body = gzip.compress(text.encode(), mtime=0) if is_packed else text.encode()
    headers = [("content-type", content_type), *([("content-encoding", "gzip")] if is_packed else [])]
    pieces = cut(body, *places)
    announced = [*headers, ("Content-Length", str(len(body)))]
    assert veiled(pieces, announced) == veiled(pieces, headers)
    veil = Veil()
    veil.headers(announced)
    kept = [kept for number, piece in enumerate(pieces) for kept in veil.body(number, piece)]
    assert len(kept) == len(pieces)
    assert veil.end() == []


@pytest.mark.parametrize("length", ["", "-1", "many", "1" * 5000, "\u0663"])
def test_a_length_that_is_none_is_not_believed(length: str):
    body = json.dumps(ANSWER).encode()
    shown = veiled([body[:30], body[30:]], [*JSON, ("Content-Length", length)])
    assert SECRET.encode() not in b"".join(piece or b"" for piece in shown)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_compressed_answer_in_pieces_is_not_kept_where_a_secret_is_in_it(coding: str):
    plain = json.dumps(ANSWER).encode()
    packed = gzip.compress(plain) if coding == "gzip" else zlib.compress(plain)
    pieces = cut(packed, 12, len(packed) - 3)
    shown = veiled(pieces, [*JSON, ("Content-Encoding", coding)])
    assert None in shown
    kept = b"".join(piece for piece in shown if piece is not None)
    assert SECRET.encode() not in kept


def test_cookies_keep_their_names_and_attributes():
    cookie = ("Set-Cookie", "sid=abcdef0123456789; Path=/; HttpOnly")
    headers = [cookie, ("Set-Cookie", "gone=; Max-Age=0"), ("X-A", "1")]
    headers += [("Set-Cookie", "a=b; Path=/"), ("Set-Cookie", "theme=dark-blue")]
    GIVEN.forget()
    shown = Veil().headers(headers)
    assert shown == [("Set-Cookie", f"sid={numbered(1, 16)}; Path=/; HttpOnly"), *headers[1:]]
    joined = "theme=dark, csrftoken=AbCdEfGhIj; Expires=Wed, 09 Jun 2027 10:18:14 GMT, _cf=0123456789abcdef-x"
    assert Veil().headers([("Set-Cookie", joined)])[0][1] == (
        f"theme=dark, csrftoken={numbered(2, 10)}; Expires=Wed, 09 Jun 2027 10:18:14 GMT, _cf={numbered(3, 18)}"
    )
    location = Veil().headers([("Location", "/next?access_token=abc123&x=1"), ("X-Auth-Token", "abc")])
    assert location == [("Location", f"/next?access_token={numbered(4, 6)}&x=1"), ("X-Auth-Token", "***")]
    GIVEN.forget()


@for_all(st.lists(st.integers(0, 900), max_size=5))
def test_bytes_of_a_connection_keep_their_frames(places: list[int]):
    body = json.dumps(ANSWER).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in cut(body, 40, 77))
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=abcdef0123456789; Path=/\r\nContent-Type: application/json\r\n"
    wire = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    GIVEN.forget()
    veil, reader, again = Veil(), WireAnswer("GET"), WireAnswer("GET")
    said, kept, pieces = b"", {}, cut(wire, *places)
    for number, piece in enumerate(pieces):
        reader.feed(piece)
        now = veil.wire(number, piece, reader.body_spans, reader.head and reader.head.headers)
        kept |= {each.number: each.data for each in now}
    kept |= {each.number: each.data for each in veil.end()}
    for number, piece in enumerate(pieces):
        shown = kept[number]
        assert shown is not None
        assert len(shown) == len(piece)
        said += again.feed(shown)
    assert again.is_complete
    assert reader.is_complete
    assert again.head is not None
    assert [name for name, _ in again.head.headers] == ["Set-Cookie", "Content-Type", "Transfer-Encoding"]
    assert "abcdef0123456789" not in dict(again.head.headers)["Set-Cookie"]
    assert is_mark(json.loads(said)["access_token"])
    assert len(json.loads(said)["access_token"]) == len(SECRET)
    GIVEN.forget()
