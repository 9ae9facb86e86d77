"""The process of a replay: its agent runs with every call answered, and what differed is written down.

Nothing that the agent does here is recorded, unless the run that comes is to be kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from agent_tt.addresses import located
from agent_tt.errors import AgentTTError, Interrupted, InvalidEntryPoint
from agent_tt.forking.entry.code import run_with_code
from agent_tt.launching.again import prepare_worker, refusal_of, unmatched_again
from agent_tt.model.facts import RunFacts
from agent_tt.protocols import check_proven
from agent_tt.recording.calls.site import is_agent_file
from agent_tt.recording.errors.exceptions import error_info, traceback_text
from agent_tt.recording.lanes.guard_bypass import is_passing
from agent_tt.reentering.amendments import amending, read_amendments
from agent_tt.replaying.block import open_tape, replaying
from agent_tt.replaying.guard.guard import guarded
from agent_tt.replaying.null_store import StateCheck
from agent_tt.replaying.program.program_end import end_program, leave, told_of_exit
from agent_tt.replaying.program.same_screen import same_screen
from agent_tt.replaying.program.standard_input import NO_INPUT, told_of_no_input
from agent_tt.replaying.progress import Counter
from agent_tt.replaying.report import agent_end, report_of
from agent_tt.replaying.tape.full_history import first_state
from agent_tt.replaying.tape.siblings import Siblings, siblings_of
from agent_tt.replaying.tape.tape import read_tape
from agent_tt.replaying.workers.starting import OWN_WORKERS
from agent_tt.rerunning.run_again import run_again, without_own_frames
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.launching.tools.outside_tools import Held
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.engine import Replay
    from agent_tt.replaying.kept_store import Keeping
    from agent_tt.replaying.tape.tape import Tape
    from agent_tt.rerunning.rerun import Rerun

__all__ = ["replay_and_leave"]


def replay_and_leave(rerun: Rerun) -> NoReturn:
    """Replay a run, then end the process, in which nothing may be reached any more.

    Its exit code is 0 when a report was written, 2 when the agent could not be started, 4 without a store, 130 when
    somebody stopped it in a debugger.
    """
    may_reach = bool(rerun.live_names or rerun.live_changed)
    # A call that is made, while the guard inside lets it.
    rules = replace(OWN_WORKERS, passes=lambda: may_reach and is_passing())
    with guarded(lambda attempt: SystemExit(f"{attempt} was stopped: the replay is over"), rules=rules):
        leave(_replay(rerun))


def _replay(rerun: Rerun) -> int:
    try:
        _write(rerun, _replayed(rerun))
    except Interrupted as error:
        _write(rerun, {"stopped": error.message})
        return error.exit_code
    except AgentTTError as error:
        _write(rerun, {"error": {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}})
        return error.exit_code
    return 0


def _debugging(replay: Replay, step: int | None) -> contextlib.AbstractContextManager[None]:
    """The debugger at a step, loaded only where one is asked for."""
    if step is None:
        return contextlib.nullcontext()
    from agent_tt.replaying.program.debugging import debugging

    return debugging(replay, step)


def _replayed(rerun: Rerun) -> dict[str, Wire]:
    """The report of the replay."""
    with contextlib.closing(open_source(rerun.store)) as source:
        run = source.run(rerun.run)
        if rerun.agent is not None:
            run = run_with_code(run, rerun.agent)
        replay = _engine(source, run, rerun)
        replay.is_in_place = rerun.in_place
        replay.on_served = Counter(Path(rerun.progress))
        check = StateCheck(source, replay, is_output_compared=rerun.debug_at is None)
        # Siblings are answered leniently, which whoever judges the run that comes does not want.
        others = {} if rerun.any_order else siblings_of(source, run)
        siblings = Siblings(replay, located(rerun.store), others)
        state = first_state(source, run)
        amendments = read_amendments(source, run)

    def report(outcome: BaseException | None, *, halted: bool) -> dict[str, Wire]:
        clean = outcome is None or (isinstance(outcome, SystemExit) and outcome.code in (None, 0))
        end = agent_end(run, None if clean else error_info(outcome), halted=halted)  # type: ignore[arg-type]
        shape = report_of(replay, end).to_json()
        if replay.live_part is not None:
            shape["live"] = replay.live_part.to_json()
        if rerun.keep:
            shape["files"] = list(imported_files(run.code.root))
        return shape

    def left_at_once(code: int) -> None:
        replay.finish()
        _write(rerun, report(SystemExit(code), halted=False))

    def tell(held: Held) -> None:
        if held.effect == "write":  # nothing else would keep it from being done again
            error = refusal_of(held)
            _write(rerun, {"error": {"message": error.message, "hint": error.hint}})
            leave(error.exit_code)
        replay.notes.add("kept elsewhere", held.message)

    outcome: BaseException | None = None
    which = 0 if RunFacts.command.is_in(run.metadata) else 1  # of others the replay puts a recording around all
    try:
        with (
            contextlib.closing(open_source(rerun.store)) as past,
            told_of_exit(left_at_once),
            amending(amendments, replay, partial(_note_edit, replay), which=which),
            same_screen(check.recorded_output if rerun.debug_at is None else None),
            told_of_no_input(lambda: replay.notes.add("no input", NO_INPUT)),
            _keeping(rerun) as keeping,
            replaying(replay, check, siblings, keeping, partial(prepare_worker, dict(run.metadata))),
            _debugging(replay, rerun.debug_at),
        ):
            try:
                run_again(past, replay.tape, state, rerun.arguments, tell)
            finally:
                # An agent that was halted may only not have come to it.
                elsewhere = replay.asked_elsewhere
                for path in unmatched_again(run.metadata, elsewhere) if not replay.is_halted else ():
                    replay.notes.add("call not matched", f"{path} was named to be recorded, and no call of it was made")
                if not replay.is_halted:
                    end_program()
    except Interrupted:  # by who sits at the debugger
        raise
    except BaseException as error:  # noqa: BLE001  whatever leaves the agent is part of the report
        outcome = error
    halted = outcome is not None and replay.is_halted
    if isinstance(outcome, InvalidEntryPoint) and not halted:
        raise outcome
    if outcome is not None and not halted:
        print(traceback_text(without_own_frames(outcome)), end="", file=sys.stderr)  # noqa: T201  as Python does
    return report(outcome, halted=halted)


def _engine(source: RunSource, run: Run, rerun: Rerun) -> Replay:
    """What answers the calls of the agent.

    Raises:
        UsageError: calls may be made for real, and the policy that is configured cannot be read.
    """
    if not (rerun.live_names or rerun.live_changed):
        return open_tape(source, run, observe=rerun.observe, any_order=rerun.any_order)
    from agent_tt.forking.policy.policies import configured_policy
    from agent_tt.replaying.live_replay import Lively, LiveReplay

    lively, policy = Lively(rerun.live_names, rerun.live_changed), configured_policy()
    os.environ.update(policy.to_environment())  # for programs that a call starts
    return LiveReplay(read_tape(source, run), lively, policy, _earlier(source, rerun.live_earlier))


def _earlier(source: RunSource, runs: tuple[str, ...]) -> Iterator[Tape]:
    """What runs that came before were answered; nothing of one that is gone or damaged."""
    for run_id in runs:
        with contextlib.suppress(AgentTTError):
            run = source.run(run_id)
            check_proven(source, run)
            yield read_tape(source, run)


def imported_files(root: str | None) -> Iterator[str]:
    """The files of a project that this process has imported, relative to it, without packages installed in it."""
    for path in {file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}:
        if root is not None and is_agent_file(path):
            with contextlib.suppress(ValueError):
                yield str(Path(path).resolve().relative_to(Path(root).resolve()))


@contextlib.contextmanager
def _keeping(rerun: Rerun) -> Iterator[Keeping | None]:
    """Where the run that comes is kept; None where it is not."""
    if not rerun.keep:
        yield None
        return
    from agent_tt.replaying.kept_store import Keeping
    from agent_tt.store import open_patiently

    with contextlib.closing(open_patiently(rerun.keep)) as store:
        yield Keeping(store, rerun.kept, rerun.kept_name, is_fork=rerun.kept_is_fork)


def _note_edit(replay: Replay, _step: int | None, text: str) -> None:
    replay.notes.add("edited", text)


def _write(rerun: Rerun, shape: dict[str, Wire]) -> None:
    unfinished = f"{rerun.report}.part"
    Path(unfinished).write_text(json.dumps(shape), encoding="utf-8")
    os.replace(unfinished, rerun.report)  # noqa: PTH105  atomic: whoever reads it finds all of it or nothing
