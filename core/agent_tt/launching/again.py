"""Running a program again that was recorded from outside: what was put around it then is put around it now."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import InvalidEntryPoint, NotFound, UsageError
from agent_tt.launching.start_again import command_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.launching.settings import OutsideEffect

__all__ = ["prepare_again"]

_CALLS: Final = "calls"


def prepare_again(metadata: Mapping[str, Wire]) -> None:
    """Before a recorded program starts again: catch its HTTP libraries and record what was named from outside.

    Args:
        metadata: of the run.

    Raises:
        InvalidEntryPoint: the code has changed: a path leads nowhere any more.
    """
    import_module("agent_tt.seams.install")
    calls, command = metadata.get(_CALLS), command_of(metadata)
    if not isinstance(calls, dict) or not calls or command is None:
        return
    from agent_tt.launching.outside_tools import OUTSIDE

    OUTSIDE.tell = _said_before
    try:
        OUTSIDE.register_for_start(cast("dict[str, OutsideEffect]", calls), command, is_strict=True)
    except (NotFound, UsageError) as error:
        hint = "the code has changed: put the function back, or record the program again"
        raise InvalidEntryPoint(error.message, hint=hint) from error


def _said_before(message: str) -> None:
    """What still holds an original was told when the program was recorded."""
