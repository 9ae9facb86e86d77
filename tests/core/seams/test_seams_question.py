"""What counts as the same question, as laws."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.encode import encode
from agent_tt.redaction.marks import MARK
from agent_tt.redaction.names import is_secret_header, is_secret_parameter
from agent_tt.seams.http.http_body import canonical_body
from agent_tt.seams.http.http_request import HttpRequest, question_of

if TYPE_CHECKING:
    import random

JSON = "application/json"
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
trees = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
pairs = st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=5)


def request(
    body: bytes = b"", *, method: str = "POST", url: str = "https://host/v1/x", kind: str = JSON, **headers: str
) -> HttpRequest:
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return HttpRequest(method, url, [("content-type", kind), *named], body)


def signature(*args: Any, **options: Any) -> str:
    return question_of(request(*args, **options)).signature


def shuffled(tree: Any, chance: random.Random) -> Any:
    if isinstance(tree, dict):
        items = [(key, shuffled(value, chance)) for key, value in tree.items()]
        chance.shuffle(items)
        return dict(items)
    return [shuffled(item, chance) for item in tree] if isinstance(tree, list) else tree


@given(trees, st.randoms(use_true_random=False))
def test_json_asks_the_same_however_it_is_written(tree: Any, chance: random.Random):
    written = json.dumps(tree).encode()
    rewritten = json.dumps(shuffled(tree, chance), indent=2, ensure_ascii=True).encode()
    assert signature(written) == signature(rewritten)
    assert canonical_body(JSON, written) == encode(json.loads(written))


@given(trees, trees)
def test_json_asks_something_else_where_it_says_something_else(one: Any, other: Any):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (signature(json.dumps(one).encode()) == signature(json.dumps(other).encode())) == same


def test_numbers_that_are_equal_in_python_are_told_apart():
    bodies = [b"[1]", b"[1.0]", b"[true]", b'["1"]', b"[-0.0]", b"[0.0]", b"[0]", b"[false]"]
    large = [b"[18446744073709551616]", b"[18446744073709551617]", b"[1.8446744073709552e19]"]
    assert len({signature(body) for body in [*bodies, *large]}) == len(bodies) + len(large)


@given(st.binary(max_size=300), st.sampled_from([JSON, "text/plain", "multipart/form-data; boundary=b", "", "x/y"]))
def test_no_body_is_too_odd(body: bytes, kind: str):
    asked = question_of(request(body, kind=kind))
    assert asked == question_of(request(body, kind=kind))
    assert encode(asked.args["body"]) is not NotImplemented


@given(st.binary(min_size=1), st.binary(min_size=1))
def test_bytes_ask_the_same_only_where_they_are_the_same(one: bytes, other: bytes):
    kind = "application/octet-stream"
    is_json = any(body[:1] in (b"{", b"[") for body in (one, other))
    assert is_json or (signature(one, kind=kind) == signature(other, kind=kind)) == (one == other)


def test_large_bytes_are_told_apart_by_their_digest():
    one, other = b"\xff" * 100_000, b"\xff" * 99_999 + b"\xfe"
    asked = question_of(request(one, kind="application/octet-stream"))
    assert asked.args["body"]["size"] == 100_000
    assert asked.signature != signature(other, kind="application/octet-stream")


@pytest.mark.parametrize("body", [b"[" * 5000, b"[" * 300 + b"]" * 300, b"{", b'{"a": 1} x', b"9" * 5000, b"\xff{"])
def test_json_that_cannot_be_kept_is_compared_as_text(body: bytes):
    assert signature(body) != signature(body + b" ")
    assert signature(body) == signature(body)


@given(pairs, st.randoms(use_true_random=False))
def test_query_and_form_ask_the_same_in_any_order(fields: list[tuple[str, str]], chance: random.Random):
    mixed = chance.sample(fields, len(fields))
    form = "application/x-www-form-urlencoded"
    assert signature(urlencode(fields).encode(), kind=form) == signature(urlencode(mixed).encode(), kind=form)
    asked = [signature(url=f"https://host/?{urlencode(some)}") for some in (fields, mixed)]
    assert asked[0] == asked[1]


def multipart(boundary: str, *parts: bytes) -> HttpRequest:
    marked = b"".join(
        b'--%b\r\nContent-Disposition: form-data; name="f%d"\r\n\r\n%b\r\n' % (boundary.encode(), index, part)
        for index, part in enumerate(parts)
    )
    body = marked + f"--{boundary}--\r\n".encode()
    return request(body, kind=f"multipart/form-data; boundary={boundary}")


@given(st.lists(st.binary(), max_size=4), st.lists(st.binary(), max_size=4))
def test_multipart_asks_the_same_with_another_boundary(one: list[bytes], other: list[bytes]):
    first = question_of(multipart("aaaa-1111-zzzz", *one))
    assert first.signature == question_of(multipart("bbbb-2222-yyyy", *one)).signature
    assert (first.signature == question_of(multipart("aaaa-1111-zzzz", *other)).signature) == (one == other)


def test_places_and_methods_count_and_default_ports_do_not():
    base = signature(url="https://host/v1/x")
    same = ["HTTPS://HOST:443/v1/x", "https://user:pass@host/v1/x", "https://host/v1/x#fragment"]
    others = ["http://host/v1/x", "https://host:8443/v1/x", "https://host/v1/y", "https://host/v1/x?a=1"]
    assert {signature(url=url) for url in same} == {base}
    assert base not in {signature(url=url) for url in others}
    assert signature(method="post") == base != signature(method="GET")


def test_only_headers_that_change_what_is_asked_count():
    base = signature()
    ignored = {
        "authorization": "Bearer x",
        "x_api_key": "x",
        "cookie": "a=b",
        "user_agent": "x",
        "x_stainless_retry_count": "1",
        "idempotency_key": "x",
        "accept_encoding": "br",
        "traceparent": "00-1",
        "mcp_session_id": "x",
    }
    assert {signature(**{name: value}) for name, value in ignored.items()} == {base}
    for name in ("accept", "anthropic_version", "anthropic_beta", "openai_beta", "mcp_protocol_version"):
        assert signature(**{name: "x"}) != base
    assert signature(kind="application/json; charset=utf-8") == base


def test_secrets_are_neither_stored_nor_hashed():
    def asked(secret: str) -> Any:
        return question_of(
            HttpRequest(
                "POST",
                f"https://user:{secret}@host/x?key={secret}&X-Amz-Signature={secret}&q=1",
                [
                    ("Authorization", f"Bearer {secret}"),
                    ("X-Api-Key", secret),
                    ("X-Goog-Api-Key", secret),
                    ("api-key", secret),
                    ("Cookie", secret),
                    ("Content-Type", "application/x-www-form-urlencoded"),
                ],
                f"client_secret={secret}&a=1".encode(),
            )
        )

    one = asked("s3cr3t-one")
    assert "s3cr3t" not in repr(one)
    assert one == asked("s3cr3t-two")
    assert one.args["url"] == f"https://host/x?key={MARK}&X-Amz-Signature={MARK}&q=1"
    assert one.facts["headers"]["x-api-key"] == MARK


@pytest.mark.parametrize("name", ["key", "api_key", "apiKey", "access_token", "sig", "X-Amz-Credential", "password"])
def test_names_of_secret_fields(name: str):
    assert is_secret_parameter(name)


@pytest.mark.parametrize("name", ["monkey", "keyword", "max_tokens", "tokenizer", "author", "signal", "q", "page"])
def test_names_of_other_fields(name: str):
    assert not is_secret_parameter(name)


@pytest.mark.parametrize("name", ["content-type", "accept", "x-request-id", "sec-websocket-key", "anthropic-version"])
def test_names_of_other_headers(name: str):
    assert not is_secret_header(name)
