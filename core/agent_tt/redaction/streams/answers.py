"""Answers of servers without their secrets, byte for byte as long as they were.

A replay serves them to the same client, whose parser counts: lengths that a head announces, sizes of chunks, quotes of
JSON. So a mark is as long as what it stands for and stands in the same place. What comes in several pieces is judged as
the whole: a piece whose end may be the beginning of a secret is held back until more of the answer tells. A compressed
body is packed anew where it came in one piece; a piece of one that came in several is not kept if it holds a secret.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt._pattern import lazy_re
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.streams.bodies import Body
from agent_tt.redaction.streams.packing import is_at_end, is_gzip, packed_as_long, unpacker
from agent_tt.redaction.texts import header_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Kept", "Veil"]

_LONGEST_LINE: Final = 65_536
_LONGEST_LENGTH: Final = 19
"""Digits of the largest length of a body that is believed."""
_LINE: Final = lazy_re(r"^(?P<name>[\w!#$%&'*+.^`|~-]+):[ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Kept:
    """What may be kept of a piece, as long as before.

    Attributes:
        number: of the piece, as its giver numbers it.
        data: the bytes; None where they cannot be kept.
    """

    number: int
    data: bytes | None


@dataclass(slots=True)
class _Piece:
    number: int
    data: bytes
    head: int
    """Bytes of the head at its beginning."""
    spans: Sequence[tuple[int, int]]
    body: tuple[int, int]
    """Where what it holds of the body begins and ends there, unpacked."""
    is_packed: bool
    is_whole: bool
    head_start: int


class Veil:
    """One answer, piece by piece."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._head_size = 0
        self._head_shown = bytearray()
        self._body: Body | None = None
        self._unpack = unpacker("")
        self._is_gzip = False
        self._is_broken = False
        self._unpacked = 0
        self._received = 0
        self._announced: int | None = None
        self._has_begun = False
        self._waiting: deque[_Piece] = deque()

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The headers of the answer, for one that is kept apart from its head."""
        received = list(headers)
        self._begin_body(received)
        return [(name, header_value(name, value, GIVEN.hide)) for name, value in received]

    def body(self, number: int, data: bytes) -> list[Kept]:
        """Take bytes of the body.

        Args:
            number: of the piece.
            data: the bytes.

        Returns:
            The pieces, in order, of which it is known by now what may be kept.
        """
        if self._passes(data):
            return [Kept(number, data)]
        return self.wire(number, data, [(0, len(data))], None)

    def wire(
        self,
        number: int,
        data: bytes,
        spans: Sequence[tuple[int, int]],
        headers: Iterable[tuple[str, str]] | None,
        *,
        is_end: bool = False,
    ) -> list[Kept]:
        """Take bytes of a connection.

        Args:
            number: of the piece.
            data: the bytes.
            spans: where in them those of the body are: first, and one after the last.
            headers: what the head says, once it is complete.
            is_end: whether nothing more comes.

        Returns:
            As `body`.
        """
        head, head_start = 0, self._head_size
        if self._body is None:
            head = spans[0][0] if spans else len(data)
            self._take_head(data[:head], is_end=headers is not None)
            if headers is not None:
                self._begin_body(headers)
        plain = self._unpacked_of(b"".join(data[first:last] for first, last in spans))
        begin = self._unpacked
        self._unpacked += len(plain)
        is_packed = self._unpack is not None and not self._is_broken
        is_whole = is_packed and not self._has_begun and self._is_gzip and is_at_end(self._unpack)  # type: ignore[arg-type]
        self._has_begun = self._has_begun or bool(spans)
        self._waiting.append(
            _Piece(number, data, head, spans, (begin, self._unpacked), is_packed, is_whole, head_start)
        )
        self._received += sum(last - first for first, last in spans)
        if self._body is not None:  # a body that is all there is judged once, and nothing of it is waited for
            is_news = self._body.feed(plain, is_end=is_end or self._received == self._announced)
            if plain and not head and not is_news:
                return []
        return self._settled()

    def end(self) -> list[Kept]:
        """Nothing more comes; the pieces that were waited for."""
        self._take_head(b"", is_end=True)
        if self._body is not None:
            self._body.feed(b"", is_end=True)
        return self._settled()

    def shown(self, plain: bytes) -> bytes:
        """The body, or its beginning, unpacked, with what is covered in it.

        Args:
            plain: the bytes as they came.
        """
        return plain if self._body is None else self._body.shown(plain)

    # ---------------------------------------------------------------- inside

    def _passes(self, data: bytes) -> bool:
        """Take bytes of the body that need no redaction, unless earlier ones are held back; say if it took them."""
        body = self._body
        if body is None or self._waiting or self._unpack is not None or self._announced is not None:
            return False
        if not body.passes(data):
            return False
        self._unpacked += len(data)
        self._received += len(data)
        return True

    def _take_head(self, data: bytes, *, is_end: bool) -> None:
        self._head += data
        self._head_size += len(data)
        at = len(self._head) if is_end or len(self._head) > _LONGEST_LINE else self._head.rfind(b"\n") + 1
        lines = self._head[:at].decode("latin-1")
        del self._head[:at]
        self._head_shown += _LINE.sub(_covered_line, lines).encode("latin-1")

    def _begin_body(self, headers: Iterable[tuple[str, str]]) -> None:
        said = {name.lower(): value.strip().lower() for name, value in headers}
        coding, length = said.get("content-encoding", ""), said.get("content-length", "")
        self._announced = (
            int(length) if length.isascii() and length.isdigit() and len(length) <= _LONGEST_LENGTH else None
        )
        self._body = Body(said.get("content-type", ""))
        self._unpack, self._is_gzip = unpacker(coding), is_gzip(coding)

    def _unpacked_of(self, data: bytes) -> bytes:
        if self._unpack is None or self._is_broken or not data:
            return data
        try:
            return self._unpack.decompress(data)
        except Exception:  # noqa: BLE001  each library has errors of its own; the agent's client will see to it
            self._is_broken = True
            return b""

    def _settled(self) -> list[Kept]:
        """Those of the pieces that wait of which everything is known."""
        settled: list[Kept] = []
        waiting: deque[_Piece] = deque()
        is_open = [] if self._body is None else self._body.open_stretches()
        for piece in self._waiting:
            if self._is_settled(piece, is_open):
                settled.append(Kept(piece.number, self._covered(piece)))
            else:
                waiting.append(piece)
        self._waiting = waiting
        return settled

    def _is_settled(self, piece: _Piece, is_open: list[tuple[int, int, int]]) -> bool:
        if piece.head_start + piece.head > len(self._head_shown):
            return False
        start, end = piece.body
        if self._body is None or start == end:
            return True
        return self._body.has_read(end) and not any(
            first < end and last > start and at < end for first, last, at in is_open
        )

    def _covered(self, piece: _Piece) -> bytes | None:
        shown = bytearray(piece.data)
        if piece.head:
            shown[: piece.head] = self._head_shown[piece.head_start : piece.head_start + piece.head]
        body = self._body
        if body is None or not body.is_covered(*piece.body):
            return bytes(shown)
        begin = piece.body[0]
        held = b"".join(piece.data[first:last] for first, last in piece.spans)
        if piece.is_packed:
            if not piece.is_whole:
                return None
            packed = packed_as_long(body.shown(unpacker("gzip").decompress(held), begin), len(held))  # type: ignore[union-attr]
            if packed is None:
                return None
            covered = packed
        else:
            covered = body.shown(held, begin)
        at = 0
        for first, last in piece.spans:
            shown[first:last] = covered[at : at + last - first]
            at += last - first
        return bytes(shown)


def _covered_line(match: re.Match[str]) -> str:
    value = match["value"]
    start = match.start("value") - match.start()
    return match[0][:start] + header_value(match["name"], value, GIVEN.hide)
