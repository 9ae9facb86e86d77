"""Secrets that a stream brings in several pieces: judged joined, cut back, and the agent sees them as they came."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import requests
from hypothesis import example, settings
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.core.redaction.secret_kinds import HARMLESS_TEXTS, TEXTS, WORD
from tests.core.redaction.test_secret_kinds import ADVERSE, traces
from tests.core.stored_bytes import contents
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.model import HELD_BACK, Judged
from agent_tt.recording.runs.output import OutputTap
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.streams.answers import Veil
from agent_tt.redaction.streams.growing import Growing, GrowingShown
from agent_tt.redaction.streams.wire_pieces import WirePieces
from agent_tt.redaction.texts import redact_text
from agent_tt.replaying.block import served
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.codec.wire import Wire

TEXT = f"Your key is {TEXTS['anthropic'][0]}, and the password: {WORD}! Kéep it."
SECRETS = (TEXTS["anthropic"][1], WORD)


@pytest.fixture(autouse=True)
def _nothing_was_given() -> Iterator[None]:
    GIVEN.forget()
    yield
    GIVEN.forget()


def cut(text: Any, *places: int) -> list[Any]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[first:last] for first, last in itertools.pairwise(ends)]


# ---------------------------------------------------------------- a text that grows


def covered(spans: Any, size: int) -> list[bool]:
    letters = [False] * size
    for span in spans:
        letters[span.start : span.end] = [True] * (span.end - span.start)
    return letters


def grown(pieces: list[str]) -> list[bool]:
    GIVEN.forget()
    text = Growing()
    found = [span for piece in pieces for span in text.feed(piece)]
    found += text.feed("", is_end=True)
    assert text.settled == text.size == sum(map(len, pieces))
    return covered(found, text.size)


CONTEXTS = [("", ""), ("He said: ", "."), ("a\n", "\nb c"), ('{"content": "', '", "x": 1}'), ("x ", " and more\nline")]


@pytest.mark.parametrize("kind", TEXTS)
def test_each_kind_is_found_wherever_it_is_cut(kind: str):
    for before, after in CONTEXTS:
        text = before + TEXTS[kind][0] + after
        whole = covered(secrets_in(text), len(text))
        assert grown(list(text)) == whole
        for place in range(0, len(text), 5):
            assert grown(cut(text, place)) == whole


LOGINS = (
    *("Bearer opaque-0123456789-token", "he said bearer opaqueTokenOfLetters1", "BEARER\nopaque12345678"),
    *("curl -u ann:hunter2Xy9Q", "curl -uann:opaqueword1", "sshpass -p opaque9word ssh", "mysql -h db -popaque9word"),
    *("machine h login ann password opaque9word", "wget --user ann:opaque9word", "curl --proxy-user ann:opaque9word"),
)


@pytest.mark.parametrize("text", LOGINS)
def test_no_letter_of_what_a_login_says_is_let_go_before_the_rest_has_come(text: str):
    for before, after in CONTEXTS:
        whole = before + text + after
        expected = covered(secrets_in(whole), len(whole))
        assert any(expected)
        assert grown(list(whole)) == expected
        for place in range(len(whole)):
            assert grown(cut(whole, place)) == expected
            assert grown(cut(whole, place, place + 1)) == expected
            assert grown(cut(whole, place, place + 6)) == expected


@pytest.mark.parametrize("text", HARMLESS_TEXTS, ids=range(len(HARMLESS_TEXTS)))
def test_what_is_no_secret_is_none_wherever_it_is_cut(text: str):
    for before, after in CONTEXTS:
        whole = before + text + after
        assert grown(list(whole)) == covered(secrets_in(whole), len(whole))


SIGNS = (" ", "\n", ": ", "=", '"', "'", "{", "}", "[", "]", ",", ".", "-", "\\n", " is ", "curl ", "-u a:b9")
MORE = (WORD, "word", "12345678", ' "token": "', '", "logprob": -1')
words = st.sampled_from([*ADVERSE, *(text for text, _ in TEXTS.values()), *HARMLESS_TEXTS, *SIGNS, *MORE])


@settings(max_examples=80, deadline=None)
@for_all(st.lists(words, max_size=8).map("".join), st.lists(st.integers(0, 600), max_size=6), st.booleans())
@example("--token <password>token: x1", [], True)
@example("curl -u a:<password>pass: 3", [], True)
def test_a_text_is_judged_the_same_however_it_is_cut(text: str, places: list[int], by_letter: bool):
    assert grown(list(text) if by_letter else cut(text, *places)) == covered(secrets_in(text), len(text))


@settings(max_examples=60, deadline=None)
@for_all(st.lists(words, max_size=8).map("".join), st.lists(st.integers(0, 600), max_size=6))
def test_what_is_printed_is_kept_the_same_however_it_is_cut(text: str, places: list[int]):
    GIVEN.forget()
    shown = GrowingShown()
    assert "".join([*(shown.feed(piece) for piece in cut(text, *places)), shown.feed("", is_end=True)]) == redact_text(
        text
    )


def test_what_a_program_prints_holds_no_secret_across_the_pieces_that_are_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("agent_tt.recording.runs.output._CHUNK", 64)
    lines = "\n".join("MIIEvQIBADANBgkqhkiG9w0" + str(number) for number in range(40))
    with capsys.disabled():
        tap = OutputTap()
        stream = Path(os.devnull).open("w")  # noqa: SIM115  closed below
        monkeypatch.setattr(sys, "stdout", stream)
        tap.open()
        print(f"before\n-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----\nafter")
        kept = tap.close()
        stream.close()
    assert kept is not None
    assert "MIIEvQ" not in kept.text
    assert kept.text.startswith("before\n")
    assert kept.text.endswith("\nafter\n")


# ---------------------------------------------------------------- bodies


def event(data: object) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def chat(parts: list[str]) -> list[bytes]:
    return [
        event({"id": "c1", "choices": [{"delta": {"content": part}, "finish_reason": None, "index": 0}], "model": "m"})
        for part in parts
    ]


def chat_arguments(parts: list[str]) -> list[bytes]:
    return [
        event(
            {
                "choices": [
                    {"index": 0, "delta": {"tool_calls": [{"index": 1, **kind, "function": {"arguments": part}}]}}
                ]
            }
        )
        for part, kind in zip(parts, [{"id": "c", "type": "function"}, *[{}] * len(parts)], strict=False)
    ]


def responses(parts: list[str]) -> list[bytes]:
    return [
        event(
            {
                "type": "response.output_text.delta",
                "item_id": f"m{n}",
                "output_index": 0,
                "delta": part,
                "sequence_number": n,
            }
        )
        for n, part in enumerate(parts)
    ]


def anthropic(parts: list[str]) -> list[bytes]:
    return [
        b"event: content_block_delta\n"
        + event({"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": part}})
        for part in parts
    ]


def anthropic_tool(parts: list[str]) -> list[bytes]:
    return [
        event({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": part}})
        for part in parts
    ]


def gemini(parts: list[str]) -> list[bytes]:
    return [
        event({"candidates": [{"content": {"parts": [{"text": part}], "role": "model"}, "index": 0}]}) for part in parts
    ]


def gemini_parts(parts: list[str]) -> list[bytes]:
    pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
    return [event({"candidates": [{"content": {"parts": [{"text": part} for part in pair]}}]}) for pair in pairs]


def cohere(parts: list[str]) -> list[bytes]:
    return [
        event({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": part}}}})
        for part in parts
    ]


def by_lines(parts: list[str]) -> list[bytes]:
    return [
        json.dumps({"model": "m", "message": {"role": "assistant", "content": part}}).encode() + b"\n" for part in parts
    ]


def bare(parts: list[str]) -> list[bytes]:
    return [f"data: {part}\n\n".encode() for part in parts]


def as_text(parts: list[str]) -> list[bytes]:
    return [part.encode() for part in parts]


def as_json(parts: list[str]) -> list[bytes]:
    return [json.dumps({"content": "".join(parts)}).encode()]


def two_at_once(parts: list[str]) -> list[bytes]:
    """Two answers to one question, in turn."""
    return [event({"choices": [{"index": number, "delta": {"content": part}}]}) for part in parts for number in (0, 1)]


EVENTS, LINES = "text/event-stream; charset=utf-8", "application/x-ndjson"
STREAMS: dict[str, tuple[str, Callable[[list[str]], list[bytes]]]] = {
    "chat": (EVENTS, chat),
    "chat arguments": (EVENTS, chat_arguments),
    "two answers at once": (EVENTS, two_at_once),
    "responses": (EVENTS, responses),
    "anthropic": (EVENTS, anthropic),
    "anthropic tool": (EVENTS, anthropic_tool),
    "gemini": (EVENTS, gemini),
    "gemini parts": (EVENTS, gemini_parts),
    "cohere": (EVENTS, cohere),
    "lines of JSON": (LINES, by_lines),
    "bare words": (EVENTS, bare),
    "text": ("text/plain", as_text),
    "JSON": ("application/json", as_json),
}


def said(body: bytes) -> str:
    """Every text of a stream, joined as clients join it."""
    texts: dict[object, str] = {}

    def walk(value: object, key: object) -> None:
        if isinstance(value, dict):
            number = value.get("index")
            for name, item in value.items():
                walk(item, (key, number, name))
        elif isinstance(value, list):
            for item in value:
                walk(item, key)
        elif isinstance(value, str):
            texts[key] = texts.get(key, "") + value

    for line in body.decode().split("\n"):
        shown = line.removeprefix("data: ").removesuffix("\r")
        if shown[:1] in ("{", "["):
            with contextlib.suppress(ValueError):
                walk(json.loads(shown), ())
                continue
        if line.startswith("data:") or "data: " not in body.decode():
            texts[""] = texts.get("", "") + shown + ("" if line.startswith("data:") else "\n")
    return "\n\n".join(texts.values())


def kept_of(pieces: list[bytes], content_type: str) -> tuple[list[bytes | None], list[bytes]]:
    """What is kept in the end, and what was kept at every fourth moment."""
    GIVEN.forget()
    veil, kept, moments = Veil(), {}, []
    veil.headers([("Content-Type", content_type)])
    for number, piece in enumerate(pieces):
        kept |= {each.number: each.data for each in veil.body(number, piece)}
        if number % 4 == 0:
            moments.append(b"".join(filter(None, map(kept.get, range(number + 1)))))
    kept |= {each.number: each.data for each in veil.end()}
    return [kept[number] for number in range(len(pieces))], moments


MANY = ("chat", "anthropic tool", "text")
FEW = ("openai", "stripe", "private key", "login in an address", "yaml", "json in json", "option", "number in json")


@pytest.mark.parametrize(
    ("kind", "stream"), [(kind, stream) for stream in STREAMS for kind in (TEXTS if stream in MANY else FEW)]
)
def test_no_kind_of_secret_is_kept_of_a_stream(kind: str, stream: str):
    text, secret = TEXTS[kind]
    if stream == "bare words":  # each is a line of its own, and none holds another
        text, secret = text.replace("\n", " "), secret.replace("\n", " ")
    content_type, make = STREAMS[stream]
    pieces = make([text[place : place + 3] for place in range(0, len(text), 3)])
    for cuts in (pieces, cut(b"".join(pieces), *range(0, 40_000, 53))):
        kept, moments = kept_of(cuts, content_type)
        assert [len(piece or b"") for piece in kept] == [len(piece) for piece in cuts]
        for moment in (b"".join(piece or b"" for piece in kept), *moments):
            assert traces(secret, moment) == traces(secret, said(moment).encode()) == []


HARMLESS = "pássword is great, skilled ask-me sk-learn-0, token: 5, and <key> or $VAR: über"


@pytest.mark.parametrize("stream", STREAMS)
@settings(max_examples=15, deadline=None)
@for_all(st.lists(st.integers(0, 5000), max_size=8), st.integers(1, 9))
def test_a_stream_without_secrets_is_kept_byte_for_byte_with_its_cuts(stream: str, places: list[int], size: int):
    content_type, make = STREAMS[stream]
    pieces = cut(b"".join(make([HARMLESS[at : at + size] for at in range(0, len(HARMLESS), size)])), *places)
    assert kept_of(pieces, content_type)[0] == pieces


@settings(max_examples=40, deadline=None)
@for_all(st.lists(st.integers(0, 5000), max_size=8), st.sampled_from(["chat", "chat arguments", "anthropic", "text"]))
def test_a_secret_with_other_letters_than_ascii_is_covered_in_whole(places: list[int], stream: str):
    content_type, make = STREAMS[stream]
    text = json.dumps({"q": 1, "password": 'hün"ter✓𝄞9'}, ensure_ascii=len(places) % 2 == 0)
    pieces = cut(b"".join(make(cut(text, *places))), *places)
    kept, _ = kept_of(pieces, content_type)
    assert [len(piece or b"") for piece in kept] == [len(piece) for piece in pieces]
    shown = said(b"".join(piece or b"" for piece in kept))
    assert "ter" not in shown
    assert "𝄞" not in shown


PLAIN = (
    "refund ",
    " policy",
    "the order, ",
    " zip",
    "per ",
    "pin",
    " number",
    "A ",
    "auth ",
    "\n",
    "s",
    " key",
    "word ",
    "ann",
    " g",
)
sayings = st.lists(st.one_of(st.sampled_from(PLAIN), st.sampled_from(PLAIN), words), max_size=24)
profiles = pytest.mark.parametrize("profile", ["", "personal", "strict"])


@profiles
@settings(max_examples=40, deadline=None)
@for_all(sayings, st.sampled_from(["chat", "responses", "anthropic", "lines of JSON", "gemini"]), st.integers(1, 3))
@example(["the order, refund "] * 3 + ["pass", "word: ", "hunter2Xy9Q", " refund "], "chat", 1)
@example(["the order, refund "] * 3 + ["s", "k-ant-api03-0123456789abcdef", " refund "], "anthropic", 2)
@example(["the order, refund "] * 3 + ["ann", "@mail.example.com", " refund "], "chat", 1)
@example(
    ["the order", " refund", " policy"] * 3 + [" ann", "@mail.example.com", " DE", "89 3704 0044 0532 0130 00"],
    "chat",
    1,
)
@example([" refund", " X", " B", " A", " B", " policy", " 53 2-11"] * 2, "responses", 1)
def test_events_as_the_one_before_are_judged_as_any_others(profile: str, parts: list[str], stream: str, size: int):
    content_type, make = STREAMS[stream]
    events = make([part for text in parts for part in cut(text, 40, 80)])
    pieces = [b"".join(events[at : at + size]) for at in range(0, len(events), size)]
    OWN.use(Rules(profile=profile))
    try:
        kept, _ = kept_of(pieces, content_type)
        letters, _ = kept_of(cut(b"".join(pieces), *range(0, 40_000, 7)), content_type)
    finally:
        OWN.use(Rules())
    assert [len(piece or b"") for piece in kept] == [len(piece) for piece in pieces]
    assert b"".join(piece or b"" for piece in kept) == b"".join(piece or b"" for piece in letters)


SAID = (
    *(word for text in PLAIN for word in (text, text.strip())),
    *("293.39", "2026-11-24", "2026-11-24T08:21:21Z", "ord_123456789", "https://x.example/a?b=1", "1790000000", "DE89"),
    *("+49 170", "1234567", "(555)", "555", "201-4477", "4111", "1111", "00", "nhs", "ann", "@mail.example.com", "AB"),
    *("Bearer", "bearer", "Basic", "is", "it's", "tcp-port", "half-past", "-u", "-p", "?token=", "A/B", "SK", "AC1"),
    *("pass", "word", "token", "key", ":", "=", "-", ".", ",", "PRIVATE", "KEY", "name", "hunter2Xy9Q", "%2B", "%40"),
)  # fmt: skip


@profiles
@settings(max_examples=400, deadline=None)
@for_all(st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from([" ", " ", " ", "", "\n", ", "])), max_size=24))
@example([(word, " ") for word in ("x", "Bearer", "2026-11-24", "AB", "SK", "refund")])
@example([("Bearer", "\n"), ("2026-11-24", " "), ("AB", " "), ("SK", "\n"), ("refund", " ")])
@example([(word, " ") for word in ("+49 170", "1234567", "293.39", "refund", "policy", "AB", "DE89")])
@example([("", " "), ("", " "), ("refund", " "), ("refund", " ")])
def test_words_and_numbers_that_come_one_by_one_are_judged_as_all_of_them(profile: str, said: list[tuple[str, str]]):
    """What is looked at where a piece joins what came tells what a look at all of the text does."""
    pieces = ["the order, ", "refund ", *(piece for word, sign in said for piece in (word + sign,) if piece)]
    OWN.use(Rules(profile=profile))
    try:
        found = []
        for before in (pieces, [piece for text in pieces for piece in (text.rstrip(), text[len(text.rstrip()) :])]):
            growing = Growing()
            spans = [span for piece in before for span in growing.feed(piece)]
            spans += growing.feed("", is_end=True)
            found.append({place for span in spans for place in range(span.start, span.end)})
        whole = {
            place for span in Growing().feed("".join(pieces), is_end=True) for place in range(span.start, span.end)
        }
    finally:
        OWN.use(Rules())
    assert found == [whole, whole]


def test_events_that_say_the_same_again_are_joined_as_often():
    key = "AKIA" + "Q1Z9" * 4
    pieces = [json.dumps(key[at : at + 4]).encode() + b"\n" for at in range(0, len(key), 4)]
    kept, _ = kept_of([b'"key "\n', *pieces, b'" end"\n'], LINES)
    assert b"Q1Z9" not in b"".join(piece or b"" for piece in kept)
    secret = TEXTS["anthropic"][1]
    typed = [event({"type": secret, "delta": {"text": text}}) for text in ("one ", "two ", "three ")]
    assert secret.encode() not in b"".join(piece or b"" for piece in kept_of(typed, EVENTS)[0])


def test_most_pieces_are_kept_as_they_come():
    pieces = chat(
        [f"{word} " for word in ("What", "a", "model", "says:", "nothing", "waits", "for", "long,", "or", "ever")]
    )
    veil = Veil()
    veil.headers([("content-type", "text/event-stream")])
    assert [[each.number for each in veil.body(number, piece)] for number, piece in enumerate(pieces)] == [
        [number] for number in range(len(pieces))
    ]


# ---------------------------------------------------------------- values


def test_values_are_judged_joined_and_cut_back():
    for make in (lambda part: part, lambda part: {"delta": part, "id": "a"}, lambda part: [["text", part]]):
        GIVEN.forget()
        stream, kept = WirePieces(), {}
        pieces: list[Wire] = [make(part) for part in cut(TEXT, *range(0, 200, 3))]
        for number, piece in enumerate(pieces):
            judged = stream.take(piece)
            kept |= dict(judged.settled) | ({} if judged.data == HELD_BACK else {number: judged.data})
            assert not any(traces(secret, json.dumps([*kept.values()]).encode()) for secret in SECRETS)
        kept |= dict(stream.end())
        shown = [kept[number] for number in range(len(pieces))]
        assert shown == stream.shown
        joined = "".join(said(json.dumps(piece).encode()) for piece in shown)
        assert not any(traces(secret, joined.encode()) for secret in SECRETS)
        assert [len(json.dumps(piece)) for piece in shown] == [len(json.dumps(piece)) for piece in pieces]


def test_a_piece_that_was_held_back_is_written_when_it_is_known(tmp_path: Path):
    with contextlib.closing(open_store(tmp_path / "runs.db", create=True)) as store:
        writer = store.begin_run(agent_tt.model.NewRun("r"), {})
        step = writer.open_step(agent_tt.model.NewStep("s"))
        call = writer.begin_call(step, agent_tt.model.NewCall("tool", "t", {}, "00" * 16))
        writer.deliver(step, call, "chunk", Judged("a"))
        writer.deliver(step, call, "chunk", Judged(HELD_BACK))
        assert [piece.data for piece in store.deliveries(writer.run_id, step, call)] == ["a", HELD_BACK]
        writer.deliver(step, call, "chunk", Judged(HELD_BACK, ((1, {"b": "x" * 20_000}),)))
        end = agent_tt.model.CallEnd("ok", [], stream="end", settled=((2, "c"),))
        writer.end_call(step, call, end)
        writer.finish("succeeded")
        kept = [piece.data for piece in store.deliveries(writer.run_id, step, call)]
        assert kept == ["a", {"b": "x" * 20_000}, "c", None]
        assert store.verify() == []


# ---------------------------------------------------------------- by every way into a file


class Server(ThreadingHTTPServer):
    """Answers with the stream that the path names, in chunks of as many bytes as the query says; 0: as they are."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.go_on = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, stream: str, size: int) -> str:
        return f"http://127.0.0.1:{self.server_port}/{stream.replace(' ', '_')}?{size}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        path, _, size = self.path[1:].partition("?")
        content_type, make = STREAMS[path.replace("_", " ")]
        chunks = make([TEXT[place : place + 3] for place in range(0, len(TEXT), 3)])
        if int(size):
            whole = b"".join(chunks)
            chunks = [whole[place : place + int(size)] for place in range(0, len(whole), int(size))]
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            for chunk in chunks:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


