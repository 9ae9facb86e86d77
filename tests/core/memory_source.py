"""A `RunSource` held in memory, for tests of what stands on sources and not of any store."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import RunNotFound, StepNotFound
from agent_tt.history.diff import diff
from agent_tt.history.digest import digest
from agent_tt.history.ops import trace
from agent_tt.model import Call, Edit, ErrorInfo, Label, Note, Problem, Run, Step
from agent_tt.protocols import RunSource

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.history.ops import Op
    from agent_tt.questions import CallQuestion


@dataclass
class Did:
    """One step as a test writes it down."""

    name: str
    tool: str | None = None
    args: Wire = None
    result: Wire = None
    answer: Wire = None
    agent: str | None = None
    lane: str = "main"
    decision: str | None = None
    error: ErrorInfo | None = None
    status: str = "ok"
    state: Wire = field(default_factory=dict)
    asked: Wire = None


class MemoryCursor:
    """A cursor of a `MemorySource`."""

    def __init__(self, source: MemorySource, run_id: str, step: int) -> None:
        self._source, self._run_id, self.step = source, run_id, step

    @property
    def state(self) -> Wire:
        return self._source.state(self._run_id, self.step)

    def seek(self, step: int) -> Wire:
        self.step = step
        return self.state


class MemorySource(RunSource):
    """Implements what comparing and querying ask of a source."""

    read_only = False
    path = Path()

    def __init__(self, path: str = "memory.db") -> None:
        self.path = Path(path)
        self._runs: dict[str, Run] = {}
        self._steps: dict[str, list[Did]] = {}
        self._inputs: dict[str, Wire] = {}
        self.calls_read = 0
        self.problems: list[Problem] = []

    def add(
        self,
        name: str,
        steps: list[Did],
        *,
        status: str = "succeeded",
        state: Wire = None,
        parent: str | None = None,
        fork_step: int | None = None,
        edits: tuple[Edit, ...] = (),
        error: ErrorInfo | None = None,
    ) -> Run:
        shared = self._steps[parent][:fork_step] if parent is not None else []
        run = Run(
            id=name,
            name=name,
            status=status,
            started_us=0,
            ended_us=None if status == "running" else 5_000_000,
            parent=parent,
            fork_step=fork_step,
            steps=len(shared) + len(steps),
            edits=edits,
            error=error,
        )
        self._runs[name] = run
        self._steps[name] = [*shared, *steps]
        self._inputs[name] = state
        return run

    def close(self) -> None: ...

    def names(self) -> set[str]:
        return set(self._runs)

    def append(self, name: str, did: Did) -> None:
        self._steps[name].append(did)
        self._runs[name] = replace(self._runs[name], steps=len(self._steps[name]))

    def remove(self, name: str) -> None:
        for fork in self.forks(name):
            self.remove(fork.id)
        del self._runs[name], self._steps[name]

    def version(self) -> int:
        return hash(tuple((name, len(steps)) for name, steps in self._steps.items()))

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        shown = [run for run in reversed(self._runs.values()) if archived or not run.archived]
        return shown[:limit]

    def forks(self, run_id: str, *, deep: bool = False) -> list[Run]:
        found = [run for run in self._runs.values() if run.parent == run_id]
        return found + [below for run in found for below in self.forks(run.id, deep=True)] if deep else found

    def labels(self, run_id: str) -> dict[int, Label]:
        return {}

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        return []

    def notes(self, run_id: str) -> list[Note]:
        return []

    def run(self, ref: str) -> Run:
        if ref not in self._runs:
            raise RunNotFound(f"there is no run {ref!r}", nearest=tuple(self._runs))
        return self._runs[ref]

    def step_number(self, run: Run, ref: str) -> int:
        steps = self._steps[run.id]
        if ref == "@error":
            return next(number for number, did in enumerate(steps, start=1) if did.error)
        number = len(steps) - int(ref[1:]) if ref.startswith("~") else int(ref)
        if not 0 <= number <= len(steps):
            raise StepNotFound(f"{run.name} has no step {ref}", hint=f"It has steps 1 to {len(steps)}.")
        return number

    def verify(self, run_id: str | None = None) -> list[Problem]:
        return [problem for problem in self.problems if run_id in (None, problem.run)]

    def damaged_steps(self, run_id: str) -> list[int]:
        return []

    def step_count(self, run_id: str) -> int:
        return len(self._steps[run_id])

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        run = self._runs[run_id]
        numbered = list(enumerate(self._steps[run_id], start=1))
        return [
            Step(
                number=number,
                name=did.name,
                status=did.status,
                agent=did.agent,
                lane=did.lane,
                decision=did.decision,
                error=did.error,
                seq=number,
                calls=len(self._calls(number, did)),
                inherited=run.fork_step is not None and number <= run.fork_step,
            )
            for number, did in numbered[start - 1 : None if stop is None else stop - 1]
        ]

    def calls(self, run_id: str, step: int) -> list[Call]:
        self.calls_read += 1
        return self._calls(step, self._steps[run_id][step - 1])

    def _calls(self, step: int, did: Did) -> list[Call]:
        calls = []
        if did.answer is not None:
            calls.append(Call(step, 1, "llm", "model", "ok", args=did.asked, result=did.answer, lane=did.lane))
        if did.tool is not None:
            effect = "write" if did.tool.startswith("book") else "read"
            number = len(calls) + 1
            calls.append(Call(step, number, "tool", did.tool, "ok", effect, args=did.args, result=did.result))
        return calls

    def state(self, run_id: str, step: int) -> Wire:
        if not 0 <= step <= len(self._steps[run_id]):
            raise StepNotFound(f"{run_id} has no step {step}")
        return copy.deepcopy(self._inputs[run_id] if step == 0 else self._steps[run_id][step - 1].state)

    def base_step(self, run_id: str, step: int) -> int | None:
        return None if step == 0 else step - 1

    def changes(self, run_id: str, step: int) -> list[Op]:
        return diff(self.state(run_id, step - 1), self.state(run_id, step))

    def cursor(self, run_id: str, step: int) -> MemoryCursor:
        return MemoryCursor(self, run_id, step)

    def last_write(self, run_id: str, step: int, path: tuple[str | int, ...]) -> int | None:
        for number in range(step, 0, -1):
            for op in reversed(self.changes(run_id, number)):
                before = trace(op, path)
                if before is None:
                    return number
                path = before
        return 0

    def digest(self, run_id: str, step: int) -> bytes | None:
        return digest(self.state(run_id, step))
