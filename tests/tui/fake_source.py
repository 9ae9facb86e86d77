"""A run in memory, for tests of what screens make of the facts of a source."""

from __future__ import annotations

import copy
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from agent_tt.codec.paths import get
from agent_tt.errors import Damaged, RunNotFound, StepNotFound
from agent_tt.history.diff import diff
from agent_tt.history.ops import trace
from agent_tt.model import Call, Label, Note, Problem, Run, Step
from agent_tt.protocols import RunSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op
    from agent_tt.questions import CallQuestion


class FakeCursor:
    """A cursor over states that are all at hand."""

    def __init__(self, source: FakeSource, step: int) -> None:
        self._source, self.step = source, step
        self.state = source.state("", step)

    def seek(self, step: int) -> Wire:
        self.step, self.state = step, self._source.state("", step)
        return self.state


class FakeSource(RunSource):
    """A `RunSource` of one run on one track, whose facts a test may change at any time.

    Attributes:
        asked: Numbers of the steps whose states were read.
        damaged: Numbers of the steps whose states cannot be.
    """

    path, read_only = FilePath("fake.db"), False

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
        self.read_only = read_only
        self.states = list(states)
        self.all_steps = list(steps) if steps is not None else [step(n) for n in range(1, len(states))]
        self.all_calls = calls or {}
        self.all_notes: list[Note] = []
        self.all_questions: list[CallQuestion] = []
        self.the_run = Run("RUN000000001", name, status, started_us=0, steps=len(self.all_steps))  # type: ignore[arg-type]
        self.other_runs: list[Run] = []
        self.all_labels: dict[int, Label] = {}
        self.damaged: set[int] = set()
        self.asked: list[int] = []
        self.changed = 0

    def close(self) -> None:
        pass

    def version(self) -> int:
        return self.changed

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        return [*self.other_runs, self.the_run][:limit]

    def forks(self, run_id: str, *, deep: bool = False) -> list[Run]:
        return [run for run in self.other_runs if run.parent == run_id]

    def labels(self, run_id: str) -> dict[int, Label]:
        return dict(self.all_labels)

    def run(self, ref: str) -> Run:
        for run in self.runs():
            if ref in (run.id, run.name):
                return run
        raise RunNotFound(f"there is no run {ref}")

    def step_number(self, run: Run, ref: str) -> int:
        last = len(self.all_steps)
        if ref == "@error":
            found = next((s.number for s in self.all_steps if s.status == "error"), None)
            if found is None:
                raise StepNotFound("no step failed")
            return found
        if ref.startswith("~") and ref[1:].isdigit():
            return last - int(ref[1:])
        if not ref.isdigit() or int(ref) > last:
            raise StepNotFound(f"there is no step {ref}")
        return int(ref)

    def step_count(self, run_id: str) -> int:
        return len(self.all_steps)

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        return list(self.all_steps[max(0, start - 1) : None if stop is None else max(0, stop - 1)])

    def calls(self, run_id: str, step: int) -> list[Call]:
        return self.all_calls.get(step, [])

    def state(self, run_id: str, step: int) -> Wire:
        self.asked.append(step)
        if step in self.damaged:
            raise Damaged(f"checkpoint {step} cannot be read", hint="verify says more")
        if not 0 <= step < len(self.states):
            raise StepNotFound(f"there is no step {step}")
        return copy.deepcopy(self.states[step])

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        if not 0 <= step < len(self.states):
            raise StepNotFound(f"there is no step {step}")
        return get(self.states[step], path)

    def cursor(self, run_id: str, step: int) -> FakeCursor:
        return FakeCursor(self, step)

    def base_step(self, run_id: str, step: int) -> int | None:
        return step - 1 if step else None

    def changes(self, run_id: str, step: int) -> list[Op]:
        if step in self.damaged:
            raise Damaged(f"the changes of checkpoint {step} cannot be read")
        return copy.deepcopy(diff(self.states[step - 1], self.states[step]))

    def digest(self, run_id: str, step: int) -> bytes | None:
        return None

    def last_write(self, run_id: str, step: int, path: Path) -> int | None:
        return next((n for n in range(step, 0, -1) if self._wrote(n, path)), None)

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        return next((n for n in range(step + 1, len(self.states)) if self._wrote(n, path)), None)

    def _wrote(self, step: int, path: Path) -> bool:
        return any(trace(op, path) is None for op in diff(self.states[step - 1], self.states[step]))

    def damaged_steps(self, run_id: str) -> list[int]:
        return sorted(self.damaged)

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        return list(self.all_questions)

    def notes(self, run_id: str) -> list[Note]:
        return list(self.all_notes)

    def verify(self, run_id: str | None = None) -> list[Problem]:
        return []


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
