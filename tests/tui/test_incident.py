"""`docs/incident.md`: its commands run one after the other in a fresh folder, and say what the page says."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.tui.readme_parts import DOCS, ROOT

from agent_tt_tui.cli.root import run
from agent_tt_tui.commands import display_key
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.keymaps import COMPARE, DEBUGGER, FORK, KEEP, RUNS, TESTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

PAGE = (DOCS / "incident.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(section: str, kind: str) -> list[str]:
    """The lines of a section's examples of a kind."""
    return [line for found, text in BLOCK.findall(section) if found == kind for line in text.splitlines()]


def squeezed(text: str) -> str:
    return " ".join(text.split())


def watched(folder: Path, expected: str) -> None:
    """Run `agent-tt golden watch` until it has said something, then end it as Ctrl-C does."""
    words = [sys.executable, "-m", "agent_tt_tui", "golden", "watch"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            assert any(expected in line for line in process.stdout)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the page, with nothing of the user's own."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'desk'\n")
    for name in ("refund_loop.py", "sample_model.py"):
        shutil.copy(ROOT / "sample_runs" / name, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("AGENT_TT_STORE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    return folder


def test_the_story_goes_as_it_is_told(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sections = dict(SECTION.findall(PAGE))
    assert list(sections) == [
        "The incident", "Locate it", "Replay it", "Inspect it", "Fork it", "Compare them", "Keep it as a test",
        "Fix it", "Verify it", "The same by keys",
    ]  # fmt: skip
    code = (desk / "refund_loop.py").read_text()
    for title, section in sections.items():
        before, after = ([line[1:] for line in blocks(section, "diff") if line.startswith(sign)] for sign in ("-", "+"))
        for old, new in zip(before, after, strict=True):
            assert code.count(old) == 1
            code = code.replace(old, new)
            (desk / "refund_loop.py").write_text(code)
        said = ""
        for line in blocks(section, "sh"):
            words = shlex.split(line)
            if words[0] == "python":
                done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
                said += done.stderr
            elif words[-1] == "watch":
                watched(desk, "answers-when-nothing-is-found")
            elif words[0] == "agent-tt":
                assert run(words[1:]) in (0, 1), line
                told = capfd.readouterr()
                assert "Traceback" not in told.err
                said += told.out
        for line in blocks(section, ""):
            assert squeezed(line) in squeezed(said), (title, line, said)


def test_the_keys_that_it_names_are_there() -> None:
    named = set(re.findall(r"`([^`]+)`", PAGE.partition("## The same by keys")[2])) - {"agent-tt open refund-loop", "≡"}
    contexts = (RUNS, DEBUGGER, FORK, COMPARE, KEEP, TESTS)
    commands = [command for context in contexts for group in context.groups for command in group.commands]
    assert named <= {display_key(key, UNICODE) for command in commands for key in command.keys}
