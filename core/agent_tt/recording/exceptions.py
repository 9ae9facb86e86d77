"""Exceptions as they are recorded: class, arguments, attributes, causes and notes as a wire value, and traceback."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.codec.encode import encode
from agent_tt.codec.parts import class_name
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.model import ErrorInfo

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

_OWN_FRAMES: Final = f"{Path(__file__).parent}{os.sep}"
_LONGEST_CHAIN: Final = 20

_UNICODE: Final = ("encoding", "object", "start", "end", "reason")
_KEPT_IN_C: Final[dict[type[BaseException], tuple[str, ...]]] = {
    OSError: ("errno", "strerror", "filename", "filename2"),
    ImportError: ("msg", "name", "path"),
    AttributeError: ("name",),
    NameError: ("name",),
    StopIteration: ("value",),
    SystemExit: ("code",),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text", "end_lineno", "end_offset"),
    UnicodeDecodeError: _UNICODE,
    UnicodeEncodeError: _UNICODE,
}
"""What builtin classes keep outside `args` and `__dict__`."""


def error_info(error: BaseException) -> ErrorInfo:
    """An exception as a run keeps it. Never raises, whatever the exception's own methods do."""
    return ErrorInfo(
        class_name=class_name(type(error)),
        message=_message(error),
        traceback=_traceback(error),
        value=_wire(error, frozenset()),
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001  the agent's own __str__ may raise anything
        return f"<str failed: {type(broken).__name__}>"


def _traceback(error: BaseException) -> str:
    """The traceback as Python prints it, without the recorder's own frames."""
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


def _wire(error: BaseException, inside: frozenset[int]) -> Wire:
    """The exception's envelope, with what the codec's rule leaves out in front of its payload.

    `extra` holds what a builtin class keeps in C, `cause` and `context` the exceptions before it, as envelopes.
    Members of a group are among its arguments, notes among its attributes.
    """
    envelope = encode(error)
    if not isinstance(envelope, dict) or envelope.get(TYPE) != "exception":
        return envelope
    payload = envelope.pop(VALUE)
    extra = _extra(error)
    if extra:
        envelope["extra"] = extra
    inside |= {id(error)}
    for key, earlier in (("cause", error.__cause__), ("context", error.__context__)):
        if earlier is not None and id(earlier) not in inside and len(inside) < _LONGEST_CHAIN:
            envelope[key] = _wire(earlier, inside)
    if error.__suppress_context__:
        envelope["suppress_context"] = True
    envelope[VALUE] = payload
    return envelope


def _extra(error: BaseException) -> dict[str, Wire]:
    names = {name for base, kept in _KEPT_IN_C.items() if isinstance(error, base) for name in kept}
    values = {name: getattr(error, name, None) for name in sorted(names)}
    return {name: encode(value) for name, value in values.items() if value is not None}
