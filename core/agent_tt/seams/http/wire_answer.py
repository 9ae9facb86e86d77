"""An HTTP/1 answer read along as its bytes arrive: what it says, and when it is complete. No input or output.

The library that receives the bytes parses them itself; this only looks on, so it never raises, and what it cannot make
sense of it leaves alone until the connection ends (RFC 9112 §6 for how long a body is).
"""

from __future__ import annotations

from typing import Final

from agent_tt._dataclass import dataclass

_NO_BODY: Final = frozenset({204, 304})
SWITCHING: Final = 101
"""From here on the connection speaks something else: WebSocket."""

_LONGEST_LINE: Final = 65536


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer.

    Attributes:
        status: the status code.
        headers: names and values, as received and in their order.
        http_version: `HTTP/1.1`; None where nobody said.
        reason: the words after the status; None where there are none.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    http_version: str | None = None
    reason: str | None = None


class WireAnswer:
    """One answer to one request.

    Attributes:
        head: its head, None until that has arrived whole.
        is_complete: whether everything that belongs to it has arrived.
        body_spans: where in the bytes that it was fed last those of the body are: first, and one after the last.
    """

    def __init__(self, method: str) -> None:
        self._method = method.upper()
        self._buffer = bytearray()
        self._left: int | None = None
        self._is_chunked = False
        self._in_trailer = False
        self._is_opaque = False
        self.head: Head | None = None
        self.is_complete = False
        self.body_spans: list[tuple[int, int]] = []
        self._fed_to = 0

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the wire; the bytes of the body that became known by them. None (`b""`) is the end."""
        self.body_spans = []
        if self.is_complete:
            return b""
        if not data:
            return self._connection_ended()
        self._buffer += data
        self._fed_to = len(data)
        if self.head is None and not self._is_opaque:
            self._read_heads()
        return self._read_body() if self.head is not None and not self.is_complete else b""

    def _connection_ended(self) -> bytes:
        until_close = self.head is not None and self._left is None and not self._is_chunked
        self.is_complete = until_close and not self._is_opaque
        return b""

    def _read_heads(self) -> None:
        """Read the head; those of the 1xx answers that may precede it are passed over."""
        while self.head is None:
            end, length = _blank_line(self._buffer)
            if end < 0:
                self._is_opaque = len(self._buffer) > _LONGEST_LINE
                return
            head = _parse_head(bytes(self._buffer[:end]))
            del self._buffer[: end + length]
            if head is None:
                self._is_opaque = True
                return
            if not 100 <= head.status < 200 or head.status == SWITCHING:
                self.head = head
                self._begin_body(head)

    def _begin_body(self, head: Head) -> None:
        headers = {name.lower(): value.strip() for name, value in head.headers}
        status = head.status
        tunnel = self._method == "CONNECT" and 200 <= status < 300
        if self._method == "HEAD" or status in _NO_BODY or status == SWITCHING or tunnel:
            self.is_complete = True
        elif headers.get("transfer-encoding", "").lower().endswith("chunked"):
            self._is_chunked = True
        elif headers.get("content-length", "").isdecimal():
            self._left = int(headers["content-length"])
            self.is_complete = self._left == 0

    def _read_body(self) -> bytes:
        if self._is_chunked:
            return self._read_chunks()
        taken = self._take_body(len(self._buffer) if self._left is None else self._left)
        if self._left is not None:
            self._left -= len(taken)
            self.is_complete = self._left == 0
        return taken

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while not self.is_complete and self._buffer and not self._is_opaque:
            if self._left is not None:  # inside a chunk; the line break after it counts as its last two bytes
                content = self._take_body(max(0, self._left - 2))
                self._left -= len(content)
                body += content
                rest = self._buffer[: self._left] if self._left <= 2 else b""
                del self._buffer[: len(rest)]
                self._left -= len(rest)
                if self._left:
                    break
                self._left = None
                continue
            end = self._buffer.find(b"\n")
            if end < 0:
                break
            line = bytes(self._buffer[:end]).strip()
            del self._buffer[: end + 1]
            self._read_line(line)
        return bytes(body)

    def _take_body(self, most: int) -> bytes:
        """The next bytes, of the body; they are among those that came last, because none are ever left waiting."""
        start = self._fed_to - len(self._buffer)
        taken = bytes(self._buffer[:most])
        del self._buffer[: len(taken)]
        if taken:
            self.body_spans.append((start, start + len(taken)))
        return taken

    def _read_line(self, line: bytes) -> None:
        """A line between chunks: the size of the next, or one of the trailer."""
        if self._in_trailer:
            self.is_complete = not line
            return
        try:
            size = int(line.partition(b";")[0].strip(), 16)
        except ValueError:
            self._is_opaque = True
            return
        if size:
            self._left = size + 2
        else:
            self._in_trailer = True


def _blank_line(buffer: bytearray) -> tuple[int, int]:
    """Where the head ends and how long its end is; (-1, 0) while it has not."""
    places = [(buffer.find(mark), len(mark)) for mark in (b"\r\n\r\n", b"\n\n")]
    return min((place for place in places if place[0] >= 0), default=(-1, 0))


def _parse_head(raw: bytes) -> Head | None:
    first, *lines = raw.decode("latin-1").split("\n")
    words = first.strip().split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        return None
    headers: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.rstrip("\r").partition(":")
        if colon:
            headers.append((name, value.strip()))
        elif headers:  # a continued line
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {name.strip()}")
    return Head(int(words[1]), tuple(headers), words[0], words[2] if len(words) > 2 else None)
