"""What a store holds of traces that were sent, and the same traces imported from a file: what has to be equal."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.patience import PATIENCE_SECONDS

from agent_tt.importing import import_file
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from agent_tt.model import Run


def told(store: Path) -> list[Any]:
    """All of each imported run but for the file that it was imported from, by its id in that."""
    found: list[tuple[str, Any]] = []
    with closing(open_source(store, read_only=True)) as source:
        for run in source.runs(archived=True):
            steps = source.steps(run.id)
            calls = [source.calls(run.id, step.number) for step in steps]
            states = [source.state(run.id, number) for number in range(len(steps) + 1)]
            plain: Run = replace(run, origin={key: each for key, each in run.origin.items() if key != "file"})
            found.append((run.origin["run"], (plain, steps, calls, states)))
        assert source.verify() == []
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def imported(file: Path, folder: Path) -> list[Any]:
    """What a store holds of a file."""
    store = folder / "imported.db"
    import_file(file, store)
    return told(store)


def run_now(asked: httpx.Client, run: str) -> dict[str, Any]:
    """What a server tells of a run; nothing where it is too busy to say, which is for who asks to ask again."""
    answer = asked.get(f"/api/runs/{run}")
    assert answer.status_code in (200, 503), answer.text
    found: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
    return found


def until(found: Callable[[], Any]) -> Any:
    """Wait for something."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not (value := found()):
        assert time.monotonic() < ends
        time.sleep(0.02)
    return value
