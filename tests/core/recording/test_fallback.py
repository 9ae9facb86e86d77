"""A run whose store fails goes on beside it, and is taken in later: once, in order, without a gap, without secrets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import StoreUnreadable, UsageError
from agent_tt.store import open_store
from agent_tt.store.spill import files
from agent_tt.store.spill.taking_in import take_in, waiting

if TYPE_CHECKING:
    from pathlib import Path


@agent_tt.tool(effect="read")
def look(number: int) -> dict[str, int]:
    return {"number": number}


@agent_tt.tool(effect="read")
def count(number: int) -> Any:
    yield from range(number)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("agent_tt.recording.runs.fallback._PATIENCE_S", 0.05)
    monkeypatch.setattr("agent_tt.recording.runs.fallback._PATIENCE_AT_THE_END_S", 0.05)
    return tmp_path / "runs.db"


@contextlib.contextmanager
def locked(store: Path) -> Any:
    connection = sqlite3.connect(store, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def spills(store: Path) -> list[Path]:
    return sorted(files.find(store))


def test_a_run_taken_in_is_the_same_as_one_that_needed_no_taking_in(store: Path) -> None:
    def agent(name: str, *, fails: bool) -> None:
        state: dict[str, Any] = {"rows": [], "pair": (1, 2), "set": {3}}
        with contextlib.ExitStack() as stack, agent_tt.record(name, state=state, store=store, tags=["a"]) as run:
            with run.step("one", state):
                state["rows"].append(look(1))
                if fails:
                    stack.enter_context(locked(store))
                state["rows"].append(look(2))
                with run.step("nested", agent="helper"), contextlib.suppress(ValueError):
                    agent_tt.tool(effect="write", name="fail")(lambda: (_ for _ in ()).throw(ValueError("no")))()
                assert list(count(3)) == [0, 1, 2]
            with run.step("two", state) as step:
                state["rows"].pop(0)
                step.decision = "go on"
                run.note("here")
                run.tag("b")

    with agent_tt.record("makes the store", store=store):
        pass
    agent("plain", fails=False)
    agent("fallen back", fails=True)
    assert len(spills(store)) == 1
    assert [left.run for left in waiting(store)]
    assert take_in(store) == []
    with contextlib.closing(open_store(store)) as opened:
        assert opened.verify() == []
        plain, fallen = opened.run("plain"), opened.run("fallen back")
        assert (fallen.status, fallen.steps, fallen.tags) == (plain.status, plain.steps, plain.tags)
        for number in range(4):
            assert opened.digest(fallen.id, number) == opened.digest(plain.id, number)
            assert opened.state(fallen.id, number) == opened.state(plain.id, number)
        for mine, theirs in zip(opened.steps(fallen.id), opened.steps(plain.id), strict=True):
            assert (mine.name, mine.status, mine.kind, mine.parent, mine.agent, mine.decision, mine.seq) == (
                theirs.name, theirs.status, theirs.kind, theirs.parent, theirs.agent, theirs.decision, theirs.seq
            )  # fmt: skip
            for a, b in zip(opened.calls(fallen.id, mine.number), opened.calls(plain.id, mine.number), strict=True):
                assert (a.name, a.status, a.args, a.result, a.signature, a.delivered) == (
                    b.name, b.status, b.args, b.result, b.signature, b.delivered
                )  # fmt: skip
                assert [d.number for d in opened.deliveries(fallen.id, mine.number, a.number)] == [
                    d.number for d in opened.deliveries(plain.id, mine.number, b.number)
                ]


def test_what_was_taken_in_is_not_taken_in_again(store: Path) -> None:
    with agent_tt.record("x", store=store) as run, contextlib.ExitStack() as stack:
        stack.enter_context(locked(store))
        with run.step("s"):
            look(1)
        stack.pop_all()
        spilled = {path: path.read_bytes() for path in spills(store)}
    assert spilled
    for path, data in spilled.items():  # as if it could not be deleted
        path.write_bytes(data)
    (path,) = spilled
    path.chmod(0o600)
    take_in(store)
    with contextlib.closing(open_store(store)) as opened:
        (only,) = opened.runs()
        assert only.steps == 1
        assert opened.verify() == []


@pytest.mark.parametrize("cut", [1, 30, 200, 100_000])
def test_a_file_that_was_cut_off_is_taken_in_up_to_there(store: Path, cut: int) -> None:
    with agent_tt.record("earlier", store=store):
        pass
    with locked(store), agent_tt.record("x", state={"n": 0}, store=store) as run:
        for number in range(4):
            with run.step(f"s{number}", {"n": number}):
                look(number)
    (path,) = spills(store)
    data = path.read_bytes()
    path.write_bytes(data[: max(0, len(data) - cut)])
    take_in(store)
    with contextlib.closing(open_store(store)) as opened:
        assert opened.verify() == []
        for known in opened.runs():
            assert known.name in ("earlier", "x")
            assert known.steps <= 4


def test_a_line_that_was_changed_is_noticed_and_said(store: Path) -> None:
    with agent_tt.record("earlier", store=store):
        pass
    with locked(store), agent_tt.record("x", store=store) as run:
        for number in range(4):
            with run.step(f"s{number}"):
                look(number)
    (path,) = spills(store)
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"number":2' in line)
    lines[at] = lines[at].replace(b'"number":2', b'"number":9')
    path.write_bytes(b"".join(lines))
    assert take_in(store) == []
    with contextlib.closing(open_store(store)) as opened:
        found = opened.run("x")
        assert found.incomplete == (
            "recording stopped at step 3: the rest of what was written beside the store is damaged"
        )
        assert "9" not in json.dumps([call.result for call in opened.calls(found.id, 3)])


def test_no_secret_is_in_the_file_and_only_its_owner_may_read_it(store: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 4
    with agent_tt.record("earlier", store=store):
        pass
    with locked(store), agent_tt.record("x", state={"api_key": key}, store=store, metadata={"key": key}) as run:
        run.note(f"with {key}")
        with run.step(f"step {key}", {"held": [key], "password": "correct horse"}) as step:
            step.decision = key
            agent_tt.tool(effect="read", name="give")(lambda token: {"secret": key, "seen": token})(token=key)
            with contextlib.suppress(ValueError):
                agent_tt.tool(effect="read", name="fail")(lambda: int(key))()
    (path,) = spills(store)
    text = path.read_text()
    assert key not in text
    assert "correct horse" not in text
    assert path.stat().st_mode & 0o777 == 0o600


def test_where_nothing_can_be_written_the_run_is_marked_incomplete(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "ready", lambda folder: False)
    monkeypatch.setattr("agent_tt.store.spill.writer.ready", lambda folder: False)
    with agent_tt.record("x", state={"n": 0}, store=store) as run:
        with run.step("one", {"n": 1}):
            look(1)
        with locked(store), run.step("two", {"n": 2}):
            assert look(2) == {"number": 2}
        with run.step("three", {"n": 3}):
            assert look(3) == {"number": 3}
    with contextlib.closing(open_store(store)) as opened:
        (found,) = opened.runs()
        assert (found.steps, found.status) == (1, "succeeded")
        assert found.incomplete is not None
        assert found.incomplete.startswith("recording stopped at step 1: ")
        assert opened.verify() == []
    assert capsys.readouterr().err.count("agent-tt:") == 1


def test_threads_and_tasks_go_on_and_wait_for_a_lock_only_once(store: Path) -> None:
    async def agent() -> list[Any]:
        return await asyncio.gather(*(asyncio.to_thread(look, number) for number in range(8)))

    with agent_tt.record("earlier", store=store):
        pass
    with locked(store), agent_tt.record("x", store=store) as run, run.step("s"):
        heard: list[Any] = []
        threads = [threading.Thread(target=lambda n=n: heard.append(look(n))) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(heard) == 8
        assert asyncio.run(agent()) == [{"number": number} for number in range(8)]
    assert take_in(store) == []
    with contextlib.closing(open_store(store)) as opened:
        assert opened.verify() == []
        found = opened.run("x")
        calls = opened.calls(found.id, 1)
        assert [call.number for call in calls] == list(range(1, 17))
        assert {call.status for call in calls} == {"ok"}


KILLED = """
import agent_tt, os, signal, sys
from pathlib import Path
@agent_tt.tool(effect="read")
def look(n): return n
store = Path(sys.argv[1])
with agent_tt.record("x", state={"n": 0}, store=store) as run:
    with run.step("first", {"n": 1}): look(1)
    store.rename(store.with_name("away"))
    with run.step("second", {"n": 2}): look(2)
    with run.step("third", {"n": 3}):
        look(3)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_written_before_a_kill_is_taken_in_and_the_run_has_crashed(store: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(store)], capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert ended.returncode == -signal.SIGKILL
    assert len(spills(store)) == 1
    store.with_name("away").rename(store)
    assert take_in(store) == []
    with contextlib.closing(open_store(store)) as opened:
        assert opened.verify() == []
        found = opened.run("x")
        assert (found.status, found.steps) == ("crashed", 3)
        assert [step.status for step in opened.steps(found.id)] == ["ok", "ok", "interrupted"]
        assert [call.result for number in (1, 2, 3) for call in opened.calls(found.id, number)] == [1, 2, 3]
        assert opened.state(found.id, 2) == {"n": 2}


