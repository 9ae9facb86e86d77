"""Nothing that an agent or a person put in reaches the disk around the door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.core.store.recordings import many_keyframes
from tests.core.stored_bytes import contents

import agent_tt
from agent_tt.model import Edit, NewFork, NewRun
from agent_tt.redaction.marks import MARK, numbered
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-marker-4711-and-more"
SHOWN = MARK
GIVEN = numbered(1, len(SECRET))


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
        SECRET: {"nested": (SECRET, "x " * 2500 + SECRET), "turn": 0},
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


def test_a_door_that_masks_a_secret_leaves_no_trace_of_it_in_the_file(tmp_path, monkeypatch):
    many_keyframes(monkeypatch, rows=3)
    path = tmp_path / "runs.db"
    with pytest.raises(RuntimeError, match=SECRET):
        agent(path)
    store = open_store(path)
    (run,) = store.runs()
    edit = Edit("set", "key", SECRET, SECRET)
    state = {**store.state(run.id, 2), "key": SECRET}
    new = NewRun(f"fork {SECRET}", metadata={"why": SECRET}, tags=(SECRET,), user_id=SECRET)
    fork_id = store.begin_fork(NewFork(run.id, 2, state=state, new=new, edits=[edit]))
    store.adopt_run(fork_id, new, state).finish("succeeded")
    store.add_note(fork_id, 1, "note", SECRET)
    store.set_tags(fork_id, [SECRET])
    store.set_metadata(fork_id, {"later": SECRET})
    assert store.verify() == []
    assert store.state(run.id, 0)["key"] == SHOWN
    assert [piece.data for piece in store.deliveries(run.id, 1, 2)][::2] == [{"piece": GIVEN}, GIVEN]
    store.close()
    found = list(contents(path))
    traces = sorted({place for place, raw in found if SECRET.encode() in raw})
    assert traces == []
    places = {place for place, raw in found if SHOWN.encode() in raw or GIVEN.encode() in raw}
    assert places >= {
        "runs.name", "runs.meta", "runs.error", "tags.tag", "notes.body", "tracks.name", "steps.name", "steps.agent",
        "steps.meta", "calls.lane", "calls.name", "calls.args", "calls.result", "calls.error", "calls.meta",
        "deliveries.data", "deltas.ops", "keyframes.state", "blobs.data", "paths.path",
    }  # fmt: skip
