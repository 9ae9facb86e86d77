"""OTLP as protocol buffers, and compressed files: the same runs as those of the JSON, whatever is around it."""

from __future__ import annotations

import gzip
import json
from contextlib import closing, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.conformance.reading import check_source
from tests.core.interop import otlp_bytes
from tests.core.interop.otlp_bytes import sized, varint
from tests.core.interop.test_otlp import BEGAN, FAILED, TRACE, genai, listed, openinference, openllmetry, request, span

from agent_tt.errors import NotAStore, StoreUnreadable
from agent_tt.interop.transcripts import document
from agent_tt.interop.transcripts.document import read_document
from agent_tt.interop.transcripts.otlp_spans import attributes_of
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def opened(folder: Path, body: bytes, name: str = "trace") -> list[Any]:
    """Of each run its steps, calls and last state."""
    path = folder / name
    path.write_bytes(body)
    with closing(open_source(path)) as source:
        check_source(source)
        return [
            (run.id, run.status, run.tokens_in, run.tokens_out, source.steps(run.id),
             [source.calls(run.id, step.number) for step in source.steps(run.id)], source.state(run.id, run.steps),
             [problem.what for problem in source.verify()])
            for run in source.runs()
        ]  # fmt: skip


def requests(folder: Path, body: bytes) -> tuple[list[Any], str]:
    """The pieces that a file is read in, and what of it cannot be."""
    path = folder / "pieces"
    path.write_bytes(body)
    read = read_document(path)
    return ([], "") if read is None else ([each.value for each in read.parts], " ".join(map(str, read.seen_flaws)))


def in_fours(*messages: bytes) -> bytes:
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


def delimited(*messages: bytes) -> bytes:
    return b"".join(varint(len(message)) + message for message in messages)


def together(*messages: bytes) -> bytes:
    return b"".join(messages)


LOG = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{
    "timeUnixNano": str(BEGAN), "traceId": TRACE, "spanId": f"{2:016x}", "eventName": "details",
    "attributes": listed(
        {"gen_ai.operation.name": "chat", "gen_ai.response.model": "of the record"})}]}]}]}  # fmt: skip


@pytest.mark.parametrize("framed", [together, in_fours, delimited])
@pytest.mark.parametrize("spans", [genai(**FAILED), openinference(), openllmetry()])
def test_a_trace_in_protocol_buffers_is_the_run_that_it_is_in_json(
    tmp_path: Path, spans: list[Any], framed: Callable[..., bytes]
) -> None:
    requests = [request(spans[:2]), request(spans[2:]), LOG]
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in requests)
    assert opened(tmp_path, framed(*map(otlp_bytes.request, requests))) == opened(tmp_path, lines)


@pytest.mark.parametrize("length", [10, 116, 117, 118, 119, 120, 121, 122, 130])
def test_a_length_as_a_varint_is_no_length_of_four_bytes(tmp_path: Path, length: int) -> None:
    resource = sized(1, b"k" * (length - 2))[:length]
    short = otlp_bytes.span(span(1, 0, "s", (0, 1), {}))
    inner = sized(1, sized(1, resource)) + sized(2, sized(2, short))
    for message in (sized(1, inner), sized(1, sized(2, sized(2, short)))):
        assert [len(requests(tmp_path, framed(message))[0]) for framed in (together, in_fours, delimited)] == [1, 1, 1]


def test_values_of_every_kind_are_those_of_json(tmp_path: Path) -> None:
    values = [
        {"stringValue": "é\n"},
        {"boolValue": False}, {"intValue": -5}, {"intValue": (1 << 62) + 1}, {"doubleValue": -0.5},
        {"bytesValue": "AP8="}, {"arrayValue": {"values": [{"intValue": 1}, {"stringValue": ""}]}},
        {"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": []}}}]}},
    ]  # fmt: skip
    one = span(1, 0, "s", (0, 1), {})
    one["attributes"] = [{"key": f"k{number}", "value": each} for number, each in enumerate(values)]
    read, flaw = requests(tmp_path, otlp_bytes.request(request([one])))
    (scope,) = read[0]["resourceSpans"][0]["scopeSpans"]
    empty = {"key": "a", "value": {"arrayValue": {}}}
    one["attributes"][-1]["value"]["kvlistValue"]["values"] = [empty]
    assert attributes_of(scope["spans"][0]) == attributes_of(one)
    assert flaw == ""


WHOLE = otlp_bytes.request(request(genai()))


@pytest.mark.parametrize("framed", [together, in_fours, delimited])
def test_of_a_file_that_breaks_off_what_is_complete_opens_and_the_place_is_named(
    tmp_path: Path, framed: Callable[..., bytes]
) -> None:
    first, second = otlp_bytes.request(request(genai()[:1])), otlp_bytes.request(request(genai()[1:]))
    ((_, _, tokens, _, steps, _, _, problems),) = opened(tmp_path, framed(first, second)[:-7])
    assert (len(steps), tokens) == (1, 20)
    (problem,) = problems
    assert problem.startswith("it cannot be read from byte ")
    assert problem.endswith(": it breaks off")


