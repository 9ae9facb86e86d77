"""The verdict of `agent-tt replay`: its word, its exit code with and without --strict, and its JSON, of real runs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.core.store.rows import change
from tests.patience import PATIENCE_SECONDS

from agent_tt_tui.cli.root import root

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm

AGENT = """
import sys
import agent_tt

ASKED = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}


@agent_tt.tool(effect="read")
def look(word):
    return word.upper()


@agent_tt.llm
def think(messages):
    done = messages[-1]["role"] == "tool"
    return {"role": "assistant", "content": "done"} if done else {"role": "assistant", "tool_calls": [ASKED]}


def main(state=None):
    kind = KIND
    state = state or {"seen": [], "last": 0}
    with agent_tt.record(kind, state=state) as run:
        if kind == "empty":
            print("nothing")
            return
        with run.step("look"):
            state["seen"].append(look("a"))
        with run.step("again"):
            look("b")
            state["seen"][:] = ["x"]
        if kind == "conversation":
            messages = [{"role": "user", "content": "?"}]
            with run.step("think"):
                messages.append(think(messages))
                messages.append({"role": "tool", "tool_call_id": "c1", "content": "found"})
                think(messages)
        print("looked")
        state["last"] = 1
        with run.step("end"):
            pass


if __name__ == "__main__":
    main()
"""
KINDS = ("plain", "empty", "conversation")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdicts")
    for kind in KINDS:
        (folder / f"{kind}.py").write_text(AGENT.replace("KIND", repr(kind)))
        environment = {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db")}
        subprocess.run(
            [sys.executable, f"{kind}.py"], cwd=folder, env=environment, check=True, timeout=PATIENCE_SECONDS
        )
    return folder


CASES = {
    "as recorded": ("plain", (), "as_recorded", [], (0, 0)),
    "nothing recorded": ("empty", (), "reserved", ["nothing recorded"], (0, 6)),
    "a tool without a call": ("conversation", (), "reserved", ["tool not recorded"], (0, 6)),
    "a C client": ("plain", ("import agent_tt", "import pyodbc, agent_tt"), "reserved", ["not covered"], (0, 6)),
    "another state on the way": ("plain", ("append(look", "append('' or look"), "as_recorded", [], (0, 0)),
    "another state": ("plain", ('.append(look("a"))', '.append(look("a") * 2)'), "reserved", ["state differs"], (0, 6)),
    "another last state": ("plain", ('["last"] = 1', '["last"] = 2'), "diverged", [], (1, 1)),
    "another output": ("plain", ('"looked"', '"saw"'), "diverged", [], (1, 1)),
    "another question": ("plain", ('look("b")', 'look("c")'), "diverged", [], (1, 1)),
    "a failure first": ("plain", ("    kind = KIND".replace("KIND", "'plain'"), "    1 / 0"), "diverged", [], (5, 5)),
    "a failure last": ("plain", ('        print("looked")', '        print("looked"); 1 / 0'), "diverged", [], (5, 5)),
}


@pytest.mark.parametrize(("kind", "change", "verdict", "reservations", "codes"), CASES.values(), ids=CASES)
def test_each_verdict_has_its_word_its_exit_code_and_its_json(
    command: Command,
    recorded: Path,
    kind: str,
    change: tuple[str, ...],
    verdict: str,
    reservations: list[str],
    codes: tuple[int, int],
):
    file, store = recorded / f"{kind}.py", str(recorded / "runs.db")
    source = AGENT.replace("KIND", repr(kind))
    (recorded / "pyodbc.py").write_text("")
    if change:
        assert change[0] in source
        source = source.replace(*change)
    file.write_text(source)
    words = {
        "as_recorded": "✓ as recorded  ",
        "reserved": "! as recorded, with reservations  ",
        "diverged": "✗ diverged: ",
    }
    done = command("replay", kind, "--store", store)
    assert done.code == codes[0], done.out
    assert words[verdict] in done.out
    for name in reservations:
        assert f"reservation  {name}: " in done.out
    strict = command("replay", kind, "--store", store, "--strict", "--json")
    assert strict.code == codes[1]
    report = strict.json
    assert (report["verdict"], report["faithful"]) == (verdict, verdict == "as_recorded")
    assert [note["kind"] for note in report["reservations"]] == reservations
    assert report["mode"] == "halt"


def test_strict_goes_with_observing_too(command: Command, recorded: Path):
    file = recorded / "plain.py"
    file.write_text(AGENT.replace("KIND", "'plain'").replace('look("a"))', 'look("a") * 2)'))
    done = command("replay", "plain", "--store", str(recorded / "runs.db"), "--observe", "--strict", "--json")
    assert (done.code, done.json["mode"], done.json["verdict"]) == (6, "observe", "reserved")


def test_a_failure_before_the_first_call_is_told_first_and_no_call_is_listed(command: Command, recorded: Path):
    (recorded / "plain.py").write_text("raise SystemError('not today')\n")
    done = command("replay", "plain", "--store", str(recorded / "runs.db"))
    lines = done.out.splitlines()
    assert done.code == 5
    assert "the agent raised SystemError: not today" in lines[0]
    assert "Traceback" in lines[1]
    assert lines[-1] == "none of its 2 recorded calls was made"
    assert "missing call" not in done.out
    shape = command("replay", "plain", "--store", str(recorded / "runs.db"), "--json").json
    assert (shape["divergences"], shape["failure"], shape["agent"]["status"]) == ([], None, "raised")


def test_of_a_run_that_broke_off_it_is_not_said_that_it_raised_nothing_then(command: Command, recorded: Path):
    change(recorded / "runs.db", "runs", "name = 'plain'", status="crashed")
    (recorded / "plain.py").write_text("raise SystemError('not today')\n")
    done = command("replay", "plain", "--store", str(recorded / "runs.db"))
    change(recorded / "runs.db", "runs", "name = 'plain'", status="succeeded")  # for the tests behind
    assert done.out.splitlines()[0].endswith("the agent raised SystemError: not today")


def test_code_that_moved_is_named_from_where_one_stands(
    command: Command, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (recorded / "plain.py").unlink(missing_ok=True)
    store = str(recorded / "runs.db")
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "agent.py").write_text(AGENT.replace("KIND", "'plain'"))
    monkeypatch.chdir(tmp_path)
    assert command("replay", "plain", "--store", store, "--json").code == 2
    done = command("replay", "plain", "--store", store, "--agent", "moved/agent.py:main", "--json")
    assert (done.code, done.json["verdict"]) == (0, "as_recorded")
    missing = command("replay", "plain", "--store", store, "--agent", "moved/agent.py:mian")
    assert (missing.code, "main" in missing.err) == (2, True)


@pytest.mark.parametrize(("words", "code"), [(("--dry-run", "--from", "9"), 3), (("--from", "1"), 2)])
def test_from_beyond_the_end_and_without_a_dry_run_is_refused(
    command: Command, recorded: Path, words: tuple[str, ...], code: int
):
    done = command("replay", "plain", "--store", str(recorded / "runs.db"), *words)
    assert (done.code, done.out) == (code, "")
    assert done.err


def test_bisect_tells_a_reservation_and_goes_on(command: Command, recorded: Path):
    (recorded / "empty.py").write_text(AGENT.replace("KIND", "'empty'"))
    done = command("bisect", "empty", "--replay", "--store", str(recorded / "runs.db"), "--json")
    assert done.code == 0
    assert done.json["outcome"] == "as recorded, with reservations"
    assert "nothing recorded" in done.json["why"]


def test_the_exit_codes_name_the_sixth():
    assert root.help is not None
    assert "6 replay --strict: as recorded, with reservations" in root.help
