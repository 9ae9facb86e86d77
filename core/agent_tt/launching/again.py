"""Running a program again that was recorded from outside: what was put around it then is put around it now."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import AgentTTError, InvalidEntryPoint, NotFound, UsageError
from agent_tt.launching.interpreter import PythonCommand, python_command
from agent_tt.launching.start_again import command_of
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.launching.tools.outside_tools import Held

    Tell = Callable[[Held], None]

__all__ = ["finish_again", "prepare_again", "prepare_worker", "refusal_of", "unmatched_again"]

_HINT: Final = "the code has changed: put the function back, or record the program again"
_MAIN: Final = "__main__."


def prepare_again(metadata: Mapping[str, Wire], root: str | None = None, tell: Tell | None = None) -> None:
    """Before a recorded program starts again: catch its HTTP libraries and record what was named from outside.

    Args:
        metadata: of the run.
        root: the project root, where a function is started, and not the whole program.
        tell: what is done about a function that something holds where it cannot be replaced; nothing, unless given.

    Raises:
        InvalidEntryPoint: the code has changed: a path leads nowhere any more.
    """
    import_module("agent_tt.seams.install")
    calls, command = _calls(metadata), command_of(metadata)
    if not calls:
        return
    from agent_tt.launching.tools.outside_tools import OUTSIDE

    OUTSIDE.tell = tell or _say_nothing
    try:
        if command is not None:
            OUTSIDE.register_for_start(calls, command, is_strict=True)
            return
        named = {path: effect for path, effect in calls.items() if not path.startswith(_MAIN)}
        folder = PythonCommand(frozenset(), "module", "", ()) if root is None else _in_folder(root)
        OUTSIDE.register_for_start(named, folder, is_strict=True)
    except (NotFound, UsageError) as error:
        raise InvalidEntryPoint(error.message, hint=_HINT) from error


def prepare_worker(metadata: Mapping[str, Wire]) -> None:
    """In a worker process that is a new interpreter: record what was named from outside, as far as it is there."""
    calls = _calls(metadata)
    if calls:
        from agent_tt.launching.tools.outside_tools import OUTSIDE

        OUTSIDE.tell = _say_nothing
        OUTSIDE.register_for_start(calls, python_command(sys.orig_argv[1:]), is_strict=False)


def finish_again(metadata: Mapping[str, Wire], module: ModuleType) -> None:
    """Record what was named of a script, once its module is imported to call a function of it.

    Raises:
        InvalidEntryPoint: the code has changed: a path leads nowhere any more.
    """
    calls = _calls(metadata)
    if not calls or command_of(metadata) is not None:
        return
    from agent_tt.launching.tools.outside_tools import OUTSIDE

    for path, effect in calls.items():
        if path.startswith(_MAIN):
            try:
                OUTSIDE.register_in(module, path, effect)
            except (NotFound, UsageError) as error:
                raise InvalidEntryPoint(error.message, hint=_HINT) from error


def unmatched_again(metadata: Mapping[str, Wire], elsewhere: Collection[str]) -> list[str]:
    """The paths of which the program, run again, made no call so far.

    Args:
        metadata: of its run.
        elsewhere: the names of calls that other processes may have made.
    """
    if not _calls(metadata):
        return []
    from agent_tt.launching.tools.outside_tools import OUTSIDE

    names = OUTSIDE.names()
    return [path for path in OUTSIDE.unmatched() if names[path] not in elsewhere]


def refusal_of(held: Held) -> AgentTTError:
    """Why a program does not run again that may call, past every recording, what writes."""
    return UsageError(
        f"{held.path} writes, and is also held by {', '.join(held.where)}, where its calls cannot be held",
        hint="call it through a function marked with @agent_tt.tool, and record the agent again",
    )


def _calls(metadata: Mapping[str, Wire]) -> dict[str, OutsideEffect]:
    return cast("dict[str, OutsideEffect]", RunFacts.calls.of(metadata))


def _in_folder(root: str) -> PythonCommand:
    return PythonCommand(frozenset(), "script", str(Path(root) / "-"), ())


def _say_nothing(held: Held) -> None:
    """It was told when the program was recorded."""
