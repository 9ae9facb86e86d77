"""The process of a run that is filled: its agent runs, guarded where it is a fork, and the run says how that ended."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import agent_tt.seams.install  # noqa: F401  requests are calls from the first on, whatever imports their library
from agent_tt.errors import (
    AgentFailed,
    AgentTTError,
    Interrupted,
    InvalidEntryPoint,
    NotRebuildable,
    StoreUnreadable,
)
from agent_tt.forking.outside.guarding import guarding
from agent_tt.forking.terms import terms_of
from agent_tt.forking.under_terms import leave_soon, links_of_run
from agent_tt.intercepting.run_handoff import take_run
from agent_tt.recording.errors.exceptions import error_info, traceback_text
from agent_tt.recording.errors.outcome import run_status
from agent_tt.recording.runs.kept_patterns import give_originals
from agent_tt.recording.session import SESSION
from agent_tt.replaying.guard.guard import stay_guarded
from agent_tt.replaying.program.program_end import end_program
from agent_tt.rerunning.ending import DIVERGED
from agent_tt.rerunning.filled import Beginning, Filled, say
from agent_tt.rerunning.run_again import without_own_frames
from agent_tt.store import open_patiently

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import Run
    from agent_tt.rerunning.rerun import Rerun

__all__ = ["fill"]

_REFUSALS: Final = (InvalidEntryPoint, NotRebuildable)
"""What keeps an agent from being started."""


def fill(rerun: Rerun) -> int:
    """Run the agent of a run that is filled.

    Returns:
        0, or 1 when the agent was halted because it does not ask again what was recorded, 5 when it failed, 2 when it
        could not be started, 130 when it was interrupted (by itself, too), 4 without a store that can be written.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    try:
        with closing(open_patiently(rerun.store)) as store, ExitStack() as guard:
            code = _fill(Filled(store, store.run(rerun.run)), rerun, guard)
    except AgentTTError as error:
        say(error.message, error.hint)
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
            if terms_of(run).originals:
                parent = run if run.parent is None else filled.store.run(run.parent)
                give_originals(filled.store.path, parent.metadata)
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
        say(*why)
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
        say(outcome.message, outcome.hint)
    elif outcome is not None and not isinstance(outcome, SystemExit):
        print(traceback_text(outcome), end="", file=sys.stderr)  # noqa: T201  as Python does


def _exit_code(outcome: BaseException | None) -> int:
    if isinstance(outcome, (*_REFUSALS, StoreUnreadable)):
        return outcome.exit_code
    codes = {"succeeded": 0, "interrupted": Interrupted.exit_code}
    return codes.get(run_status(outcome), AgentFailed.exit_code)
