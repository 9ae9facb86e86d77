"""The README says what is so: its key table is the one of the code, and its examples run."""

import datetime as dt
import decimal
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import uuid

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.tui.readme_parts import README, with_tables

from agent_tt.codec.encode import encode
from agent_tt_tui.cli.root import run

TEXT = README.read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
SHELL = [
    line
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("agent-tt ")
]


@pytest.fixture
def shell(tmp_path):
    """Run a line of the README's in a fresh folder with a store of its own."""
    environment = os.environ | {"AGENT_TT_STORE": str(tmp_path / "runs.db"), "HOME": str(tmp_path), "NO_COLOR": "1"}

    def call(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    return call


def test_the_tables_of_commands_and_keys_are_made_from_the_code():
    assert with_tables(TEXT) == TEXT, "run: python tests/tui/readme_parts.py"


ENVELOPES = re.findall(r"^\| `([^`]+)` \| `(\{\"\$type.*)` \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("expression", "shown"), ENVELOPES)
def test_a_typed_value_is_the_envelope_that_the_readme_shows(expression, shown):
    names = {"dt": dt, "decimal": decimal, "uuid": uuid, "pathlib": pathlib}
    assert encode(eval(expression, names)) == json.loads(shown)


def test_the_readme_shows_a_dozen_typed_values():
    assert len(ENVELOPES) >= 12


def test_the_marked_lines_are_at_most_five():
    assert 1 <= PYTHON[0].count("# new") <= 5


def test_the_python_examples_run_one_after_the_other(shell, tmp_path):
    agent, *others = PYTHON
    tests = next(block for block in others if block.startswith("# test_my_agent.py\n"))
    api = others[-1]
    (tmp_path / "my_agent.py").write_text(agent)
    (tmp_path / "test_my_agent.py").write_text(tests)
    (tmp_path / "use_it.py").write_text(api)
    recorded = shell(sys.executable, "my_agent.py")
    assert recorded.returncode == 0, recorded.stderr
    tested = shell(
        sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:langsmith_plugin", "test_my_agent.py"
    )
    assert tested.returncode == 0, tested.stdout
    used = shell(sys.executable, "use_it.py")
    assert used.returncode == 0, used.stderr
    assert used.stdout.splitlines()[-1] == "Do you have gift cards?"


def test_the_shell_tour_of_refund_loop_runs_as_written(shell, capfd, monkeypatch, tmp_path):
    samples = ("refund-loop", "flaky-checkout", "--dry-run")
    tour = [shlex.split(line) for line in SHELL if any(name in line for name in samples) and " open " not in line]
    assert len(tour) == 15
    codes = {}
    first = shell(sys.executable, "-m", "agent_tt_tui", *tour[0][1:])  # as a shell starts it; the others run here
    assert (first.returncode, first.stderr) == (0, "")
    monkeypatch.chdir(tmp_path)
    for name, value in {"AGENT_TT_STORE": "runs.db", "HOME": "", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    for words in tour[1:]:
        codes[words[1]] = run(words[1:])
        told = capfd.readouterr()
        assert codes[words[1]] in (0, 1), (words, told.err)
        assert "Traceback" not in told.err
    # Differing is an answer, not a failure: exit code 1.
    assert codes["compare"] == 1
