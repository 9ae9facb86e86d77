"""Databases that are damaged, or made to harm their reader: what cannot be read is shown as that, the rest opens."""

from __future__ import annotations

import contextlib
import pickle
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.interop.support import database_of

from agent_tt.errors import AgentTTError, Damaged
from agent_tt.interop.langgraph.decode import read_value
from agent_tt.interop.langgraph.envelopes import to_wire
from agent_tt.interop.langgraph.source import LangGraphSource

Change = Callable[[sqlite3.Connection], object]


def changed(tmp_path: Path, name: str, *statements: tuple[str, tuple[Any, ...]]) -> LangGraphSource:
    path = database_of(name, tmp_path)
    connection = sqlite3.connect(path)
    for statement, values in statements:
        connection.execute(statement, values)
    connection.commit()
    connection.close()
    return LangGraphSource(path)


def read_everything(source: LangGraphSource) -> None:
    for run in source.runs():
        for step in source.steps(run.id):
            source.state(run.id, step.number)
            source.calls(run.id, step.number)
            source.changes(run.id, step.number)
            source.digest(run.id, step.number)
    source.verify()


def ids(source: LangGraphSource) -> list[str]:
    return [str(step.extra["checkpoint_id"]) for step in source.steps("t")]


SPOILT_BLOBS = {
    "truncated": b"\x84\xa1v",
    "empty": b"",
    "no msgpack": b"\xc1\xc1\xc1",
    "not a checkpoint": ormsgpack.packb([1, 2]),
    "no channel values": ormsgpack.packb({"channel_values": 7}),
    "NULL": None,
    "text": "hello",
}


@pytest.mark.parametrize("blob", SPOILT_BLOBS.values(), ids=SPOILT_BLOBS)
def test_a_checkpoint_that_cannot_be_read_is_a_placeholder_and_a_problem(tmp_path: Path, blob: object) -> None:
    path = database_of("react", tmp_path)
    source = LangGraphSource(path)
    damaged = ids(source)[2]
    source.close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (blob, damaged))
    connection.commit()
    connection.close()
    source = LangGraphSource(path)
    state = source.state("t", 3)
    assert isinstance(state, dict)
    assert state["$type"] == "damaged"
    assert isinstance(source.state("t", 4), dict)
    assert source.damaged_steps("t") == [3]
    assert [problem.step for problem in source.verify()] == [3]
    read_everything(source)
    source.close()


@pytest.mark.parametrize("metadata", [b"not json", b"[1]", b"\xff\xfe", 7, b"[" * 100_000])
def test_metadata_that_is_not_a_json_object_is_a_flaw_of_its_step(tmp_path: Path, metadata: object) -> None:
    source = changed(
        tmp_path, "react", ("UPDATE checkpoints SET metadata = ? WHERE parent_checkpoint_id IS NULL", (metadata,))
    )
    assert source.step_count("t") == 5
    assert source.damaged_steps("t") == [1]
    assert [problem.step for problem in source.verify()] == [1]
    source.close()


def test_parents_in_a_circle_do_not_hang_it(tmp_path: Path) -> None:
    last = "(SELECT max(checkpoint_id) FROM checkpoints)"
    source = changed(
        tmp_path,
        "react",
        (f"UPDATE checkpoints SET parent_checkpoint_id = {last} WHERE parent_checkpoint_id IS NULL", ()),
        (
            (
                "INSERT INTO checkpoints SELECT 'self', '', checkpoint_id, checkpoint_id, type, checkpoint, metadata"
                " FROM checkpoints"
            ),
            (),
        ),
    )
    read_everything(source)
    assert {step.extra["checkpoint_id"] for run in source.runs() for step in source.steps(run.id)}
    assert source.verify()
    source.close()


def test_a_missing_parent_makes_a_root_and_a_problem(tmp_path: Path) -> None:
    source = changed(tmp_path, "react", ("DELETE FROM checkpoints WHERE parent_checkpoint_id IS NULL", ()))
    assert source.step_count("t") == 4
    (problem,) = source.verify()
    assert "is not in the database" in problem.what
    source.close()