FORKED = """
import agent_tt, os, sys
from pathlib import Path
@agent_tt.tool(effect="read")
def look(n): return n
store = Path(sys.argv[1])
with agent_tt.record("x", store=store) as run:
    with run.step("first"): look(1)
    store.rename(store.with_name("away"))
    with run.step("second"):
        look(2)
        child = os.fork()
        if not child:
            look(21)
            with run.step("child's"): look(22)
            sys.stdout.flush()
            os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        look(3)
    store.with_name("away").rename(store)
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX systems alone")
def test_a_forked_process_goes_on_in_a_file_of_its_own(store: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(store)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert (ended.stdout, ended.returncode) == ("done\n", 0), ended.stderr
    assert take_in(store) == []
    assert spills(store) == []
    with contextlib.closing(open_store(store)) as opened:
        assert opened.verify() == []
        found = opened.run("x")
        results = sorted(call.result for step in opened.steps(found.id) for call in opened.calls(found.id, step.number))
        assert results == [1, 2, 3, 21, 22]


def test_another_users_folder_for_temporary_files_is_not_used(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files.places(store)[1]
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert not files.ready(folder)
    folder.chmod(0o700)
    assert files.ready(folder)
    assert files.find(store) == []


# ---------------------------------------------------------------- stopping instead


def test_with_stop_the_agent_gets_the_error_before_anything_happens(store: Path) -> None:
    store.mkdir()
    ran = []
    with pytest.raises(StoreUnreadable), agent_tt.record("x", store=store, on_store_error="stop"):
        ran.append(1)
    assert ran == []
    assert spills(store) == []


def test_the_projects_settings_may_say_stop(store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    store.mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt]\non_store_error = "stop"\n')
    with pytest.raises(StoreUnreadable), agent_tt.record("x", store=store):
        pass
    with agent_tt.record("x", store=store, on_store_error="continue"):
        pass
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt]\non_store_error = "go on"\n')
    with pytest.raises(UsageError, match="on_store_error cannot be 'go on'"):
        agent_tt.record("x", store=store)
    with pytest.raises(UsageError, match="on_store_error='maybe'"):
        agent_tt.record("x", store=store, on_store_error="maybe")  # type: ignore[arg-type]


def test_a_replay_says_that_the_recording_stopped(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with agent_tt.record("x", store=store) as run, run.step("s"):
        look(1)
    with contextlib.closing(open_store(store)) as opened:
        opened.set_metadata(run.id, {"incomplete": {"step": 1, "reason": "the disk was full"}})
        assert opened.run("x").incomplete == "recording stopped at step 1: the disk was full"
        opened.set_metadata(run.id, {"incomplete": True})
        assert opened.run("x").incomplete is None


PARTS = ["the key is ", "sk-", "ant-api03-AA", "bb_cc-11-Zz", " and", " no more"]


@agent_tt.tool(effect="read")
def tell() -> Any:
    yield from PARTS


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_piece_that_was_held_back_is_known_whichever_file_the_next_ones_go_to(store: Path, at: int) -> None:
    with contextlib.ExitStack() as stack, agent_tt.record("told", state={}, store=store) as run, run.step("s"):
        for place, part in enumerate(tell()):
            assert part == PARTS[place]
            if place == at:
                stack.enter_context(locked(store))
    assert store.exists()
    take_in(store)
    with contextlib.closing(open_store(store)) as opened:
        assert opened.verify() == []
        told = opened.run("told")
        assert told.incomplete is None
        pieces = [piece.data for piece in opened.deliveries(told.id, 1, 1)]
        (call,) = opened.calls(told.id, 1)
    assert [len(piece) for piece in pieces[:-1] if isinstance(piece, str)] == [len(part) for part in PARTS]
    assert pieces[0] == PARTS[0]
    joined = "".join(map(str, pieces[:-1]))
    assert joined.startswith("the key is ~redacted1~")
    assert joined.endswith("~ and no more")
    assert isinstance(call.result, dict)
    assert call.result["yielded"] == pieces[:-1]
    everything = b"".join(path.read_bytes() for path in store.parent.rglob("*") if path.is_file())
    assert not any(part in everything for part in (b"api03", b"bb_cc", b"11-Zz"))
