"""Who is refused by the server for teams, and what is written down of it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.serving.asking import SAMPLES
from tests.core.serving.rest.served import BEARER, HOST, PORT, TOKEN, client

from agent_tt.serving.rest.audit import Audit
from agent_tt.serving.rest.gate import Room

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm("fastapi.testclient", "pydantic")

PATHS = ["/api/runs", "/openapi.json", "/api/nothing", "/", "/v1/traces", "/docs"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer é"]
)
def test_without_the_token_nothing_is_told_not_even_what_there_is(path, given):
    answer = client(SAMPLES).get(path, headers={"Authorization": given.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.json()["error"]["kind"] == "no_token"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in answer.text


def test_two_tokens_are_none():
    answer = client(SAMPLES).get(
        "/api/runs", headers=[("Authorization", "Bearer x"), ("Authorization", f"Bearer {TOKEN}")]
    )
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", "127.0.0.1.nip.io:8411", "", "["],
)
def test_a_name_that_leads_here_is_refused(host):
    for path in ("/api/runs", "/health"):
        answer = client(SAMPLES).get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert answer.json()["error"]["kind"] == "wrong_host"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1", "file://", ""]
)
def test_a_page_of_another_origin_is_refused(origin):
    for method in ("GET", "POST", "OPTIONS", "DELETE"):
        answer = client(SAMPLES).request(method, "/api/runs", headers={"Origin": origin})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


def test_the_servers_own_names_and_pages_may_ask():
    for host in (HOST, f"localhost:{PORT}", f"LOCALHOST:{PORT}"):
        assert client(SAMPLES).get("/api/runs", headers={"Host": host}).status_code == 200
        assert client(SAMPLES).get("/api/runs", headers={"Origin": f"http://{host}"}).status_code == 200


def test_what_is_too_large_is_refused_before_it_is_read():
    asked = client(SAMPLES, room=Room(body=1_000, received=2_000))

    def endless():
        for _ in range(10_000):
            yield b"x" * 100

    for path in ("/api/source/runs", "/api/runs/a/forks", "/v1/traces", "/v1/logs"):
        for body in (b"x" * 2_001, endless()):  # with its length, and in pieces of which nobody knows how many come
            answer = asked.post(path, content=body, headers={"Content-Type": "application/json"})
            assert (answer.status_code, answer.json()["error"]["kind"]) == (413, "too_large"), path
    answer = asked.post("/api/nothing", content=b"x", headers={"Content-Length": "999999999999"})
    assert answer.status_code == 413
    assert answer.json()["error"]["kind"] == "too_large"


def test_a_body_that_does_not_come_is_not_waited_for_long(tmp_path):
    store = tmp_path / "runs.db"
    store.write_bytes(SAMPLES.read_bytes())
    app: Any = client(store, room=Room(seconds=0.2)).app

    async def ask() -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []
        headers = [(b"host", HOST.encode()), (b"authorization", BEARER["Authorization"].encode())]
        scope = {"type": "http", "method": "POST", "path": "/api/source/runs", "raw_path": b"/api/source/runs",
                 "query_string": b"", "headers": headers, "http_version": "1.1", "scheme": "http"}  # fmt: skip

        async def never() -> dict[str, Any]:
            await asyncio.sleep(600)
            return {}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await app(scope, never, send)
        return sent

    start, body = asyncio.run(ask())
    assert (start["status"], json.loads(body["body"])["error"]["kind"]) == (408, "too_slow")


def test_who_asks_too_often_is_sent_away_and_told_when_to_come_back():
    asked = client(SAMPLES, room=Room(rate=5))
    answers = [asked.get("/health" if index == 3 else "/api/nothing") for index in range(40)]
    assert answers[0].status_code == 404
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)


def test_who_tries_many_tokens_is_slowed_and_others_are_not():
    asked = client(SAMPLES)
    tried = [asked.get("/api/runs", headers={"Authorization": f"Bearer {number}"}) for number in range(60)]
    assert 429 in {answer.status_code for answer in tried}
    assert asked.get("/api/runs").status_code == 200


def test_nothing_but_a_heartbeat_is_open():
    assert client(SAMPLES).get("/health", headers={"Authorization": ""}).json() == {"status": "ok"}


def test_answers_are_not_kept_by_others_and_are_what_they_say():
    answer = client(SAMPLES).get("/api/runs")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"] == "application/json"


def test_the_audit_log_says_who_asked_what_and_no_secret(tmp_path):
    audit = tmp_path / "logs" / "audit.jsonl"
    log = Audit(audit)
    asked = client(SAMPLES, audit=log)
    asked.get("/api/find", params={"text": "a-word-that-was-searched"})
    asked.get("/api/runs", headers={"Authorization": "Bearer another-token"})
    asked.get("/api/runs/sk-ant-api03-" + "Ab3dEf6hIj9k" * 7 + "AA")
    log.close()
    text = audit.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["method"], line["path"], line["status"]) for line in lines[:2]] == [
        ("GET", "/api/find", 200),
        ("GET", "/api/runs", 401),
    ]
    assert lines[1]["refused"] is True
    for secret in (TOKEN, "another-token", "a-word-that-was-searched", "Ab3dEf6hIj9k" * 7):
        assert secret not in text
    if os.name == "posix":
        assert stat.S_IMODE(audit.stat().st_mode) == 0o600
    assert BEARER["Authorization"] not in text


def test_what_goes_wrong_inside_is_an_error_of_the_same_shape(monkeypatch, tmp_path: Path):
    from agent_tt.store.store import SqliteStore

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(SqliteStore, "runs", broken)
    answer = client(SAMPLES).get("/api/runs")
    assert answer.status_code == 500
    assert answer.json()["error"]["kind"] == "bug"
    gone = client(tmp_path / "none.db").get("/api/runs")
    assert (gone.status_code, gone.json()["error"]["kind"]) == (404, "store_not_found")
    (tmp_path / "text.db").write_text("no store")
    unread = client(tmp_path / "text.db").get("/api/runs")
    assert (unread.status_code, unread.json()["error"]["kind"]) == (502, "not_a_store")


def test_what_takes_too_long_is_given_up(monkeypatch):
    import time

    from agent_tt.store.store import SqliteStore

    monkeypatch.setattr(SqliteStore, "runs", lambda *_args, **_kwargs: time.sleep(1) or [])
    answer = client(SAMPLES, seconds=0.05).get("/api/runs")
    assert (answer.status_code, answer.json()["error"]["kind"]) == (504, "too_long")
