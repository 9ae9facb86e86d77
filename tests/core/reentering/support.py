"""A project on disk with agents that cannot be handed a state, a store, and forks that re-enter them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.agent_folder import DID, AgentFolder
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Call, Run
    from agent_tt.protocols import Store
    from agent_tt.rerunning.handle import RunHandle

PRELUDE = (
    "import agent_tt\n"
    + DID
    + """
@agent_tt.tool(effect="read")
def price(n):
    did(f"price-{n}")
    return {"n": n, "euros": 10 * n}

"""
)

LOOP = (
    PRELUDE
    + """
state = {"total": 0, "seen": []}
with agent_tt.record("shop", state=state) as run:
    n = 0
    while state["total"] < 300 and n < 40:
        n += 1
        with run.step("look"):
            found = price(n)
            state["total"] += found["euros"]
            state["seen"].append(found)
"""
)
"""A script with a loop: 8 steps, and then 360 euros are spent."""


class Project(AgentFolder):
    """A folder with an agent and a store."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.handles: list[RunHandle] = []

    @property
    def store(self) -> Store:
        return open_store(self.store_path, read_only=True)

    def record(self, source: str) -> Run:
        self.write(source)
        self.run()
        with closing(self.store) as store:
            return store.run("latest")

    def fork(self, run: str, step: int | str | None = None, changes: object = None, **options: object) -> RunHandle:
        handle = agent_tt.fork(run, step, changes, store=self.store_path, **options)  # type: ignore[arg-type]
        self.handles.append(handle)
        return handle

    def forked(self, run: str, step: int | str | None = None, changes: object = None, **options: object) -> Run:
        """A fork that has ended; whatever it does, its parent's rows stay as they are."""
        before = self.rows(run)
        handle = self.fork(run, step, changes, **options)
        assert handle.wait(PATIENCE_SECONDS) is not None
        assert self.rows(run) == before
        with closing(self.store) as store:
            assert store.verify() == []
            return store.run(handle.run_id)

    def rows(self, name: str) -> list[object]:
        """Everything that a run's own steps hold."""
        with closing(self.store) as store:
            run = store.run(name)
            return [
                (
                    step,
                    store.calls(run.id, step.number),
                    [store.deliveries(run.id, step.number, call.number) for call in store.calls(run.id, step.number)],
                    store.digest(run.id, step.number),
                )
                for step in store.steps(run.id)
            ]

    def calls(self, run: Run, *, own: bool = True) -> list[Call]:
        """The calls of a run, in the order of its steps."""
        with closing(self.store) as store:
            steps = [step for step in store.steps(run.id) if not (own and step.inherited)]
            return [call for step in steps for call in store.calls(run.id, step.number)]

    def state(self, run: Run, step: int | None = None) -> object:
        with closing(self.store) as store:
            return store.state(run.id, run.steps if step is None else step)

    def notes(self, run: Run) -> list[str]:
        with closing(self.store) as store:
            return [note.body for note in store.notes(run.id)]
