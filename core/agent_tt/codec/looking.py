"""Looking at objects of the agent: whatever they do when they are looked at, the agent goes on.

A `__repr__`, a property or a `__class__` is code. It may raise anything, `SystemExit` and `KeyboardInterrupt` too, run
for ever, or call tools that are recorded. So it runs in here:

| what it does | what becomes of it |
|---|---|
| raises anything | it is caught; what could not be looked at is shown as that |
| a signal comes meanwhile (Ctrl-C, the agent's own alarm) | what its handler raises goes on its way |
| calls what is recorded | nothing is recorded of it, and a replay does not look for it |
| runs Python code without end, in `__repr__` or `__str__` | it is ended after `MOST_LINES` lines |
| gives a text without end | what is kept of it is bounded |

What is not held: code that waits or sleeps, or that runs in C without end, delays the agent for as long, because
nothing in Python can end it from outside; so does endless Python code while a debugger or a tool that measures coverage
traces the thread. What it prints is printed, and what it changes is changed.
"""

from __future__ import annotations

import functools
import opcode
import signal
import sys
import threading
from contextlib import contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from _typeshed import TraceFunction

__all__ = ["MOST_LINES", "is_looking", "looking", "must_go_on", "seen", "shortened", "shown"]

T = TypeVar("T")

MOST_LINES: Final = 200_000
"""Lines of Python that one `__repr__` or `__str__` may run, those that it calls included."""

_RAISES: Final = frozenset(opcode.opmap[name] for name in ("RAISE_VARARGS", "RERAISE") if name in opcode.opmap)


class TookTooLong(BaseException):
    """A `__repr__` or `__str__` ran for too long. No `except Exception` of the agent's may catch it."""


class _Looking(threading.local):
    """How many looks this thread is inside of."""

    depth = 0


_LOOKING: Final = _Looking()


def is_looking() -> bool:
    """Whether this thread looks at an object of the agent just now: what runs then is not the agent's own doing."""
    return _LOOKING.depth > 0


@contextmanager
def looking() -> Iterator[None]:
    """Look at an object of the agent while the block lasts. What it raises is the caller's to catch."""
    _LOOKING.depth += 1
    try:
        yield
    finally:
        _LOOKING.depth -= 1


def seen(look: Callable[[], T], otherwise: T) -> T:
    """Call `look`, and give what it returns; `otherwise` where the object raises."""
    try:
        with looking():
            return look()
    except BaseException as error:
        if must_go_on(error):
            raise
        return otherwise


def shown(say: Callable[[object], str], value: object, most: int) -> str:
    """What `repr` or `str` gives for an object, at most so many characters of it; what went wrong where it fails."""
    name = say.__name__
    try:
        with looking(), _bounded():
            text = say(value)
            return text[:most] if type(text) is str else f"<{name} failed: not text>"
    except BaseException as error:
        if must_go_on(error):
            raise
        return f"<{name} failed: {'it took too long' if isinstance(error, TookTooLong) else type(error).__name__}>"


def shortened(text: str, most: int) -> str:
    """A text of at most about so many characters: its beginning and its end, and how much lies between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def must_go_on(error: BaseException) -> bool:
    """Whether an exception has to go on: a signal handler raised it (Ctrl-C, say), not the object looked at."""
    if threading.current_thread() is not threading.main_thread():
        return False  # handlers run in the main thread alone
    trace = error.__traceback__
    last, frames = None, set[CodeType]()
    while trace is not None:
        last = trace
        frames.add(trace.tb_frame.f_code)
        trace = trace.tb_next
    if not frames.isdisjoint(_handlers()):
        return True
    if not isinstance(error, KeyboardInterrupt) or last is None:
        return False
    # Python's own handler has no frame: it shows where the code was, which did not raise anything there itself.
    return last.tb_frame.f_code.co_code[last.tb_lasti] not in _RAISES


def _handlers() -> Iterator[CodeType]:
    """The code of every handler of a signal that is written in Python."""
    for number in signal.valid_signals():
        handler: object = signal.getsignal(number)
        while isinstance(handler, functools.partial):
            handler = handler.func
        function = getattr(handler, "__func__", handler)
        for found in (function, vars(type(handler)).get("__call__")):
            code = getattr(found, "__code__", None)
            if type(code) is CodeType:
                yield code


@contextmanager
def _bounded() -> Iterator[None]:
    """End Python code that runs for too long in here, unless somebody traces this thread already."""
    if sys.gettrace() is not None:
        yield
        return
    left = MOST_LINES

    def trace(_frame: FrameType, _event: str, _argument: Any) -> TraceFunction:
        nonlocal left
        left -= 1
        if left < 0:
            raise TookTooLong
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)
