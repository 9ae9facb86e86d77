"""Beginning, forking and ending runs by records, and deciding of calls that wait."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.errors import QuestionNotFound, StoreUnreadable, UsageError
from agent_tt.model import Hold, Run, Step
from agent_tt.protocols import NO_STATE
from agent_tt.protocols.references import new_id
from agent_tt.protocols.writing import check_running
from agent_tt.questions import Decision
from agent_tt.store import ingest_filter
from agent_tt.store.liveness import Heart, current_owner, now_us
from agent_tt.store.records.keeper import RecordKeeper
from agent_tt.store.records.kinds import Asked, Checkpoint, Held, Recorder
from agent_tt.store.records.writer import RecordWriter, with_usage
from agent_tt.store.rows import questions
from agent_tt.store.rows.outputs import admitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import ErrorInfo, NewFork, NewRun, Output, Owner, RunStatus

__all__ = ["RecordStore"]


class RecordStore(RecordKeeper):
    """A store whose backend keeps records. Each method is one transaction.

    A backend makes what it saves durable before `transaction` returns: then a call's intent is on the disk before the
    call is made, and its answer before the agent sees it.
    """

    def begin_run(self, new: NewRun, state: Wire | object, *, run_id: str | None = None) -> RecordWriter:
        """Start a run, with `state` as checkpoint 0."""
        run = Run(
            id=run_id or new_id(),
            name=ingest_filter.admit_text(new.name),
            status="running",
            started_us=now_us(),
            code=new.code,
            model=new.model,
            user_id=None if new.user_id is None else ingest_filter.admit_text(new.user_id),
            tags=_tags(new.tags),
            metadata=ingest_filter.admit_mapping(new.metadata),
        )
        first = None if state is NO_STATE else ingest_filter.admit(encode(state))
        with self.transaction():
            if self.find(Run, run.id):
                raise StoreUnreadable(f"there is a run {run.id} already")
            self._begin(run, Checkpoint(0, "main", 0, first))
        return self._recorded_here(run.id)

    def _begin(self, run: Run, first: Checkpoint, *, delivered: int = 0) -> None:
        self.save(run.id, run)
        self.save(run.id, Recorder(current_owner(), now_us(), delivered))
        self.save(run.id, first)

    def begin_fork(self, fork: NewFork) -> str:
        """Make a fork with its edited checkpoint; give its id. This process owns it until it is adopted."""
        parent_id, step, new = fork.parent, fork.step, fork.new
        with self.transaction():
            parent = self._row(parent_id)
            self.check_step(parent_id, step)
            row = next(iter(self.steps(parent_id, step, step + 1)), None)
            track = "main" if row is None else row.track
            before = self.checkpoint(parent_id, step, track)
            run = Run(
                id=new_id(),
                name=ingest_filter.admit_text(new.name) or self._fork_name(parent.name),
                status="running",
                started_us=now_us(),
                code=new.code,
                model=new.model,
                user_id=new.user_id,
                parent=parent_id,
                fork_step=step,
                steps=step,
                tags=_tags(new.tags),
                metadata=ingest_filter.admit_mapping(new.metadata),
                edits=tuple(fork.edits),
                policy={name: ingest_filter.admit(rule) for name, rule in (fork.policy or {}).items()},
                way_back_in=fork.way_back_in,
            )
            first = Checkpoint(step, track, 0 if before is None else before.seq, ingest_filter.admit(fork.state))
            answered = (call.delivered or 0 for call in self.call_page(parent_id, 1, step + 1))
            delivered = max(answered, default=0)
            run = with_usage(run, self.steps(parent_id, 1, step + 1))
            self._begin(run, first, delivered=delivered)
        return run.id

    def _fork_name(self, parent: str) -> str:
        taken = {run.name for run in self.find(Run)}
        return next(name for n in itertools.count(1) if (name := f"{parent}/fork-{n}") not in taken)

    def adopt_run(self, run_id: str, new: NewRun, state: Wire | object) -> RecordWriter:  # noqa: ARG002  # the first step's checkpoint holds what `state` has become by then
        """Take over a fork, or a run that goes on, in the process that runs its agent."""
        with self.transaction():
            run = self._row(run_id)
            if run.status != "running":
                raise StoreUnreadable(
                    f"run {run_id} is over ({run.status}) and cannot be resumed", hint="Fork it again."
                )
            is_new = run.parent is not None and not self.find(Step, run_id)
            self.save(
                run_id,
                replace(
                    run,
                    started_us=now_us() if is_new else run.started_us,  # a fork begins when its agent does
                    code=replace(
                        run.code, **{name: said for name in ("entry", "version") if (said := getattr(new.code, name))}
                    ),
                    tags=tuple(sorted({*run.tags, *_tags(new.tags)})),
                    metadata={**run.metadata, **ingest_filter.admit_mapping(new.metadata)},
                ),
            )
            self._own(run_id)
        return self._recorded_here(run_id)

    @cached_property
    def _heart(self) -> Heart[RecordStore, str]:
        return Heart(self, RecordStore.beat)

    def _recorded_here(self, run_id: str) -> RecordWriter:
        """The open end of a run that this process records: it beats until that is over."""
        self._heart.add(run_id)
        return RecordWriter(self, run_id, self._heart.remove)

    def beat(self, run_ids: Sequence[str]) -> None:
        """Write down that the process that records these runs is still there."""
        now = now_us()
        with self.transaction():
            for run_id in run_ids:
                for by in self.find(Recorder, run_id):
                    self.save(run_id, replace(by, beat_us=now))

    def _own(self, run_id: str) -> None:
        """Let this process be the one that records a run."""
        delivered = max((by.delivered for by in self.find(Recorder, run_id)), default=0)
        self.save(run_id, Recorder(current_owner(), now_us(), delivered))

    def join_run(self, run_id: str) -> RecordWriter:
        """Write into a run that another process began and will end."""
        return RecordWriter(self, self._row(run_id).id)

    def reopen_run(self, run_id: str) -> None:
        """Let a run that broke off go on."""
        with self.transaction():
            run = self._row(run_id)
            shown = self._shown(run).status
            if shown not in ("crashed", "interrupted"):
                raise UsageError(f"run {run_id} did not break off: it is {shown}", hint="`agent-tt runs` shows it.")
            self.save(run_id, replace(run, status="running", ended_us=None, error=None))
            self._own(run_id)

    def set_run_status(self, run_id: str, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Write down how a run ended that cannot say it itself."""
        with self.transaction():
            run = self._row(run_id)
            ended_us = run.ended_us or (None if status == "running" else now_us())
            self.save(
                run_id,
                replace(run, status=status, ended_us=ended_us, error=ingest_filter.admit_error(error) or run.error),
            )

    def settle_run(self, run_id: str) -> Owner | None:
        """The process that records a run; a run whose process is gone is written down as crashed."""
        with self.transaction():
            run = self._row(run_id)
            if run.status != "running":
                return None
            if self._is_recorded(run_id):
                return self.find(Recorder, run_id)[0].owner
            self.save(run_id, replace(run, status="crashed", ended_us=now_us()))
        return None

    def keep_output(self, run_id: str, output: Output) -> None:
        """Write down what a run printed."""
        with self.transaction():
            self.save(self._row(run_id).id, admitted(output))

    # ---------------------------------------------------------------- questions

    def answer_question(self, question: int, decision: Decision) -> None:
        """Write down what somebody decides of a call that waits."""
        with self.transaction():
            asked = next((each for each in self.find(Asked) if each.question.id == question), None)
            if asked is None:
                raise QuestionNotFound(
                    f"there is no question {question}", hint="`agent-tt answer` lists those that wait."
                )
            run = self._row(asked.question.run_id)
            questions.check_open(question, run.name, asked.decision, is_waiting=self._waits(asked))
            self.save(run.id, replace(asked, decision=questions.admitted(decision)))

    def stop_questions(self, run_id: str) -> None:
        """Let the calls of a run that wait know that it is stopped."""
        with self.transaction():
            for asked in self.find(Asked, self._row(run_id).id):
                self.decide(asked, Decision("stop"))

    # ---------------------------------------------------------------- holds

    @cached_property
    def _holding(self) -> Heart[RecordStore, int]:
        return Heart(self, RecordStore._beat_of_holds)

    def hold_run(self, run_id: str, *, when: str = "", by: str = "program") -> Hold:
        """Let the agent of a run wait before its next calls, as long as this process and this open store are there."""
        when, by = ingest_filter.admit_text(when), ingest_filter.admit_text(by)
        with self.transaction():
            run, owner, now = self._shown(self._row(run_id)), current_owner(), now_us()
            check_running(run_id, run.status)
            hold = Hold(self.new_number(), run_id, when, by, now, owner.pid)
            self.save(run_id, Held(hold, owner, now))
        self._holding.add(hold.id)
        return hold

    def let_go(self, run_id: str, hold: int | None = None) -> int:
        """Let an agent go on, of one hold or of all; give how many ended."""
        with self.transaction():
            gone = [held for held in self.find(Held, self._row(run_id).id) if hold in (None, held.hold.id)]
            for held in gone:
                self.remove(run_id, held)
        for held in gone:
            self._holding.remove(held.hold.id)
        return len(gone)

    def _beat_of_holds(self, numbers: Sequence[int]) -> None:
        with self.transaction():
            for held in self.find(Held):
                if held.hold.id in numbers:
                    self.save(held.hold.run_id, replace(held, beat_us=now_us()))


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({ingest_filter.admit_text(tag) for tag in tags}))
