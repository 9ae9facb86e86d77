"""The files of traces beside a store: what was sent of each, a line for each span, without secrets.

A span that was sent again is not kept again. A trace that is closed keeps its file for a while, for spans that come
late; after that only its id is known, so that a late span is refused and does not begin the trace anew.
"""

from __future__ import annotations

import os
import re
import threading
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agent_tt.providers.shapes import Json

__all__ = ["Full", "Spool"]

_NAME: Final = re.compile(r"([0-9a-f]{32})\.jsonl")
_CLOSED: Final = "closed"
_SPANS: Final = b'{"resourceSpans"'
_MOST_TRACE: Final = 256 << 20
_MOST_CLOSED: Final = 200_000
_MOST_KNOWN: Final = 64
"""Traces of which the spans are known by their digests without looking into the file."""


class Full(AgentTTError):
    """There is no room for more spans."""

    kind = "too_many"


class Spool:
    """The files.

    Args:
        folder: where they are; made with the first of them.
        room: bytes of all of them.
    """

    def __init__(self, folder: Path, room: int) -> None:
        self.folder, self._room = folder, room
        self._lock = threading.Lock()
        self._known: dict[str, set[bytes]] = {}
        named = [(found[1], folder / name) for name in _names(folder) if (found := _NAME.fullmatch(name))]
        self._sizes = {trace: file.stat().st_size for trace, file in named}
        self._closed = dict.fromkeys(self._read_closed())

    def path(self, trace: str) -> Path:
        """The file of a trace."""
        return self.folder / f"{trace}.jsonl"

    def traces(self) -> list[str]:
        """The traces that have a file."""
        with self._lock:
            return [*self._sizes]

    def heard(self, trace: str) -> float:
        """When the last span of a trace came, in seconds since the epoch; 0 where it has no file."""
        try:
            return self.path(trace).stat().st_mtime
        except OSError:
            return 0.0

    def size(self, trace: str) -> int:
        """Bytes of a trace."""
        return self._sizes.get(trace, 0)

    def has_spans(self, trace: str) -> bool:
        """Whether spans of a trace came, and not only records of logs, which say nothing of where they were written."""
        try:
            with self.path(trace).open("rb") as file:
                return any(line.startswith(_SPANS) for line in file)
        except OSError:
            return False

    def is_closed(self, trace: str) -> bool:
        """Whether a trace was closed for good: its file is gone."""
        return trace in self._closed

    def add(self, trace: str, lines: Iterable[dict[str, Json]]) -> bool:
        """Keep what was sent of a trace, on the disk; give whether anything of it is new.

        Raises:
            Full: there is no room.
        """
        with self._lock:
            known = self._digests(trace)
            new: list[bytes] = []
            for line in lines:
                text = orjson.dumps(line)
                mark = blake2b(text, digest_size=8).digest()
                if mark not in known:
                    known.add(mark)
                    new.append(text + b"\n")
            if not new:
                return False
            size = sum(map(len, new))
            if sum(self._sizes.values()) + size > self._room or self.size(trace) + size > _MOST_TRACE:
                self._known.pop(trace, None)
                raise Full("there is no room for more spans", hint="Traces that are over make room after a while.")
            try:
                self._write(trace, b"".join(new))
            except OSError as error:
                self._known.pop(trace, None)
                raise Full(f"spans cannot be written: {error.strerror}") from error
            self._sizes[trace] = self.size(trace) + size
            return True

    def remove(self, trace: str) -> None:
        """Close a trace for good."""
        with self._lock:
            if len(self._closed) >= _MOST_CLOSED:
                self._closed.pop(next(iter(self._closed)))
            self._closed[trace] = None
            with (self.folder / _CLOSED).open("a", encoding="ascii") as file:
                file.write(f"{trace}\n")
            self.path(trace).unlink(missing_ok=True)
            self._sizes.pop(trace, None)
            self._known.pop(trace, None)

    def _write(self, trace: str, lines: bytes) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.path(trace)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":  # the server was killed in the middle of a line
                lines = b"\n" + lines
            while lines:
                lines = lines[os.write(descriptor, lines) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _digests(self, trace: str) -> set[bytes]:
        known = self._known.get(trace)
        if known is None:
            known = self._known[trace] = set()
            if trace in self._sizes:
                with self.path(trace).open("rb") as file:
                    known |= {blake2b(line.rstrip(b"\n"), digest_size=8).digest() for line in file}
            while len(self._known) > _MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
        return known

    def _read_closed(self) -> list[str]:
        try:
            lines = (self.folder / _CLOSED).read_text(encoding="ascii", errors="replace").split()
        except OSError:
            return []
        return lines[-_MOST_CLOSED:]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []
