"""A store in memory that keeps what a recording writes, and complains where a recording breaks the protocol."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.model import HELD_BACK, Judged
from agent_tt.protocols import NO_STATE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallEnd, ErrorInfo, NewCall, NewRun, NewStep, StepEnd


@dataclass
class FakeCall:
    step: int
    number: int
    new: NewCall
    end: CallEnd | None = None
    delivered: list[tuple[int, str, Wire]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.new.name


@dataclass
class FakeStep:
    number: int
    new: NewStep
    end: StepEnd | None = None
    state: object = None
    track: str | None = None
    has_state: bool = False
    calls: list[FakeCall] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.new.name


class FakeRun:
    """The rows of one run, and its open end."""

    def __init__(self, run_id: str, new: NewRun, state: object, first_step: int) -> None:
        self.run_id = run_id
        self.new = new
        self.initial = encode(state)
        self.first_step = first_step
        self.steps: list[FakeStep] = []
        self.commits: list[int] = []
        self.status = "running"
        self.error: ErrorInfo | None = None
        self.fail_with: Exception | None = None
        self.answers = 0
        self._lock = threading.RLock()

    def step(self, name: str) -> FakeStep:
        (found,) = [step for step in self.steps if step.name == name]
        return found

    @property
    def calls(self) -> list[FakeCall]:
        return [call for step in self.steps for call in step.calls]

    def open_step(self, new: NewStep) -> int:
        with self._lock:
            self._check()
            number = self.first_step + len(self.steps)
            self.steps.append(FakeStep(number, new))
            return number

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        self.checkpoints_taken = [*getattr(self, "checkpoints_taken", []), (number, track)]

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        with self._lock:
            self._check()
            step = self._at(number)
            assert step.end is None, "a step ended twice"
            step.end, step.track = end, track
            step.has_state = state is not NO_STATE
            if step.has_state:
                step.state = encode(state)
                self.commits.append(number)

    def begin_call(self, step: int, new: NewCall) -> int:
        with self._lock:
            self._check()
            row = self._at(step)
            assert row.end is None, "a call in a step that has ended"
            row.calls.append(FakeCall(step, len(row.calls) + 1, new))
            return len(row.calls)

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        with self._lock:
            self._check()
            call = self._at(step).calls[number - 1]
            assert call.end is None, "a call that has ended is amended"
            call.new = replace(call.new, meta={**call.new.meta, **meta}, args=call.new.args if args is None else args)

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> None:
        self._check()

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        with self._lock:
            self._check()
            call = self._at(step).calls[number - 1]
            assert call.end is None, "a call ended twice"
            assert end.stream or not call.delivered, "pieces of a call that is not a stream"
            call.end = end
            self._settle(call, end.settled)
            call.delivered.append((self._next(), end.stream or "whole", end.returned if end.stream else end.result))

    def deliver(self, step: int, call: int, kind: str, data: Wire = None) -> int:
        with self._lock:
            self._check()
            row = self._at(step).calls[call - 1]
            assert row.end is None, "a piece after the end"
            number = self._next()
            piece = data if isinstance(data, Judged) else Judged(data)
            self._settle(row, piece.settled)
            row.delivered.append((number, kind, piece.data))
            return number

    def _settle(self, row: FakeCall, settled: Sequence[tuple[int, Wire]]) -> None:
        for place, known in settled:
            number, kind, before = row.delivered[place]
            assert before == HELD_BACK, "a piece that was known is settled"
            row.delivered[place] = (number, kind, known)

    def _next(self) -> int:
        self.answers += 1
        return self.answers

    def finish(self, status: str, error: ErrorInfo | None = None) -> None:
        with self._lock:
            self._check()
            self.status, self.error = status, error

    def _at(self, number: int) -> FakeStep:
        return self.steps[number - self.first_step]

    def _check(self) -> None:
        assert self.status == "running", "written after its end"
        if self.fail_with is not None:
            raise self.fail_with


class FakeStore:
    """What the recorder needs of a store."""

    def __init__(self) -> None:
        self.runs: list[FakeRun] = []
        self.notes: list[tuple[str, int | None, str, str]] = []
        self.tags: dict[str, tuple[str, ...]] = {}
        self.closed = 0

    @property
    def only(self) -> FakeRun:
        (run,) = self.runs
        return run

    def keep_output(self, run_id: str, output: object) -> None:
        pass

    def begin_run(self, new: NewRun, state: object, *, run_id: str | None = None) -> FakeRun:
        self.runs.append(FakeRun(run_id or f"run{len(self.runs)}", new, state, 1))
        return self.runs[-1]

    def adopt_run(self, run_id: str, new: NewRun, state: object) -> FakeRun:
        self.runs.append(FakeRun(run_id, new, state, 4))
        return self.runs[-1]

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> None:
        self.notes.append((run_id, step, kind, body))

    def set_tags(self, run_id: str, tags: tuple[str, ...]) -> None:
        self.tags[run_id] = tags

    def close(self) -> None:
        self.closed += 1
