"""Starting an agent as it was started when it was recorded: as the program that it was, or from its entry point."""

from __future__ import annotations

import contextlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint, NotRebuildable
from agent_tt.forking.checks import check_values, envelopes
from agent_tt.forking.entry.entry_point import parse_entry_point
from agent_tt.forking.entry.entry_run import run_entry
from agent_tt.forking.entry.rebuild import stand_in_for_main
from agent_tt.launching.again import finish_again, prepare_again
from agent_tt.launching.start_again import command_of, start_program
from agent_tt.rerunning.handed_state import hand_state, import_agent, is_handed_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.entry.entry_point import EntryPoint
    from agent_tt.forking.entry.entry_run import Entry
    from agent_tt.launching.tools.outside_tools import Held
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.tape.tape import Tape

__all__ = ["run_again", "without_own_frames"]


def run_again(
    source: RunSource,
    tape: Tape,
    state: Wire,
    arguments: tuple[str, ...] = (),
    tell: Callable[[Held], None] | None = None,
) -> None:
    """Start the agent as it was started when it was recorded: from its state, else as the program that it was.

    Args:
        source: where the run is; asked for more than the recording only of a run whose agent is handed its state.
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
    command, is_handed = command_of(run.metadata), is_handed_state(run) and not _makes_its_own(run, state)
    if command is not None and not is_handed:
        start_program(command, Path(script) if isinstance(script, str) else None, arguments or command.arguments)
        return
    if text is None and not is_handed:
        raise InvalidEntryPoint(
            f"{run.name} did not record which function or script ran it, so it cannot be run again",
            hint="record it with `agent-tt record -- python …`, or call agent_tt.record inside a function",
        )
    module = import_agent(run, arguments)
    if _was_script(tape):
        stand_in_for_main(module)
    finish_again(run.metadata, module)
    if is_handed:
        hand_state(source, run, module, state)
    else:
        run_entry(_without_state(parse_entry_point(text or ""), module), None)


def _makes_its_own(run: Run, state: Wire) -> bool:
    """Whether the agent makes its first state again, as it did then: the recorded one cannot be rebuilt.

    No fork was ever handed such a state, so none has to begin again from an edited one that only we have.
    """
    if run.code.restore is None:
        return False
    try:
        check_values(state)
    except NotRebuildable:
        return True
    return False


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
    places = (here, here.parent / "_child.py", here.parent / "forking", here.parent / "launching")
    own = (*map(str, places), "<frozen", contextlib.__file__)
    rest = error.__traceback__
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(own):
        rest = rest.tb_next
    return error.with_traceback(rest)
