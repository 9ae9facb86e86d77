"""Where the recordings of a replaying process go: nowhere. Their steps and calls are numbered, states are compared."""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import TYPE_CHECKING, Final, cast

from agent_tt.codec.encode import encode
from agent_tt.errors import AgentTTError
from agent_tt.history.digest import digest
from agent_tt.protocols import NO_STATE, NumberingWriter, Numbers
from agent_tt.redaction.values import redact
from agent_tt.replaying.findings.findings import changed_output, changed_state
from agent_tt.replaying.tape.full_history import course_of
from agent_tt.replaying.tape.repeats import marks_of
from agent_tt.sources import open_source
from agent_tt.store.rows.outputs import admitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import (
        NewRun,
        NewStep,
        Note,
        Output,
        StepEnd,
    )
    from agent_tt.protocols import RunSource, RunWriter, Store
    from agent_tt.replaying.engine import Replay

__all__ = ["NumberingStore", "StateCheck", "number_of"]

_CHECKED_STEPS: Final = 300
"""States of so many steps are compared with the recorded ones; in longer runs they are spread evenly."""


_PREFIX: Final = "replay-"


def number_of(run_id: str) -> int | None:
    """Which recording of the process has that id here; 0 is the one that the replay puts around all."""
    number = run_id.removeprefix(_PREFIX)
    return int(number) if run_id.startswith(_PREFIX) and number.isdecimal() else None


class StateCheck:
    """Compares the states of a replay with the recorded ones, by their digests, and what the agent prints.

    The state after the last step and the output are part of what "as recorded" says: where they differ, that is a
    divergence. The first other step whose state differs is noted. Nothing of it is looked at once the replay has
    diverged.

    Args:
        source: holds the run.
        replay: what answers.
        is_output_compared: not so where somebody else writes to standard output too.
    """

    def __init__(self, source: RunSource, replay: Replay, *, is_output_compared: bool = True) -> None:
        run = replay.tape.run
        self._path = source.path
        self.recorded_output = source.output(run.id)
        self._is_output_compared = is_output_compared
        course = course_of(source, run)
        self.first_step = course[0].first
        self._replay = replay
        count = run.steps - self.first_step + 1
        self._stride = max(1, -(-count // _CHECKED_STEPS))
        self._last = run.steps
        # Steps that an interruption ended were taken anew when the run was resumed: then the numbers are others.
        is_numbered_alike = not marks_of(run).steps
        self._digests = {
            step.number: source.digest(part.run.id, step.number)  # at a fork step the parent's, before any edit
            for part in course
            for step in source.steps(part.run.id, part.first, None if part.last is None else part.last + 1)
            if step.seq is not None and is_numbered_alike
        }
        # Steps of several lanes that begin at the same time may be numbered otherwise the next time.
        self._any = set(self._digests.values()) if len(replay.tape.lanes) > 1 else set()
        self._differs = False

    def opened(self, step: int) -> None:
        """A step of the run begins again."""
        if self._replay.debugger is not None:
            self._replay.debugger.step_opened(step)

    def check(self, step: int, state: object) -> None:
        """Compare the state after a step."""
        recorded = self._digests.get(step)
        if recorded is None or state is NO_STATE or not self._is_checked(step):
            return
        if self._differs and step != self._last:
            return
        if self._replay.findings:
            return
        try:
            value = redact(encode(state))  # as it would be kept
            now = digest(value)
        except AgentTTError:
            return
        differs = now != recorded and now not in self._any
        if step == self._last:
            self._replay.state_compared = True
            if differs:
                self._replay.at_end.append(changed_state(step, self._recorded_state(step), value))
        elif differs:
            self._differs = True
            self._replay.notes.add("state differs", f"the state after step {step} is another one than was recorded")

    def _recorded_state(self, step: int) -> Wire:
        with closing(open_source(self._path)) as source:
            return source.state(self._replay.tape.run.id, step)

    def check_output(self, printed: Output) -> None:
        """Compare what the agent printed."""
        recorded = self.recorded_output
        if recorded is None or not self._is_output_compared:
            return
        now = admitted(printed)  # as it would be kept
        self._replay.output_compared = True
        if (now.digest, now.size) != (recorded.digest, recorded.size):
            self._replay.at_end.append(changed_output(recorded, now))

    def _is_checked(self, step: int) -> bool:
        return step == self._last or (step - self.first_step) % self._stride == 0


class _Writer(NumberingWriter):
    """The open end of a run whose states are compared with the recorded ones; nothing is kept."""

    def __init__(self, run_id: str, check: StateCheck) -> None:
        super().__init__(run_id, Numbers(check.first_step - 1))
        self._check = check

    def open_step(self, new: NewStep) -> int:
        number = super().open_step(new)
        self._check.opened(number)
        return number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:  # noqa: ARG002
        self._check.check(number, state)


class NumberingStore:
    """What the recorder needs of a store, in a process that replays.

    Args:
        check: compares the states of one run with the recorded ones.
        checked: which one that is, in the order of beginning: 0 is the recording that the replay puts around all.
    """

    def __init__(self, check: StateCheck | None = None, *, checked: int = 1) -> None:
        self._check = check
        self._checked = checked
        self._begun = itertools.count()

    def as_store(self) -> Store:
        """This object, for who asks for a store: no other method is used in recording."""
        return cast("Store", self)

    def begin_run(self, new: NewRun, state: object, *, run_id: str | None = None) -> RunWriter:  # noqa: ARG002  the shape of a Store
        """Begin a run."""
        number = next(self._begun)
        if number == self._checked and self._check is not None:
            return self._begin_checked(new, state)
        return NumberingWriter(f"{_PREFIX}{number}", Numbers())

    def _begin_checked(self, new: NewRun, state: object) -> RunWriter:  # noqa: ARG002  a store that keeps it needs them
        """Begin the run whose states are compared; it is not kept."""
        if self._check is None:  # pragma: no cover  then none is checked
            raise AssertionError
        return _Writer(f"{_PREFIX}{self._checked}", self._check)

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note | None:
        """Nothing is kept."""

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Nothing is kept."""

    def keep_output(self, run_id: str, output: Output) -> None:
        """Compare what the checked run printed; nothing is kept."""
        if self._check is not None and number_of(run_id) == self._checked:
            self._check.check_output(output)

    def close(self) -> None:
        """Nothing is open."""
