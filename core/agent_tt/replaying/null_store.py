"""Where the recordings of a replaying process go: nowhere. Their steps and calls are numbered, states are compared."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

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

__all__ = ["Elsewhere", "NumberingRun", "NumberingStore", "StateCheck", "as_kept", "number_of"]

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
        # Steps inside a recorded call are not taken again: those behind them come as earlier ones.
        self._left_out = replay.tape.nested_steps
        self._last = run.steps - len(self._left_out)
        # Steps that an interruption ended were taken anew when the run was resumed: then the numbers are others.
        is_numbered_alike = not marks_of(run).steps
        self._digests = {
            # At a fork step the parent's, before any edit.
            self._number(step.number): source.digest(part.run.id, step.number)
            for part in course
            for step in source.steps(part.run.id, part.first, None if part.last is None else part.last + 1)
            if step.seq is not None and is_numbered_alike and step.number not in self._left_out
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
        if self._is_wanted(step) and state is not NO_STATE:
            with suppress(AgentTTError):
                self.compare(step, as_kept(state))

    def compare(self, step: int, value: Wire) -> None:
        """Compare the state after a step, as it would be kept.

        Raises:
            AgentTTError: it cannot be compared.
        """
        if not self._is_wanted(step):
            return
        now = digest(value)
        differs = now != self._digests[step] and now not in self._any
        run_step = self._recorded_number(step)
        if step == self._last:
            self._replay.state_compared = True
            if differs:
                self._replay.at_end.append(changed_state(run_step, self._recorded_state(run_step), value))
        elif differs:
            self._differs = True
            self._replay.notes.add("state differs", f"the state after step {run_step} is another one than was recorded")

    def _number(self, recorded: int) -> int:
        """The number that a recorded step has when it is taken again."""
        return recorded - bisect_left(self._left_out, recorded)

    def _recorded_number(self, step: int) -> int:
        """The number that a step had when it was recorded."""
        for left_out in self._left_out:
            step += left_out <= step
        return step

    def _is_wanted(self, step: int) -> bool:
        if step not in self._digests or not self._is_checked(step) or (self._differs and step != self._last):
            return False
        return self._digests[step] is not None and not self._replay.findings

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


def as_kept(state: object) -> Wire:
    """A state as it would be kept: as JSON, without secrets.

    Raises:
        AgentTTError: it cannot be.
    """
    return redact(encode(state))


class Elsewhere(Protocol):
    """Another process that numbers the steps of this one, and compares its states."""

    def open_step(self, run_id: str, new: NewStep) -> int:
        """Number a step of a run."""

    def close_step(self, run_id: str, number: int, state: Wire) -> None:
        """Compare the state after it."""


class NumberingRun(NumberingWriter):
    """The open end of a run that is not kept; its states are compared with the recorded ones.

    Args:
        store: what it is of.
        run_id: what it is called here.
        check: what compares its states; None where nothing does.
    """

    def __init__(self, store: NumberingStore, run_id: str, check: StateCheck | None) -> None:
        super().__init__(run_id, Numbers(0 if check is None else check.first_step - 1))
        self._store = store
        self.check = check

    def open_step(self, new: NewStep) -> int:
        """Number a step."""
        if self._store.elsewhere is not None:
            return self._store.elsewhere.open_step(self.run_id, new)
        number = super().open_step(new)
        if self.check is not None:
            self.check.opened(number)
        return number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:  # noqa: ARG002
        """Compare the state after it."""
        if self._store.elsewhere is not None:
            if state is not NO_STATE:
                with suppress(AgentTTError):
                    self._store.elsewhere.close_step(self.run_id, number, as_kept(state))
        elif self.check is not None:
            self.check.check(number, state)


class NumberingStore:
    """What the recorder needs of a store, in a process that replays.

    Args:
        check: compares the states of one run with the recorded ones.
        checked: which one that is, in the order of beginning: 0 is the recording that the replay puts around all.
        begun: how many have begun already, in another process.

    Attributes:
        elsewhere: the process that numbers the steps; None where this one does.
        runs: those that have begun, by what they are called here.
        has_begun: whether the checked one has.
    """

    def __init__(self, check: StateCheck | None = None, *, checked: int = 1, begun: int = 0) -> None:
        self._check = check
        self._checked = checked
        self._begun = itertools.count(begun)
        self.elsewhere: Elsewhere | None = None
        self.runs: dict[str, NumberingRun] = {}
        self.has_begun = False

    def as_store(self) -> Store:
        """This object, for who asks for a store: no other method is used in recording."""
        return cast("Store", self)

    def begin_run(self, new: NewRun, state: object, *, run_id: str | None = None) -> RunWriter:  # noqa: ARG002  the shape of a Store
        """Begin a run."""
        number = next(self._begun)
        self.has_begun = self.has_begun or number == self._checked
        if number == self._checked and self._check is not None:
            return self._begin_checked(new, state)
        return self._begin_numbering(number, None)

    def _begin_numbering(self, number: int, check: StateCheck | None) -> NumberingRun:
        run = NumberingRun(self, f"{_PREFIX}{number}", check)
        self.runs[run.run_id] = run
        return run

    def _begin_checked(self, new: NewRun, state: object) -> RunWriter:  # noqa: ARG002  a store that keeps it needs them
        """Begin the run whose states are compared; it is not kept."""
        return self._begin_numbering(self._checked, self._check)

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
