"""`agent-tt resume`: what it asks, what it refuses, what it says and its exit codes."""

from __future__ import annotations

import os
import pty
import signal
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
import os, signal
import agent_tt


@agent_tt.tool(effect="write")
def send(number):
    open("sent", "a").write(f"{number} ")
    if number == 2 and not os.path.exists("broke off"):
        open("broke off", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"sent": number}


def main(state=None):
    state = state or {"sent": []}
    with agent_tt.record("sender", state=state) as run:
        for number in range(4):
            with run.step("send"):
                state["sent"].append(send(number)["sent"])


if __name__ == "__main__":
    main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that was killed in its third step."""
    (tmp_path / "sender.py").write_text(AGENT)
    environment = {**os.environ, "AGENT_TT_STORE": str(tmp_path / "runs.db")}
    done = subprocess.run(
        [sys.executable, "sender.py"], cwd=tmp_path, env=environment, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == -signal.SIGKILL
    return tmp_path


def sent(folder: Path) -> list[str]:
    return (folder / "sent").read_text().split()


def at_a_terminal(folder: Path, *answers: tuple[str, str]) -> tuple[int, str]:
    """Run the command at a terminal and type each answer when its question stands there."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "agent_tt_tui", "resume", "sender", "--store", str(folder / "runs.db")]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said, left = b"", list(answers)
    with os.fdopen(ours, "r+b", buffering=0) as line:
        while True:
            try:
                piece = line.read(4096)
            except OSError:  # Linux: the other side has gone
                break
            if not piece:
                break
            said += piece
            if left and said.decode().rstrip().endswith(left[0][0]):
                line.write(left.pop(0)[1].encode() + b"\n")
    return process.wait(PATIENCE_SECONDS), said.decode()


def test_without_a_terminal_nothing_is_done_about_a_write_in_flight(command: Command, folder: Path):
    store = str(folder / "runs.db")
    refused = command("resume", "sender", "--store", store)
    assert (refused.code, refused.out) == (2, "")
    lines = refused.err.splitlines()
    assert lines[0].endswith("whether send happened (step 3) is not known: it writes, and was in flight")
    assert len(lines) == 2
    refused = command("resume", "sender", "--store", store, "--json")
    assert (refused.code, refused.error["kind"]) == (2, "usage")
    assert sent(folder) == ["0", "1", "2"]


def test_a_dry_run_shows_what_was_in_flight(command: Command, folder: Path):
    shown = command("resume", "sender", "--store", str(folder / "runs.db"), "--dry-run")
    assert shown.code == 0
    assert "2 calls answered, 1 in flight" in shown.out
    assert "send (writes)" in shown.out
    assert "you are asked" in shown.out
    shape = command("resume", "sender", "--store", str(folder / "runs.db"), "--dry-run", "--json").json
    (waiting,) = shape["in_flight"]
    assert (shape["answered"], waiting["step"], waiting["args"], waiting["unknown"]) == (2, 3, {"number": 2}, True)


def test_at_a_terminal_it_is_asked_whether_the_write_happened(command: Command, folder: Path):
    code, said = at_a_terminal(folder, ("[y/n]:", "y"), ("[null]:", '{"sent": 2}'))
    assert code == 0, said
    assert "sender  goes on after 2 calls" in said
    assert sent(folder) == ["0", "1", "2", "3"]
    shown = command("show", "sender", "--store", str(folder / "runs.db"), "--json")
    assert shown.json["run"]["status"] == "succeeded"
    listed = command("show", "sender", "--store", str(folder / "runs.db")).out
    assert '(number=2) = {"sent": 2}' in listed
    assert "unknown" not in listed  # the call that was in flight is replaced
    again = command("resume", "sender", "--store", str(folder / "runs.db"))
    assert again.code == 2
    assert "sender has succeeded" in again.err


def test_a_write_that_did_not_happen_is_made(folder: Path):
    (folder / "sent").write_text("0 1 ")
    code, said = at_a_terminal(folder, ("[y/n]:", "n"))
    assert code == 0, said
    assert sent(folder) == ["0", "1", "2", "3"]


def test_an_agent_that_asks_something_else_ends_with_1(command: Command, folder: Path):
    (folder / "sender.py").write_text(AGENT.replace("send(number)[", "send(number + 5)[").replace("write", "read", 1))
    code, said = at_a_terminal(folder, ("[y/n]:", "n"))
    assert code == 1
    assert "sender could not be resumed: changed request" in said
    assert "Traceback" not in said
    assert sent(folder) == ["0", "1", "2"]
    assert command("show", "sender", "--store", str(folder / "runs.db"), "--json").json["run"]["status"] == "crashed"


def test_options_say_what_happened(command: Command, folder: Path):
    store = str(folder / "runs.db")

    def refused(*options: str) -> str:
        done = command("resume", "sender", "--store", store, "--json", *options)
        assert (done.code, done.error["kind"], done.out) == (2, "usage", "")
        return done.error["message"]

    assert "is not valid JSON" in refused("--happened", "3.1={")
    assert "send gave an object before, and this is a number" in refused("--happened", "3.1=5")
    assert "STEP.CALL=JSON" in refused("--happened", "3.1")
    assert "2.1 is not asked about: only 3.1 of sender is" in refused("--not-happened", "2.1")
    assert "happened and not" in refused("--not-happened", "3.1", "--happened", '3.1={"sent": 2}')
    assert "cannot be given" in refused("--happened", '3.1={"$type": "date", "$v": {}}')
    assert sent(folder) == ["0", "1", "2"]
    done = command("resume", "sender", "--store", store, "--json", "--happened", '3.1={"sent": 2}')
    assert (done.code, done.json["status"]) == (0, "succeeded")
    assert sent(folder) == ["0", "1", "2", "3"]


def test_an_answer_of_another_kind_is_asked_for_once_more(folder: Path):
    code, said = at_a_terminal(folder, ("[y/n]:", "y"), ("[null]:", "7"), ("[null]:", '{"sent": 2}'))
    assert code == 0, said
    assert 'An earlier call gave {"sent": 1}' in said
    assert "send gave an object before, and this is a number" in said
