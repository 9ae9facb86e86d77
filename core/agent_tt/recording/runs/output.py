"""What the agent prints on standard output while its run is recorded.

Python writes to a file through the `write` of the file's buffer; while the tap is open, that method of this one object
looks at what is written. The stream stays the object that it is: its type, `isatty`, `fileno`, encoding and buffering.
Not seen is what does not pass there: output of C code and of other processes, and `os.write`.

What a tool or a model's function prints is not kept: a replay gives its answer and does not run it. Text waits in the
stream before it comes to the buffer, so the `write` of the stream is looked at, too: what is printed inside such a call
goes to the buffer at once, behind all that waited before it, and past what is kept.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import logging
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from agent_tt.model import Output
from agent_tt.redaction.streams.growing import GrowingShown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MOST", "OutputTap"]

_LOG: Final = logging.getLogger(__name__)

MOST: Final = 1_000_000
"""Characters up to which all of an output is kept."""

_HALF: Final = MOST // 2
_CHUNK: Final = 1 << 18
"""Bytes of output that are read at once, up to the next end of a line."""

_LONGEST_LINE: Final = 1 << 20


class OutputTap:
    """Keeps what is printed from `open` to `close`. Never raises into who prints, and never waits for a lock there."""

    def __init__(self) -> None:
        self._stream: Any = None
        self._target: Any = None
        self._original: Callable[[Any], Any] | None = None
        self._print: Callable[[Any], Any] | None = None
        self._is_answered: Callable[[], bool] = bool
        self._flush: Callable[[], Any] | None = None
        self._here = threading.local()
        self._is_open = False
        self._is_whole = True
        self._encoding = "utf-8"
        self._screen: tuple[int | None, int | None] = (None, None)
        self._written: deque[bytes] = deque()
        self._unread = 0
        self._lock = threading.Lock()
        self._rest = bytearray()
        self._shown = GrowingShown()
        self._decode: Callable[..., str] = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode
        self._digest = hashlib.blake2b(digest_size=16)
        self._size = 0
        self._head = ""
        self._tail = ""

    def open(self, is_answered: Callable[[], bool] = bool) -> None:
        """Look at what is printed from now on. Where there is no such stream, nothing is kept.

        Args:
            is_answered: whether the code that prints is inside a call that a replay answers in its place.
        """
        stream: Any = sys.stdout
        self._is_answered = is_answered
        with contextlib.suppress(Exception):  # a stream of the agent's own may do anything
            stream.flush()  # what was printed before is not part of it
            self._encoding = codecs.lookup(getattr(stream, "encoding", None) or "utf-8").name
            self._decode = codecs.getincrementaldecoder(self._encoding)("backslashreplace").decode
            self._screen = _screen_of(stream)
            target = getattr(stream, "buffer", stream)
            self._original = target.write
            target.write = self._write
            self._stream, self._target, self._is_open = stream, target, True
            if target is not stream:
                self._flush, target.flush = target.flush, self._flush_buffer
                self._print, stream.write = stream.write, self._write_text

    def drop(self) -> None:
        """Keep nothing: this is another process, which was forked from the one that records."""
        self._is_open = False
        self._written.clear()

    def close(self) -> Output | None:
        """Look no longer; what was printed, None where that is not known."""
        if not self._is_open:
            return None
        with contextlib.suppress(Exception):  # as above
            self._stream.flush()
        self._is_open = False
        _put_back(self._target, self._write, self._original)
        if self._print is not None:
            _put_back(self._stream, self._write_text, self._print)
            _put_back(self._target, self._flush_buffer, self._flush, name="flush")
        if not self._is_whole:
            _LOG.warning("what was printed is not kept: some of it could not be read")
            return None
        try:
            with self._lock:
                self._read(is_end=True)
        except Exception:  # noqa: BLE001  the agent may have put anything in the place of its stream
            _LOG.warning("what was printed is not kept: it cannot be read", exc_info=True)
            return None
        columns, lines = self._screen
        text, tail = (self._head, "") if self._size <= MOST else (self._head[:_HALF], self._tail)
        return Output(self._size, text, tail, self._digest.hexdigest(), columns, lines)

    def _write(self, data: Any, /) -> Any:
        """In place of the stream's own `write`: the same, and what it took is kept."""
        original = self._original
        if original is None:  # pragma: no cover  it is set before anybody can write
            return None
        taken = original(data)
        if self._is_open and self._is_whole and not self._is_here("aside"):
            try:
                if self._print is not None or not self._is_answered():
                    self._keep(data, taken)
            except Exception:  # noqa: BLE001  the agent printed it all the same, and goes on
                self._is_whole = False
                self._written.clear()
        return taken

    def _write_text(self, text: Any, /) -> Any:
        """In place of the `write` of a stream that has a buffer."""
        original = self._print
        if original is None:  # pragma: no cover  it is set before anybody can write
            return None
        if not self._is_open or self._is_here("aside") or not self._is_answered():
            return original(text)
        here, stream = self._here, self._stream
        here.holds = True
        try:
            stream.flush()
            here.aside = True
            try:
                taken = original(text)
                stream.flush()
            finally:
                here.aside = False
        finally:
            here.holds = False
        if getattr(stream, "line_buffering", False) and ("\n" in text or "\r" in text):
            stream.flush()  # as it does by itself
        return taken

    def _flush_buffer(self) -> Any:
        """In place of the buffer's `flush`: what only comes to it early stays, so that writes are as large as ever."""
        return None if self._flush is None or self._is_here("holds") else self._flush()

    def _is_here(self, what: str) -> bool:
        """Whether this thread is just printing inside such a call."""
        return getattr(self._here, what, False)

    def _keep(self, data: Any, taken: object) -> None:
        if isinstance(data, str):
            raw = data.encode(self._encoding, "backslashreplace")
        else:
            raw = bytes(data)
            raw = raw[:taken] if isinstance(taken, int) else raw
        self._written.append(raw)
        self._unread += len(raw)
        if self._unread > _CHUNK and self._lock.acquire(blocking=False):
            try:
                self._read(is_end=False)
            finally:
                self._lock.release()

    def _read(self, *, is_end: bool) -> None:
        """Take in what was written, in pieces that depend on nothing but the output itself."""
        self._unread = 0
        while self._written:
            self._rest += self._written.popleft()
        while self._rest:
            size = self._rest.find(b"\n", _CHUNK - 1, _LONGEST_LINE) + 1
            if not size:
                if len(self._rest) < _LONGEST_LINE and not is_end:
                    break
                size = min(_LONGEST_LINE, len(self._rest))
            self._take(bytes(self._rest[:size]))
            del self._rest[:size]
        if is_end:
            self._add(self._shown.feed(self._decode(b"", final=True), is_end=True))

    def _take(self, chunk: bytes) -> None:
        self._add(self._shown.feed(self._decode(chunk).replace("\r\n", "\n")))

    def _add(self, text: str) -> None:
        self._digest.update(text.encode("utf-8", "surrogatepass"))
        self._size += len(text)
        if len(self._head) <= MOST:
            self._head += text
        self._tail = (self._tail + text)[-_HALF:]


def _put_back(owner: Any, ours: object, original: object, *, name: str = "write") -> None:
    """Take our method from an object. Where another one was put around it, it stays, and keeps nothing."""
    with contextlib.suppress(Exception):  # the object may be of the agent's own
        if vars(owner).get(name) == ours:
            delattr(owner, name)
            if getattr(owner, name) != original:
                setattr(owner, name, original)


def _screen_of(stream: Any) -> tuple[int | None, int | None]:
    """Columns and lines of the terminal that a stream writes to; None twice where it is none."""
    if not stream.isatty():
        return None, None
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return size.columns, size.lines
