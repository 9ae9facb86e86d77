"""Replay programs whose tasks and threads ask equal questions, many times: has everybody their own answer each time?

    python -m tests.benchmarks.lanes_again [--replays 20] [--program NAME ...]

Each program of `tests/core/replaying/lane_programs.py` is recorded once with `agent-tt record`, against a server on the
loopback interface that never gives the same answer twice and is then stopped. Each replay is a process of its own. It
counts as exact where it is faithful and prints what the recorded program printed; notes are printed beside. The exit
code is 1 where any was not exact.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.core.replaying import lane_programs
from tests.core.replaying.test_replay_lanes import fresh_answer
from tests.core.web_server import serving

COMMAND = [sys.executable, "-m", "agent_tt_tui"]


def replays_of(name: str, count: int, folder: Path) -> tuple[int, Counter[str]]:
    """How many replays of a program were exact, and what was noted how often."""
    environment = {**os.environ, "AGENT_TT_STORE": str(folder / f"{name}.db")}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), environment.get("PYTHONPATH", "")])
    program = str(Path(lane_programs.__file__))
    with serving(fresh_answer) as web:
        recorded = subprocess.run(
            [*COMMAND, "record", "--name", name, "--", sys.executable, program, name, web.url],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    exact, noted = 0, Counter[str]()
    for _ in range(count):
        replay = subprocess.run(
            [*COMMAND, "replay", name, "--json"], env=environment, capture_output=True, text=True, check=False
        )
        said = json.loads(replay.stdout)
        exact += said["faithful"] and said["output"].splitlines() == recorded.splitlines()
        noted.update(note["kind"] for note in said["notes"])
    return exact, noted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replays", type=int, default=20)
    parser.add_argument("--program", action="append", choices=list(lane_programs.PROGRAMS))
    asked = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.program or lane_programs.PROGRAMS:
            exact, noted = replays_of(name, asked.replays, Path(folder))
            failed = failed or exact < asked.replays
            print(f"{name:20} {exact} of {asked.replays} exact", dict(noted) or "", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
