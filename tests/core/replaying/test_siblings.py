"""A script that records several runs: any can be replayed; the others are answered from their own recordings."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from agent_tt.rerunning.faces import replay
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.replaying import ReplayReport

pytestmark = pytest.mark.warm

SCRIPT = """
import asyncio
import random
import sys

import agent_tt


@agent_tt.tool(effect="write")
def note(text):
    open("noted.txt", "a").write(text)
    return random.random()


@agent_tt.llm
async def ask(question):
    await asyncio.sleep(0.001)
    return question.upper()


async def answer(question):
    with agent_tt.record(f"about {question}") as run:
        with run.step("ask"):
            text = await ask(question)
        with run.step("note"):
            note(text)
    return text


for question in ("ants", "bees", "cats"):
    asyncio.run(answer(question))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "batch.py").write_text(SCRIPT)
    environment = {**os.environ, "AGENT_TT_STORE": str(tmp_path / "runs.db")}
    subprocess.run([sys.executable, "batch.py"], cwd=tmp_path, env=environment, check=True)
    (tmp_path / "noted.txt").unlink()
    return tmp_path


def again(folder: Path, run: str) -> ReplayReport:
    report = replay(run, store=folder / "runs.db")
    assert not (folder / "noted.txt").exists()
    with closing(open_store(folder / "runs.db", read_only=True)) as store:
        assert len(store.runs()) == 3
    return report


@pytest.mark.parametrize("run", ["about ants", "about bees", "about cats"])
def test_each_run_is_replayed(folder: Path, run: str):
    report = again(folder, run)
    assert report.is_faithful, report.divergences
    assert (report.served, report.recorded, report.notes) == (2, 2, ())
    assert report.agent.status == "ended"


def test_what_differs_in_the_replayed_run_is_found_in_it(folder: Path):
    script = folder / "batch.py"
    script.write_text(SCRIPT.replace("await ask(question)", "await ask(question.replace('bees', 'wasps'))"))
    report = again(folder, "about bees")
    (finding,) = report.divergences
    assert (finding.kind, finding.step, finding.name) == ("changed request", 1, "ask")


def test_another_run_that_cannot_be_answered_halts_and_says_so(folder: Path):
    script = folder / "batch.py"
    script.write_text(SCRIPT.replace('("ants", ', '("ants", "more ants", '))
    report = again(folder, "about bees")
    assert not report.is_faithful


def test_another_run_that_leaves_something_out_is_a_reservation(folder: Path):
    script = folder / "batch.py"
    script.write_text(SCRIPT.replace("            note(text)", "            question == 'ants' or note(text)"))
    report = again(folder, "about bees")
    assert report.verdict == "reserved", report.divergences
    assert [(note.kind, note.text) for note in report.notes] == [
        ("another run", "about ants, recorded by the same process: missing call")
    ]


INSIDE = """
import agent_tt


@agent_tt.tool(effect="read")
def look(question):
    return question.upper()


@agent_tt.tool(effect="read")
def ask_colleague(question):
    with agent_tt.record("colleague") as run, run.step("look"):
        return look(question)


with agent_tt.record("asking") as run, run.step("ask"):
    print(ask_colleague("ants"))
"""


def test_of_a_run_inside_a_call_of_another_it_is_said_why_it_did_not_begin(tmp_path: Path):
    (tmp_path / "nested.py").write_text(INSIDE)
    store = tmp_path / "runs.db"
    environment = {**os.environ, "AGENT_TT_STORE": str(store)}
    subprocess.run([sys.executable, "nested.py"], cwd=tmp_path, env=environment, check=True)
    assert replay("asking", store=store).is_faithful
    (finding,) = replay("colleague", store=store).divergences
    assert finding.kind == "missing call"
    assert "did not begin" in finding.hint
    assert "replay the other run" in finding.hint


OUTSIDE = """
import atexit
import threading

import agent_tt


@agent_tt.tool(effect="write")
def note(text):
    with open("noted.txt", "a") as file:
        print(text, file=file)
    return text.upper()


go_on = threading.Event()


def late():
    go_on.wait()
    print(note("late"))


before = note("before")
thread = threading.Thread(target=late)
thread.start()
with agent_tt.record("talk", state={}) as run:
    with run.step("say"):
        print(before, note("inside"))
    worker = threading.Thread(target=note, args=("in a thread",))
    worker.start()
    worker.join()
go_on.set()
thread.join()
atexit.register(lambda: print(note("at the end")))
"""


@pytest.mark.parametrize(("run", "calls"), [("talk", 2), ("around", 3)])
def test_what_a_program_does_outside_of_its_own_recording_is_answered_too(tmp_path: Path, run: str, calls: int):
    (tmp_path / "around.py").write_text(OUTSIDE)
    store, noted = tmp_path / "runs.db", tmp_path / "noted.txt"
    subprocess.run(
        [sys.executable, "-m", "agent_tt_tui", "record", "--", sys.executable, "around.py"],
        cwd=tmp_path,
        env={**os.environ, "AGENT_TT_STORE": str(store)},
        check=True,
    )
    assert noted.read_text().split("\n") == ["before", "inside", "in a thread", "late", "at the end", ""]
    noted.unlink()
    report = replay(run, store=store)
    assert (report.verdict, report.served, report.recorded) == ("as_recorded", calls, calls), report.divergences
    assert not noted.exists()
