"""The process of a fork: `python -m agent_tt._child`, told by its environment which run to fill.

It imports the agent that the fork names, gives it the edited state and lets it run; the agent's first `record(...)`
fills the fork's run. Whatever goes wrong before that is written into the run here.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import agent_tt.seams.install  # noqa: F401  requests are calls from the first on, whatever imports their library
from agent_tt.codec.decode import decode
from agent_tt.errors import (
    AgentFailed,
    AgentTTError,
    Interrupted,
    InvalidEntryPoint,
    NotRebuildable,
    StoreUnreadable,
    UsageError,
)
from agent_tt.forking.child_environment import RUN_VARIABLE, STORE_VARIABLE
from agent_tt.forking.entry_point import parse_entry_point
from agent_tt.forking.entry_run import bind_entry, import_entry, run_entry
from agent_tt.forking.executors import find_executor
from agent_tt.forking.guarding import guarding
from agent_tt.forking.rebuild import rebuild_state
from agent_tt.forking.terms import terms_of
from agent_tt.forking.under_terms import leave_soon, under_terms
from agent_tt.launching.again import finish_again, prepare_again, refusal_of
from agent_tt.model import ErrorInfo, NewRun
from agent_tt.recording import adoption
from agent_tt.recording.exceptions import error_info, traceback_text
from agent_tt.recording.outcome import run_status
from agent_tt.recording.policy import ToolPolicy
from agent_tt.recording.recorder import Recording
from agent_tt.recording.scope import store_at_work
from agent_tt.reentering.amendments import amended
from agent_tt.replaying.guard import stay_guarded
from agent_tt.replaying.program_end import end_program, leave
from agent_tt.store import open_patiently

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.forking.entry_point import EntryPoint
    from agent_tt.launching.outside_tools import Held
    from agent_tt.model import Run
    from agent_tt.protocols import Store

_REFUSALS = (InvalidEntryPoint, NotRebuildable)
"""What keeps an agent from being started."""


def main() -> int:
    """Run the fork that the environment names.

    Returns:
        0, or 5 when the agent failed, 2 when it could not be started, 130 when it was interrupted (by itself, too), 4
        without a store that can be written.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    store_path = os.environ.get(STORE_VARIABLE)
    run_id = os.environ.pop(RUN_VARIABLE, None)  # processes that the agent starts are not this fork
    try:
        if store_path is None or run_id is None:
            raise UsageError("this is the process of a fork", hint="start one with `agent-tt fork`")
        with closing(open_patiently(Path(store_path))) as store, ExitStack() as guard:
            code, tell_unseen = _fill(store, store.run(run_id), guard)
            leave_soon(code)
            with suppress(KeyboardInterrupt):
                end_program()  # what the agent does there is guarded too
            tell_unseen()
            stay_guarded(guard)
            return code
    except AgentTTError as error:
        _say(error)
        return error.exit_code


def _fill(store: Store, run: Run, guard: ExitStack) -> tuple[int, Callable[[], None]]:
    """Run the agent of a fork.

    Args:
        store: the store that holds the fork.
        run: the fork.
        guard: takes the guard that is put around the agent; whoever closes it lifts the guard.

    Returns:
        The exit code, and what writes down which libraries the guard did not see.
    """
    tell_unseen: Callable[[], None] = _nothing_unseen
    policy = ToolPolicy.from_mapping(run.policy)
    os.environ.update(policy.to_environment())
    adoption.offer(adoption.Adoption(store, run.id, policy, run.code))
    outcome: BaseException | None = None
    try:
        tell_unseen = guard.enter_context(guarding(run.code.root, partial(_write, store, run, None)))
        with under_terms(store, run), amended(store, run, None, lambda step, text: _note(store, run, step, text)):
            _run_agent(store, run)
    except BaseException as error:  # noqa: BLE001  whatever leaves the agent decides how its run ended
        outcome = _without_own_frames(error)
    nobody_recorded = adoption.take() is not None  # so nobody else says how the run ended
    if nobody_recorded and (outcome is None or run_status(outcome) == "succeeded"):
        outcome = _silent(run)
    if isinstance(outcome, _REFUSALS):
        _say(outcome)
    elif outcome is not None and not isinstance(outcome, SystemExit):
        print(traceback_text(outcome), end="", file=sys.stderr)  # noqa: T201  as Python does
    if nobody_recorded and outcome is not None:
        error_row = error_info(outcome)
        if isinstance(outcome, _REFUSALS):
            error_row = replace(error_row, traceback="")  # it would be ours, not the agent's
        store.set_run_status(run.id, run_status(outcome), error_row)
    return _exit_code(outcome), tell_unseen


