"""Handing on what marks have no part in: steps, calls, states."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op
    from agent_tt.model import Call, Delivery, Problem, Step
    from agent_tt.protocols import Cursor, RunSource
    from agent_tt.questions import CallQuestion

__all__ = ["Reading"]


class Reading:
    """The part of a `RunSource` that another one answers.

    Attributes:
        reader: the other one.
    """

    def __init__(self, reader: RunSource) -> None:
        self.reader = reader

    @property
    def path(self) -> FilePath:
        """The file."""
        return self.reader.path

    @property
    def read_only(self) -> bool:
        """Always: nothing is written into the file."""
        return True

    def step_count(self, run_id: str) -> int:
        """Number of the last step."""
        return self.reader.step_count(run_id)

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """Steps start..stop-1 in order."""
        return self.reader.steps(run_id, start, stop)

    def calls(self, run_id: str, step: int) -> list[Call]:
        """The calls of one step."""
        return self.reader.calls(run_id, step)

    def deliveries(self, run_id: str, step: int, call: int) -> list[Delivery]:
        """What reached the agent of a call that answers in pieces."""
        return self.reader.deliveries(run_id, step, call)

    def state(self, run_id: str, step: int) -> Wire:
        """The state after `step`, the caller's own copy."""
        return self.reader.state(run_id, step)

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        """One value of a state."""
        return self.reader.value(run_id, step, path)

    def cursor(self, run_id: str, step: int) -> Cursor:
        """A cursor that stands at `step`."""
        return self.reader.cursor(run_id, step)

    def base_step(self, run_id: str, step: int) -> int | None:
        """The checkpoint that `changes(step)` are against."""
        return self.reader.base_step(run_id, step)

    def changes(self, run_id: str, step: int) -> list[Op]:
        """The operations that turned checkpoint `base_step` into `step`."""
        return self.reader.changes(run_id, step)

    def digest(self, run_id: str, step: int) -> bytes | None:
        """16 bytes that are equal exactly when two states are."""
        return self.reader.digest(run_id, step)

    def last_write(self, run_id: str, step: int, path: Path) -> int | None:
        """The step that wrote the value now at `path`."""
        return self.reader.last_write(run_id, step, path)

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        """The first later step that changed the value at `path`."""
        return self.reader.next_write(run_id, step, path)

    def damaged_steps(self, run_id: str) -> list[int]:
        """Checkpoints that hold, or need, something damaged."""
        return self.reader.damaged_steps(run_id)

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        """The calls that wait for somebody's decision."""
        return self.reader.questions(run_id)

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """What is wrong with the file."""
        return self.reader.verify(run_id)
