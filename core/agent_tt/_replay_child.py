"""The process of a replay: `python -m agent_tt._replay_child`, told by its environment which run to replay.

It imports the agent that made the run, starts it as it was started then, and writes down what differed. Nothing that
the agent does here is recorded.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError, Interrupted, InvalidEntryPoint, UsageError
from agent_tt.forking.checks import envelopes
from agent_tt.forking.code import run_with_code
from agent_tt.forking.entry_point import parse_entry_point
from agent_tt.forking.entry_run import bind_entry, import_entry, run_entry
from agent_tt.forking.rebuild import rebuild_state, stand_in_for_main
from agent_tt.launching.again import finish_again, prepare_again, refusal_of, unmatched_again
from agent_tt.launching.start_again import command_of, start_program
from agent_tt.model.facts import RunFacts
from agent_tt.recording import adoption
from agent_tt.recording.exceptions import error_info, traceback_text
from agent_tt.reentering.amendments import amending, read_amendments
from agent_tt.replaying.block import open_tape, replaying
from agent_tt.replaying.course import first_state
from agent_tt.replaying.guard import guarded
from agent_tt.replaying.job import Job
from agent_tt.replaying.numbering import StateCheck
from agent_tt.replaying.program_end import end_program, leave, told_of_exit
from agent_tt.replaying.progress import Counter
from agent_tt.replaying.report import agent_end, report_of
from agent_tt.replaying.same_screen import same_screen
from agent_tt.replaying.siblings import Siblings, siblings_of
from agent_tt.replaying.standard_input import NO_INPUT, told_of_no_input
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.entry_point import EntryPoint
    from agent_tt.forking.entry_run import Entry
    from agent_tt.launching.outside_tools import Held
    from agent_tt.replaying.engine import Replay
    from agent_tt.replaying.tape import Tape


def main() -> int:
    """Replay the run that the environment names.

    Returns:
        0 when a report was written, 2 when the agent could not be started, 4 without a store, 130 when somebody stopped
        it in a debugger.
    """
    job = Job.take()
    if job is None:
        print("this is the process of a replay: start one with `agent-tt replay`", file=sys.stderr)  # noqa: T201
        return UsageError.exit_code
    try:
        _write(job, _replayed(job))
    except Interrupted as error:
        _write(job, {"stopped": error.message})
        return error.exit_code
    except AgentTTError as error:
        _write(job, {"error": {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}})
        return error.exit_code
    return 0


def _debugging(replay: Replay, step: int | None) -> contextlib.AbstractContextManager[None]:
    """The debugger at a step, loaded only where one is asked for."""
    if step is None:
        return contextlib.nullcontext()
    from agent_tt.replaying.debugging import debugging

    return debugging(replay, step)


def _replayed(job: Job) -> dict[str, Wire]:
    """The report of the replay."""
    with contextlib.closing(open_source(Path(job.store))) as source:
        run = source.run(job.run)
        if job.agent is not None:
            run = run_with_code(run, job.agent)
        replay = open_tape(source, run, observe=job.observe)
        replay.on_served = Counter(Path(job.progress))
        check = StateCheck(source, replay, is_output_compared=job.debug_at is None)
        siblings = Siblings(replay, Path(job.store), siblings_of(source, run))
        state = first_state(source, run)
        amendments = read_amendments(source, run)

    def report(outcome: BaseException | None, *, halted: bool) -> dict[str, Wire]:
        clean = outcome is None or (isinstance(outcome, SystemExit) and outcome.code in (None, 0))
        end = agent_end(run, None if clean else error_info(outcome), halted=halted)  # type: ignore[arg-type]
        return report_of(replay, end).to_json()

    def left_at_once(code: int) -> None:
        replay.finish()
        _write(job, report(SystemExit(code), halted=False))

    def tell(held: Held) -> None:
        if held.effect == "write":  # nothing else would keep it from being done again
            error = refusal_of(held)
            _write(job, {"error": {"message": error.message, "hint": error.hint}})
            leave(error.exit_code)
        replay.notes.add("kept elsewhere", held.message)

    outcome: BaseException | None = None
    which = 0 if RunFacts.command.is_in(run.metadata) else 1  # of others the replay puts a recording around all
    try:
        with (
            told_of_exit(left_at_once),
            amending(amendments, replay, partial(_note_edit, replay), which=which),
            same_screen(check.recorded_output if job.debug_at is None else None),
            told_of_no_input(lambda: replay.notes.add("no input", NO_INPUT)),
            replaying(replay, check, siblings),
            _debugging(replay, job.debug_at),
        ):
            try:
                run_again(replay.tape, state, job.arguments, tell)
            finally:
                # An agent that was halted may only not have come to it.
                for path in unmatched_again(run.metadata) if not replay.is_halted else ():
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


def _note_edit(replay: Replay, _step: int | None, text: str) -> None:
    replay.notes.add("edited", text)


def run_again(
    tape: Tape, state: Wire, arguments: tuple[str, ...] = (), tell: Callable[[Held], None] | None = None
) -> None:
    """Start the agent as it was started when it was recorded: from its state, else as the program that it was.

    Args:
        tape: the recording.
        state: the state that it began with.
        arguments: what a program is given in place of what it was given then.
        tell: what is done about a function, named to be recorded, that something holds where it cannot be replaced.
    """
    run = tape.run
    root, text, script = run.code.root, run.code.entry, run.facts.script
    if root is not None and root not in sys.path:
        sys.path.insert(0, root)
    prepare_again(run.metadata, root, tell)
    command = command_of(run.metadata)
    if run.code.restore is None and command is not None:
        start_program(command, Path(script) if isinstance(script, str) else None, arguments or command.arguments)
        return
    if text is None:
        raise InvalidEntryPoint(
            f"{run.name} did not record which function or script ran it, so it cannot be run again",
            hint="record it with `agent-tt record -- python …`, or call agent_tt.record inside a function",
        )
    entry = parse_entry_point(text)
    sys.argv = [entry.location, *arguments]
    with adoption.while_importing(entry.location):
        module = import_entry(entry, root)
    if _was_script(tape):
        stand_in_for_main(module)
    finish_again(run.metadata, module)
    if run.code.restore is None:
        run_entry(_without_state(entry, module), None)
    else:
        run_entry(bind_entry(entry, module), rebuild_state(state, module))


def _was_script(tape: Tape) -> bool:
    """Whether the agent's module was `__main__` when it was recorded: some class of it was recorded so."""
    values = [
        value
        for entry in tape.calls
        for value in (
            entry.call.args,
            entry.call.result,
            None if entry.call.error is None else entry.call.error.value,
            *(piece.data for piece in entry.pieces),
        )
    ]
    return any(str(envelope.get("class")).startswith("__main__:") for _, envelope in envelopes(values))


