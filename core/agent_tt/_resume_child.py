"""The process of a run that goes on: `python -m agent_tt._resume_child`, told by its environment which run that is.

It starts the agent as it was started then. What was recorded is given to it again, and nothing is reached meanwhile, as
in a replay; what comes after that is made for real.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import agent_tt.seams.install  # noqa: F401  requests are recorded, and served, whatever imports their library
from agent_tt._replay_child import run_again, without_own_frames
from agent_tt.errors import AgentFailed, AgentTTError, Interrupted, InvalidEntryPoint, StoreUnreadable, UsageError
from agent_tt.forking.child_environment import RUN_VARIABLE, STORE_VARIABLE
from agent_tt.forking.guarding import guarding
from agent_tt.forking.under_terms import leave_soon, under_terms
from agent_tt.launching.again import refusal_of
from agent_tt.model import ErrorInfo, NewRun
from agent_tt.model.facts import RunFacts
from agent_tt.patching.patches import patched_again
from agent_tt.recording import adoption
from agent_tt.recording.exceptions import error_info, traceback_text
from agent_tt.recording.outcome import run_status
from agent_tt.recording.policy import EVERYTHING_LIVE, ToolPolicy
from agent_tt.recording.recorder import Recording
from agent_tt.recording.scope import store_at_work
from agent_tt.reentering.amendments import amended
from agent_tt.replaying.attempts import answered_again
from agent_tt.replaying.course import first_state
from agent_tt.replaying.guard import Rules, guarded, stay_guarded
from agent_tt.replaying.program_end import end_program, leave
from agent_tt.replaying.quiet import quiet
from agent_tt.replaying.repeats import entries_of
from agent_tt.replaying.virtual_time import virtual_time
from agent_tt.resuming.engine import Resumption
from agent_tt.resuming.launch import DIVERGED
from agent_tt.resuming.past import read_past
from agent_tt.resuming.plan import decided_before
from agent_tt.resuming.writer import ResumedStore
from agent_tt.store import open_patiently

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.launching.outside_tools import Held
    from agent_tt.model import Run, RunStatus
    from agent_tt.protocols import Store
    from agent_tt.replaying.divergence import Finding
    from agent_tt.replaying.guard import Attempt
    from agent_tt.replaying.virtual_time import VirtualTime

_DIVERGENCE: Final = "agent_tt.replaying.divergence:Divergence"


def main() -> int:
    """Let the run that the environment names go on.

    Returns:
        0, or 1 when the agent was halted because it does not ask again what was recorded, 5 when it failed, 2 when it
        could not be started, 130 when it was interrupted, 4 without a store that can be written.
    """
    return go_on_with_told(
        Resumed, UsageError("this is the process of a run that goes on", hint="start one with `agent-tt resume`")
    )


def go_on_with_told(make: type[Resumed], untold: UsageError) -> int:
    """Resume the run that the environment variables name; return the exit code.

    Args:
        make: goes on with it.
        untold: what is said where the environment names none.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    path, run_id = os.environ.get(STORE_VARIABLE), os.environ.pop(RUN_VARIABLE, None)
    try:
        if path is None or run_id is None:
            raise untold
        with closing(open_patiently(Path(path))) as store, ExitStack() as guard:
            made = make(store, store.run(run_id))
            code = made.go_on(guard)
            made.stay_guarded(guard)
            return code
    except AgentTTError as error:
        say(error.message, error.hint)
        return error.exit_code


