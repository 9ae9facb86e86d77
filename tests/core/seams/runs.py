"""Recording a function, and running it again with a replay's answers."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import agent_tt
from agent_tt import open_source
from agent_tt.replaying.block import served

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Agent = Callable[[], Any]


class Kept:
    """What the newest run in a store holds.

    Attributes:
        store: the file.
        steps: its steps.
        calls: its calls, each with its deliveries.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        source = open_source(store)
        run = source.run("latest")
        self.steps = source.steps(run.id)
        self.calls: list[tuple[Any, Any]] = [
            (call, source.deliveries(run.id, step.number, call.number))
            for step in self.steps
            for call in source.calls(run.id, step.number)
        ]
        source.close()


def recorded(agent: Agent, store: Path) -> tuple[Any, Kept]:
    """What `agent` gives while it is recorded, and the recording."""
    with agent_tt.record("http", store=store, durability="normal"):
        result = run(agent)
    return result, Kept(store)


def replayed(agent: Agent, kept: Kept) -> Any:
    """What `agent` gives in a replay, with the guard up and time moved on.

    Raises:
        Divergence: the replay is not faithful.
    """
    with served("latest", store=kept.store) as replay:
        result = run(agent)
    assert not replay.findings
    return result


def run(agent: Agent) -> Any:
    return asyncio.run(agent()) if inspect.iscoroutinefunction(agent) else agent()
