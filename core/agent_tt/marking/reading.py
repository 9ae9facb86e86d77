"""Passing on what marks do not change: steps, calls, states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.protocols import RunSource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Call, Delivery, Hold, Output, Problem, Replay, Step, Sweep
    from agent_tt.model.statistics import Chosen
    from agent_tt.protocols import Capabilities, Cursor, Needed
    from agent_tt.questions import CallQuestion

__all__ = ["Reading"]


class Reading(RunSource):
    """The part of a `RunSource` that another one answers.

    Attributes:
        reader: the other one.
    """

    def __init__(self, reader: RunSource) -> None:
        self.reader = reader

    @property
    def capabilities(self) -> Capabilities:
        """Those of the source itself."""
        return self.reader.capabilities

    @property
    def path(self) -> FilePath:
        """The file."""
        return self.reader.path

    @property
    def read_only(self) -> bool:
        """Always: nothing is written into the file."""
        return True

    def one_moment(self) -> AbstractContextManager[None]:
        """Answer what this thread asks meanwhile as of one moment."""
        return self.reader.one_moment()

    def ahead(self, run_ids: Sequence[str]) -> AbstractContextManager[None]:
        """Fetch at once what is asked of some runs meanwhile, where that is faster."""
        return self.reader.ahead(run_ids)

    def may_hold(self, needed: Iterable[Needed], cancelled: Callable[[], bool] = lambda: False) -> list[str] | None:
        """List the runs that may have texts with what is needed; None where nothing tells that faster than reading."""
        return self.reader.may_hold(needed, cancelled)

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step."""
        return self.reader.step_count(run_id)

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 in order."""
        return self.reader.steps(run_id, start, stop)

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step."""
        return self.reader.calls(run_id, step)

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """List the calls of steps start..stop-1: arguments (of models the signature), results and errors, no more."""
        return self.reader.call_page(run_id, start, stop)

    def call_heads(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        """List the calls of steps start..stop-1 (None: to the end), without arguments, results and errors."""
        return self.reader.call_heads(run_id, start, stop)

    def with_values(self, run_id: str, head: Call) -> Call:
        """Read one of them with arguments, error and result."""
        return self.reader.with_values(run_id, head)

    def outline(self, run_id: str, head: Call, without: Collection[str]) -> Call:
        """Read one of a page with its arguments and facts, but for large parts of the arguments that are named so."""
        return self.reader.outline(run_id, head, without)

    def output(self, run_id: str) -> Output | None:
        """Read what a run printed; None where that was not kept."""
        return self.reader.output(run_id)

    def replays(self, run_id: str | None = None) -> list[Replay]:
        """List the replays that the file keeps, newest first."""
        return self.reader.replays(run_id)

    def growth(self, chosen: Chosen) -> Mapping[str | None, int] | None:
        """Give the bytes that the chosen runs brought into the file, by day."""
        return self.reader.growth(chosen)

    def deliveries(self, run_id: str, step: int, call: int) -> list[Delivery]:
        """List what reached the agent of a call that answers in pieces."""
        return self.reader.deliveries(run_id, step, call)

    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, the caller's own copy."""
        return self.reader.state(run_id, step)

    def pending_state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step` with what no checkpoint has taken in yet."""
        return self.reader.pending_state(run_id, step)

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        """Read one value of a state."""
        return self.reader.value(run_id, step, path)

    def has_value(self, run_id: str, step: int, path: Path) -> bool:
        """Say whether a state has a value at a place."""
        return self.reader.has_value(run_id, step, path)

    def states(self, run_id: str, one: int, other: int) -> tuple[Wire, Wire]:
        """Give two states of a run, to be compared. They may share objects, and must not be changed."""
        return self.reader.states(run_id, one, other)

    def cursor(self, run_id: str, step: int) -> Cursor:
        """Make a cursor that stands at `step`."""
        return self.reader.cursor(run_id, step)

    def base_step(self, run_id: str, step: int) -> int | None:
        """Find the checkpoint that `changes(step)` are against."""
        return self.reader.base_step(run_id, step)

    def changes(self, run_id: str, step: int) -> list[Op]:
        """List the operations that turned checkpoint `base_step` into `step`."""
        return self.reader.changes(run_id, step)

    def digest(self, run_id: str, step: int) -> bytes | None:
        """Give 16 bytes that are equal exactly when two states are."""
        return self.reader.digest(run_id, step)

    def digest_page(self, run_id: str, start: int, stop: int) -> dict[int, bytes]:
        """Give what `digest` gives for steps start..stop-1."""
        return self.reader.digest_page(run_id, start, stop)

    def last_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the step that wrote the value now at `path`."""
        return self.reader.last_write(run_id, step, path)

    def written_at(self, run_id: str, step: int, path: Path) -> tuple[int, Path] | None:
        """Find the step that `last_write` gives, and where the value was just after it."""
        return self.reader.written_at(run_id, step, path)

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the first later step that changed the value at `path`."""
        return self.reader.next_write(run_id, step, path)

    def steps_touching(self, run_id: str, first: int, last: int, path: Path) -> set[int]:
        """Find steps first..last at whose end something else may lie at a place of the state; perhaps too many."""
        return self.reader.steps_touching(run_id, first, last, path)

    def steps_calling(self, run_id: str, first: int, last: int, wanted: Mapping[str, str]) -> set[int]:
        """Find steps first..last with a call whose facts are as `wanted`."""
        return self.reader.steps_calling(run_id, first, last, wanted)

    def anchor(self, run_id: str, step: int | None) -> tuple[str, str | None]:
        """Give the thread of a run and the id of its checkpoint `step`, which stay."""
        return self.reader.anchor(run_id, step)

    def anchored_at(self, run_id: str, checkpoint: str, *, own: bool) -> int | None:
        """Find the step of a run that an id of `anchor` names."""
        return self.reader.anchored_at(run_id, checkpoint, own=own)

    def sweeps(self) -> list[Sweep]:
        """List all sweeps, newest first."""
        return self.reader.sweeps()

    def sweep(self, ref: str) -> Sweep:
        """Find the sweep that `ref` names."""
        return self.reader.sweep(ref)

    def damage(self, run_id: str, last: int | None = None) -> Problem | None:
        """Find the first thing that is wrong with the rows of a run that a replay or a fork would use."""
        return self.reader.damage(run_id, last)

    def fingerprint(self) -> str | None:
        """Say what the file of the runs looks like from outside."""
        return self.reader.fingerprint()

    def damaged_steps(self, run_id: str) -> list[int]:
        """List checkpoints that hold, or need, something damaged."""
        return self.reader.damaged_steps(run_id)

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        """List the calls that wait for somebody's decision."""
        return self.reader.questions(run_id)

    def holds(self, run_id: str | None = None) -> list[Hold]:
        """List the holds that stand."""
        return self.reader.holds(run_id)

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """What is wrong with the file."""
        return self.reader.verify(run_id)
