"""How a run ended that was run again, as an error for whoever waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import (
    AgentFailed,
    AgentTTError,
    CannotReenter,
    Interrupted,
    InvalidEntryPoint,
    InvalidExecutor,
    NotRebuildable,
    StoreUnreadable,
)
from agent_tt.model import STOPPED_BY_LIMIT, ErrorInfo
from agent_tt.replaying.guard.guard_events import WORKER_STARTS
from agent_tt.replaying.tape.repeats import entries_of

if TYPE_CHECKING:
    from agent_tt.model import Run

__all__ = ["DIVERGED", "NO_ENTRY", "check_ended"]

DIVERGED: Final = 1
"""Exit code of the process whose agent was halted because it does not ask again what was recorded."""

NO_ENTRY: Final = "agent_tt.errors:InvalidEntryPoint"
_CANNOT_REENTER: Final = "agent_tt.errors:CannotReenter"
_NOT_STARTED: Final = frozenset(
    f"agent_tt.errors:{kind.__name__}" for kind in (InvalidEntryPoint, InvalidExecutor, NotRebuildable)
)
_LONGEST_WHY: Final = 400
_UNRECORDED: Final = "unrecorded effect: "
_CHANGED_HINT: Final = "put the code back as it was and resume it again, or fork it"
_UNRECORDED_HINT: Final = (
    "nobody knows how much of that was done before the break, since it was not recorded:"
    " where it may be done again, resume with --redo-unrecorded (redo_unrecorded=True)"
)
_WORKERS_HINT: Final = (
    "its worker processes would not be given what they were answered before the break:"
    " run it anew, or fork it from a state"
)


def check_ended(run: Run, code: int | None, *, was_stopped: bool) -> None:
    """Raise what a run failed with that was run again; nothing where it succeeded.

    Args:
        run: the run.
        code: the exit code of its process; None where that is not known.
        was_stopped: whether we stopped it.

    Raises:
        AgentTTError: see `RunHandle.result`.
    """
    if entries_of(run):
        _check_resumed(run, code)
    if run.status == "succeeded":
        return
    hint = f"agent-tt open {run.id} shows what it did"
    why = run.error.short if run.error is not None else f"its run reads {run.status}"
    if run.status == "interrupted":
        if run.error is not None and run.error.class_name in STOPPED_BY_LIMIT:
            raise Interrupted(f"{run.name} was stopped: {run.error.message}", hint=hint)
        if was_stopped:
            raise Interrupted(f"{run.name} was stopped", hint=hint)
        if code == StoreUnreadable.exit_code:
            raise StoreUnreadable(f"{run.name} could not be recorded to its end: {why}", hint=hint)
        raise Interrupted(f"{run.name} was interrupted: {why}", hint=hint)
    if run.error is not None and run.error.class_name == _CANNOT_REENTER:
        raise CannotReenter(run.error.message)
    if run.error is not None and run.error.class_name in _NOT_STARTED:
        raise InvalidEntryPoint(f"{run.name} did not run: {run.error.message}", hint=hint)
    trace = run.error.traceback if run.error is not None else ""
    why = why if len(why) <= _LONGEST_WHY else f"{why[:_LONGEST_WHY]}…"
    raise AgentFailed(f"{run.name} failed: {why}", traceback=trace, hint=hint)


def _check_resumed(run: Run, code: int | None) -> None:
    """Raise what kept a run from being resumed: it is as it was."""
    error = run.error or ErrorInfo("", "it was halted")
    if code == DIVERGED:
        raise AgentTTError(f"{run.name} could not be resumed: {error.message}", hint=_hint_of(error.message))
    if code == InvalidEntryPoint.exit_code and error.class_name == NO_ENTRY:
        raise InvalidEntryPoint(error.message, hint=f"{run.name} is as it was: put its code back and resume it again")


def _hint_of(why: str) -> str:
    if not why.startswith(_UNRECORDED):
        return _CHANGED_HINT
    return _WORKERS_HINT if why.removeprefix(_UNRECORDED).startswith(WORKER_STARTS) else _UNRECORDED_HINT
