"""Exceptions as they are recorded: class, message, traceback, and the whole of it as a wire value."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Final

from agent_tt.codec.parts import class_name
from agent_tt.model import ErrorInfo
from agent_tt.recording.exception_values import exception_value

_OWN_FRAMES: Final = f"{Path(__file__).parent.parent}{os.sep}"


def error_info(error: BaseException) -> ErrorInfo:
    """An exception as a run keeps it. Never raises, whatever the exception's own methods do."""
    return ErrorInfo(
        class_name=class_name(type(error)),
        message=_message(error),
        traceback=traceback_text(error),
        value=exception_value(error),
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001  the agent's own __str__ may raise anything
        return f"<str failed: {type(broken).__name__}>"


def traceback_text(error: BaseException) -> str:
    """The traceback as Python prints it, without our own frames. Never raises."""
    try:
        formatted = traceback.TracebackException.from_exception(error, compact=True)
        _drop_own_frames(formatted)
        return "".join(formatted.format())
    except Exception:  # noqa: BLE001  formatting calls __str__ and __repr__ of the agent's objects
        return "".join(traceback.format_tb(error.__traceback__)) + class_name(type(error)) + "\n"


def _drop_own_frames(formatted: traceback.TracebackException) -> None:
    todo: list[traceback.TracebackException | None] = [formatted]
    while todo:
        part = todo.pop()
        if part is not None:
            part.stack[:] = [frame for frame in part.stack if not frame.filename.startswith(_OWN_FRAMES)]
            todo += [part.__cause__, part.__context__, *(part.exceptions or ())]
