"""What one damaged byte may do: it is harmless, or it is named; it never gives a wrong state."""

from __future__ import annotations

import random
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.mutations import Mutator
from tests.core.store.recordings import begin, call, chat, many_keyframes, new_store, step
from tests.core.store.rows import change

from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.errors import AgentTTError, Damaged, NotRebuildable
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.model import NewStep, StepEnd
from agent_tt.store import open_store
from agent_tt.store.tables.definitions import KEYFRAMES

if TYPE_CHECKING:
    from pathlib import Path

FLIPS = 120


def flip_in(path: Path, table: str, column: str, where: str = "1") -> None:
    """Flips one bit in the middle of one stored value."""
    with sqlite3.connect(path) as connection:
        key, data = connection.execute(f"SELECT rowid, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
        middle = len(data) // 2
        broken = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (broken, key))
    connection.close()


def document(number: int) -> str:
    return random.Random(number).randbytes(5000).hex()


def test_a_damaged_blob_is_a_placeholder_at_its_path_and_everything_else_opens(tmp_path, monkeypatch):
    many_keyframes(monkeypatch, rows=4)
    store = new_store(tmp_path)
    state: dict[str, Any] = {"docs": {"a": document(1), "b": document(2)}, "log": [], "n": 0}
    writer = begin(store, state)
    truth = [encode({**state, "docs": dict(state["docs"]), "log": list(state["log"])})]
    for number in range(1, 21):
        state["n"] = number
        state["log"].append(number)
        if number == 7:
            state["docs"]["a"] = document(3)
        if number == 12:
            state["docs"]["a"] = "short again"
        step(writer, state)
        truth.append(encode({**state, "docs": dict(state["docs"]), "log": list(state["log"])}))
    writer.finish("succeeded")
    run_id = writer.run_id
    ((refs,),) = store.database.query("SELECT refs FROM deltas WHERE seq = 7")
    store.close()
    flip_in(store.path, "blobs", "data", f"hash = x'{refs.hex()}'")

    store = open_store(store.path, read_only=True)
    damaged = [*range(7, 12)]
    for number, expected in enumerate(truth):
        found = store.state(run_id, number)
        if number in damaged:
            assert is_placeholder(found["docs"]["a"])
            assert "blob" in found["docs"]["a"]["why"]
            with pytest.raises(NotRebuildable, match=r"docs\.a"):
                decode(found)
            expected["docs"]["a"] = found["docs"]["a"]
        assert tlv(found) == tlv(expected), number
    assert store.damaged_steps(run_id) == damaged
    cursor = store.cursor(run_id, 20)
    for number in [*range(20, -1, -1), *range(21)]:
        assert cursor.seek(number)["n"] == number
        assert is_placeholder(cursor.state["docs"]["a"]) == (number in damaged)
    assert {problem.step for problem in store.verify(run_id)} >= {7}
    assert any(problem.run is None for problem in store.verify())
    assert [len(store.calls(run_id, number)) for number in range(1, 21)] == [0] * 20
    store.close()


def test_operations_inside_a_damaged_value_are_left_out(tmp_path):
    store = new_store(tmp_path)
    state: dict[str, Any] = {
        "text": document(1),
        "list": [{"n": n, "t": document(2)[:100]} for n in range(200)],
        "n": 0,
    }
    writer = begin(store, state)
    state["text"] += "streamed"
    state["list"][3]["n"] = -1
    state["list"].append({"n": 200})
    state["n"] = 1
    step(writer, state)
    state["text"] = state["list"] = None
    step(writer, state)
    run_id = writer.run_id
    store.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute("DELETE FROM blobs")
    connection.close()
    store = open_store(store.path, read_only=True)
    found = store.state(run_id, 1)
    assert found["n"] == 1
    assert is_placeholder(found["text"])
    assert is_placeholder(found["list"])
    assert store.state(run_id, 2) == {"text": None, "list": None, "n": 1}
    assert store.damaged_steps(run_id) == [0, 1]
    store.close()


