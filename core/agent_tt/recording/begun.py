"""Telling others that a recording has begun: who started the program wants to know that it records itself."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.recording.recorder import Recording

    Listener = Callable[[Recording], None]

__all__ = ["tell_begun", "told_of_begun", "when_begun"]

_LISTENERS: list[Listener] = []


def when_begun(listener: Listener) -> None:
    """Call `listener` with every recording of this process that begins from now on."""
    _LISTENERS.append(listener)


@contextmanager
def told_of_begun(listener: Listener) -> Iterator[None]:
    """Call `listener` with every recording of this process that begins while the block lasts."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell_begun(recording: Recording) -> None:
    """A recording has begun."""
    for listener in _LISTENERS:
        listener(recording)
