"""A run in memory, for tests of what screens make of the facts of a source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.core.memory_store import MemoryStore

from agent_tt.errors import Damaged
from agent_tt.history.changes.diff import diff
from agent_tt.model import Call, Run, Step
from agent_tt.protocols import Capabilities
from agent_tt.store.liveness import current_owner
from agent_tt.store.records import Checkpoint, Recorder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op


class FakeSource(MemoryStore):
    """A store in memory of one run on one track, whose facts a test may change at any time.

    Attributes:
        asked: Numbers of the steps whose states were read.
        damaged: Numbers of the steps whose states cannot be.
    """

    capabilities = Capabilities()
    id = "RUN000000001"

    def __init__(
        self,
        states: Sequence[Wire],
        steps: Sequence[Step] | None = None,
        *,
        name: str = "run",
        status: str = "succeeded",
        read_only: bool = False,
        calls: dict[int, list[Call]] | None = None,
    ) -> None:
        super().__init__("fake.db")
        self._is_read_only = read_only
        self.damaged: set[int] = set()
        self.asked: list[int] = []
        self.set_run(Run(self.id, name, status, started_us=0))  # type: ignore[arg-type]
        self.save(self.id, Recorder(current_owner(), 0))
        for number, state in enumerate(states):
            self.save(self.id, Checkpoint(number, "main", number, state))
        for each in steps if steps is not None else [step(n) for n in range(1, len(states))]:
            self.set_step(each)
        for number, made in (calls or {}).items():
            for call in made:
                self.save(self.id, replace(call, step=number))

    @property
    def read_only(self) -> bool:
        return self._is_read_only

    @property
    def the_run(self) -> Run:
        return self._row(self.id)

    def set_run(self, run: Run) -> None:
        """Change the row of a run, without a word to those who ask for the version."""
        self.save(run.id, run)

    def set_step(self, row: Step, *state: Wire) -> None:
        """Write a step, and its state."""
        with self.transaction():
            self.save(self.id, row)
            self.save(self.id, replace(self.the_run, steps=max(self.the_run.steps, row.number)))
            for each in state:
                self.save(self.id, Checkpoint(row.number, "main", row.number, each))

    def state(self, run_id: str, step: int) -> Wire:
        self.asked.append(step)
        if step in self.damaged:
            raise Damaged(f"checkpoint {step} cannot be read", hint="verify says more")
        return super().state(run_id, step)

    def changes(self, run_id: str, step: int) -> list[Op]:
        if step in self.damaged:
            raise Damaged(f"the changes of checkpoint {step} cannot be read")
        return diff(super().state(run_id, step - 1), super().state(run_id, step))

    def digest(self, run_id: str, step: int) -> bytes | None:
        return None

    def damaged_steps(self, run_id: str) -> list[int]:
        return sorted(self.damaged)


def step(number: int, name: str = "search_docs", status: str = "ok", **facts: object) -> Step:
    """A step that took 0.2 s and began when the one before it ended."""
    times = {"started_us": (number - 1) * 200_000, "ended_us": number * 200_000, "seq": number, "kind": "read"}
    return Step(number, name, status, **{**times, **facts})  # type: ignore[arg-type]


def refund_loop(steps: int = 21) -> FakeSource:
    """The classic incident: the same search over and over, then an error; every step counts its attempts."""
    states: list[Wire] = [{"attempts": 0, "messages": [], "notes": "", "answer": None}]
    for number in range(1, steps + 1):
        before = states[-1]
        assert isinstance(before, dict)
        messages = before["messages"]
        assert isinstance(messages, list)
        new = [*messages, {"role": "tool", "content": f'{{"docs": [], "search": {number}}}'}]
        found = f"Search {number} of 20 found nothing."
        states.append({"attempts": number, "messages": new, "notes": found, "answer": None})
    rows = [step(1, "plan", kind="llm"), step(2)]
    rows += [step(number, repeat_of=2) for number in range(3, steps)]
    rows.append(step(steps, status="error"))
    return FakeSource(states, rows, name="refund-loop", status="failed")
