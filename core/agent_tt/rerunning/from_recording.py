"""A run whose agent runs from its beginning, with its calls so far answered from the recording, and then for real.

That is a run that is resumed, in which nothing is edited, and a fork that is re-entered. Nothing is reached for before
all that was recorded has been given out again.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from agent_tt.forking.under_terms import under_terms
from agent_tt.model import ErrorInfo, NewRun
from agent_tt.model.facts import RunFacts
from agent_tt.patching.patches import patched_again
from agent_tt.recording.runs.recorder import Recording
from agent_tt.reentering.amendments import amended
from agent_tt.reentering.past import read_prefix
from agent_tt.reentering.refusal import why_not
from agent_tt.replaying.clock.virtual_time import virtual_time
from agent_tt.replaying.guard.attempts import answered_again
from agent_tt.replaying.guard.guard import Rules, guarded
from agent_tt.replaying.guard.quiet import quiet
from agent_tt.replaying.program.program_end import end_program
from agent_tt.replaying.tape.full_history import first_state
from agent_tt.replaying.tape.repeats import entries_of
from agent_tt.rerunning.run_again import run_again
from agent_tt.resuming.engine import Resumption
from agent_tt.resuming.past import read_past
from agent_tt.resuming.plan import decided_before
from agent_tt.resuming.writer import ResumedStore

if TYPE_CHECKING:
    from agent_tt.model import RunStatus
    from agent_tt.protocols import Store
    from agent_tt.replaying.clock.virtual_time import VirtualTime
    from agent_tt.replaying.divergence import Finding
    from agent_tt.rerunning.filled import Filled

__all__ = ["FromRecording"]

_DIVERGENCE: Final = "agent_tt.replaying.divergence:Divergence"
_CANNOT_REENTER: Final = "agent_tt.errors:CannotReenter"


class FromRecording:
    """The beginning of a run whose agent is given again what was recorded; see `agent_tt.rerunning.filled.Beginning`.

    Args:
        filled: the run that is filled.
        is_resumed: whether it is a run that is resumed; else it is a fork that is re-entered.
    """

    def __init__(self, filled: Filled, *, is_resumed: bool) -> None:
        """Read what was recorded."""
        self._filled = filled
        self._run = filled.run
        self._is_resumed = is_resumed
        self._clock: VirtualTime | None = None
        self._state = first_state(filled.store, filled.run)
        past = read_past(filled.store, filled.run) if is_resumed else read_prefix(filled.store, filled.run)
        happened = {place: said for place, said in decided_before(self._run).items() if said is not None}
        entries = entries_of(self._run)
        redo = bool(entries) and entries[-1].redo_unrecorded
        self._engine = Resumption(past, happened if is_resumed else {}, self._go_live, redo_unrecorded=redo)
        self._writes_to = ResumedStore(filled.store, past, self._engine, self.broke_off)

    @property
    def writes_to(self) -> Store:
        """The store, into which nothing is written that is recorded already."""
        return self._writes_to.as_store()

    @property
    def is_halted(self) -> bool:
        """Whether the agent was halted, because it does not ask again what was recorded."""
        return self._engine.is_halted

    def run_agent(self) -> None:
        """Start the agent as it was started when it was recorded."""
        store, run, engine = self._filled.store, self._run, self._engine
        root = run.code.root
        with ExitStack() as stack:
            stack.enter_context(quiet())
            self._clock = stack.enter_context(virtual_time(engine))
            if not (self._is_resumed or engine.tape.calls):  # at large from its beginning: nothing is given out again
                self._clock.stop()
            # A person who resumes a run that came to a limit wants it to go on.
            stack.enter_context(under_terms(store, run, engine, limited=not self._is_resumed))
            stack.enter_context(amended(store, run, engine, self._filled.note))
            if RunFacts.command.is_in(run.metadata):  # the recording of a whole process is around everything
                new = NewRun(run.name, run.code, run.model)
                if is_attached := self._is_attached():
                    import_module("agent_tt.holding.offered")
                stack.enter_context(
                    Recording(new, None, store=None, durability="full", steps="model calls", attach=is_attached)
                )
            stack.enter_context(patched_again(run.facts.patched, root))
            rules = Rules(passes=engine.passes, forbids=engine.forbids)
            stack.enter_context(guarded(partial(answered_again, engine), root=root, rules=rules))
            try:
                run_again(store, engine.tape, self._state, tell=partial(self._filled.refuse_held, self.broke_off))
            finally:
                if not engine.is_halted:
                    end_program()  # recorded too, as when the run began

    def _is_attached(self) -> bool:
        """Whether the recording of a whole process was to be held, or that of the run that this is a fork of."""
        run = self._run
        return run.facts.attached or (run.parent is not None and self._filled.store.run(run.parent).facts.attached)

    def broke_off(self, status: RunStatus, error: ErrorInfo | None) -> None:
        """Write down how it ended. A run that was resumed is as it was, and can be resumed once more."""
        failure = self._engine.failure
        is_why = failure is not None and (error is None or self._engine.is_halted)
        if self._is_resumed:
            entries = entries_of(self._run)
            was_interrupted = bool(entries) and entries[-1].status == "interrupted"
            status = "interrupted" if was_interrupted or status == "interrupted" else "crashed"
            if failure is not None and is_why:
                error = ErrorInfo(_DIVERGENCE, f"{failure.kind}: {failure.message}")
        elif failure is not None and is_why:
            status = "interrupted" if status == "interrupted" else "failed"
            error = ErrorInfo(_CANNOT_REENTER, self._why_not(failure))
        self._filled.store.set_run_status(self._run.id, status, error)

    def why_halted(self) -> tuple[str, ...]:
        """What is said of an agent that does not ask again what was recorded."""
        failure = self._engine.failure
        if failure is None:
            return ()
        if not self._is_resumed:
            return (self._why_not(failure),)
        place = f"step {failure.step}: " if failure.step is not None else ""
        return (f"{place}{failure.kind}: {failure.message}", failure.hint)

    def ended(self) -> None:
        """Write down what a fork was not asked again, or otherwise than was recorded."""
        if self._is_resumed or self._engine.failure is not None:
            return
        notes = [f"{note.kind}: {note.text}" for note in self._engine.notes.all()]
        for text in (*notes, *self._engine.left_out):
            self._filled.note(None, f"re-entered: {text}")

    def _why_not(self, failure: Finding) -> str:
        store, run = self._filled.store, self._run
        return why_not(failure, run, run if run.parent is None else store.run(run.parent))

    def _go_live(self, step: int | None) -> None:
        """The first call for real: everybody waits as long as they say. The guard asks each lane for itself."""
        if self._clock is not None:
            self._clock.stop()
        how = "resumed" if self._is_resumed else "re-entered"
        self._filled.note(step, f"{how}: from here on calls are made for real")
