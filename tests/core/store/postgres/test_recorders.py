"""Recording on a server: many at once, on many machines, followed live, and what is left after a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.store.recordings import begin, call, chat, step
from tests.patience import PATIENCE_SECONDS
from tests.postgres_server import SECRET, own_server

import agent_tt
from agent_tt.addresses import Address
from agent_tt.errors import StoreUnreadable
from agent_tt.model import NewStep, Owner, StepEnd
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt.store.liveness import STALE_US, as_if, now_us
from agent_tt.store.postgres import transaction
from agent_tt.store.spill.files import find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from psycopg import Cursor
    from tests.postgres_server import Server, TestDatabase

    from agent_tt.store import SqliteStore
    from agent_tt.store.postgres.connecting import Connection
    from agent_tt.store.postgres.transaction import Statement


def at_once(*works: Callable[[], None]) -> None:
    """Do several things in threads of their own; raise what one of them raises."""
    raised: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_many_recorders_write_at_once_and_their_numbers_never_clash(postgres: TestDatabase) -> None:
    def record(name: str) -> Callable[[], None]:
        def work() -> None:
            with closing(open_store(postgres.address, create=True)) as store:
                chat(store, 15, name)

        return work

    at_once(*map(record, "abcdef"))
    with closing(open_store(postgres.address)) as store:
        assert sorted(run.name for run in store.runs()) == list("abcdef")
        assert all([each.number for each in store.steps(run.id)] == list(range(1, 16)) for run in store.runs())
        assert store.verify() == []


def test_several_writers_of_one_run_take_turns_and_leave_no_gap(store: SqliteStore, postgres: TestDatabase) -> None:
    first = begin(store, {"n": 0})

    def join() -> None:
        with closing(open_store(postgres.address)) as mine:
            writer = mine.join_run(first.run_id)
            for n in range(12):
                number = writer.open_step(NewStep("joined"))
                call(writer, number, {"n": n}, n)
                writer.close_step(number, StepEnd("ok"), {"n": n})

    def own() -> None:
        for n in range(12):
            number = first.open_step(NewStep("own"))
            call(first, number, {"n": n}, n)
            first.close_step(number, StepEnd("ok"), {"n": n})

    at_once(own, join, join)
    first.finish("succeeded")
    steps = store.steps(first.run_id)
    assert [each.number for each in steps] == list(range(1, 37))
    delivered = [each.delivered for number in range(1, 37) for each in store.calls(first.run_id, number)]
    assert sorted(delivered) == list(range(1, 37))
    assert store.verify() == []


def test_large_parts_and_paths_that_many_write_at_once_are_kept_once(postgres: TestDatabase) -> None:
    texts = ["large " * 2000 + str(n) for n in range(8)]

    def record(order: list[str]) -> Callable[[], None]:
        def work() -> None:
            with closing(open_store(postgres.address, create=True)) as store:
                writer = begin(store, {})
                for n in range(6):
                    number = writer.open_step(NewStep("s"))
                    call(writer, number, {text[-1]: text for text in order}, n)
                    writer.close_step(number, StepEnd("ok"), {f"key {n} {text[-1]}": text for text in order})
                writer.finish("succeeded")

        return work

    at_once(record(texts), record(texts[::-1]), record(texts[4:] + texts[:4]))
    with closing(open_store(postgres.address)) as store:
        assert store.verify() == []
    assert postgres.query("SELECT count(*) - count(DISTINCT hash) FROM agent_tt.blobs") == [(0,)]


def test_who_follows_sees_what_another_process_writes(store: SqliteStore, postgres: TestDatabase) -> None:
    with closing(open_source(postgres.address)) as source:
        before = source.version()
        writer = begin(store, {})
        until(lambda: source.version() != before)
        before = source.version()
        step(writer, {"n": 1})
        until(lambda: source.version() != before)
        assert source.runs()[0].steps == 1
        writer.finish("succeeded")
        until(lambda: source.runs()[0].status == "succeeded")


def test_of_a_recorder_that_is_killed_the_run_has_crashed_and_its_call_is_unknown(
    postgres: TestDatabase, tmp_path: Path
) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text("""
import os, sys, time
import agent_tt

@agent_tt.tool
def pay():
    open(sys.argv[2], "w").close()
    time.sleep(600)

with agent_tt.record("killed", store=sys.argv[1], state={}) as run:
    with run.step("pay"):
        pay()
