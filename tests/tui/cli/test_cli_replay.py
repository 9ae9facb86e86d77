"""`agent-tt replay`: what it says, what it writes for programs, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm

AGENT = """
import sys
import agent_tt

LONG = "word " * 1000 + "needle " + "word " * 1000


@agent_tt.llm
def think(messages):
    return {"length": len(messages[0]["content"])}


@agent_tt.tool(effect="write")
def send(text):
    open("sent.txt", "a").write(text)
    return "sent"


def main(state=None):
    state = state or {"sent": 0}
    with agent_tt.record("sender", state=state) as run:
        with run.step("think"):
            think([{"role": "user", "content": LONG}])
        for text in ("the first letter", "a second postcard", "the third parcel"):
            with run.step("send"):
                send(text)
                state["sent"] += 1
        print("arguments", *sys.argv[1:])


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sender")
    (folder / "sender.py").write_text(AGENT)
    environment = {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db")}
    subprocess.run(
        [sys.executable, "sender.py"],
        cwd=folder,
        env=environment,
        check=True,
        timeout=PATIENCE_SECONDS,
        stdout=subprocess.DEVNULL,
    )
    return folder


@pytest.fixture
def folder(recorded: Path) -> Path:
    (recorded / "sender.py").write_text(AGENT)
    sent = (recorded / "sent.txt").read_text()
    yield recorded
    assert (recorded / "sent.txt").read_text() == sent, "a tool that writes really ran"


def change(folder: Path, *words: tuple[str, str]) -> None:
    source = AGENT
    for old, new in words:
        assert old in source
        source = source.replace(old, new)
    (folder / "sender.py").write_text(source)


def test_a_faithful_replay_says_so_and_exits_with_0(command: Command, folder: Path):
    done = command("replay", "sender", "--store", str(folder / "runs.db"))
    assert done.code == 0
    assert "as recorded" in done.out
    assert "4 of 4 calls answered" in done.out
    assert done.err == ""


def test_a_changed_prompt_exits_with_1_and_shows_the_path_and_the_words(command: Command, folder: Path):
    change(folder, ("needle", "pin"))
    done = command("replay", "sender", "--store", str(folder / "runs.db"))
    assert done.code == 1
    assert "changed request" in done.out
    assert "messages[0].content" in done.out
    assert "[-needle-]{+pin+}" in done.out
    assert "step 1, call 1" in done.out
    assert "sender.py:" in done.out
    assert "Traceback" not in done.out + done.err
    assert len(done.out) < 1500, "only the words around the change are shown"


def test_three_changes_are_three_divergences_for_programs_when_observing(command: Command, folder: Path):
    change(folder, ("needle", "pin"), ("first letter", "first note"), ("third parcel", "third package"))
    done = command("replay", "sender", "--store", str(folder / "runs.db"), "--observe", "--json")
    assert done.code == 1
    report = done.json
    assert (report["mode"], report["faithful"], report["failure"]) == ("observe", False, None)
    assert [(item["kind"], item["step"]) for item in report["divergences"]] == [
        ("changed request", 1),
        ("changed request", 2),
        ("changed request", 4),
    ]
    assert [item["changes"][0]["path"] for item in report["divergences"]] == ["messages[0].content", "text", "text"]
    assert report["divergences"][1]["changes"][0]["words"] == [
        ["same", "the first "],
        ["removed", "letter"],
        ["added", "note"],
    ]
    assert all(item["file"] == "sender.py" and item["line"] for item in report["divergences"])
    assert report["agent"]["status"] == "ended"
    assert report["served"] == report["recorded"] == 4


def test_what_follows_two_dashes_is_the_agents(command: Command, folder: Path):
    done = command("replay", "sender", "--store", str(folder / "runs.db"), "--json", "--", "--fast", "-x", "y z")
    report = done.json
    assert report["output"] == "arguments --fast -x y z\n"
    assert (done.code, report["verdict"]) == (1, "diverged"), "it prints them, and did not when it was recorded"
    ((change,),) = [item["changes"] for item in report["divergences"]]
    assert (change["path"], change["old"], change["new"]) == ("line 1", "arguments", "arguments --fast -x y z")


def test_what_is_piped_in_is_the_agents_and_reading_nothing_is_said(folder: Path):
    change(folder, ('print("arguments"', 'print(input("? "), sys.stdin.read().split(), "arguments"'))
    replay = [sys.executable, "-m", "agent_tt_tui", "replay", "sender", "--json", "--store", str(folder / "runs.db")]
    done = subprocess.run(replay, input=b"a line\nand more", capture_output=True, timeout=PATIENCE_SECONDS)
    report = json.loads(done.stdout)
    assert (report["output"], report["notes"]) == ("? a line ['and', 'more'] arguments\n", [])
    assert (done.returncode, [found["kind"] for found in report["divergences"]]) == (1, ["changed output"])
    done = subprocess.run(replay, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_SECONDS)
    report = json.loads(done.stdout)
    assert (done.returncode, report["agent"]["error"]) == (5, "EOFError: EOF when reading a line")
    assert [note["kind"] for note in report["notes"]] == ["no input"]


def test_an_agent_that_fails_exits_with_5_and_shows_where(command: Command, folder: Path):
    change(folder, ("        print(", "        1 / 0\n        print("))
    done = command("replay", "sender", "--store", str(folder / "runs.db"))
    assert done.code == 5
    assert "ZeroDivisionError" in done.out
    assert "sender.py" in done.out
    assert "_child" not in done.out
    assert "rerunning" not in done.out


def test_a_dry_run_shows_what_is_recorded_and_runs_nothing(command: Command, folder: Path):
    (folder / "sender.py").write_text(AGENT + "\n\n@agent_tt.tool\ndef forgotten(): ...\n1 / 0\n")
    done = command("replay", "sender", "--store", str(folder / "runs.db"), "--dry-run", "--from", "2")
    assert done.code == 0
    lines = {line.split()[0]: line.split()[1:] for line in done.out.splitlines() if line}
    assert lines["send"] == ["(writes)", "3", "2", "3", "0", "0"]
    assert lines["think"] == ["(llm)", "1", "0", "1", "0", "0"]
    assert "forgotten" in done.out
    shape = command("replay", "sender", "--store", str(folder / "runs.db"), "--dry-run", "--json").json
    assert shape["without"] == ["tool forgotten"]
    assert [row["name"] for row in shape["answers"]] == ["send", "think"]


def test_what_cannot_be_replayed_is_an_error_with_its_code(command: Command, folder: Path):
    store = str(folder / "runs.db")
    assert command("replay", "nobody", "--store", store).code == 3
    assert command("replay", "--store", store).code == 2
    (folder / "sender.py").write_text("import agent_tt\n")
    done = command("replay", "sender", "--store", store, "--json")
    assert done.code == 2
    assert done.error["kind"] == "invalid_entry_point"
