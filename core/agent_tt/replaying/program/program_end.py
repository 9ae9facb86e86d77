"""Ending a program as its interpreter would, while its calls are still answered."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["end_program", "leave", "told_of_exit"]

_EXIT: Final = os._exit


def end_program() -> None:
    """Wait for the threads that the program has left running, then do what it registered with `atexit`.

    The interpreter would do both at its very end, where nobody serves or guards what is done there. The order is that
    of `Py_FinalizeEx`; the two functions are those that it calls.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001


def leave(code: int) -> NoReturn:
    """End this process at once: no finalizer and no daemon thread of the program does anything more."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or replaced by the program
            stream.flush()
    _EXIT(code)


@contextlib.contextmanager
def told_of_exit(told: Callable[[int], None]) -> Iterator[None]:
    """While it lasts, `told` hears of an `os._exit` of the program, with its exit code, before the process ends."""

    def exit_at_once(status: int) -> NoReturn:
        try:
            told(status)
        finally:
            leave(status)

    os._exit = exit_at_once
    try:
        yield
    finally:
        os._exit = _EXIT
