"""Every answer that reaches the agent takes the next number of its run, and is in the file before the agent has it."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.conformance.reading import check_source
from tests.core.store.recordings import begin, call, chat, fork, new_store, step
from tests.core.strategies import values

import agent_tt
from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.errors import StepNotFound, StoreUnreadable
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.model import CallEnd, NewCall, NewStep, StepEnd
from agent_tt.store import copy_run, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunWriter
    from agent_tt.store import SqliteStore

ASK = NewCall("llm", "model", {"q": 1}, "ab" * 16)


def stream(writer: RunWriter, pieces: list[Any]) -> tuple[int, int]:
    """A step with one call that answered in pieces and ended."""
    number = writer.open_step(NewStep("s"))
    made = writer.begin_call(number, ASK)
    for piece in pieces:
        writer.deliver(number, made, "chunk", piece)
    writer.end_call(number, made, CallEnd("ok", {"yielded": pieces}, stream="end", returned="done"))
    return number, made


def numbers(store: SqliteStore, run_id: str) -> list[int]:
    """The numbers of all answers of a run, in order."""
    found = []
    for number in range(1, store.step_count(run_id) + 1):
        for made in store.calls(run_id, number):
            pieces = [piece.number for piece in store.deliveries(run_id, number, made.number)]
            found += pieces or ([made.delivered] if made.delivered else [])
    return sorted(found)


def test_answers_of_eight_threads_are_numbered_without_gap_in_the_order_in_which_they_came(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    heard: list[int] = []
    listening = threading.Lock()

    def ask(lane: int) -> None:
        number = writer.open_step(NewStep(f"lane {lane}"))
        for turn in range(12):
            made = writer.begin_call(number, ASK)
            if turn % 3:
                writer.end_call(number, made, CallEnd("ok", turn))
                continue
            for piece in range(3):
                with listening:
                    heard.append(writer.deliver(number, made, "chunk", piece))
            writer.end_call(number, made, CallEnd("ok", turn, stream="closed"))

    threads = [threading.Thread(target=ask, args=(lane,)) for lane in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.finish("succeeded")
    answers = 8 * (8 + 4 * 4)
    assert numbers(store, writer.run_id) == list(range(1, answers + 1))
    assert heard == sorted(heard)
    check_source(store)


def test_a_piece_is_in_the_file_when_the_agent_has_it_and_its_call_is_pending(tmp_path):
    path = tmp_path / "runs.db"

    @agent_tt.tool(effect="read")
    def count():
        yield from ("one", {"two": 2}, "three " * 2000)

    with agent_tt.record("x", store=path) as run, run.step("s"):
        reader = open_store(path, read_only=True)
        for index, piece in enumerate(count(), 1):
            (made,) = reader.calls(run.id, 1)
            assert (made.status, made.result, made.delivered) == ("pending", None, None)
            pieces = reader.deliveries(run.id, 1, 1)
            assert [(d.number, d.kind) for d in pieces] == [(n, "chunk") for n in range(1, index + 1)]
            assert pieces[-1].data == piece
            assert made.started_us <= pieces[-1].at_us
        (made,) = reader.calls(run.id, 1)
        assert (made.status, made.delivered) == ("ok", 4)
        assert reader.deliveries(run.id, 1, 1)[-1].kind == "end"
    reader.close()


def test_a_piece_that_cannot_be_written_never_reaches_the_agent_and_its_stream_is_closed(tmp_path):
    path = tmp_path / "runs.db"
    heard, closed = [], []

    @agent_tt.tool(effect="read")
    def count():
        try:
            yield from range(10)
        finally:
            closed.append(True)

    def agent():
        with agent_tt.record("x", store=path, on_store_error="stop") as run, run.step("s"):
            for piece in count():
                heard.append(piece)
                if piece == 2:
                    spoil(path, "CREATE TRIGGER no BEFORE INSERT ON deliveries BEGIN SELECT RAISE(FAIL, 'no'); END")

    with pytest.raises(StoreUnreadable, match="could not be written: no"):
        agent()
    assert (heard, closed) == ([0, 1, 2], [True])
    spoil(path, "DROP TRIGGER no")
    store = open_store(path)
    (run,) = store.runs()
    assert run.status == "interrupted"
    (made,) = store.calls(run.id, 1)
    assert (made.status, made.delivered) == ("pending", None)
    assert [piece.data for piece in store.deliveries(run.id, 1, 1)] == heard
    assert store.verify() == []


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(values, max_size=5), values)
def test_pieces_of_any_type_come_back(tmp_path_factory, pieces, returned):
    store = new_store(tmp_path_factory.mktemp("pieces"))
    writer = begin(store, {})
    number = writer.open_step(NewStep("s"))
    made = writer.begin_call(number, ASK)
    sent = [encode(piece) for piece in (*pieces, "y" * 5000, {"z": ["w" * 9000]})]
    for piece in sent:
        writer.deliver(number, made, "chunk", piece)
    writer.end_call(number, made, CallEnd("ok", stream="end", returned=encode(returned)))
    found = [piece.data for piece in store.deliveries(writer.run_id, number, made)]
    assert tlv(found) == tlv([*sent, encode(returned)])
    assert store.verify() == []
    store.close()


def test_a_commit_that_fails_takes_no_number(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    number = writer.open_step(NewStep("s"))
    made = writer.begin_call(number, ASK)
    writer.deliver(number, made, "chunk", 1)
    with store.database.transaction() as tx:
        for table, event in (("deliveries", "INSERT ON deliveries"), ("calls", "UPDATE ON calls")):
            tx.execute(f"CREATE TRIGGER no_{table} BEFORE {event} BEGIN SELECT RAISE(FAIL, 'no'); END")
    with pytest.raises(StoreUnreadable):
        writer.deliver(number, made, "chunk", 2)
    with pytest.raises(StoreUnreadable):
        writer.end_call(number, made, CallEnd("ok", 1, stream="end"))
    with store.database.transaction() as tx:
        tx.execute("DROP TRIGGER no_deliveries")
        tx.execute("DROP TRIGGER no_calls")
    assert writer.deliver(number, made, "chunk", 2) == 2
    writer.end_call(number, made, CallEnd("ok", 1, stream="end"))
    call(writer, number, {}, 1)
    assert numbers(store, writer.run_id) == [1, 2, 3, 4]
    assert store.verify() == []
    with pytest.raises(StepNotFound):
        writer.deliver(number, 99, "chunk", 1)


def test_a_process_that_the_agent_forked_takes_numbers_of_its_own(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    stream(writer, ["before"])
    child = os.fork()
    if child == 0:
        try:
            stream(writer, ["in the child"])
            call(writer, 2, {}, 1)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    stream(writer, ["after"])
    assert numbers(store, writer.run_id) == list(range(1, 8))
    writer.finish("succeeded")
    assert store.verify() == []


def test_a_fork_numbers_on_after_the_pieces_of_the_steps_that_it_shares(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for name in ("a", "b"):
        number, _ = stream(writer, [name])
        writer.close_step(number, StepEnd("ok"), {"n": number})
    fork_id, taken = fork(store, writer.run_id, 1, {"n": 5})
    number, made = stream(taken, ["c", "d"])
    assert [piece.number for piece in store.deliveries(fork_id, number, made)] == [3, 4, 5]
    assert [piece.data for piece in store.deliveries(fork_id, 1, 1)] == ["a", "done"]
    taken.close_step(number, StepEnd("ok"), {"n": 6})
    assert store.verify() == []


def test_a_copied_run_brings_its_pieces_large_ones_too(tmp_path):
    source, target = new_store(tmp_path, "source.db"), new_store(tmp_path, "target.db")
    chat(target, 3)
    writer = begin(source, {})
    large = {"text": "x" * 9000}
    number, made = stream(writer, ["small", large])
    writer.finish("succeeded")
    run_id = copy_run(source, target, writer.run_id)
    found = target.deliveries(run_id, number, made)
    assert found == source.deliveries(writer.run_id, number, made)
    assert [piece.data for piece in found] == ["small", large, "done"]
    assert target.verify() == []


def spoil(path: Path, sql: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE blobs SET data = x'00'", "blob"),
        ("UPDATE deliveries SET data = '{' WHERE id & 1", "not what was recorded"),
        ("UPDATE deliveries SET data = 5 WHERE id & 1", "not what was recorded"),
        ("UPDATE deliveries SET at_us = at_us + 1 WHERE id & 4294967295 = 1", "answer 1"),
        ("DELETE FROM deliveries WHERE id & 4294967295 = 2", "numbered 1 to 3"),
        ("UPDATE calls SET delivered = 2", "numbered"),
        ("UPDATE calls SET delivered = 'first'", "numbered"),
        ("UPDATE deliveries SET call = 7", "not the call"),
    ],
)
def test_a_piece_that_is_damaged_or_missing_is_named(tmp_path, sql, told):
    store = new_store(tmp_path)
    writer = begin(store, {})
    stream(writer, ["x" * 9000, "small"])
    step(writer, {})
    writer.finish("succeeded")
    store.close()
    spoil(store.path, sql)
    store = open_store(store.path, read_only=True)
    pieces = store.deliveries(writer.run_id, 1, 1)
    problems = store.verify(writer.run_id)
    assert problems
    assert any(told in problem.what for problem in problems)
    if "SET data" in sql:
        assert any(is_placeholder(piece.data) for piece in pieces)
    store.close()
