"""A run is on screen before what only its keys need is loaded: each such package costs tens of milliseconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from agent_tt import samples

if TYPE_CHECKING:
    from pathlib import Path

OPENED = """
import asyncio, json, sys
from agent_tt import config
from contextlib import closing
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.settings import chosen_look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen

MODULES = []
make_whole = DebuggerScreen.make_whole

async def painted(screen):
    MODULES[:] = MODULES or sorted(sys.modules)
    await make_whole(screen)

DebuggerScreen.make_whole = painted

async def main():
    with closing(open_store(sys.argv[1])) as source:
        (run,) = source.runs()
        app = AgentTT(lambda: DebuggerScreen(source, run), look=chosen_look(config.load()))
        async with app.run_test(size=(120, 40)) as pilot:
            while not MODULES:
                await pilot.pause()
            print(json.dumps([app.screen.time.number, MODULES]))

asyncio.run(main())
"""

ONLY_FOR_KEYS = (
    "agent_tt.codec.encode",
    "agent_tt.codec.parse",
    "agent_tt.comparing.runs",
    "agent_tt.comparing.sequences",
    "agent_tt.comparing.values.words",
    "agent_tt.exporting",
    "agent_tt.forking",
    "agent_tt.golden",
    "agent_tt.history.changes.change_detector",
    "agent_tt.history.log.append",
    "agent_tt.marking",
    "agent_tt.model.holds",
    "agent_tt.model.sweeps",
    "agent_tt.model.writing",
    "agent_tt.protocols.writers",
    "agent_tt.providers.cohere",
    "agent_tt.providers.gemini",
    "agent_tt.providers.price_table",
    "agent_tt.querying.expressions",
    "agent_tt.querying.oddities",
    "agent_tt.querying.provenance",
    "agent_tt.querying.search.finder",
    "agent_tt.questions",
    "agent_tt.redaction.keyed",
    "agent_tt.redaction.shapes",
    "agent_tt.redaction.values",
    "agent_tt.replaying.tape.tape",
    "agent_tt.rerunning",
    "agent_tt.resuming",
    "agent_tt.store.checking.counts",
    "agent_tt.store.done_keys",
    "agent_tt.store.file.provenance",
    "agent_tt.store.rows.holds",
    "agent_tt.store.rows.questions",
    "agent_tt.store.rows.sweeps",
    "agent_tt.store.spill.performing",
    "agent_tt.store.transfer",
    "agent_tt.store.views",
    "agent_tt.store.writer",
    "agent_tt.sweeping",
    "agent_tt_tui.dialog",
    "agent_tt_tui.help",
    "agent_tt_tui.screens.compare",
    "agent_tt_tui.screens.debugger.features.blame",
    "agent_tt_tui.screens.debugger.features.exporting",
    "agent_tt_tui.screens.debugger.features.find",
    "agent_tt_tui.screens.debugger.features.inspecting",
    "agent_tt_tui.screens.debugger.features.oddities",
    "agent_tt_tui.screens.debugger.features.watches",
    "agent_tt_tui.screens.debugger.past_reading",
    "agent_tt_tui.screens.dialogs",
    "agent_tt_tui.screens.runs",
    "agent_tt_tui.screens.sweep",
    "agent_tt_tui.viewmodel.values.highlight",
    "agent_tt_tui.widgets.debugger.blame_pane",
    "agent_tt_tui.widgets.debugger.find_panel",
    "agent_tt_tui.widgets.debugger.messages_view",
    "agent_tt_tui.widgets.debugger.raw_view",
    "deepdiff",
    "psutil",
    "sqlite_utils",
    "zoneinfo",
)

MOST_MODULES = 258
"""Modules of ours that may be there when the first frame is."""


def test_a_run_is_on_screen_before_forks_comparisons_searches_and_exports_are_loaded(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    samples.ensure("refund-loop", store)
    # A person's own settings would be read too.
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", OPENED, str(store)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    step, loaded = json.loads(done.stdout)
    assert step == 21
    assert "agent_tt_tui.widgets.debugger.timeline" in loaded
    early = [name for name in loaded if any(f"{name}.".startswith(f"{late}.") for late in ONLY_FOR_KEYS)]
    assert early == []
    assert sum(name.startswith("agent_tt") for name in loaded) <= MOST_MODULES