def by_httpx(url: str) -> bytes:
    with httpx.stream("GET", url) as answer:
        return b"".join(answer.iter_bytes())


def by_requests(url: str) -> bytes:
    with requests.get(url, stream=True, timeout=30) as answer:
        return b"".join(answer.iter_content(None))


@agent_tt.tool(effect="read")
def told(size: int) -> Iterator[str]:
    for place in range(0, len(TEXT), size):
        yield TEXT[place : place + size]


def told_all(url: str) -> bytes:
    return "".join(told(4)).encode()


@pytest.mark.parametrize(
    ("client", "stream", "size"),
    [
        *((client, stream, 0) for client in (by_httpx, by_requests) for stream in ("chat", "anthropic", "text")),
        *((client, "chat", 70) for client in (by_httpx, by_requests)),
        (by_httpx, "lines of JSON", 11),
        (told_all, "text", 0),
    ],
)
def test_the_agent_sees_what_came_and_the_file_holds_nothing_of_it(
    tmp_path: Path, server: Server, client: Callable[[str], bytes], stream: str, size: int
):
    path = tmp_path / "runs.db"

    def agent() -> str:
        text = said(client(server.url(stream, size)))
        run.note(text)
        return text

    with agent_tt.record("streamed", store=path, state={}) as run, run.step("s"):
        text = agent()
    assert TEXT in text
    with contextlib.closing(open_store(path)) as store:
        assert store.verify() == []
        (call,) = store.calls(store.run("latest").id, 1)
        pieces = store.deliveries(store.run("latest").id, 1, call.number)
        assert HELD_BACK not in [piece.data for piece in pieces]
        held = b"".join(base64.b64decode(piece.data["$v"]) for piece in pieces if is_bytes(piece.data))
        held += json.dumps("".join(piece.data for piece in pieces if isinstance(piece.data, str))).encode()
        everything = b"\n".join(raw for _, raw in contents(path)) + path.read_bytes() + held + said_of(held)
    assert [traces(secret, everything) for secret in SECRETS] == [[], []]
    with served("latest", store=path) as replay:
        again = said(client(server.url(stream, size)))
    assert not replay.findings
    assert len(again) == len(text)
    assert redact_text(again) == redact_text(text)


