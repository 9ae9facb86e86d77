"""An agent that takes as long as somebody wants: while there is a file `hold`, a step of it does not end."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SLOW = """
import os, pathlib, time
import agent_tt

here = pathlib.Path(__file__).parent


def main(state=None):
    state = state or {"n": 0}
    with agent_tt.record("slow", state=state) as run:
        while state["n"] < 2:
            with run.step("count", state):
                state["n"] += 1
                if (here / "hold").exists():
                    (here / "part").write_text(str(os.getpid()))
                    (here / "part").rename(here / "pid")
                    time.sleep(600)


if __name__ == "__main__":
    main()
"""


def record_slow(store: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Record it beside a store, as the run `slow`; the file `pid` there says which process holds."""
    (store.parent / "slow.py").write_text(SLOW)
    recording = {**environment, "AGENT_TT_STORE": str(store)}
    subprocess.run([sys.executable, "slow.py"], cwd=store.parent, env=recording, check=True)
