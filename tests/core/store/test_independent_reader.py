"""Stores that were really recorded, read by a second reader that knows the format's description and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.core.mutations import Mutator
from tests.core.store.independent_reader import IndependentReader, as_text
from tests.core.store.recordings import begin, call, chat, fork, many_keyframes, new_store, step

import agent_tt
from agent_tt.codec.encode import encode
from agent_tt.model import Edit, NewFork, NewRun
from agent_tt.store import SqliteStore, copy_run, open_store


def check_every_run(store: SqliteStore) -> None:
    """The second reader finds in the file what ours finds."""
    assert store.verify() == []
    reader = IndependentReader(store.path)
    assert reader.check_proofs()
    for (track,) in reader.db.execute("SELECT track FROM tracks").fetchall():
        reader.check_track(track)
    for run in store.runs():
        for number in range(run.steps + 1):
            assert as_text(reader.state(run.id, number)) == as_text(store.state(run.id, number))
            for found in store.calls(run.id, number):
                status, args, result = reader.call(run.id, number, found.number)
                assert (status, as_text(args), as_text(result)) == (
                    found.status,
                    as_text(found.args),
                    as_text(found.result),
                )
                assert as_text(reader.facts(run.id, number, found.number)) == as_text(found.meta)
    reader.close()


@pytest.mark.parametrize("seed", range(4))
def test_states_of_any_type_with_keyframes_blobs_forks_and_tracks(tmp_path, monkeypatch, seed):
    many_keyframes(monkeypatch, rows=4)
    store = new_store(tmp_path)
    mutator = Mutator(random.Random(seed), exotic=True)
    state: dict[str, Any] = {
        "messages": [],
        "docs": {"a": "x" * 6000, "b": {str(n): {"page": n} for n in range(200)}},
        "window": [{"seen": n} for n in range(300)],
        "n": 0,
    }
    writer = begin(store, state)
    for number in range(1, 26):
        state["messages"].append({"role": "user", "content": f"message {number} " * number})
        state["window"].append({"seen": state["window"].pop(0)["seen"] + 300})
        state["n"] = number
        if number % 6 == 0:
            state["docs"]["a"] = str(number) * 5000
        if number % 9 == 0:
            state["docs"] = {"b": state["docs"]["b"], "a": state["docs"]["a"]}
        mutator.mutate(state.setdefault("any", {"k": [1]}))
        step(writer, state)
    scratch = {"notes": []}
    for number in range(6):
        scratch["notes"].append(number)
        step(writer, scratch, track="researcher")
    writer.finish("succeeded")
    edited = store.state(writer.run_id, 12)
    edited["messages"][3]["content"] = "edited"
    del edited["docs"]["a"]
    child, taken = fork(store, writer.run_id, 12, edited)
    live = {**edited, "messages": [*edited["messages"]]}
    for number in range(7):
        live["messages"].append(number)
        step(taken, live)
    taken.finish("succeeded")
    grandchild, taken = fork(store, child, 12, store.state(child, 12))
    step(taken, {"all": "new", "big": ["y" * 5000, "z" * 20_000]})
    taken.finish("failed")
    check_every_run(store)
    kinds = {
        ref[1]
        for size, frame in store.database.query("SELECT size, state FROM keyframes")
        for ref in json.loads(store.log.frames.decompress(frame, size, "it"))["r"]
    }
    assert kinds == {"a", "b", "g", "l"}
    target = new_store(tmp_path, "copy.db")
    chat(target, 3)
    copy_run(store, target, grandchild)
    check_every_run(target)


def test_rows_that_share_a_dictionary(tmp_path):
    store = new_store(tmp_path)
    draw = random.Random(3)
    for name in ("first", "second"):
        state: dict[str, Any] = {"messages": []}
        writer = begin(store, state, name)
        for _ in range(30):
            state["messages"].append({"content": draw.randbytes(1500).hex()})
            step(writer, state)
        writer.finish("succeeded")
    assert store.database.query("SELECT DISTINCT dict <> 0 FROM deltas ORDER BY 1") == [(0,), (1,)]
    check_every_run(store)


def test_calls_whose_values_look_like_the_formats_own(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"v": 1, "r": []})
    number = step(writer, {"o": [], "r": [[[0], "b", "00" * 20]]})
    for value in ({"v": 1, "r": []}, {"v": 1}, {"v": "w" * 5000, "r": ["w" * 5000]}, ["w" * 5000, {"r": 1, "v": None}]):
        call(writer, number, value, {"result": value})
    writer.finish("succeeded")
    check_every_run(store)


def test_the_sample_runs(tmp_path):
    path = tmp_path / "samples.db"
    shutil.copy(Path(__file__).parents[3] / "sample_runs" / "runs.db", path)
    store = open_store(path, read_only=True)
    assert store.runs()
    check_every_run(store)
    store.close()


@agent_tt.tool(effect="read")
def look_up(word):
    return {"word": word, "text": "t" * 5000}


@agent_tt.llm(model="rules")
async def answer(words):
    for word in words:
        await asyncio.sleep(0)
        yield {"piece": word}


@agent_tt.tool(effect="read")
def lines(count):
    for number in range(count):
        yield "long " * 2000 if number == 1 else number
    return "the end"


@agent_tt.tool(effect="read")
def breaks():
    yield 1
    raise ValueError("broke")


async def agent(path, state):
    with agent_tt.record("team", state=state, store=path) as run:

        async def member(name):
            with run.step(name):
                async for piece in answer([name, "b", "c"]):
                    state["heard"].append(piece["piece"])
                state["found"] = look_up(name)["word"]

        await asyncio.gather(*(member(f"m{number}") for number in range(4)))
        with run.step("streams"):
            assert len(list(lines(3))) == 3
            opened = lines(5)
            next(opened)
            opened.close()
            with contextlib.suppress(ValueError):
                list(breaks())
        threads = [threading.Thread(target=look_up, args=(f"t{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


async def test_what_reached_the_agent_is_numbered_in_order_over_all_lanes(tmp_path):
    path = tmp_path / "runs.db"
    state: dict[str, Any] = {"heard": [], "found": None}
    await agent(path, state)
    store = open_store(path)
    (run,) = store.runs()
    check_every_run(store)
    reader = IndependentReader(path)
    found = reader.answers(run.id)
    assert found[0].number == 1
    assert len([a for a in found if a.kind == "whole"]) == 8
    heard = [a.data["piece"] for a in found if a.kind == "chunk" and isinstance(a.data, dict)]
    assert heard == state["heard"]  # the order in which the agent heard them, over four tasks
    streams = [s.number for s in store.steps(run.id) if s.name == "streams"]
    told = [(a.kind, a.data if not isinstance(a.data, str) else a.data[:7]) for a in found if a.step in streams]
    assert told == [
        ("chunk", 0),
        ("chunk", "long lo"),
        ("chunk", 2),
        ("end", "the end"),
        ("chunk", 0),
        ("closed", None),
        ("chunk", 1),
        ("error", None),
    ]
    for number in range(1, run.steps + 1):
        for made in store.calls(run.id, number):
            pieces = store.deliveries(run.id, number, made.number)
            mine = [a for a in found if (a.step, a.call) == (number, made.number)]
            assert made.delivered == mine[-1].number
            expected = [(a.number, a.kind, a.data) for a in mine if a.kind != "whole"]
            assert [(d.number, d.kind, d.data) for d in pieces] == expected
    reader.close()
    store.close()


def test_a_fork_numbers_on_from_what_it_shares(tmp_path):
    store = new_store(tmp_path)
    parent = chat(store, 5)
    edits = [Edit("set", "n", 40, 2)]
    fork_id = store.begin_fork(
        NewFork(parent, 2, state={**store.state(parent, 2), "n": 40}, new=NewRun(""), edits=edits)
    )
    writer = store.adopt_run(fork_id, NewRun("demo"), encode(None))
    number = step(writer, {"n": 41})
    call(writer, number, {"q": 1}, {"a": 1})
    writer.finish("succeeded")
    reader = IndependentReader(store.path)
    assert [a.number for a in reader.answers(parent)] == [1, 2, 3, 4, 5]
    assert [(a.number, a.step) for a in reader.answers(fork_id)] == [(3, 3)]
    assert reader.state(fork_id, 2)["n"] == 40
    assert reader.state(parent, 2)["n"] == 2
    reader.close()
    check_every_run(store)
