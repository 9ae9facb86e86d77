"""The process of a run that is filled: its agent runs, guarded where it is a fork, and the run says how that ended."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import agent_tt.seams.install  # noqa: F401  requests are calls from the first on, whatever imports their library
from agent_tt.errors import (
    AgentFailed,
    AgentTTError,
    Interrupted,
    InvalidEntryPoint,
    NotRebuildable,
    StoreUnreadable,
)
from agent_tt.forking.guarding import guarding
from agent_tt.forking.under_terms import leave_soon, links_of_run
from agent_tt.intercepting.policy import EVERYTHING_LIVE, ToolPolicy
from agent_tt.intercepting.run_handoff import take_run
from agent_tt.launching.again import refusal_of
from agent_tt.model import ErrorInfo
from agent_tt.recording.errors.exceptions import error_info, traceback_text
from agent_tt.recording.errors.outcome import run_status
from agent_tt.recording.scope import store_at_work
from agent_tt.recording.session import SESSION
from agent_tt.replaying.guard import stay_guarded
from agent_tt.replaying.program_end import end_program, leave
from agent_tt.rerunning.ending import DIVERGED
from agent_tt.rerunning.run_again import without_own_frames
from agent_tt.store import open_patiently

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.launching.outside_tools import Held
    from agent_tt.model import Run, RunStatus
    from agent_tt.protocols import Store
    from agent_tt.rerunning.rerun import Rerun

__all__ = ["Beginning", "Filled", "fill"]

_REFUSALS: Final = (InvalidEntryPoint, NotRebuildable)
"""What keeps an agent from being started."""


class Beginning(Protocol):
    """Gets the agent of a run to where it goes on for real."""

    @property
    def writes_to(self) -> Store:
        """The store that the recording of the agent fills the run of."""
        ...

    @property
    def is_halted(self) -> bool:
        """Whether the agent was halted, because it does not ask again what was recorded."""
        ...

    def run_agent(self) -> None:
        """Run the agent, with the edits and limits of the run."""
        ...

    def broke_off(self, status: RunStatus, error: ErrorInfo | None) -> None:
        """Write down the end of a run that no recording of the agent ends."""
        ...

    def why_halted(self) -> tuple[str, ...]:
        """What is said of an agent that does not ask again what was recorded; nothing of any other."""
        ...

    def ended(self) -> None:
        """Write down what is known only at the end."""
        ...


class Filled:
    """The run that this process fills, and what is written into it beside its recording.

    Attributes:
        store: the store that holds it.
        run: the run as it was when its process began.
        is_fork: whether it is a fork, which has a policy and is guarded.
        policy: what it does with its calls.
    """

    def __init__(self, store: Store, run: Run) -> None:
        """Initialise it with its store."""
        self.store = store
        self.run = run
        self.is_fork = run.parent is not None
        self.policy = ToolPolicy.from_mapping(run.policy) if self.is_fork else EVERYTHING_LIVE

    def note(self, step: int | None, text: str) -> None:
        """Write a note on a step, or on the run."""
        self.write(step, "note", text)

    def write(self, step: int | None, kind: str, text: str) -> None:
        """Write a note of a kind."""
        with store_at_work():
            self.store.add_note(self.run.id, step, kind, text)

    def refuse_held(self, broke_off: Callable[[RunStatus, ErrorInfo], None], held: Held) -> None:
        """End before a function runs that writes, and whose calls cannot be held; a fork may have allowed it."""
        name = held.path.rpartition(".")[2]
        is_allowed = self.is_fork and self.policy.decide("tool", name, "write").word == "live"
        if held.effect == "write" and not is_allowed:
            error = refusal_of(held)
            broke_off("failed", ErrorInfo("agent_tt.errors:UsageError", error.message))
            _say(error.message, error.hint)
            leave(error.exit_code)


def fill(rerun: Rerun) -> int:
    """Run the agent of a run that is filled.

    Returns:
        0, or 1 when the agent was halted because it does not ask again what was recorded, 5 when it failed, 2 when it
        could not be started, 130 when it was interrupted (by itself, too), 4 without a store that can be written.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    try:
        with closing(open_patiently(Path(rerun.store))) as store, ExitStack() as guard:
            code = _fill(Filled(store, store.run(rerun.run)), rerun, guard)
    except AgentTTError as error:
        _say(error.message, error.hint)
        code = error.exit_code
    return leave_soon(code) if rerun.follows == "edited" else code


def _beginning(filled: Filled, rerun: Rerun) -> Beginning:
    if rerun.begins == "state":
        from agent_tt.rerunning.from_state import FromState

        return FromState(filled)
    from agent_tt.rerunning.from_recording import FromRecording

    return FromRecording(filled, is_resumed=rerun.follows == "live")


def _fill(filled: Filled, rerun: Rerun, guard: ExitStack) -> int:
    """Run the agent; give the exit code.

    Args:
        filled: the run.
        rerun: how it begins.
        guard: takes the guard that is put around the agent of a fork; whoever closes it lifts the guard.
    """
    run, beginning = filled.run, _beginning(filled, rerun)
    if filled.is_fork:
        os.environ.update(filled.policy.to_environment())
    SESSION.start(*links_of_run(beginning.writes_to, filled.store, run, filled.policy))
    tell_unseen: Callable[[], None] | None = None
    outcome: BaseException | None = None
    try:
        if filled.is_fork:
            tell_unseen = guard.enter_context(guarding(run.code.root, partial(filled.write, None)))
        beginning.run_agent()
    except BaseException as error:  # noqa: BLE001  whatever leaves the agent decides how its run ended
        outcome = without_own_frames(error)
    if take_run():  # nobody recorded, so nobody else says how the run ended
        if outcome is None or run_status(outcome) == "succeeded":
            outcome = _silent(run)
        error_row = error_info(outcome)
        if isinstance(outcome, _REFUSALS):
            error_row = replace(error_row, traceback="")  # it would be ours, not the agent's
        beginning.broke_off(run_status(outcome), error_row)
    if not beginning.is_halted:
        _tell(outcome)
    code, why = _exit_code(outcome), beginning.why_halted()
    if why and run_status(outcome) != "interrupted":
        _say(*why)
        code = DIVERGED
    if filled.is_fork and (beginning.is_halted or rerun.begins == "state"):
        leave_soon(code)
        with suppress(KeyboardInterrupt):
            end_program()  # what the agent does there is guarded too
    beginning.ended()
    if tell_unseen is not None:
        tell_unseen()
        stay_guarded(guard)
    return code


def _silent(run: Run) -> InvalidEntryPoint:
    return InvalidEntryPoint(
        f"{run.code.entry or run.name} ended without calling agent_tt.record, so there is nothing to show",
        hint="record its run with `with agent_tt.record(...)`",
    )


def _tell(outcome: BaseException | None) -> None:
    if isinstance(outcome, _REFUSALS):
        _say(outcome.message, outcome.hint)
    elif outcome is not None and not isinstance(outcome, SystemExit):
        print(traceback_text(outcome), end="", file=sys.stderr)  # noqa: T201  as Python does


def _say(*lines: str) -> None:
    """Write lines to where the launcher reads what the child says."""
    print(*filter(None, lines), sep="\n", file=sys.stderr)  # noqa: T201


def _exit_code(outcome: BaseException | None) -> int:
    if isinstance(outcome, (*_REFUSALS, StoreUnreadable)):
        return outcome.exit_code
    codes = {"succeeded": 0, "interrupted": Interrupted.exit_code}
    return codes.get(run_status(outcome), AgentFailed.exit_code)