""")
    begun = tmp_path / "begun"
    process = subprocess.Popen([sys.executable, str(agent), postgres.url, str(begun)])
    until(begun.exists)
    with closing(open_source(postgres.address)) as source:
        assert source.run("killed").status == "running"
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: source.run("killed").status == "crashed")
        (made,) = source.calls(source.run("killed").id, 1)
        assert (made.name, made.status) == ("pay", "pending")
        assert source.verify() == []


def test_a_run_on_another_machine_is_there_as_long_as_it_says_so(store: SqliteStore) -> None:
    elsewhere = Owner("another machine/1", "its boot", 1, 1)
    with as_if(now_us(), elsewhere):
        fresh = begin(store, {}, "fresh").run_id
    with as_if(now_us() - 2 * STALE_US, elsewhere):
        stale = begin(store, {}, "stale").run_id
    assert store.run(fresh).status == "running"
    assert store.run(stale).status == "crashed"


def test_an_agent_goes_on_where_its_server_is_away_and_the_server_takes_its_run_in_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with own_server() as server:
        url = f"{server.address}/postgres"

        def agent(**how: str) -> None:
            with agent_tt.record("away", store=url, state={"n": 0}, **how) as run:
                for n in (1, 2):
                    with run.step("s", state={"n": n}):
                        pass

        open_store(url, create=True).close()
        server.stop()
        with pytest.raises(StoreUnreadable, match="cannot be reached"):
            agent(on_store_error="stop")
        agent()
        spilled = find(Address.of(url))
        assert len(spilled) == 1
        assert all(SECRET.encode() not in each.read_bytes() for each in spilled)
        server.start()
        with closing(open_source(url)) as source:
            run = source.run("away")
            assert (run.status, run.steps, source.state(run.id, 2)) == ("succeeded", 2, {"n": 2})
            assert source.verify() == []
        assert not find(Address.of(url))
        assert "cannot be recorded into its store" in caplog.text
        assert SECRET not in caplog.text


def test_a_process_that_an_agent_forks_has_a_connection_of_its_own(store: SqliteStore) -> None:
    writer = begin(store, {"n": 0})
    step(writer, {"n": 1})
    child = os.fork()
    if not child:
        code = 1
        try:
            joined = store.join_run(writer.run_id)
            step(joined, {"n": 2}, "of the child", track="child")
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    step(writer, {"n": 3})
    writer.finish("succeeded")
    assert [each.name for each in store.steps(writer.run_id)] == ["step", "of the child", "step"]
    assert store.verify() == []


def test_a_run_is_held_and_let_go_of_from_another_connection(postgres: TestDatabase, store: SqliteStore) -> None:
    writer = begin(store, {})
    assert writer.holds() == []
    with closing(open_store(postgres.address)) as other:
        hold = other.hold_run(writer.run_id, when="tool == 'pay'")
        assert [(each.id, each.when) for each in writer.holds()] == [(hold.id, "tool == 'pay'")]
        assert other.let_go(writer.run_id) == 1
    assert writer.holds() == []


def test_a_commit_that_a_crash_took_is_made_again_though_another_has_its_transactions_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with own_server() as server:
        address = Address.of(f"{server.address}/postgres")
        with closing(open_store(address, create=True)) as store, closing(open_store(address)) as other:
            run, elsewhere = begin(store, {"n": 0}), begin(other, {"n": 0})
            step(run, {"n": 1})
            taken = crash_at_the_next_commit(monkeypatch, server, other, lambda: step(elsewhere, {"n": 1}))
            step(run, {"n": 2})
            step(run, {"n": 3})
            assert taken
            assert [each.status for each in store.steps(run.run_id)] == ["ok", "ok", "ok"]
            assert [store.value(run.run_id, number, ("n",)) for number in (1, 2, 3)] == [1, 2, 3]
            assert store.verify() == []


def test_what_a_crash_may_have_taken_of_several_runs_is_said_and_not_taken_for_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with own_server() as server:
        address = Address.of(f"{server.address}/postgres")
        with closing(open_store(address, create=True)) as store, closing(open_store(address)) as other:
            run, elsewhere = begin(store, {"n": 0}, "before"), begin(other, {"n": 0})
            step(run, {"n": 1})
            taken = crash_at_the_next_commit(monkeypatch, server, other, lambda: step(elsewhere, {"n": 1}))
            with pytest.raises(StoreUnreadable, match="does not tell whether"):
                store.rename_run(run.run_id, "after")
            assert taken
            assert store.run(run.run_id).name == "before"
            store.rename_run(run.run_id, "after")
            assert other.run(run.run_id).name == "after"
            assert store.verify() == []


def crash_at_the_next_commit(
    monkeypatch: pytest.MonkeyPatch, server: Server, other: SqliteStore, write: Callable[[], object]
) -> list[str]:
    """Crash the server before it has the next commit, and write until another transaction has the id of the lost one.

    Returns:
        The id, as soon as that has happened.
    """
    ask, taken = transaction.ask, list[str]()

    def crashed(connection: Connection, statements: Sequence[Statement]) -> list[Cursor[tuple[Any, ...]]]:
        if statements[-1][0] != "COMMIT" or taken:
            return ask(connection, statements)
        ((xid,),) = ask(connection, [("SELECT pg_current_xact_id()::text", ())])[0].fetchall()
        taken.append(xid)
        server.stop(crash=True)
        server.start()
        write()
        while not is_given(other, xid):
            write()
        return ask(connection, statements)

    monkeypatch.setattr(transaction, "ask", crashed)
    return taken


def is_given(store: SqliteStore, xid: str) -> bool:
    """Whether the server has given a transaction an id."""
    ((upto,),) = store.database.query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
    return int(str(upto)) > int(xid)
