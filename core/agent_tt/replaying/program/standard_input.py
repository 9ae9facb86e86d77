"""Standard input of a replayed agent: what is piped to the replay. What it read then is not recorded."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _typeshed import WriteableBuffer

__all__ = ["NO_INPUT", "told_of_no_input"]

NO_INPUT: Final = (
    "the agent read standard input, and there was none; what it read when it was recorded is not recorded: "
    "give it the same with `agent-tt replay RUN < FILE`"
)


class _Watched(io.FileIO):
    """The file of standard input; `told` hears of a read that finds it empty from the beginning."""

    def __init__(self, descriptor: int, told: Callable[[], None]) -> None:
        super().__init__(descriptor, closefd=False)
        self._told: Callable[[], None] | None = told

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        count = super().readinto(buffer)
        self._was_read(count)
        return count

    def readall(self) -> bytes:
        data = super().readall()
        self._was_read(len(data))
        return data

    def _was_read(self, count: int) -> None:
        told, self._told = self._told, None
        if told is not None and count == 0:
            told()


@contextmanager
def told_of_no_input(told: Callable[[], None]) -> Iterator[None]:
    """While it lasts, `told` hears when the program reads from `sys.stdin` and nothing was ever in there.

    A terminal is left alone.
    """
    before = sys.stdin
    if before is None or before.isatty():
        yield
        return
    file = io.BufferedReader(_Watched(before.fileno(), told))
    sys.stdin = io.TextIOWrapper(file, encoding=before.encoding, errors=before.errors)
    try:
        yield
    finally:
        sys.stdin = before
