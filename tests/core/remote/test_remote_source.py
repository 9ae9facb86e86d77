"""The runs of a server as a source: what any source must do, what the server says, and what goes wrong on the way."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.serving.asking import FLAKY, SAMPLES
from tests.core.serving.rest.served import TOKEN, serving
from tests.served_in_thread import served

import agent_tt
from agent_tt import samples
from agent_tt.errors import AgentTTError, PathNotFound, RunNotFound, StepNotFound, StoreUnreadable, UsageError
from agent_tt.remote import RemoteRuns, open_server
from agent_tt.shapes.answers import run_answer
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "runs.db"
    path.write_bytes(SAMPLES.read_bytes())
    with closing(open_store(path)) as opened:
        run = opened.run(FLAKY)
        opened.name_checkpoint(run.id, 6, "priced")
        opened.add_note(run.id, 6, "note", "Cents!")
        opened.set_tags(run.id, ["shop"])
    return path


@pytest.fixture(scope="module")
def remote(store: Path) -> Iterator[RemoteRuns]:
    with serving(store, store.parent) as address, closing(open_server(address, TOKEN)) as source:
        yield source


def test_it_is_a_source_as_any_other(remote):
    check_source(remote)


def test_it_says_what_the_server_says(remote, store):
    with closing(agent_tt.open_source(store, read_only=True)) as local:
        for run in local.runs():
            there = remote.run(run.id)
            told, here = run_answer(remote, there), run_answer(local, local.run(run.id))
            assert told["run"].pop("read_only") is True
            assert here["run"].pop("read_only") is False
            assert told == here
            for step in range(run.steps + 1):
                assert remote.state(run.id, step) == local.state(run.id, step)
            assert remote.call_heads(run.id) == local.call_heads(run.id)
            assert remote.verify(run.id) == []
        known, said = local.capabilities, remote.capabilities
        assert (said.pages, said.indexes, said.redacted, said.records) == (known.pages, known.indexes, True, False)
        run = remote.run(FLAKY)
        assert remote.step_number(run, "priced") == 6
        assert remote.run("latest") == remote.runs()[0]
        assert (run.tags, run.read_only) == (("shop",), True)
        assert [note.body for note in remote.notes(run.id)] == ["Cents!"]


def test_its_errors_are_those_of_the_server(remote):
    run = remote.run(FLAKY)
    with pytest.raises(RunNotFound) as missing:
        remote.run("flaky-chekout")
    assert missing.value.nearest
    with pytest.raises(StepNotFound):
        remote.state(run.id, 99)
    with pytest.raises(PathNotFound):
        remote.value(run.id, 6, ("no", "such", "path"))


def test_a_change_on_the_server_is_seen_and_what_was_kept_is_asked_again(remote, store):
    before = remote.runs()
    samples_there = {run.name for run in before}
    with agent_tt.record("another", state={"n": 1}, store=store) as run, run.step("a", {"n": 2}):
        pass
    from tests.core.serving.otlp.received_runs import until

    until(lambda: {run.name for run in remote.runs()} - samples_there == {"another"})
    assert remote.state(remote.run("another").id, 1) == {"n": 2}
    assert samples.find("refund-loop") is not None


def test_many_threads_ask_at_once(remote):
    run = remote.run(FLAKY)
    found: list[Any] = []

    def ask() -> None:
        found.append([remote.state(run.id, step) for step in range(run.steps + 1)])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(
    "url",
    ["", "runs.db", "ftp://127.0.0.1", "http://example.com:8411", "http://10.0.0.1", "http://me:secret@127.0.0.1:1",
     "http://127.0.0.1:99999", "http://[::1", "http://127.0.0.1:1?token=x", "https://a@b"],
)  # fmt: skip
def test_an_address_that_is_none_or_would_send_the_token_in_clear_is_refused(url):
    with pytest.raises(UsageError) as refused:
        open_server(url, TOKEN)
    assert TOKEN not in str(refused.value)


def test_without_a_token_or_with_another_one_it_says_so(store, monkeypatch):
    monkeypatch.delenv("AGENT_TT_SERVER_TOKEN", raising=False)
    with pytest.raises(UsageError, match="no token"):
        open_server("http://127.0.0.1:1")
    with serving(store, store.parent) as address:
        with pytest.raises(UsageError, match="takes another token"):
            open_server(address, "another token that is long")
        monkeypatch.setenv("AGENT_TT_SERVER_TOKEN", TOKEN)
        source = open_server(address)
        run = source.runs()[0]
    with closing(source), pytest.raises(StoreUnreadable, match="does not answer"):
        source.state(run.id, 1)
    with pytest.raises(StoreUnreadable, match="does not answer"):
        open_server(address, TOKEN)


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[str]:
    """A server that is not ours."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


ODD = [
    (b"", 200), (b"{", 200), (b"[]", 200), (b'{"value": 3}', 200), (b'{"value": {"capabilities": {}}}', 200),
    (b"<html>", 200), (b"[" * 100_000, 200), (b"<html>", 502), (b'{"error": 3}', 404), (b"", 301),
    (b'{"error": {"kind": "made_up", "message": "m"}}', 418),
    (b'{"error": {"kind": "run_not_found", "message": "m", "nearest": 3}}', 404),
    (b'{"error": {"kind": "invalid_path", "message": "m"}}', 422),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status"), ODD)
def test_what_answers_otherwise_is_a_clear_error(body, status):
    with answering(body, status) as address, pytest.raises(AgentTTError):
        open_server(address, TOKEN)


@pytest.mark.parametrize("value", ["3", "null", "[3]", '[{"id": 3}]', '{"a": 1}', '["x"]', "[[1]]", '[[1, "zz"]]'])
def test_records_that_are_none_are_a_clear_error(remote, value):
    body = f'{{"value": {value}}}'.encode()

    class Odd:
        url = "http://127.0.0.1:1"

        def ask(self, question: str, about: Any) -> bytes:
            return b'{"value": 7}' if question == "version" else body

    odd = RemoteRuns.__new__(RemoteRuns)
    odd.__dict__.update({**remote.__dict__, "_connection": Odd()})
    odd._kept = type(remote._kept)()
    for ask in (
        lambda: odd.runs(), lambda: odd.run("x"), lambda: odd.steps("x"), lambda: odd.calls("x", 1),
        lambda: odd.step_count("x"), lambda: odd.notes("x"), lambda: odd.digest_page("x", 1, 2),
    ):  # fmt: skip
        with suppress(StoreUnreadable):  # and nothing else is raised
            ask()
