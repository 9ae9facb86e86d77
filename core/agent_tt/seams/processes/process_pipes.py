"""The pipes between a program and a process of it: the same kinds of files, with what goes through them noted."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Protocol

from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.recording.calls.answers import Served

__all__ = ["LostPipe", "ReadPipe", "Watcher", "WritePipe", "over"]


class Watcher(Protocol):
    """Who is told what goes through the pipes of one process."""

    def read(self, stream: str, data: bytes) -> None:
        """The program has read `data` of a stream."""

    def wrote(self, data: bytes) -> None:
        """The program has written `data` into standard input."""

    def stream_ended(self, name: str) -> None:
        """Nothing more is read of a stream."""


def over(pipe: Any, make: Callable[[io.FileIO], io.RawIOBase]) -> Any:
    """The same kind of file as `pipe` is, over the raw file that `make` puts in the place of its own."""
    if isinstance(pipe, io.TextIOWrapper):
        options: dict[str, Any] = {
            "encoding": pipe.encoding,
            "errors": pipe.errors,
            "line_buffering": pipe.line_buffering,
            "write_through": pipe.write_through,
        }
        return io.TextIOWrapper(over(pipe.detach(), make), **options)
    if isinstance(pipe, (io.BufferedReader, io.BufferedWriter)):
        return type(pipe)(over(pipe.detach(), make))
    return make(pipe)


class _Pipe(io.RawIOBase):
    """One end of a pipe, as a raw file is."""

    def __init__(self, watched: Watcher, raw: io.FileIO) -> None:
        super().__init__()
        self._watched = watched
        self._raw = raw
        self.name, self.mode = raw.name, raw.mode

    def fileno(self) -> int:
        return self._raw.fileno()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._raw.close()


class ReadPipe(_Pipe):
    """What a process says."""

    def __init__(self, watched: Watcher, stream: str, raw: io.FileIO) -> None:
        super().__init__(watched, raw)
        self._stream = stream

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """As a raw file does."""
        size = self._raw.readinto(buffer)
        if size:
            self._watched.read(self._stream, bytes(memoryview(buffer)[:size]))
        elif size == 0:
            self._watched.stream_ended(self._stream)
        return size

    def close(self) -> None:
        """The program reads no more."""
        super().close()
        self._watched.stream_ended(self._stream)


class LostPipe(_Pipe):
    """What a process said of which the end was not recorded."""

    def __init__(self, watched: Watcher, served: Served, raw: io.FileIO) -> None:
        super().__init__(watched, raw)
        self._served = served

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ARG002  the shape of a raw file
        """As a raw file does."""
        raise self._served.read_past("its output is not known: the recorded run ended before it did")


class WritePipe(_Pipe):
    """What a process is told."""

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int | None:
        """As a raw file does."""
        for check in SESSION.chain.before_write:
            check(self._raw.fileno())
        size = self._raw.write(data)
        if size:
            self._watched.wrote(bytes(memoryview(data)[:size]))
        return size