def test_a_damaged_row_loses_checkpoints_up_to_the_next_keyframe_and_says_so(tmp_path, monkeypatch):
    many_keyframes(monkeypatch, rows=5)
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for number in range(1, 21):
        step(writer, {"n": number, "half": number // 2})
    writer.finish("succeeded")
    run_id = writer.run_id
    kept = {key & 0xFFFFFFFF for (key,) in store.database.query("SELECT id FROM keyframes")}
    store.close()
    flip_in(store.path, "deltas", "ops", "seq = 11")
    store = open_store(store.path, read_only=True)
    restart = min(seq for seq in kept if seq >= 11)
    lost = [*range(11, restart)]
    assert lost
    for number in range(21):
        if number in lost:
            with pytest.raises(Damaged):
                store.state(run_id, number)
        else:
            assert store.state(run_id, number) == ({"n": number, "half": number // 2} if number else {"n": 0})
    assert store.damaged_steps(run_id) == lost
    assert store.verify(run_id)
    store.close()


def test_a_damaged_keyframe_costs_time_not_data(tmp_path, monkeypatch):
    many_keyframes(monkeypatch, rows=5)
    store = new_store(tmp_path)
    run_id = chat(store, 30)
    store.close()
    with sqlite3.connect(store.path) as connection:
        keys = [key for (key,) in connection.execute("SELECT id FROM keyframes ORDER BY id")]
        connection.execute("UPDATE keyframes SET state = x'00' WHERE id = ?", (keys[-1],))
        # One that strayed: the keyframe of another checkpoint, whole but in the wrong place.
        connection.execute("UPDATE keyframes SET id = id + 1 WHERE id = ?", (keys[2],))
    connection.close()
    store = open_store(store.path, read_only=True)
    for number in range(31):
        assert store.state(run_id, number)["n"] == number
    assert store.damaged_steps(run_id) == []
    assert len(store.verify(run_id)) == 2
    store.close()


def test_a_damaged_result_of_a_call_is_a_placeholder(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    number = writer.open_step(NewStep("fetch"))
    call(writer, number, {"url": "x"}, {"page": document(5), "status": 200})
    writer.close_step(number, StepEnd("ok"), {})
    run_id = writer.run_id
    assert store.calls(run_id, 1)[0].result == {"page": document(5), "status": 200}
    store.close()
    flip_in(store.path, "blobs", "data")
    store = open_store(store.path, read_only=True)
    (made,) = store.calls(run_id, 1)
    assert is_placeholder(made.result["page"])
    assert made.result["status"] == 200
    assert [problem.step for problem in store.verify(run_id)] == [1]
    store.close()


def test_an_altered_row_breaks_the_chain(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 6)
    frame = store.log.frames.compress(b'[["s",["n"],77]]')
    store.close()
    change(store.path, "deltas", "seq = 3", ops=frame, size=16, dict=0)
    store = open_store(store.path, read_only=True)
    problems = store.verify(run_id)
    assert problems[0].step == 3
    assert "chain" in problems[0].what
    store.close()


def test_one_flipped_bit_anywhere_gives_the_right_state_or_an_error(tmp_path, monkeypatch):
    many_keyframes(monkeypatch, rows=16, weight=3000)
    choose = random.Random(3)
    mutator = Mutator(choose, large=True)
    store = new_store(tmp_path)
    state: Any = {**mutator.state(), "doc": document(0)}
    writer = begin(store, state)
    truth = [tlv(encode(state))]
    for number in range(1, 50):
        mutator.mutate(state)
        if number % 9 == 1:
            state["doc"] = document(number)
        step(writer, state)
        truth.append(tlv(encode(state)))
    writer.finish("succeeded")
    run_id = writer.run_id
    store.close()
    original = store.path.read_bytes()
    unharmed = 0
    for _ in range(FLIPS):
        at = choose.randrange(100, len(original))
        path = tmp_path / "flipped.db"
        path.write_bytes(original[:at] + bytes([original[at] ^ 1 << choose.randrange(8)]) + original[at + 1 :])
        unharmed += _reads_right_or_says_so(path, run_id, truth)
        for left in tmp_path.glob("flipped.db*"):
            left.unlink()
    assert unharmed > FLIPS // 4


def _reads_right_or_says_so(path: Path, run_id: str, truth: list[bytes]) -> bool:
    try:
        store = open_store(path, read_only=True)
    except AgentTTError:
        return False
    whole = True
    for seq, expected in enumerate(truth):
        try:
            found = store.state(run_id, seq)
        except AgentTTError:
            whole = False
            continue
        if tlv(found) != expected:
            whole = False
            assert b"damaged" in tlv(found), f"checkpoint {seq} is wrong"
    store.close()
    return whole


def test_the_second_copy_of_a_dictionary_serves_when_the_first_is_damaged(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for number in range(1, 60):
        step(writer, {"n": number, "text": random.Random(number).randbytes(600).hex()})
    run_id = writer.run_id
    writer.finish("succeeded")
    assert store.database.query("SELECT count(*) FROM dicts") == [(2,)]
    assert store.database.query("SELECT count(*) FROM deltas WHERE dict != 0") != [(0,)]
    store.close()
    shutil.copy(store.path, tmp_path / "both.db")
    flip_in(store.path, "dicts", "data", "copy = 0")
    store = open_store(store.path, read_only=True)
    assert store.state(run_id, 59)["n"] == 59
    assert any("dictionary" in problem.what for problem in store.verify())
    store.close()
    with sqlite3.connect(tmp_path / "both.db") as connection:
        connection.execute("DELETE FROM dicts")
    connection.close()
    store = open_store(tmp_path / "both.db", read_only=True)
    with pytest.raises(Damaged, match="dictionary"):
        store.state(run_id, 59)
    store.close()


def test_a_state_that_its_digest_does_not_name_is_found_at_every_step(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 40)
    store.close()
    change(store.path, "deltas", "seq = 17", digest=bytes(16))
    store = open_store(store.path, read_only=True)
    found = [problem.what for problem in store.verify(run_id) if problem.step == 17]
    assert any("digest" in what for what in found)
    assert any("chain" in what for what in found)
    assert {problem.step for problem in store.verify(run_id)} == {17}
    store.close()


def test_a_keyframe_that_holds_another_state_is_found(tmp_path, monkeypatch):
    many_keyframes(monkeypatch, rows=8)
    store = new_store(tmp_path)
    run_id = chat(store, 40)
    with store.database.transaction() as tx:
        ((key, size, frame),) = tx.query("SELECT id, size, state FROM keyframes ORDER BY id LIMIT 1")
        plain = store.log.frames.decompress(frame, size, "a keyframe")
        digits = [at for at, byte in enumerate(plain[:-60]) if chr(byte).isdigit()]
        changed = (
            plain[: digits[0]] + (b"8" if plain[digits[0] : digits[0] + 1] != b"8" else b"9") + plain[digits[0] + 1 :]
        )
        KEYFRAMES.update(tx, (key,), {"state": store.log.frames.compress(changed)})
    problems = store.verify(run_id)
    assert [problem.step for problem in problems] == [key & 0xFFFFFFFF]
    assert "keyframe" in problems[0].what
    store.close()


def test_tables_that_another_program_took_apart_are_named(tmp_path):
    store = new_store(tmp_path)
    chat(store, 3)
    store.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute("DROP TABLE notes")
        connection.execute("DROP INDEX runs_by_name")
        connection.execute("CREATE TABLE more(column_of_theirs)")
    connection.close()
    store = open_store(store.path, read_only=True)
    assert [problem.what for problem in store.verify()] == [
        "table runs has no index on name, started_us",
        "table notes is missing",
    ]
    store.close()
