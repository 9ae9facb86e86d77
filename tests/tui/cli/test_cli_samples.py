"""`agent-tt samples`: a sample that is named where a command belongs, and a long one that is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from time import sleep
from typing import TYPE_CHECKING

import pytest

from agent_tt.cache_files import cache_folder
from agent_tt.errors import AgentTTError
from agent_tt.store import open_store
from agent_tt_tui.cli.root import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "says", "offers"),
    [
        (["refund-loop"], "'refund-loop' is a sample", "agent-tt open refund-loop"),
        (["refund-lop"], "no sample 'refund-lop'", "agent-tt samples build refund-loop"),
        (["zzz"], "no sample 'zzz'", "agent-tt open NAME"),
    ],
)
def test_a_sample_in_the_place_of_a_command_is_pointed_to_what_opens_or_makes_it(
    capsys: pytest.CaptureFixture[str], arguments: Sequence[str], says: str, offers: str
) -> None:
    assert run(["samples", *arguments, "--json"]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert says in error["message"]
    assert offers in error["hint"]


@pytest.mark.warm
def test_ctrl_c_keeps_what_was_made_of_a_long_sample_and_the_same_command_goes_on(tmp_path: Path) -> None:
    cache = cache_folder("samples")
    line = [sys.executable, "-m", "agent_tt_tui", "samples", "build", "long-haul", "--steps", "1500", "--json"]
    line += ["--store", str(tmp_path / "runs.db")]

    def made() -> int:
        for file in cache.glob("*/long-haul.db"):
            with suppress(AgentTTError), closing(open_store(file, read_only=True)) as source:
                return sum(run.steps for run in source.runs())
        return 0

    with subprocess.Popen(line, start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as build:
        while build.poll() is None and made() < 10:
            sleep(0.02)
        os.killpg(build.pid, signal.SIGINT)  # as a terminal does, to all that it started in its group
        assert b"interrupted" in build.communicate()[1]
    before = made()
    assert 10 <= before < 1500
    done = subprocess.run(line, capture_output=True, check=True)
    made_run = json.loads(done.stdout)
    assert (made_run["status"], made_run["steps"]) == ("succeeded", 1500)
    assert list(cache.iterdir()) == []
