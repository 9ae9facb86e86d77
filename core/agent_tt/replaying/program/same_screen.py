"""Standard output of a replayed agent answers as it did then: whether it is a terminal, and how large that is."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.model import Output

__all__ = ["same_screen"]

_SIZE: Final = os.get_terminal_size
_STANDARD_OUTPUT: Final = 1


@contextlib.contextmanager
def same_screen(recorded: Output | None) -> Iterator[None]:
    """While it lasts, a program that asks its `sys.stdout` hears what it heard when it was recorded.

    Programs draw with colours on a terminal, and plainly into a file. A replay prints into a file.

    Args:
        recorded: what was printed then; None where that is not known, and nothing is changed.
    """
    stream: Any = sys.stdout
    if recorded is None or recorded.columns is None or stream is None or stream.isatty():
        yield
        return
    size = os.terminal_size((recorded.columns, recorded.lines or 24))

    def terminal_size(descriptor: int = _STANDARD_OUTPUT, /) -> os.terminal_size:
        return size if descriptor == _STANDARD_OUTPUT else _SIZE(descriptor)

    stream.isatty = lambda: True
    os.get_terminal_size = terminal_size
    try:
        yield
    finally:
        os.get_terminal_size = _SIZE
        del stream.isatty
