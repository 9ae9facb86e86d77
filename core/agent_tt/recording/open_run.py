"""What is open while a run is recorded: the run, its steps, its calls, and the scope that says where code is in them.

Scope, lanes, links, steps and calls know these, and not the classes that record: imports go one way.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Protocol

from agent_tt._dataclass import dataclass
from agent_tt.codec.looking import looking
from agent_tt.config import load
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.model.facts import RunFacts
from agent_tt.recording.calls.kept_headers import headers_of
from agent_tt.recording.calls.pending_draws import HeldDraws
from agent_tt.recording.lanes.arrival import LatestAnswer
from agent_tt.recording.lanes.lanes import Lanes
from agent_tt.recording.runs.output import OutputTap
from agent_tt.recording.steps.checkpointing import Checkpoints
from agent_tt.recording.steps.snapshot import snapshot
from agent_tt.recording.steps.state_histories import TrackedStep, Tracks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import AgentCode, CallEnd, CallKind, NewRun, Usage
    from agent_tt.recording.calls.arguments import Given
    from agent_tt.recording.calls.signature import CallSpec
    from agent_tt.recording.lanes.lanes import Lane
    from agent_tt.recording.lanes.shared_end import SharedEnd
    from agent_tt.recording.runs.journal import Journal
    from agent_tt.recording.steps.checkpointing import Rules

__all__ = ["OpenCall", "OpenRun", "OpenStep", "Scope", "StepMaker"]


class OpenStep(TrackedStep, Protocol):
    """A step that has begun, as links, calls and the scope know it.

    Attributes:
        name: what the agent calls it.
        agent: which agent takes it, in runs of several.
        decision: what the agent decided, in its own words.
        extra: further facts of it.
    """

    name: str
    agent: str | None
    decision: str | None
    extra: dict[str, Wire]

    @property
    def recording(self) -> OpenRun:
        """The run that it is a step of."""

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""

    @property
    def state(self) -> object:
        """The object that it works on."""

    def references_to(self, state: object) -> int:
        """How many references to a state object are the recording's own."""

    def count(self, usage: Usage) -> None:
        """Add to what it cost."""

    def follow(self, state: object, track: str) -> None:
        """Work on `state` from now on, in the state history called `track`."""

    def close(self, error: BaseException | None) -> None:
        """End it with the exception that leaves it, if one does."""

    def abandon(self) -> None:
        """End it because its run ends."""


class OpenCall(Protocol):
    """A call that has begun, as links, the scope and calls inside it know it; see `RecordedCall`."""

    number: int | None
    named: Mapping[str, Wire]
    given: Given | None
    by_link: dict[object, object]
    end: SharedEnd

    @property
    def recording(self) -> OpenRun:
        """What records it."""

    @property
    def around(self) -> OpenCall | None:
        """The call whose function makes it, or made what makes it."""

    @property
    def spec(self) -> CallSpec:
        """What is called."""

    @property
    def step(self) -> OpenStep:
        """Its step."""

    @property
    def step_number(self) -> int:
        """The number of its step."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended. In a forked process: whether it has in the process where it began."""

    @property
    def runs(self) -> bool:
        """Whether its function runs for real, and has not ended."""

    @property
    def asks_a_model(self) -> bool:
        """Whether it is a model call."""

    def enters(self, kind: CallKind, name: str) -> bool:
        """Whether a call that begins inside it is what it is made of, and so no other call; true once."""

    def place(self) -> dict[str, Wire]:
        """Its step and its number in there."""

    def counted(self, figures: Mapping[str, Wire]) -> None:
        """A model call that this one made has counted these figures."""


class StepMaker(Protocol):
    """What makes the steps of a run whose agent names none; see `agent_tt.recording.steps.model_steps`."""

    def makes(self, step: int) -> bool:
        """Whether a step is one of its own, and not one that the agent names."""

    def step_for(self, scope: Scope, spec: CallSpec, signature: str) -> OpenStep | None:
        """The step that a call of the code in `scope` belongs to; None inside a step that the agent names itself."""

    def asked(self, step: OpenStep, call: OpenCall, args: Mapping[str, Wire]) -> None:
        """A model call of a step begins."""

    def ended(self, step: OpenStep, call: OpenCall, end: CallEnd, error: BaseException | None) -> None:
        """A model call of a step is over."""

    def lane_ended(self, lane: str) -> None:
        """A task, job or thread is over."""

    def begin_anew(self, lane: str) -> None:
        """Forget all steps so far: a process that was forked begins, or a job of a pool, in that lane."""

    def finish(self, error: BaseException | None) -> None:
        """The run is over; `error` left the code of the main lane, if one did."""


