"""`agent-tt replays`: what came of replays, for people and as JSON."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from agent_tt.model import NewRun, Replay
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command


@pytest.fixture
def replayed(tmp_path: Path) -> str:
    """A store with two runs and what came of four replays."""
    path = tmp_path / "runs.db"
    with closing(open_store(path, create=True)) as store:
        ids = []
        for name in ("desk", "other"):
            writer = store.begin_run(NewRun(name), {})
            writer.finish("succeeded")
            ids.append(writer.run_id)
        store.keep_replay(Replay(ids[0], "as_recorded", "halt", 1_500_000, 1_200, 1_200, fingerprint="0123456789" * 3))
        store.keep_replay(Replay(ids[0], "reserved", recorded=1, served=1, reservations={"tool not recorded": 2}))
        store.keep_replay(
            Replay(
                *(ids[0], "diverged", "observe"),
                divergences=2,
                divergence="extra call",
                step=4,
                message="\x1b[31mred",
            )
        )
        store.keep_replay(Replay(ids[1], "failed", message="its process died"))
    return str(path)


def test_replays_of_a_run_are_told_newest_first_with_what_came_of_them(command: Command, replayed: str):
    lines = command("replays", "desk", "--store", replayed).out.splitlines()
    assert lines[0].split() == ["RUN", "VERDICT", "ANSWERED", "TOOK", "CODE", "AGE"]
    assert [line.split()[1] for line in lines if line.startswith("desk")] == ["diverged", "as", "as"]
    assert "extra call" in lines[2]
    assert "step 4" in lines[2]
    assert "\x1b" not in lines[2]
    assert "tool not recorded (2 times)" in lines[4]
    assert lines[5].split()[3:] == ["1,200", "of", "1,200", "1.5", "s", "01234567", "now"]
    assert len(lines) == 6


def test_replays_of_all_runs_as_json_say_what_is_not_known_as_null(command: Command, replayed: str):
    shapes = command("replays", "--store", replayed, "--json").json
    assert [shape["name"] for shape in shapes] == ["other", "desk", "desk", "desk"]
    failed, diverged, reserved, well = shapes
    assert (failed["verdict"], failed["served"], failed["message"]) == ("failed", None, "its process died")
    assert (diverged["divergence"], diverged["divergences"], diverged["step"], diverged["mode"]) == (
        *("extra call", 2, 4, "observe"),
    )
    assert reserved["reservations"] == {"tool not recorded": 2}
    assert (well["duration_ms"], well["message"], well["divergence"]) == (1500.0, None, None)
    assert command("replays", "--limit", "1", "--store", replayed, "--json").json == shapes[:1]
    asked = command("sql", "select run_name, verdict, ms, divergence from replays order by replay", "--store", replayed)
    assert asked.code == 0
    assert next(line.split()[:2] for line in asked.out.splitlines() if "desk" in line) == ["desk", "as_recorded"]


def test_where_nothing_was_replayed_that_is_said(command: Command, replayed: str):
    command("delete", "desk", "other", "--yes", "--store", replayed)
    assert command("replays", "--store", replayed, "--json").json == []
    assert "No replay was kept yet" in command("replays", "--store", replayed).out
    assert command("replays", "desk", "--store", replayed).code == 3
