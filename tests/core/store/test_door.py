"""Nothing that an agent or a person put in reaches the disk around the door."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from tests.core.store.recordings import many_keyframes

import agent_tt
from agent_tt.model import Edit, NewRun
from agent_tt.store import door, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "sk-marker-4711"
SHOWN = "<secret>"


def masked(value: Any) -> Any:
    """The value with the secret replaced, wherever it stands."""
    if isinstance(value, str):
        return value.replace(SECRET, SHOWN)
    if isinstance(value, dict):
        return {masked(key): masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked(item) for item in value)
    return value


@pytest.fixture
def guarded(monkeypatch):
    """A door that lets the secret through nowhere."""

    def admit_error(error):
        if error is None:
            return None
        masks = {name: masked(getattr(error, name)) for name in ("message", "traceback", "value")}
        return replace(error, **masks)

    monkeypatch.setattr(door, "admit", masked)
    monkeypatch.setattr(door, "admit_state", masked)
    monkeypatch.setattr(door, "admit_error", admit_error)


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every value in the file as bytes, compressed ones also as what they hold."""
    connection = sqlite3.connect(path)
    dictionaries = {
        number: zstandard.ZstdCompressionDict(zstandard.ZstdDecompressor().decompress(data), 1)
        for number, data in connection.execute("SELECT id, data FROM dicts")
    }
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        for row in cursor:
            for name, value in zip(names, row, strict=True):
                raw = value if isinstance(value, bytes) else str(value).encode()
                yield f"{table}.{name}", raw
                if raw[:4] == b"\x28\xb5\x2f\xfd":
                    dictionary = dictionaries.get(dict(zip(names, row, strict=True)).get("dict", 0))
                    yield f"{table}.{name}", zstandard.ZstdDecompressor(dict_data=dictionary).decompress(raw)
    connection.close()


@agent_tt.tool(effect="read", name=f"look {SECRET} up")
def look_up(key, *, idempotency=SECRET):
    return {"found": key, "page": key * 800}


@agent_tt.tool(effect="read", idempotency_key="key")
def stream(key):
    yield {"piece": key}
    yield key * 800
    return key


@agent_tt.tool(effect="write")
def fails(key):
    error = ValueError(f"no access with {key}")
    error.add_note(key)
    raise error


def agent(path: Path) -> str:
    state: dict[str, Any] = {
        "key": SECRET,
        "log": [SECRET],
        SECRET: {"nested": (SECRET, "x" * 5000 + SECRET), "turn": 0},
    }
    with agent_tt.record(
        f"run {SECRET}",
        state=state,
        store=path,
        user_id=SECRET,
        tags=[SECRET],
        metadata={"token": SECRET, SECRET: 1},
        model={"model": "m", "api_key": SECRET},
    ) as run:
        run.note(f"note {SECRET}")
        run.tag(f"more {SECRET}")
        for turn in range(8):
            with run.step(f"step {SECRET}", agent=f"agent {SECRET}") as step, agent_tt.lane(SECRET):
                step.decision = f"use {SECRET}"
                look_up(SECRET)
                assert list(stream(SECRET))
                state[SECRET]["turn"] = turn
                state["log"].append({"turn": turn, "text": f"{SECRET} " * 400})
        with (
            run.step("own state", {"own": SECRET}, track=f"track {SECRET}"),
            pytest.raises(ValueError, match="no access"),
        ):
            fails(SECRET)
        raise RuntimeError(SECRET)
    return run.id


def test_a_door_that_masks_a_secret_leaves_no_trace_of_it_in_the_file(tmp_path, guarded, monkeypatch):
    many_keyframes(monkeypatch, rows=3)
    path = tmp_path / "runs.db"
    with pytest.raises(RuntimeError, match=SECRET):
        agent(path)
    store = open_store(path)
    (run,) = store.runs()
    edit = Edit("set", "key", SECRET, SECRET)
    state = {**store.state(run.id, 2), "key": SECRET}
    new = NewRun(f"fork {SECRET}", metadata={"why": SECRET}, tags=(SECRET,), user_id=SECRET)
    fork_id = store.begin_fork(run.id, 2, state=state, new=new, edits=[edit])
    store.adopt_run(fork_id, new, state).finish("succeeded")
    store.add_note(fork_id, 1, "note", SECRET)
    store.set_tags(fork_id, [SECRET])
    store.set_metadata(fork_id, {"later": SECRET})
    assert store.verify() == []
    assert store.state(run.id, 0)["key"] == SHOWN
    assert [piece.data for piece in store.deliveries(run.id, 1, 2)][::2] == [{"piece": SHOWN}, SHOWN]
    store.close()
    found = list(contents(path))
    traces = sorted({place for place, raw in found if SECRET.encode() in raw})
    assert traces == []
    places = {place for place, raw in found if SHOWN.encode() in raw}
    assert places >= {
        "runs.name", "runs.meta", "runs.error", "tags.tag", "notes.body", "tracks.name", "steps.name", "steps.agent",
        "steps.meta", "calls.lane", "calls.name", "calls.args", "calls.result", "calls.error", "calls.meta",
        "deliveries.data", "deltas.ops", "keyframes.state", "blobs.data", "paths.path",
    }  # fmt: skip
