"""A store from elsewhere: its agents run only when the user says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from agent_tt.store import open_store
from agent_tt.store.file import provenance
from agent_tt_tui.cli.running import trust as asking

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm

AGENT = """
import sys
import agent_tt


def main(state=None):
    with open("ran.txt", "a") as ran:
        ran.write("x")
    state = state or {"count": 0}
    with agent_tt.record("counter", state=state) as run:
        for _ in range(2):
            with run.step("count", state):
                state["count"] += 1
        if "die" in sys.argv:
            raise KeyboardInterrupt


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that ended and one that was interrupted; `kept` in it is a copy of what it held then."""
    folder = tmp_path_factory.mktemp("trust")
    (folder / "counter.py").write_text(AGENT)
    names = {"AGENT_TT_STORE": "runs.db", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}
    environment = {**os.environ, **{name: str(folder / place) for name, place in names.items()}}
    for words in ([], ["die"]):
        subprocess.run([sys.executable, "counter.py", *words], cwd=folder, env=environment, capture_output=True)
    (folder / "ran.txt").unlink()
    shutil.copytree(folder, folder / "kept")
    return folder


@pytest.fixture
def foreign(command: Command, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store with these runs, brought to a machine that did not make it."""
    for path in made.iterdir():
        if path.is_file():
            path.unlink()
        elif path.name != "kept":
            shutil.rmtree(path)
    shutil.copytree(made / "kept", made, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(made / "data"))
    identity = tmp_path / "machine-id"
    identity.write_text("another machine")
    monkeypatch.setattr(provenance, "_MACHINE_IDS", (str(identity),))
    return made / "runs.db"


RUNS = [["replay", "counter~1"], ["fork", "counter~1", "--at", "1"], ["resume", "counter"]]


def ran(store: Path) -> bool:
    return (store.parent / "ran.txt").exists()


@pytest.mark.parametrize("words", RUNS, ids=lambda words: words[0])
@pytest.mark.parametrize("as_json", [False, True])
def test_without_a_terminal_nothing_runs(command: Command, foreign: Path, words: list[str], as_json: bool):
    done = command(*words, "--store", str(foreign), *(["--json"] if as_json else []))
    assert done.code == 2
    assert "was not made here" in done.err
    assert "--trust" in done.err
    assert as_json == done.err.startswith("{")
    assert not ran(foreign)
    with closing(open_store(foreign)) as store:
        assert len(store.runs()) == 2, "no run was begun either"


@pytest.mark.parametrize("words", RUNS, ids=lambda words: words[0])
def test_trusted_once_it_runs_and_is_not_asked_about_again(command: Command, foreign: Path, words: list[str]):
    assert command(*words, "--store", str(foreign), "--trust").code in {0, 130}
    assert ran(foreign)
    assert command("fork", "counter~1", "--at", "1", "--store", str(foreign)).code == 0


@pytest.mark.parametrize(("answer", "runs"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_it_is_asked(command: Command, foreign: Path, monkeypatch, answer: str, runs: bool):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(asking.click, "confirm", lambda *_, **__: answer == "y")
    done = command("fork", "counter~1", "--at", "1", "--store", str(foreign))
    assert "counter would run" in done.out
    assert (done.code == 0) == runs == ran(foreign)


def test_looking_asks_nothing(command: Command, foreign: Path):
    for words in (
        ["show", "counter"],
        ["runs"],
        ["fork", "counter", "--at", "1", "--dry-run"],
    ):
        assert command(*words, "--store", str(foreign)).code == 0