@settings(max_examples=100, deadline=None)
@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7), cut=st.integers(1, len(WHOLE)))
def test_no_change_of_a_bit_and_no_cut_breaks_the_reader(
    place: int, bit: int, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    body = bytearray(WHOLE)
    body[place] ^= 1 << bit
    folder = tmp_path_factory.getbasetemp()
    for each in (bytes(body), WHOLE[:cut], bytes(body)[:cut]):
        for framed in (together, in_fours, delimited):
            requests(folder, framed(each))
            requests(folder, framed(WHOLE, each)[:-1])
    pieces, flaw = requests(folder, WHOLE[:cut])
    assert not pieces or flaw or cut == len(WHOLE)


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=200))
def test_any_bytes_are_read_or_not(body: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    for each in (body, sized(1, sized(2, sized(2, body)))):
        with suppress(StoreUnreadable):  # a zip archive, say
            requests(tmp_path_factory.getbasetemp(), each)


def test_messages_that_are_nested_without_end_are_named(tmp_path: Path) -> None:
    value = sized(1, b"x")
    for _ in range(3_000):
        value = sized(5, sized(1, value))
    one = otlp_bytes.span(span(1, 0, "s", (0, 1), {})) + sized(9, sized(1, b"k") + sized(2, value))
    pieces, flaw = requests(tmp_path, WHOLE + sized(1, sized(2, sized(2, one))))
    assert len(pieces) == 1
    assert flaw == "neither spans nor records can be read in 1 of its scopes"


def test_a_damaged_span_takes_those_of_its_piece_along_and_is_named(tmp_path: Path) -> None:
    whole = sized(1, sized(2, sized(2, otlp_bytes.span(span(1, 0, "s", (0, 1), {}))) + sized(2, sized(9, b"\xff"))))
    (_, read), flaw = requests(tmp_path, WHOLE + whole)
    assert read == {}
    assert flaw.startswith("what stands from byte ")


def test_a_long_scope_is_read_in_pieces_with_its_resource(tmp_path: Path) -> None:
    spans = [span(number, 0, "s", (0, 1), {"k": "x" * 1_000}) for number in range(1, 400)]
    pieces, flaw = requests(tmp_path, otlp_bytes.request(request(spans)))
    assert (len(pieces) > 2, flaw) == (True, "")
    assert [attributes_of(each["resourceSpans"][0]["resource"]) for each in pieces] == [
        attributes_of(request([])["resourceSpans"][0]["resource"])
    ] * len(pieces)
    found = [one["spanId"] for each in pieces for one in each["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert found == [one["spanId"] for one in spans]


def test_measurements_and_texts_are_no_traces(tmp_path: Path) -> None:
    metric = sized(
        1, sized(1, b"") + sized(2, sized(2, sized(1, b"sixteen letters!") + sized(2, b"eight...") + sized(5, b"\n\0")))
    )
    for body in (metric, in_fours(metric), b"\n\n\nA list\n\n", b"\nAB" * 90, varint(7) * 9):
        path = tmp_path / "other"
        path.write_bytes(body)
        with pytest.raises(NotAStore, match="not a store of runs"):
            open_source(path)


# ---------------------------------------------------------------- compressed


def twice(body: bytes) -> bytes:
    """As a file that was appended to."""
    return gzip.compress(body[:300]) + gzip.compress(body[300:])


@pytest.mark.parametrize("packed", [gzip.compress, twice, zstandard.compress])
@pytest.mark.parametrize("body", [WHOLE, json.dumps(request(genai())).encode()], ids=["bytes", "JSON"])
def test_a_compressed_file_is_what_it_holds(tmp_path: Path, body: bytes, packed: Callable[[bytes], bytes]) -> None:
    assert opened(tmp_path, packed(body)) == opened(tmp_path, body)


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress])
def test_a_compressed_file_that_breaks_off_is_told(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    lines = [json.dumps({"messages": [{"role": "user", "content": f"{n} {sha256(f'{n}'.encode()).hexdigest()}"},
                                      {"role": "assistant", "content": "."}]})
             for n in range(2_000)]  # fmt: skip
    body = packed("\n".join(lines).encode())
    path = tmp_path / "training.jsonl.packed"
    path.write_bytes(body[: len(body) * 3 // 4])
    with closing(open_source(path)) as source:
        assert 10 < len(source.runs()) < 2_000
        assert "what is compressed is damaged behind " in str(source.verify())


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress])
def test_a_file_that_grows_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(document, "MOST_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(packed(b"[" + b" " * (8 << 20) + b"]"))
    with pytest.raises(StoreUnreadable, match="holds more than 1 MB when it is unpacked"):
        open_source(path)


def test_other_compressed_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    for held in (b"plain words", b"PK\x03\x04 a zip archive"):
        path.write_bytes(gzip.compress(held))
        with pytest.raises(NotAStore, match="is a gzip archive"):
            open_source(path)


# ---------------------------------------------------------------- the writers of others


def test_what_the_messages_of_opentelemetry_write_is_read_as_their_json_is(tmp_path: Path) -> None:
    messages = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2", reason="opentelemetry-proto is missing")
    json_format = pytest.importorskip("google.protobuf.json_format")
    given = request(genai(**FAILED))
    for each in given["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in each:
                each[name] = otlp_bytes.base64.b64encode(bytes.fromhex(each[name])).decode()
    written = json_format.ParseDict(given, messages.TracesData()).SerializeToString()
    assert opened(tmp_path, written) == opened(tmp_path, json.dumps(request(genai(**FAILED))).encode())


@pytest.mark.parametrize("place", ["first", "last"])
def test_what_a_span_says_that_is_damaged_is_named_although_ids_are_read_first(tmp_path: Path, place: str) -> None:
    whole = otlp_bytes.request(request(genai()))
    at = (whole.index if place == "first" else whole.rindex)(b"gen_ai.operation.name")
    path = tmp_path / "f"
    path.write_bytes(whole[: at - 1] + bytes([120]) + whole[at:])  # a text that is longer than what it stands in
    with closing(open_source(path)) as source:
        said = [problem.what for problem in source.verify()]
        assert any("damaged" in what for what in said), said
