"""`agent-tt record --patch` and `agent-tt replay`: a program's draws come again though nothing in its code says so."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.patience import PATIENCE_SECONDS

AGENT = """
import os
import random
import sys
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import choice

import helper


@dataclass
class Note:
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    at: datetime = field(default_factory=datetime.now)


def main():
    drawn = [Note(), random.random(), choice("abcdef"), os.environ["PROBE"], os.getenv("MY_API_KEY"), helper.stamp()]
    Path(sys.argv[1]).write_text(repr(drawn))


if __name__ == "__main__":
    main()
"""

HELPER = """
import uuid
from time import time as now


def stamp(clock=now):
    return clock(), uuid.uuid1()
"""


@pytest.fixture
def run(tmp_path):
    def command(*arguments, **environment):
        known = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_TT")}
        return subprocess.run(
            [sys.executable, "-m", "agent_tt_tui", *arguments],
            cwd=tmp_path,
            env={**known, "AGENT_TT_STORE": str(tmp_path / "runs.db"), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )

    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "helper.py").write_text(HELPER)
    return command


def test_a_programs_draws_come_again(run, tmp_path):
    out = tmp_path / "drawn"
    arguments = ("--", sys.executable, "agent.py", str(out))
    done = run("record", "--patch", "all", *arguments, PROBE="one", MY_API_KEY="sk-12345")
    assert done.returncode == 0, done.stderr
    recorded = out.read_text()
    assert "'one', 'sk-12345'" in recorded
    assert b"sk-12345" not in (tmp_path / "runs.db").read_bytes()
    out.unlink()
    done = run("replay", "latest", PROBE="two", MY_API_KEY="sk-12345")
    assert done.returncode == 0, done.stdout + done.stderr
    assert out.read_text() == recorded


def test_kinds_are_named_one_by_one_and_others_refused(run, tmp_path):
    out = tmp_path / "drawn"
    done = run("record", "--patch", "env, ids", "--", sys.executable, "agent.py", str(out), PROBE="one")
    assert done.returncode == 0, done.stderr
    first = out.read_text()
    assert run("replay", "latest", PROBE="two").returncode == 0
    second = out.read_text()
    assert first != second  # clocks and random numbers are live
    assert "'one'" in second
    assert first.partition("id=")[2][:20] == second.partition("id=")[2][:20]
    done = run("record", "--patch", "clocks", "--", sys.executable, "agent.py", str(out))
    assert done.returncode == 2
    assert "'clocks' is none of clock, random, ids, env" in done.stderr
