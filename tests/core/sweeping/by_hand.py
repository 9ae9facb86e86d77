"""A store with a run, and sweeps of it whose runs are written by hand: nothing is started."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.core.store.rows import update

from agent_tt.model import AgentCode, ErrorInfo, NewFork, NewRun, NewStep, StepEnd
from agent_tt.model.facts import RunFacts, StepFacts
from agent_tt.store import open_store
from agent_tt.sweeping.matrix import MatrixReader
from agent_tt.sweeping.plan import run_name

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import RunStatus, Sweep
    from agent_tt.sweeping.definition import Definition
    from agent_tt.sweeping.matrix import Matrix

GONE = json.dumps({"host": "elsewhere", "boot": "", "pid": 1, "start": 0})
"""An owner that nobody is."""


class ByHand:
    """A store in which sweeps are written by hand."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.db"
        self.store = open_store(self.path, create=True)
        code = AgentCode(entry="guess.py:main", root=str(folder), cwd=str(folder), restore="state")
        writer = self.store.begin_run(NewRun(name="guess", code=code), {"temperature": 0, "budget": 3})
        number = writer.open_step(NewStep(name="think"))
        writer.close_step(number, StepEnd(status="ok"), {"temperature": 0, "budget": 3, "answer": "?", "tokens": 7})
        writer.finish("succeeded")
        self.run = self.store.run("guess")

    def begin(self, definition: Definition) -> Sweep:
        return self.store.begin_sweep(self.run.id, 1, definition.to_mapping())

    def matrix(self, sweep: Sweep) -> Matrix:
        return MatrixReader(self.store, sweep.id).read()

    def took(
        self,
        sweep: Sweep,
        cell: int,
        sample: int,
        status: RunStatus = "succeeded",
        state: object = None,
        *,
        error: ErrorInfo | None = None,
        spent: tuple[int, int, float | None] = (100, 10, 0.25),
        seconds: int = 2,
        unpriced: int = 0,
    ) -> str:
        """A run of a sweep: one step of its own that leaves `state`; `running` is one whose process is gone."""
        place = {"id": sweep.id, "cell": cell, "sample": sample}
        run_id = self.store.begin_fork(
            NewFork(
                self.run.id,
                1,
                state={"temperature": cell},
                new=NewRun(name=run_name(sweep.name, cell, sample), metadata={RunFacts.fork_sweep.key: place}),
            )
        )
        if state is not None:
            writer = self.store.adopt_run(run_id, NewRun(name=""), None)
            number = writer.open_step(NewStep(name="think"))
            tokens_in, tokens_out, cost = spent
            extra = {StepFacts.unpriced.key: unpriced} if unpriced else {}
            end = StepEnd(status="ok", tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost, extra=extra)
            writer.close_step(number, end, state)
            writer.finish(status if status != "running" else "interrupted", error)
        elif status != "running":
            self.store.set_run_status(run_id, status, error)
        with self.store.database.transaction() as tx:
            if status == "running":
                update(tx, "runs", "id = ?", (run_id,), status="running", ended_us=None, owner=GONE, beat_us=0)
            else:
                ((started,),) = tx.query("SELECT started_us FROM runs WHERE id = ?", (run_id,))
                update(tx, "runs", "id = ?", (run_id,), ended_us=started + seconds * 1_000_000)
        return run_id

    def drop(self, sweep: Sweep) -> None:
        """Let nobody drive it, as after a kill."""
        with self.store.database.transaction() as tx:
            update(tx, "sweeps", "id = ?", (sweep.id,), owner=GONE, beat_us=0)
