"""The steps of a run: what an agent says about them, and what is written when they open and end."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from agent_tt.codec.looking import must_go_on, shown
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.model import NO_USAGE, NewStep, StepEnd, Usage
from agent_tt.model.facts import StepFacts
from agent_tt.protocols import NO_STATE
from agent_tt.recording.errors.exceptions import MOST_TEXT, error_info
from agent_tt.recording.errors.outcome import step_status
from agent_tt.recording.runs.block import Block
from agent_tt.recording.scope import enter, innermost_step, leave
from agent_tt.recording.session import SESSION
from agent_tt.recording.steps.state_histories import lineage

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import ErrorInfo, StepStatus
    from agent_tt.recording.open_run import OpenRun, OpenStep
    from agent_tt.recording.scope import Scope
    from agent_tt.recording.steps.state_histories import Track

_LOG = logging.getLogger(__name__)


class RecordedStep(Block):
    """One move of the agent while it is made; `with run.step("plan", state) as step:` (or `async with`).

    Attributes:
        name: what the agent calls it.
        agent: which agent takes it, in runs of several.
        decision: what the agent decided, in its own words. Set it any time before the step ends.
        parent: the step that it is nested in.
        own_state: the object that it was given, None where it works on the run's.
        shares_track: whether steps beside it were open on its state history: changes may be theirs too.
        extra: further facts of it.
    """

    def __init__(
        self,
        recording: OpenRun,
        name: str,
        *,
        state: object = None,
        agent: str | None = None,
        track: str | None = None,
    ) -> None:
        self.name = name
        self.agent = agent
        self.decision: str | None = None
        self.parent: OpenStep | None = None
        self.shares_track = False
        self.extra: dict[str, Wire] = {}
        self._recording = recording
        self.own_state = state
        self._track_name = track
        self._track: Track | None = None
        self._number: int | None = None
        self._is_open = False
        self._process: int | None = None
        self._lock = threading.RLock()
        self._usage = NO_USAGE
        self._scope: Scope | None = None

    @property
    def is_open(self) -> bool:
        """Whether the step has begun and not ended."""
        return self._is_open

    @property
    def number(self) -> int:
        """Its number in the run, from 1.

        Raises:
            UsageError: the step has not begun.
        """
        if self._number is None:
            raise UsageError(f"step {self.name!r} has not begun", hint="use it in a with statement")
        return self._number

    @property
    def state(self) -> object:
        """The object that the step works on. Assigning another one makes that the run's (or the agent's) state."""
        if self.own_state is not None or self._track is None:
            return self.own_state
        return self._track.state

    @state.setter
    def state(self, state: object) -> None:
        replaced, self.own_state = self.state, state
        for around in lineage(self):  # they were given the same object, and end after this step
            if around.own_state is replaced and around.track == self.track:
                around.own_state = state
        if self._track is not None:
            self._track.state = state

    @property
    def recording(self) -> OpenRun:
        """The run that it is a step of."""
        return self._recording

    @property
    def track(self) -> str | None:
        """The name of its state history, once it has begun."""
        return None if self._track is None else self._track.name

    def references_to(self, state: object) -> int:
        """How many references to a state object are the recording's own."""
        own = sum(step.own_state is state for step in (self, *lineage(self)))
        return own + (self._track is not None and self._track.state is state)

    def add_usage(
        self, *, tokens_in: int | None = None, tokens_out: int | None = None, cost_usd: float | None = None
    ) -> None:
        """Add tokens and US dollars to what the step cost. Model calls add theirs on their own."""
        self.count(Usage(tokens_in, tokens_out, cost_usd))

    def count(self, usage: Usage) -> None:
        """Add to what the step cost."""
        with self._lock:
            self._usage += usage

    def open(self, *, is_current: bool = True) -> None:
        """Begin the step: its row is written.

        Args:
            is_current: whether calls of this code belong to it from now on.

        Raises:
            UsageError: it has begun before, or its run is over.
            LimitReached: a link keeps it from beginning.
            StoreUnreadable: it could not be written.
        """
        recording = self._recording
        if self._number is not None:
            raise UsageError(f"step {self.name!r} was used twice", hint="ask run.step(...) for a new one each time")
        recording.check_open(f"step {self.name!r} cannot begin")
        chain = SESSION.chain
        for before in chain.before_step:
            before(recording)
        self.parent = innermost_step(recording)
        new = NewStep(
            name=self.name,
            agent=self.agent,
            lane=recording.lanes.current().id,
            parent=recording.step_around if self.parent is None else self.parent.number,
        )
        self._number = recording.journal.write(lambda writer: writer.open_step(new))
        if self._number is None:  # another thread ended the run just now
            recording.check_open(f"step {self.name!r} cannot begin")
        for begun in chain.step_begun:
            begun(self)
        self._is_open = True
        self._process = os.getpid()
        self._track = recording.tracks.choose(self._track_name, self.agent, self.own_state)
        if self.own_state is not None:
            self._track.state = self.own_state
        self._track.enter(self)
        recording.add_open_step(self)
        recording.held.write(recording.journal, self.number, new.lane)
        if is_current:
            self._scope = enter(recording, self)

    def follow(self, state: object, track: str) -> None:
        """Work on `state` from now on, in the state history called `track`; a step that has ended stays as it is."""
        with self._lock:
            if not self._is_open or self._track is None:
                return
            self._track.leave(self)
            self.shares_track = False
            self.own_state = state
            self._track = self._recording.tracks.choose(track, self.agent, state)
            self._track.state = state
            self._track.enter(self)

    def close(self, error: BaseException | None) -> None:
        """End the step with the exception that leaves it, if one does.

        Raises:
            StoreUnreadable: its end could not be written, and no exception of the agent is on its way.
            LimitReached: a link stops the agent after it.
        """
        if self._scope is not None:
            leave(self._scope)
        if self._process != os.getpid():
            return  # a process that the agent forked leaves the block too: the step is its parent's to end
        journal = self._recording.journal
        status = step_status(error, failures=journal.failures)
        info = None if error is None or status == "ok" else error_info(error)
        try:
            journal.when_free(lambda: self._write_end(status, info, with_state=True))
        except AgentTTError:
            if error is None:
                raise
            _LOG.warning("the end of step %s could not be recorded", self._number)
        chain = SESSION.chain
        for after in chain.after_step:
            after(self)
        if chain.before_going_on and (error is None or isinstance(error, Exception)) and not self._recording.is_ending:
            for goes_on in chain.before_going_on:
                goes_on()

    def abandon(self) -> None:
        """End a step that is still open when its run ends: what it works on is no longer followed."""
        self._write_end("interrupted", None, with_state=False)

    def _enter(self) -> None:
        self.open()

    def _exit(self, error: BaseException | None) -> None:
        self.close(error)

    def _write_end(self, status: StepStatus, error: ErrorInfo | None, *, with_state: bool) -> None:
        with self._lock:
            if not self._is_open or self._track is None:
                return
            self._is_open = False
        track, recording = self._track, self._recording
        track.leave(self)
        recording.remove_open_step(self)
        with track.commit:
            state, extra = self._snapshot() if with_state else (NO_STATE, {})
            failed = status == "error"
            if state is not NO_STATE and recording.checkpoints.skips(
                self, track.name, state, self.state, failed=failed
            ):
                state, extra = NO_STATE, {**extra, **StepFacts.without_checkpoint.true()}
            end = StepEnd(
                status=status,
                error=error,
                tokens_in=self._usage.tokens_in,
                tokens_out=self._usage.tokens_out,
                cost_usd=self._usage.cost_usd,
                decision=None if self.decision is None else shown(str, self.decision, MOST_TEXT),
                shared_track=self.shares_track,
                extra={**self.extra, **extra},
            )
            number, name = self.number, track.name
            recording.journal.write(lambda writer: writer.close_step(number, end, state, track=name))

    def _snapshot(self) -> tuple[object, dict[str, Wire]]:
        state = self.state
        if state is None:
            return NO_STATE, {}
        try:
            return self._recording.snapshot(state), {}
        except BaseException as error:
            if must_go_on(error):
                raise
            _LOG.warning("step %s has no checkpoint: its state could not be read", self._number, exc_info=True)
            return NO_STATE, StepFacts.state_error.entry(error_info(error).short)