class OpenRun:
    """A run that is recorded, as its steps, its calls, links and the scope know it.

    Attributes:
        checkpoints: which of its steps get a checkpoint.
        lanes: its logical threads of control.
        kept_headers: names of request headers that count as part of a question, beside those that always do.
        held: what was drawn between its steps.
        tracks: its state histories.
        latest_answer: when the latest answer reached the agent.
        jobs_came: the lanes of jobs of process pools that gave something, in the order in which it came back.
        effects: what the settings say that tools do, by their names and by patterns.
        model_steps: what makes its steps, None where the agent names them.
        is_attached: whether its agent waits where somebody holds it; see `agent_tt.holding`.
        file: the file that it is written to; None before it begins, and of a replay, which is written nowhere.
        is_ending: whether its run is being ended: steps that end now are followed by none.
        inside: step and number of the call that started this process, where that is another process's; see
            `agent_tt.recording.runs.child_process`.
        children_know: the variable by which processes know that they are recorded too; None where they are not.
    """

    def __init__(self, new: NewRun, state: object, rules: Rules) -> None:
        self._new = new
        self._agent = state if new.code.restore == "attributes" else None
        self._journal: Journal | None = None
        self._lock = threading.RLock()
        self._printed = OutputTap()
        self._open_steps: list[OpenStep] = []
        self.tracks = Tracks(state)
        self.is_ending = False
        self.is_attached = False
        self.inside: Mapping[str, Wire] | None = None
        self.children_know: str | None = None
        self.checkpoints = Checkpoints(rules)
        self.lanes = Lanes()
        self.kept_headers = headers_of(new.metadata)
        self.effects = load().effects
        self.held = HeldDraws()
        self.latest_answer = LatestAnswer()
        self.jobs_came: dict[str, None] = {}
        self.model_steps: StepMaker | None = None
        self.file: Path | None = None

    @property
    def id(self) -> str:
        """The run's id in its store.

        Raises:
            UsageError: the recording has not begun.
        """
        return self.journal.run_id

    @property
    def journal(self) -> Journal:
        """What writes the run.

        Raises:
            UsageError: the recording has not begun.
        """
        if self._journal is None:
            raise UsageError("the run has no id before it begins", hint="use record(...) in a with statement")
        return self._journal

    @property
    def is_open(self) -> bool:
        """Whether the run has begun and not ended."""
        return self._journal is not None and self._journal.is_open

    @property
    def facts(self) -> RunFacts:
        """What was said of it when it began."""
        return RunFacts(self._new.metadata)

    @property
    def code(self) -> AgentCode:
        """The code that the agent runs, as it was found when `record(...)` was called."""
        return self._new.code

    @property
    def model(self) -> str | None:
        """The model that the agent is configured with."""
        return None if self._new.model is None else self._new.model.model

    @property
    def step_around(self) -> int | None:
        """The step of another process that the steps of this one are nested in."""
        step = None if self.inside is None else self.inside.get("step")
        return step if isinstance(step, int) else None

    def keep_no_output(self) -> None:
        """Do not keep what is printed: it is not what the agent says."""
        self._printed.drop()

    def check_open(self, what: str) -> None:
        """Refuse `what` before the run has begun and after it has ended.

        Raises:
            UsageError: `what`, and why.
        """
        if not self.is_open:
            raise UsageError(
                f"{what}: its recording is not running",
                hint="use it inside `with agent_tt.record(...) as run:`",
            )

    def snapshot(self, state: object) -> object:
        """What is kept of a state object; see `agent_tt.recording.steps.snapshot`."""
        with looking():
            return snapshot(state, is_agent=state is not None and state is self._agent)

    def add_open_step(self, step: OpenStep) -> None:
        """Remember a step that has begun."""
        with self._lock:
            self._open_steps.append(step)

    def remove_open_step(self, step: OpenStep) -> None:
        """Forget a step that has ended."""
        with self._lock:
            if step in self._open_steps:  # not so in a process that was forked inside it
                self._open_steps.remove(step)

    def end_steps(self, error: BaseException | None) -> None:
        """End the steps that are open; `error` left the code of the main lane, if one did."""
        if self.model_steps is not None:
            self.model_steps.finish(error)
        with self._lock:
            left = self._open_steps[::-1]
        for step in left:
            step.abandon()

    # ------------------------------------------------------------ processes

    def can_be_joined(self) -> bool:
        """Whether processes that are started or forked now can record into the run."""
        return self.is_open

    def go_on_forked(self, lane: Lane) -> None:
        """In a process that was forked from the one that records: go on in `lane`, and end nothing of the other's."""
        self._lock = threading.RLock()
        self._open_steps.clear()
        self._printed.drop()
        self.held = HeldDraws()
        self.lanes.go_on_forked(lane)
        self.journal.go_on_forked()
        if self.model_steps is not None:
            self.model_steps.begin_anew(lane.id)

    def end_forked(self, error: BaseException | None = None) -> None:
        """End what a process that was forked has open."""
        with contextlib.suppress(AgentTTError):  # logged and remembered
            self.end_steps(error)


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One place in a run.

    Attributes:
        recording: the run.
        step: the innermost step, None between steps.
        call: the call whose function runs, None where the agent's own code does.
        outer: the scope that this one was opened in.
    """

    recording: OpenRun
    step: OpenStep | None
    call: OpenCall | None
    outer: Scope | None

    @property
    def is_open(self) -> bool:
        """Whether something can still be recorded here."""
        return self.recording.is_open and (self.step is None or self.step.is_open)
