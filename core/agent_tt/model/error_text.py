"""Exceptions as people type them: `TimeoutError: no answer`, `module.Class: words`."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.errors import UsageError
from agent_tt.model import ErrorInfo

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["error_from_text", "is_error_text"]

_ERROR: Final = re.compile(r"([A-Za-z_][\w.]*(?::[A-Za-z_][\w.]*)?)(?::\s*(.*))?", re.DOTALL)


def is_error_text(text: str) -> bool:
    """Whether a text reads as `Class` or `Class: words`."""
    return _ERROR.fullmatch(text) is not None


def error_from_text(text: str) -> ErrorInfo:
    """The exception that `Class: words` names: a builtin one, or `module:Class` (`module.Class`).

    What does not begin with a name is the text of an `Exception`.

    Raises:
        UsageError: it names a class that Python does not have, without a module.
    """
    found = _ERROR.fullmatch(text)
    name, words = (found[1], found[2]) if found is not None else ("Exception", text)
    words = words or ""
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        class_name = f"builtins:{name}"
    elif ":" in name:
        class_name = name
    elif "." in name:
        module, _, last = name.rpartition(".")
        class_name = f"{module}:{last}"
    else:
        raise UsageError(f"{name} is not a Python exception", hint="name its module: module.Class")
    payload: Wire = {"args": [words] if words else [], "attrs": {}}
    return ErrorInfo(class_name, words, value={TYPE: "exception", "class": class_name, VALUE: payload})