def _nothing_unseen() -> None:
    """Stand for a guard that could not be installed."""


def _run_agent(store: Store, run: Run) -> None:
    if run.code.root is not None and run.code.root not in sys.path:
        sys.path.insert(0, run.code.root)
    terms = terms_of(run)
    overrides = {key: decode(value) for key, value in terms.overrides.items()}
    if terms.is_custom:
        _run_by_executor(store, run, terms.executor, overrides)
        return
    entry = parse_entry_point(run.code.entry or "")
    prepare_again(run.metadata, run.code.root, partial(_refuse_held, store, run))
    module = _imported(run, entry)
    finish_again(run.metadata, module)
    start = bind_entry(entry, module, overrides)
    state = rebuild_state(store.state(run.id, run.fork_step or 0), module)
    run_entry(start, state)


def _refuse_held(store: Store, run: Run, held: Held) -> None:
    """End before a function runs that writes, and whose calls cannot be held, unless the fork allows it."""
    name = held.path.rpartition(".")[2]
    if held.effect == "write" and ToolPolicy.from_mapping(run.policy).decide("tool", name, "write").word != "live":
        error = refusal_of(held)
        store.set_run_status(run.id, "failed", ErrorInfo("agent_tt.errors:UsageError", error.message))
        _say(error)
        leave(error.exit_code)


def _imported(run: Run, entry: EntryPoint) -> ModuleType:
    sys.argv = [entry.location]
    with adoption.while_importing(entry.location):
        return import_entry(entry, run.code.root)


def _run_by_executor(store: Store, run: Run, name: str, overrides: dict[str, object]) -> None:
    """Let a registered executor run the agent. One that records nothing is one step of its run."""
    module: ModuleType = sys.modules["__main__"]
    if run.code.entry is not None:
        module = _imported(run, parse_entry_point(run.code.entry))
    executor = find_executor(name)
    given = rebuild_state(store.state(run.id, 0), module)
    state = rebuild_state(store.state(run.id, run.fork_step or 0), module)
    result = run_entry(lambda state: executor(given, state, _config(store, run), overrides), state)
    if adoption.is_offered():
        own = NewRun(run.name, run.code, run.model)
        with (
            Recording(own, state, store=None, durability="full") as recording,
            recording.step(name, state if result is None else result),
        ):
            pass


def _config(store: Store, run: Run) -> dict[str, object]:
    """What an executor is told of the run: `run`, `parent`, `fork_step`, `agent`, `model` and its settings."""
    settings = (
        {} if run.model is None else {key: value for key, value in asdict(run.model).items() if value is not None}
    )
    parent = None if run.parent is None else store.run(run.parent).name
    return {"run": run.name, "parent": parent, "fork_step": run.fork_step, "agent": run.code.entry, **settings}


def _note(store: Store, run: Run, step: int | None, text: str) -> None:
    _write(store, run, step, "note", text)


def _write(store: Store, run: Run, step: int | None, kind: str, text: str) -> None:
    with store_at_work():
        store.add_note(run.id, step, kind, text)


def _say(error: AgentTTError) -> None:
    print(error, error.hint, sep="\n", file=sys.stderr)  # noqa: T201  where the launcher reads what the child says


def _silent(run: Run) -> InvalidEntryPoint:
    return InvalidEntryPoint(
        f"{run.code.entry} ended without calling agent_tt.record, so there is nothing to show",
        hint="record its run with `with agent_tt.record(...)`",
    )


def _exit_code(outcome: BaseException | None) -> int:
    if isinstance(outcome, _REFUSALS):
        return outcome.exit_code
    if isinstance(outcome, StoreUnreadable):
        return outcome.exit_code
    codes = {"succeeded": 0, "interrupted": Interrupted.exit_code}
    return codes.get(run_status(outcome), AgentFailed.exit_code)


def _without_own_frames(error: BaseException) -> BaseException:
    """The exception with a traceback that begins in the agent's code, as it would without us."""
    own = (str(Path(__file__)), str(Path(__file__).parent / "forking"), "<frozen importlib")
    rest = error.__traceback__
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(own):
        rest = rest.tb_next
    return error.with_traceback(rest)


if __name__ == "__main__":
    sys.exit(main())
