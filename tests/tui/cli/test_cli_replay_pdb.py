"""`agent-tt replay --pdb`: real processes, with commands through a pipe and at a terminal."""

from __future__ import annotations

import os
import pty
import selectors
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

AGENT = """
import asyncio
import sys

import agent_tt


@agent_tt.tool(effect="read")
def look(question):
    open("looked.txt", "a").write(question)
    return {"found": len(question)}


@agent_tt.tool(effect="read")
async def look_later(question):
    await asyncio.sleep(0.001)
    return look(question)


class Agent:
    def __init__(self, offset):
        self.offset = offset
        self.found = []

    def run(self):
        for word in ("a", "be", "sea", "deep"):
            with RUN.step(word, {"found": self.found}):
                answer = look(word * self.offset)
                self.found.append(answer["found"])
        with RUN.step("think"):
            total = sum(self.found)
        return total

    async def run_async(self):
        for word in ("a", "be", "sea"):
            with RUN.step(word, {"found": self.found}):
                answer = await look_later(word * self.offset)
                self.found.append(answer["found"])
        return sum(self.found)


if __name__ == "__main__":
    with agent_tt.record("seeker-async" if "async" in sys.argv else "seeker") as RUN:
        agent = Agent(2)
        print("total", asyncio.run(agent.run_async()) if "async" in sys.argv else agent.run())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    found = tmp_path_factory.mktemp("seeker")
    (found / "seeker.py").write_text(AGENT)
    for words in ([], ["async"]):
        subprocess.run(
            [sys.executable, "seeker.py", *words], cwd=found, env=environment(found), check=True, capture_output=True
        )
    (found / "looked.txt").unlink()
    return found


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db"), "TERM": "dumb", "COLUMNS": "120"}


def debug(folder: Path, *arguments: str, commands: str) -> tuple[int, str]:
    """The exit code, and all that was written."""
    done = subprocess.run(
        [sys.executable, "-m", "agent_tt_tui", "replay", *arguments, "--pdb"],
        cwd=folder,
        env=environment(folder),
        input=commands,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stdout
    assert not (folder / "looked.txt").exists(), "the tool ran"
    return done.returncode, done.stdout


def test_the_prompt_stands_at_the_call_of_the_step_in_the_agents_method(folder: Path):
    code, said = debug(folder, "seeker", "--at", "3", commands="p (type(self).__name__, word)\nn\np answer\nw\nc\n")
    assert "step 3 asks look" in said
    assert "('Agent', 'sea')" in said
    assert "{'found': 6}" in said, "the recorded answer"
    assert "agent_tt" not in said.partition("(pdb)")[2].replace("import agent_tt", ""), "frames of our own"
    assert "total 20" in said
    assert "as recorded" in said
    assert code == 0


def test_the_same_in_a_coroutine(folder: Path):
    code, said = debug(folder, "seeker-async", "--at", "2", commands="p (type(self).__name__, word)\nn\np answer\nc\n")
    assert "('Agent', 'be')" in said
    assert "{'found': 4}" in said
    assert "total 12" in said
    assert code == 0


def test_a_local_name_that_is_set_there_is_kept_and_what_follows_from_it_diverges(folder: Path):
    code, said = debug(folder, "seeker", "--at", "1", commands="!self.offset = 3\n!word = 'changed'\nn\np word\nc\n")
    assert "'changed'" in said
    assert "changed request" in said, said
    assert "step 2" in said
    assert code == 1


def test_a_step_without_a_call_opens_as_it_begins(folder: Path):
    code, said = debug(folder, "seeker", "--at", "5", commands="p self.found\nc\n")
    assert "step 5 begins" in said
    assert "[2, 4, 6, 8]" in said
    assert code == 0


def test_without_a_step_it_opens_where_the_run_would(folder: Path):
    assert "step 5 begins" in debug(folder, "seeker", commands="c\n")[1]


@pytest.mark.parametrize("commands", ["q\n", "", "n\nq\n"], ids=["q", "the end of the input", "q after n"])
@pytest.mark.parametrize("run", ["seeker", "seeker-async"])
def test_leaving_the_debugger_stops_the_agent(folder: Path, run: str, commands: str):
    code, said = debug(folder, run, "--at", "2", commands=commands)
    assert "stopped in the debugger at step 2" in said
    assert "total" not in said.replace("total = ", "")
    assert code == 130


def test_nothing_is_reached_from_the_prompt_and_the_replay_does_not_count_it(folder: Path):
    code, said = debug(folder, "seeker", "--at", "2", commands="p look('zz')\np 1 / 0\nc\n")
    assert "look is not called from the debugger" in said
    assert "ZeroDivisionError" in said
    assert "as recorded" in said
    assert code == 0


def test_a_breakpoint_that_is_set_there_stops_the_agent_again(folder: Path):
    line = 1 + AGENT.splitlines().index('                self.found.append(answer["found"])')
    commands = f"b {line}\nc\np answer\ncl 1\nc\n"
    code, said = debug(folder, "seeker", "--at", "1", commands=commands)
    assert "{'found': 2}" in said
    assert "as recorded" in said
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "words", "expected"),
    [
        (["seeker", "--at", "2"], "--at says where --pdb opens", 2),
        (["seeker", "--pdb", "--at", "2", "--json"], "no --json", 2),
        (["seeker", "--pdb", "--at", "0"], "step 0 is the input", 2),
        (["seeker", "--pdb", "--at", "9"], "9", 3),
    ],
)
def test_what_cannot_be_debugged_is_said_in_a_line(folder: Path, arguments: list[str], words: str, expected: int):
    done = subprocess.run(
        [sys.executable, "-m", "agent_tt_tui", "replay", *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == expected


class Terminal:
    """A process at a terminal of its own."""

    def __init__(self, command: list[str], folder: Path, size: tuple[int, int] = (24, 80)) -> None:
        self.text = ""
        self.pid, self._screen = pty.fork()
        termios.tcsetwinsize(0 if self.pid == 0 else self._screen, size)
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment(folder))

    def expect(self, words: str, *, typing: str = "") -> None:
        """Read until `words` were written; what came before is read.

        Args:
            words: what is waited for.
            typing: typed again each second until then: a key that came while nobody listened is lost.
        """
        ends = time.monotonic() + 60
        while words not in self.text:
            assert time.monotonic() < ends, self.text
            if typing:
                self.type(typing)
            with selectors.DefaultSelector() as ready:  # `select` takes no descriptor above 1,023
                ready.register(self._screen, selectors.EVENT_READ)
                is_ready = bool(ready.select(1))
            if is_ready:
                self.text += os.read(self._screen, 4096).decode(errors="replace")
        self.text = self.text.partition(words)[2]

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def wait(self) -> int:
        """Read to the end; the exit code."""
        try:
            while piece := os.read(self._screen, 4096):
                self.text += piece.decode(errors="replace")
        except OSError:  # the other end is closed
            pass
        os.close(self._screen)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_ctrl_c_at_the_terminals_prompt_is_the_debuggers(folder: Path):
    terminal = Terminal([sys.executable, "-m", "agent_tt_tui", "replay", "seeker", "--pdb", "--at", "2"], folder)
    terminal.expect("(pdb)")
    terminal.expect("KeyboardInterrupt", typing="\x03")
    terminal.expect("(pdb)")
    terminal.type("p word\n")
    terminal.expect("'be'")
    terminal.expect("(pdb)")
    terminal.type("c\n")
    assert terminal.wait() == 0
    assert "as recorded" in terminal.text


def test_p_in_the_terminal_app_steps_aside_for_pdb_and_comes_back(folder: Path):
    terminal = Terminal([sys.executable, "-m", "agent_tt_tui", "open", "seeker", "--at", "3"], folder, size=(30, 100))
    terminal.expect("deep")
    terminal.type("P")
    terminal.expect("pdb opens in the agent")
    terminal.type("y")
    terminal.expect("(pdb)")
    terminal.type("p (type(self).__name__, word)\n")
    terminal.expect("('Agent', 'sea')")
    terminal.expect("(pdb)")
    terminal.type("c\n")
    terminal.expect("4 of 4 calls answered, as recorded. enter goes back")
    terminal.type("\n")
    terminal.expect("the replay went as recorded")
    terminal.type("P")
    terminal.expect("pdb opens in the agent")
    terminal.type("y")
    terminal.expect("(pdb)")
    terminal.type("q\n")
    terminal.expect("stopped in the debugger at step 3")
    terminal.type("\x11")  # ctrl+q: back to the list of runs
    terminal.type("\x11")
    assert terminal.wait() == 0
