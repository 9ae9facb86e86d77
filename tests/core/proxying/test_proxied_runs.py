"""Programs that know nothing of agent-tt, recorded through the proxy, and replayed without a network."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.core.proxying.provider import ANTHROPIC, OPENAI, PLAIN, WAITS, WORDS, provider
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.proxying.forwarding import end_to_end
from agent_tt.proxying.server import Proxy
from agent_tt.proxying.upstreams import from_arguments, to_arguments, upstreams_of
from agent_tt.recording.scope import nowhere
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.store import SqliteStore

KEY = "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the programs read, when they are recorded and when they are replayed."""
    monkeypatch.setenv("KEY", KEY)


def record(folder: Path, code: str, address: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "agent.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "OPENAI_BASE_URL": f"{address}/v1", "ANTHROPIC_BASE_URL": address}
    command = [sys.executable, "-m", "agent_tt_tui", "record", "--proxy", "--store", str(folder / "runs.db")]
    return subprocess.run(
        [*command, "--", sys.executable, "agent.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_answers_reach_the_program_byte_for_byte_and_are_replayed_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDS", "7")
    with provider() as server:
        done = record(tmp_path, PLAIN, server.address)
        assert (done.returncode, done.stdout) == (7, b"".join(server.sent)), done.stderr
        assert server.asked == ["/v1/chat/completions"] * 2
        path = tmp_path / "runs.db"
        with closing(open_store(path)) as store:
            (run,) = store.runs()
            assert (run.name, run.status, run.steps) == ("agent", "failed", 2)
            first, second = (store.calls(run.id, step)[0] for step in (1, 2))
            assert (first.kind, first.args["url"]) == ("llm", f"{server.address}/v1/chat/completions")
            pieces = store.deliveries(run.id, 2, second.number)
            assert len(pieces) > len(WORDS)
            assert store.state(run.id, 2)["messages"][-1]["content"] == "".join(WORDS)
            assert "program behind the proxy" in run.facts.unseen_libraries[0]
        assert KEY.encode() not in b"".join(each.read_bytes() for each in tmp_path.glob("runs.db*"))
    report = agent_tt.replay(run.id, store=path)
    assert (report.verdict, report.served) == ("reserved", 2)
    assert [note.kind for note in report.notes] == ["not covered"]
    assert len(server.asked) == 2
    changed = PLAIN.replace("question {number}", "another {number}")
    (tmp_path / "agent.py").write_text(changed, encoding="utf-8")
    report = agent_tt.replay(run.id, store=path)
    assert (report.verdict, [each.kind for each in report.divergences]) == ("diverged", ["changed request"])


@pytest.mark.parametrize("code", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_an_sdk_asks_and_streams_through_it_as_without(tmp_path: Path, code: str) -> None:
    with provider() as server:
        done = record(tmp_path, code, server.address)
    said = "".join(WORDS)
    assert done.stdout.decode().split("\n") == [said, said, ""], done.stderr
    with closing(open_store(tmp_path / "runs.db")) as store:
        (run,) = store.runs()
        assert (run.status, run.steps) == ("succeeded", 2)
        assert [store.calls(run.id, step)[0].status for step in (1, 2)] == ["ok", "ok"]


def test_a_fork_goes_on_for_real_from_a_step(tmp_path: Path) -> None:
    with provider() as server:
        record(tmp_path, PLAIN, server.address)
        with closing(open_store(tmp_path / "runs.db")) as store:
            (run,) = store.runs()
        fork = agent_tt.fork(run.id, 1, store=tmp_path / "runs.db", model="gpt-4o")
        done = fork.result()
        assert len(server.asked) == 3
        with closing(open_store(tmp_path / "runs.db")) as store:
            assert store.calls(done.id, 2)[0].args["body"]["model"] == "gpt-4o"
    assert done.status == "succeeded"


def test_only_the_token_of_the_run_is_answered() -> None:
    proxy = Proxy({"openai": "http://127.0.0.1:9/v1", "anthropic": "http://127.0.0.1:9", "gemini": "http://h"}, bool)
    proxy.start()
    place = urlsplit(proxy.environment()["OPENAI_BASE_URL"])
    token = place.path.split("/")[1]
    assert len(token) >= 32
    for path, status in (
        ("/", 404),
        ("/openai/chat/completions", 404),
        (f"/{token[:-1]}/openai/chat/completions", 404),
        (f"/{token}/elsewhere/x", 404),
        (f"/{token}", 404),
        (f"/{token}/openai/chat/completions", 502),
        ("//" * 100, 404),
    ):
        connection = http.client.HTTPConnection(place.hostname, place.port)
        with closing(connection):
            connection.request("POST", path, b"{}")
            with closing(connection.getresponse()) as answer:
                assert (answer.status, b"agent_tt" in answer.read()) == (status, True), path
    assert proxy.address_of(f"/{token}/gemini/v1/x?key=1") == "http://h/v1/x?key=1"
    assert proxy.address_of(f"/{token}/gemini?key=1") == "http://h?key=1"


def test_addresses_come_from_the_users_variables_and_are_kept_with_the_run() -> None:
    found = upstreams_of({"OPENAI_BASE_URL": "https://mine/v2/", "GEMINI_BASE_URL": "http://g"})
    assert found == {"openai": "https://mine/v2", "anthropic": "https://api.anthropic.com", "gemini": "http://g"}
    assert from_arguments(to_arguments(found, ["node", "a.js", "--", "x"])) == (found, ["node", "a.js", "--", "x"])
    for wrong in ("mine", "ftp://mine", "https://", "http://a:b", "https://user:secret@mine/v1", "https://mine/?key=1"):
        with pytest.raises(UsageError):
            upstreams_of({"OPENAI_BASE_URL": wrong})
    for arguments in ([], ["--"], ["--", "node"], ["openai=http://a", "--", "node"]):
        with pytest.raises(UsageError):
            from_arguments(arguments)


def test_headers_of_the_connection_are_not_passed_on() -> None:
    headers = [("Connection", "close, X-Own"), ("X-Own", "1"), ("TE", "trailers"), ("X-Kept", "2"), ("Accept", "*/*")]
    assert end_to_end(headers) == [("X-Kept", "2"), ("Accept", "*/*")]


def test_a_run_that_is_stopped_ends_with_its_program(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(WAITS, encoding="utf-8")
    with provider() as server:
        environment = {**os.environ, "OPENAI_BASE_URL": f"{server.address}/v1"}
        command = [sys.executable, "-m", "agent_tt_tui", "record", "--proxy", "--store", str(tmp_path / "runs.db")]
        recorder = subprocess.Popen(
            [*command, "--", sys.executable, "agent.py"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert recorder.stdout is not None
        program = int(recorder.stdout.readline())
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(PATIENCE_SECONDS) == 130
        recorder.stdout.close()
        with pytest.raises(ProcessLookupError):
            os.kill(program, 0)
    with closing(open_store(tmp_path / "runs.db")) as store:
        (run,) = store.runs()
        assert (run.status, run.steps) == ("interrupted", 2)


def test_a_request_of_a_program_is_held_and_changed(tmp_path: Path) -> None:
    with provider() as server, closing(open_store(tmp_path / "runs.db", create=True)) as store:
        with agent_tt.record("agent", store=store.path, attach=True) as run:
            held = store.hold_run(run.id)
            asking = Proxy(upstreams_of({"OPENAI_BASE_URL": f"{server.address}/v1"}), bool)
            asking.start()
            place = urlsplit(asking.environment()["OPENAI_BASE_URL"])
            decided = threading.Thread(target=_edit, args=(store, run.id), daemon=True)
            decided.start()
            connection = http.client.HTTPConnection(place.hostname, place.port)
            with nowhere(), closing(connection):
                body = json.dumps({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]})
                connection.request("POST", f"{place.path}/chat/completions", body, {"Content-Type": "application/json"})
                assert connection.getresponse().status == 200
            store.let_go(run.id, held.id)
        (call,) = [call for step in store.steps(run.id) for call in store.calls(run.id, step.number)]
        assert call.args["body"]["model"] == "gpt-4o"


def _edit(store: SqliteStore, run_id: str) -> None:
    while not (waiting := store.questions(run_id)):
        time.sleep(0.01)
    (question,) = waiting
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
    store.answer_question(question.id, question.run(body=body).said_by("test"))
