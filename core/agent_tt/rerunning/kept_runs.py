"""The store beside a project's own that keeps the runs of tests, and how long."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from agent_tt.store import SqliteStore

__all__ = ["RESULTS", "forget_older"]

RESULTS: Final = "tests.db"

_MOST_RUNS: Final = 12
"""So many runs of a name are kept in it."""


def forget_older(results: SqliteStore, name: str, *, spared: str = "") -> None:
    """Delete the oldest runs of a name beyond the last ones; pinned ones stay, and the one that is spared.

    Args:
        results: the store of results.
        name: of the golden, or of the recorded run.
        spared: id of the run that they are compared with, where it lies in there too.
    """
    mine = [run for run in results.runs(archived=True) if run.name == name and run.id != spared]
    for run in [each for each in mine[_MOST_RUNS:] if each.status != "running" and not each.pinned]:
        with suppress(AgentTTError):  # somebody forked it, or another process was first
            results.delete_runs([run.id])