def test_a_thread_of_which_only_subgraphs_are_left_opens(tmp_path: Path) -> None:
    source = changed(tmp_path, "nested_resumed", ("DELETE FROM checkpoints WHERE checkpoint_ns = ''", ()))
    names = [step.name for step in source.steps("t")]
    assert "polish" in names
    read_everything(source)
    source.close()


def test_encrypted_and_pickled_values_stay_closed(tmp_path: Path) -> None:
    bomb = pickle.dumps(Path.unlink)
    path = database_of("react", tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE checkpoints SET type = 'msgpack+aes' WHERE parent_checkpoint_id IS NULL")
    connection.execute("UPDATE writes SET type = 'pickle', value = ? WHERE channel = 'messages'", (bomb,))
    connection.commit()
    connection.close()
    source = LangGraphSource(path)
    state = source.state("t", 1)
    assert isinstance(state, dict)
    assert (state["$type"], state["class"]) == ("opaque", "langgraph:msgpack+aes")
    read_everything(source)
    source.close()


def test_nothing_that_a_value_names_is_imported_or_called(tmp_path: Path) -> None:
    (tmp_path / "trap_module.py").write_text("raise SystemExit('imported')")
    sys.path.insert(0, str(tmp_path))
    try:
        for code in range(8):
            inner = ormsgpack.packb(["trap_module", "Trap", ["x"], "method"])
            wire = to_wire(read_value("msgpack", ormsgpack.packb(ormsgpack.Ext(code, inner))))
            assert isinstance(wire, dict | list)
        assert "trap_module" not in sys.modules
    finally:
        sys.path.remove(str(tmp_path))


def test_values_nested_without_end_are_cut(tmp_path: Path) -> None:
    value: object = 1
    for _ in range(100):
        value = ormsgpack.Ext(0, ormsgpack.packb(["builtins", "set", [value]]))
    assert "damaged" in str(to_wire(read_value("msgpack", ormsgpack.packb(value))))


@pytest.mark.parametrize(
    "array",
    [
        ["<f8", [10**9, 10**9], "F", b""],
        ["<f8", [3], "C", b"12"],
        ["|O", [1], "C", b"12345678"],
        ["<f8", [-1], "C", b""],
        ["nonsense" * 1000, [1], "C", b"1"],
        ["<f8", "x", "C", b""],
        [],
    ],
)
def test_arrays_that_cannot_be_are_no_arrays(array: list[object]) -> None:
    wire = to_wire(read_value("msgpack", ormsgpack.packb(ormsgpack.Ext(6, ormsgpack.packb(array)))))
    assert isinstance(wire, dict)
    assert wire["$type"] in ("damaged", "opaque")


@given(st.binary(max_size=200), st.sampled_from(["msgpack", "json", "null", "bytes", "x+y", "", "pickle"]))
@settings(max_examples=100)
def test_any_bytes_give_a_value_or_a_clear_error(blob: bytes, encoding: str) -> None:
    with contextlib.suppress(Damaged):
        wire = to_wire(read_value(encoding, blob))
        assert wire is None or isinstance(wire, bool | int | float | str | list | dict)


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_flipped_bytes_anywhere_give_values_or_clear_errors(tmp_path: Path, data: st.DataObject) -> None:
    original = tmp_path / "forks.db"
    if not original.exists():
        database_of("forks", tmp_path)
    raw = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    spoilt = tmp_path / "spoilt.db"
    spoilt.write_bytes(raw)
    with contextlib.suppress(AgentTTError), contextlib.closing(LangGraphSource(spoilt)) as source:
        read_everything(source)


@pytest.mark.parametrize("kind", ["msgpack+aes", "pickle"])
def test_a_run_whose_last_checkpoint_stays_closed_is_not_called_succeeded(tmp_path: Path, kind: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    known = changed(tmp_path / "a", "react")
    assert {run.status for run in known.runs()} == {"succeeded"}
    known.close()
    closed = changed(tmp_path / "b", "react", ("UPDATE checkpoints SET type = ?", (kind,)))
    assert {run.status for run in closed.runs()} == {"unknown"}
    closed.close()
