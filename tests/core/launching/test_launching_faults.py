"""A program that is recorded from outside gives what it gives without that, whatever happens to the store."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from agent_tt.store import open_store
from agent_tt.store.spill.taking_in import take_in, waiting

if TYPE_CHECKING:
    from conftest import Project

PROGRAM = """
import os, sys
from pathlib import Path
import tools
STORE = Path(sys.argv[2])
for number in range(4):
    if number == 2:
        exec(sys.argv[1])
    print(tools.charge(number))
sys.exit(5)
"""
TOOLS = """
def charge(number):
    return f"charged {number}"
"""
CALL = ("--call", "tools.charge=write")
CHARGED = "".join(f"charged {number}\n" for number in range(4))


@pytest.fixture
def program(project: Project) -> Project:
    project.write(program=PROGRAM, tools=TOOLS)
    return project


def check_whole(program: Project) -> None:
    with contextlib.closing(open_store(program.store_path)) as store:
        assert store.verify() == []
        (run,) = store.runs()
        calls = [call for step in store.steps(run.id) for call in store.calls(run.id, step.number)]
        assert [call.result for call in calls] == CHARGED.splitlines()
        assert run.status == "failed"  # its exit code says so


@pytest.mark.parametrize(
    "fault", ["pass", "STORE.unlink()", "os.closerange(3, 256)", "Path(str(STORE) + '-wal').unlink()"]
)
def test_a_program_goes_on_and_its_run_is_whole(program: Project, fault: str) -> None:
    ended = program.record("program.py", fault, str(program.store_path), options=CALL)
    assert (ended.out, ended.code) == (CHARGED, 5), ended.err
    assert "Traceback" not in ended.err
    check_whole(program)


def test_a_program_runs_where_there_can_be_no_store(program: Project) -> None:
    program.store_path.mkdir()
    ended = program.record("program.py", "pass", str(program.store_path), options=CALL)
    assert (ended.out, ended.code) == (CHARGED, 5), ended.err
    assert ended.told.count("cannot be recorded into its store") == 1
    (left,) = waiting(program.store_path)
    assert left.run in ended.told
    program.store_path.rmdir()
    open_store(program.store_path, create=True).close()
    assert take_in(program.store_path) == []
    with contextlib.closing(open_store(program.store_path)) as store:
        (run,) = store.runs()
        assert store.verify() == []
        assert run.steps == 1


def test_with_stop_nothing_runs_without_a_store(program: Project) -> None:
    program.store_path.mkdir()
    options = ("--on-store-error", "stop", *CALL)
    ended = program.record("program.py", "pass", str(program.store_path), options=options)
    assert (ended.out, ended.code) == ("", 4)
    assert "is a folder, not a store" in ended.told
