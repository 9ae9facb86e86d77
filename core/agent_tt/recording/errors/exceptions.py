"""Exceptions as they are recorded: class, message, traceback, and the whole of it as a wire value."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Final, cast

from agent_tt.codec.looking import must_go_on, shortened, shown
from agent_tt.codec.parts import class_name
from agent_tt.model import ErrorInfo
from agent_tt.recording.errors.exception_values import exception_value

MOST_TEXT: Final = 1_000_000
"""Characters that are kept of a message or a traceback."""

_MOST_FORMATTED: Final = 1 << 62
_TRACEBACK: Final = vars(BaseException)["__traceback__"]
_OWN_FRAMES: Final = f"{Path(__file__).parents[2]}{os.sep}"


def error_info(error: BaseException) -> ErrorInfo:
    """An exception as a run keeps it. Never raises, whatever the exception's own methods do."""
    return ErrorInfo(
        class_name=class_name(type(error)),
        message=_message(error),
        traceback=traceback_text(error),
        value=exception_value(error),
    )


def _message(error: BaseException) -> str:
    return shown(str, error, MOST_TEXT)


def traceback_text(error: BaseException) -> str:
    """The traceback as Python prints it, without our own frames. Never raises."""
    return shortened(shown(_formatted, error, _MOST_FORMATTED), MOST_TEXT)


def _formatted(error: object) -> str:
    """The traceback; without messages where those cannot be had. It calls `__str__` and more of the agent's objects."""
    if not issubclass(type(error), BaseException):
        return ""
    trouble = cast("BaseException", error)
    try:
        formatted = traceback.TracebackException.from_exception(trouble, compact=True)
        _drop_own_frames(formatted)
        return "".join(formatted.format())
    except BaseException as failure:
        if must_go_on(failure):
            raise
        last = _TRACEBACK.__get__(trouble)
        return "".join(traceback.format_tb(last)) + class_name(type(trouble)) + "\n"


def _drop_own_frames(formatted: traceback.TracebackException) -> None:
    todo: list[traceback.TracebackException | None] = [formatted]
    while todo:
        part = todo.pop()
        if part is not None:
            part.stack[:] = [frame for frame in part.stack if not frame.filename.startswith(_OWN_FRAMES)]
            todo += [part.__cause__, part.__context__, *(part.exceptions or ())]