def is_bytes(data: Wire) -> bool:
    return isinstance(data, dict) and data.get("$type") == "bytes"


def said_of(held: bytes) -> bytes:
    with contextlib.suppress(ValueError):
        return said(held).encode()
    return b""


KILLED = """
import os, signal, sys
import agent_tt

@agent_tt.tool(effect="read")
def told():
    for part in ["an answer ", "with ", "sk-", "ant-api03-AAbb", "_cc-11-Zz", " and"]:
        yield part

with agent_tt.record("killed", store=sys.argv[1], state={}) as run, run.step("s"):
    for part in told():
        if part == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("last", "kept"),
    [
        ("with ", ["an answer ", "with "]),
        ("sk-", ["an answer ", "with ", HELD_BACK]),
        ("_cc-11-Zz", ["an answer ", "with ", HELD_BACK, HELD_BACK, HELD_BACK]),
    ],
)
def test_a_recording_that_is_killed_holds_all_but_what_may_be_the_beginning_of_a_secret(
    tmp_path: Path, last: str, kept: list[Wire]
):
    path = tmp_path / "runs.db"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), last], check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == -signal.SIGKILL
    with contextlib.closing(open_store(path)) as store:
        run = store.run("latest")
        pieces = store.deliveries(run.id, 1, 1)
        assert [piece.data for piece in pieces] == kept
        assert store.verify() == []
    everything = b"\n".join(raw for _, raw in contents(path)) + path.read_bytes()
    everything += b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert not any(part in everything for part in (b"api03", b"AAbb", b"_cc-11"))