def _without_state(entry: EntryPoint, module: ModuleType) -> Entry:
    """The callable of an entry point that takes no state; a method is called on a new object."""
    owner: object = module
    target: object = module
    for part in entry.qualname.split("."):
        owner, target = target, getattr(target, part, None)
    if not callable(target):
        raise InvalidEntryPoint(f"{module.__name__} has no {entry.qualname}", hint=f"it lies in {module.__file__}")
    name = entry.qualname.rpartition(".")[2]
    is_method = isinstance(owner, type) and inspect.isfunction(inspect.getattr_static(owner, name))
    try:
        inspect.signature(target).bind(*([None] if is_method else []))
    except TypeError as error:
        raise InvalidEntryPoint(
            f"{entry} was given arguments that are not recorded ({error})",
            hint="give it a parameter `state=None` to start from, or record the script that calls it",
        ) from error
    if is_method and isinstance(owner, type):
        return lambda _: getattr(owner(), name)()
    return lambda _: target()


def without_own_frames(error: BaseException) -> BaseException:
    """The exception with a traceback that begins in the agent's code, as it would without us."""
    here = Path(__file__).parent
    places = (here / "_resume_child.py", here / "forking", here / "launching")
    own = (__file__, *map(str, places), "<frozen", contextlib.__file__)
    rest = error.__traceback__
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(own):
        rest = rest.tb_next
    return error.with_traceback(rest)


def _write(job: Job, shape: dict[str, Wire]) -> None:
    unfinished = f"{job.report}.part"
    Path(unfinished).write_text(json.dumps(shape), encoding="utf-8")
    os.replace(unfinished, job.report)  # noqa: PTH105  atomic: whoever reads it finds all of it or nothing


if __name__ == "__main__":
    with guarded(lambda attempt: SystemExit(f"{attempt} was stopped: the replay is over")):
        leave(main())
