"""Runs, steps, calls and states out of records."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from agent_tt.errors import RunNotFound, StepNotFound
from agent_tt.model import Call, Label, Note, Output, Replay, Run, Step
from agent_tt.protocols import Capabilities, RunSource
from agent_tt.store.liveness import is_alive
from agent_tt.store.records.kinds import Asked, Checkpoint, Driven, Held, Piece, Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Delivery, Hold, Sweep
    from agent_tt.questions import CallQuestion
    from agent_tt.store.records.kinds import Record

__all__ = ["RecordReader"]

R = TypeVar("R", bound="Record")

_ABILITIES: Final = Capabilities(records=True, redacted=True)

_FIRST_READ: Final = 8
"""How many steps are looked at first where the newest record of some sort is wanted; each further look doubles it."""


class RecordReader(RunSource):
    """Reads runs of a backend that keeps records.

    A fork holds only its own steps: those up to its fork step are read from the run that it was forked from.
    """

    @abstractmethod
    def find(self, kind: type[R], run_id: str | None = None, first: int = 0, last: int | None = None) -> Sequence[R]:
        """The records of one kind in the order of their keys, runs in the order in which they were made.

        Args:
            kind: their class.
            run_id: those of this run; None for those of all.
            first: those whose key begins with this number, or a larger one.
            last: and with no larger one than this; None for no bound. Ignored where keys have no number.
        """

    @property
    def capabilities(self) -> Capabilities:
        """Runs can be recorded, and nothing comes in but through the filter for secrets."""
        return _ABILITIES

    @property
    def read_only(self) -> bool:
        """False: what can be recorded into can be written."""
        return False

    # ---------------------------------------------------------------- runs

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """List runs, newest first: with `archived` also those that are, with `limit` no more than so many."""
        found = [self._shown(run) for run in reversed(self.find(Run)) if archived or not run.archived]
        return sorted(found, key=lambda run: -run.started_us)[:limit]

    def _row(self, run_id: str) -> Run:
        """Read a run as it is stored, with the status that was last written.

        Raises:
            RunNotFound: it is not there, or not any more.
        """
        for run in self.find(Run, run_id):
            return run
        raise RunNotFound(f"no run {run_id!r}", hint="`agent-tt runs` lists what there is.")

    def _shown(self, run: Run) -> Run:
        """A run as it is shown: one whose process is gone has crashed."""
        if run.status != "running" or self._is_recorded(run.id):
            return run
        return replace(run, status="crashed")

    def _is_recorded(self, run_id: str) -> bool:
        return any(is_alive(by.owner, by.beat_us) for by in self.find(Recorder, run_id))

    # ---------------------------------------------------------------- steps and calls

    def _stretches(self, run_id: str) -> list[tuple[str, int, int | None]]:
        """The runs that a run's steps lie in, oldest first: id, its first step there, its last (None: to the end)."""
        found: list[tuple[str, int, int | None]] = []
        run, last = self._row(run_id), None
        while run.parent is not None and run.fork_step is not None:
            found.append((run.id, run.fork_step + 1, last))
            last = run.fork_step if last is None else min(last, run.fork_step)
            run = self._row(run.parent)
        return [(run.id, 1, last), *reversed(found)]

    def _holder(self, run_id: str, step: int) -> str:
        """The run that a step lies in.

        Raises:
            StepNotFound: there is no such step.
        """
        self.check_step(run_id, step)
        return next(run for run, _, last in self._stretches(run_id) if last is None or step <= last)

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 in order (stop None: to the end)."""
        steps: list[Step] = []
        for run, first, last in self._stretches(run_id):
            low, high = (
                max(first, start),
                min((end for end in (last, stop and stop - 1) if end is not None), default=None),
            )
            own = self.find(Step, run, low, high) if high is None or low <= high else ()
            steps += own if run == run_id else (replace(step, inherited=True) for step in own)
        return steps

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step, 0 when there is none."""
        return self._row(run_id).steps

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step in order of starting."""
        return list(self.find(Call, self._holder(run_id, step), step, step))

    def deliveries(self, run_id: str, step: int, call: int) -> list[Delivery]:
        """List what reached the agent of a call that answers in pieces."""
        pieces = self.find(Piece, self._holder(run_id, step), step, step)
        return [piece.delivery for piece in pieces if piece.call == call]

    # ---------------------------------------------------------------- states

    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, the caller's own copy."""
        self.check_step(run_id, step)
        (track,) = {each.track for each in self.steps(run_id, step, step + 1)} or {"main"}
        found = self.checkpoint(run_id, step, track) or self.checkpoint(run_id, step, "main")
        if found is None:
            raise StepNotFound(f"there is no checkpoint at or before step {step}")
        return copy.deepcopy(found.state)

    def checkpoint(self, run_id: str, step: int, track: str) -> Checkpoint | None:
        """The newest checkpoint of a track at or before a step; None where it has none yet."""
        for run, _, last in reversed(self._stretches(run_id)):
            end = step if last is None else min(last, step)
            for found in self._checkpoints_backwards(run, end):
                if found.track == track:
                    return found
        return None

    def _checkpoints_backwards(self, run_id: str, last: int) -> Iterator[Checkpoint]:
        """The checkpoints of the steps 0 to `last`, the newest first, read as far as they are asked for."""
        size = _FIRST_READ
        while last >= 0:
            first = max(0, last - size + 1)
            yield from reversed(self.find(Checkpoint, run_id, first, last))
            last, size = first - 1, 2 * size

    # ---------------------------------------------------------------- around them

    def output(self, run_id: str) -> Output | None:
        """Read what a run printed; None where that was not kept."""
        return next(iter(self.find(Output, self._row(run_id).id)), None)

    def notes(self, run_id: str) -> list[Note]:
        """List notes, bookmarks, watches and unrecorded effects of a run, oldest first."""
        return list(self.find(Note, self._row(run_id).id))

    def replays(self, run_id: str | None = None) -> list[Replay]:
        """List kept replays, newest first: of one run, or of all."""
        found = self.find(Replay, None if run_id is None else self._row(run_id).id)
        return sorted(found, key=lambda replay: -replay.id)

    def labels(self, run_id: str) -> dict[int, Label]:
        """Give names and metadata of checkpoints of a run, by step."""
        return {label.step: label for label in self.find(Label, self._row(run_id).id)}

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        """List the calls that wait for somebody's decision, the oldest question first."""
        asked = self.find(Asked, run_id)
        return sorted((each.question for each in asked if self._waits(each)), key=lambda question: question.id)

    def holds(self, run_id: str | None = None) -> list[Hold]:
        """List the holds that stand, the oldest first: of one run, or of all."""
        found = [held.hold for held in self.find(Held, run_id) if is_alive(held.owner, held.beat_us)]
        running = {each: self._shown(self._row(each)).status == "running" for each in {hold.run_id for hold in found}}
        return sorted((hold for hold in found if running[hold.run_id]), key=lambda hold: hold.id)

    def _waits(self, asked: Asked) -> bool:
        """Whether nothing was decided, the run goes on, and the process that asked is there."""
        question = asked.question
        if asked.decision is not None or not is_alive(asked.owner, question.asked_us):
            return False
        return self._shown(self._row(question.run_id)).status == "running"

    def sweeps(self) -> list[Sweep]:
        """List all sweeps, newest first."""
        found = [self._sweep(driven) for driven in reversed(self.find(Driven))]
        return sorted(found, key=lambda sweep: -sweep.created_us)

    def _sweep(self, driven: Driven) -> Sweep:
        """A sweep as it is shown: with its run's name of today, and whether somebody drives it."""
        is_driven = driven.owner is not None and is_alive(driven.owner, driven.beat_us)
        return replace(driven.sweep, run_name=self._row(driven.sweep.run).name, driven=is_driven)
