"""Whoever waits for a replay that goes as recorded has loaded what it needs for that, and nothing that judges texts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from agent_tt import samples

if TYPE_CHECKING:
    from pathlib import Path

REPLAYED = """
import json, sys
from contextlib import closing
from agent_tt.rerunning.replay import run_replay
from agent_tt.store import open_store

with closing(open_store(sys.argv[1])) as source:
    (run,) = source.runs()
    report = run_replay(source, run)
    (kept,) = source.replays(run.id)
print(json.dumps([report.verdict, kept.verdict, sorted(sys.modules)]))
"""

NOT_NEEDED = {
    "agent_tt.codec.encode",
    "agent_tt.codec.parse",
    "agent_tt.comparing.values.words",
    "agent_tt.forking.terms",
    "agent_tt.interop.bundle",
    "agent_tt.redaction.anchors",
    "agent_tt.redaction.texts",
    "agent_tt.replaying.engine",
    "agent_tt.store.transfer",
    "agent_tt.store.writer",
    "asyncio",
    "difflib",
    "hyperscan",
    "psutil",
}


def test_a_replay_that_goes_as_recorded_is_waited_for_without_what_finds_secrets_or_processes(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    samples.ensure("refund-loop", store)
    done = subprocess.run(
        [sys.executable, "-c", REPLAYED, str(store)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    verdict, kept, loaded = json.loads(done.stdout)
    assert (verdict, kept) == ("as_recorded", "as_recorded")
    assert NOT_NEEDED.intersection(loaded) == set()