class Resumed:
    """One run that goes on in this process."""

    FROM_HERE: ClassVar[str] = "resumed: from here on calls are made for real"
    _is_limited = False
    """Whether the limits of its fork hold."""

    def __init__(self, store: Store, run: Run) -> None:
        self._store = store
        self._run = run
        self._clock: VirtualTime | None = None
        self._policy = EVERYTHING_LIVE
        self._tell_unseen: Callable[[], None] | None = None
        self._is_at_large = False  # from the beginning: nothing is given out again
        self._resumption, self._resumed = self._begin()

    def _begin(self) -> tuple[Resumption, ResumedStore]:
        """What answers, and what writes."""
        run, past = self._run, read_past(self._store, self._run)
        happened = {place: said for place, said in decided_before(run).items() if said is not None}
        entries = entries_of(run)
        redo = bool(entries) and entries[-1].redo_unrecorded
        resumption = Resumption(past, happened, self._go_live, redo_unrecorded=redo)
        return resumption, ResumedStore(self._store, past, resumption, self._broke_off)

    def go_on(self, guard: ExitStack) -> int:
        """Run the agent; the exit code. The guard of a fork goes with `guard`."""
        run = self._run
        self._policy = policy = EVERYTHING_LIVE if run.parent is None else ToolPolicy.from_mapping(run.policy)
        if run.parent is not None:
            os.environ.update(policy.to_environment())
        adoption.offer(adoption.Adoption(self._resumed.as_store(), run.id, policy, run.code))
        state = first_state(self._store, run)
        outcome: BaseException | None = None
        try:
            if run.parent is not None:
                self._tell_unseen = guard.enter_context(guarding(run.code.root, partial(self._write, None)))
            self._run_agent(state)
        except BaseException as error:  # noqa: BLE001  whatever leaves the agent decides how its run ended
            outcome = without_own_frames(error)
        if adoption.take() is not None:  # nobody recorded, so nobody else says how the run ended
            if outcome is None or run_status(outcome) == "succeeded":
                outcome = InvalidEntryPoint(f"{run.name} ended without recording anything")
            self._broke_off(run_status(outcome), error_info(outcome))
        failure = self._resumption.failure
        if outcome is not None and not (self._resumption.is_halted or isinstance(outcome, SystemExit)):
            _tell(outcome)
        code = _exit_code(outcome)
        if failure is not None and run_status(outcome) != "interrupted":
            say(*self._words(failure))
            code = DIVERGED
        if run.parent is not None and self._resumption.is_halted:
            leave_soon(code)
            with suppress(KeyboardInterrupt):
                end_program()  # what the agent does there is guarded too
        return code

    def stay_guarded(self, guard: ExitStack) -> None:
        """The program has ended: leave the guard of a fork in place for what its last finalizers try."""
        if self._tell_unseen is not None:
            self._tell_unseen()
            stay_guarded(guard)

    def _run_agent(self, state: Wire) -> None:
        run, root = self._run, self._run.code.root
        with ExitStack() as stack:
            stack.enter_context(quiet())
            clock = stack.enter_context(virtual_time(self._resumption))
            self._clock = clock
            if self._is_at_large:
                clock.stop()
            stack.enter_context(under_terms(self._store, run, self._resumption, limited=self._is_limited))
            stack.enter_context(amended(self._store, run, self._resumption, self._note))
            if RunFacts.command.is_in(run.metadata):  # the recording of a whole process is around everything
                new = NewRun(run.name, run.code, run.model)
                stack.enter_context(Recording(new, None, store=None, durability="full", steps="model calls"))
            stack.enter_context(patched_again(run.facts.patched, root))
            refuse = partial(answered_again, self._resumption, otherwise=self._refuse)
            stack.enter_context(guarded(refuse, root=root, rules=Rules(passes=self._resumption.passes)))
            try:
                run_again(self._resumption.tape, state, tell=self._refuse_held)
            finally:
                if not self._resumption.is_halted:
                    end_program()  # recorded too, as when the run began

    def _refuse(self, attempt: Attempt) -> BaseException:
        facts = {"file": attempt.file, "line": attempt.line, "function": attempt.function}
        site: dict[str, Wire] = {key: fact for key, fact in facts.items() if fact is not None}
        return self._resumption.unrecorded_effect(attempt.event, attempt.target, site)

    def _refuse_held(self, held: Held) -> None:
        """End before a function runs that writes, and whose calls cannot be held; a fork may have allowed it."""
        name = held.path.rpartition(".")[2]
        is_allowed = self._run.parent is not None and self._policy.decide("tool", name, "write").word == "live"
        if held.effect == "write" and not is_allowed:
            error = refusal_of(held)
            self._broke_off("failed", ErrorInfo("agent_tt.errors:UsageError", error.message))
            say(error.message, error.hint)
            leave(error.exit_code)

    def _go_live(self, step: int | None) -> None:
        """The first call for real: everybody waits as long as they say. The guard asks each lane for itself."""
        if self._clock is not None:
            self._clock.stop()
        self._note(step, self.FROM_HERE)

    def _note(self, step: int | None, text: str) -> None:
        self._write(step, "note", text)

    def _write(self, step: int | None, kind: str, text: str) -> None:
        with store_at_work():
            self._store.add_note(self._run.id, step, kind, text)

    def _broke_off(self, status: RunStatus, error: ErrorInfo | None) -> None:
        """The run has not come to its end: it is as it was, and can be resumed once more."""
        failure, entries = self._resumption.failure, entries_of(self._run)
        if failure is not None and (error is None or self._resumption.is_halted):
            error = ErrorInfo(_DIVERGENCE, f"{failure.kind}: {failure.message}")
        was_interrupted = bool(entries) and entries[-1].status == "interrupted"
        ended: RunStatus = "interrupted" if was_interrupted or status == "interrupted" else "crashed"
        self._store.set_run_status(self._run.id, ended, error)

    def _words(self, failure: Finding) -> tuple[str, str]:
        """What is said of a halt, and what to do."""
        place = f"step {failure.step}: " if failure.step is not None else ""
        return f"{place}{failure.kind}: {failure.message}", failure.hint


def _tell(outcome: BaseException) -> None:
    if isinstance(outcome, InvalidEntryPoint):
        say(outcome.message, outcome.hint)
    else:
        print(traceback_text(outcome), end="", file=sys.stderr)  # noqa: T201  as Python does


def say(*lines: str) -> None:
    """Write lines to where the launcher reads what the child says."""
    print(*filter(None, lines), sep="\n", file=sys.stderr)  # noqa: T201


def _exit_code(outcome: BaseException | None) -> int:
    if isinstance(outcome, (InvalidEntryPoint, StoreUnreadable)):
        return outcome.exit_code
    codes = {"succeeded": 0, "interrupted": Interrupted.exit_code}
    return codes.get(run_status(outcome), AgentFailed.exit_code)


if __name__ == "__main__":
    sys.exit(main())
