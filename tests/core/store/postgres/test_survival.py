"""A recording survives its server: what an agent was told to be recorded is there, whatever was stopped or killed.

`AGENT_TT_SURVIVAL=16x1000` makes it 16 processes of 1,000 steps each with ten kills, as `make survival` does.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from typing import TYPE_CHECKING, Final

from tests.patience import PATIENCE_SECONDS
from tests.postgres_server import own_server

from agent_tt.sources import open_source
from agent_tt.store.spill.taking_in import take_in

if TYPE_CHECKING:
    from pathlib import Path

_PROCESSES, _STEPS = map(int, os.environ.get("AGENT_TT_SURVIVAL", "4x40").split("x"))
_KILLS: Final = 2 if _PROCESSES < 10 else 10

AGENT: Final = """
import os, sys, time
import agent_tt

@agent_tt.tool
def look(n):
    return {"seen": n}

store, name, steps, told = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
said = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with agent_tt.record(name, store=store, state={"n": 0}) as run:
    state = {"n": 0, "seen": []}
    for n in range(1, steps + 1):
        with run.step("look", state=state):
            state["n"] = look(n)["seen"]
            state["seen"] = [*state["seen"][-9:], n]
        os.write(said, f"{run.id} {n}\\n".encode())
"""


def acknowledged(folder: Path) -> dict[str, list[int]]:
    """The steps that each run was told to be recorded, in the order in which it was told."""
    told: defaultdict[str, list[int]] = defaultdict(list)
    for file in folder.glob("told-*"):
        whole_lines, _, _ = file.read_text().rpartition("\n")  # the last one may be on its way
        for line in whole_lines.splitlines():
            run, step = line.split()
            told[run].append(int(step))
    return told


def count(folder: Path) -> int:
    return sum(map(len, acknowledged(folder).values()))


def test_nothing_that_was_acknowledged_is_lost_when_a_server_and_agents_are_stopped(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    chance, started = random.Random(4711), 0
    with own_server("-c", "max_connections=100", "-c", "shared_buffers=16MB") as server:
        url = f"{server.address}/postgres"
        live: list[subprocess.Popen[bytes]] = []

        def start() -> None:
            nonlocal started
            started += 1
            told = tmp_path / f"told-{started}"
            command = [sys.executable, str(agent), url, f"run {started}", str(_STEPS), str(told)]
            live.append(subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL))

        for _ in range(_PROCESSES):
            start()
        whole = _PROCESSES * _STEPS
        events = sorted([*(("kill", at) for at in _spread(_KILLS)), ("crash", 0.3), ("stop", 0.6)], key=lambda e: e[1])
        deadline = time.monotonic() + PATIENCE_SECONDS * (1 + whole / 200)
        while events or any(each.poll() is None for each in live):
            assert time.monotonic() < deadline
            if events and count(tmp_path) >= events[0][1] * whole:
                kind, _ = events.pop(0)
                if kind == "kill":
                    running = [each for each in live if each.poll() is None]
                    if running:
                        chance.choice(running).send_signal(signal.SIGKILL)
                        start()
                else:
                    server.stop(crash=kind == "crash")
                    time.sleep(1.0)
                    server.start()
            time.sleep(0.02)
            if events and all(each.poll() is not None for each in live):
                start()
        told = acknowledged(tmp_path)
        with closing(open_source(url)) as source:  # takes in what lies beside it
            assert not [(each.run, each.why) for each in take_in(source.path)]
            for run_id, steps in told.items():
                found = source.steps(run_id)
                assert steps == list(range(1, len(steps) + 1))
                assert [step.number for step in found] == list(range(1, len(found) + 1))
                assert all(step.status == "ok" for step in found[: len(steps)]), run_id
                for step in (1, len(steps) // 2, len(steps)):
                    assert source.value(run_id, step, ("n",)) == step
                    assert source.calls(run_id, step)[0].result == {"seen": step}
            assert source.verify() == []
            assert sum(run.status == "succeeded" for run in source.runs()) >= started - _KILLS


def _spread(kills: int) -> list[float]:
    return [(number + 0.5) / kills * 0.9 for number in range(kills)]
