"""The pieces of a recorded answer, judged together as when they came: what is taken out may be cut by them anywhere."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.recording.calls.exchange import WITHHELD
from agent_tt.redaction.streams.answers import Veil
from agent_tt.redaction.streams.wire_pieces import WirePieces
from agent_tt.redaction.values import given
from agent_tt.seams.http.wire_answer import WireAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.redaction.streams.answers import Kept

__all__ = ["pieces_again"]

_WIRE_BEGINS = b"HTTP/"


def pieces_again(pieces: Sequence[Wire], method: str) -> list[Wire]:
    """What of the pieces of an answer stays, each as long as it was where a client counts.

    Args:
        pieces: all of them, in order.
        method: of the request over HTTP that they answer; "" of another call.
    """
    if not pieces:
        return []
    first, datas = pieces[0], [_bytes_of(piece) for piece in pieces]
    if isinstance(first, dict) and "status" in first and isinstance(headers := first.get("headers"), list):
        return _behind_head(first, headers, pieces, datas)
    if method and (datas[0] or b"").startswith(_WIRE_BEGINS):
        return _of_connection(pieces, datas, method)
    judged = WirePieces()
    for piece in pieces:
        judged.take(piece)
    judged.end()
    return judged.shown


def _behind_head(
    head: dict[str, Wire], headers: Sequence[Wire], pieces: Sequence[Wire], datas: Sequence[bytes | None]
) -> list[Wire]:
    """The pieces of a body, whose head is the first piece."""
    veil = Veil()
    pairs = [(str(pair[0]), str(pair[1])) for pair in headers if isinstance(pair, list) and len(pair) == 2]
    shown: list[Wire] = [given({**head, "headers": [list(pair) for pair in veil.headers(pairs)]})]
    shown += [given(piece) if data is None else None for piece, data in zip(pieces[1:], datas[1:], strict=True)]
    for number, data in enumerate(datas[1:], 1):
        if data is not None:
            _put(shown, veil.body(number, data))
    _put(shown, veil.end())
    return shown


def _of_connection(pieces: Sequence[Wire], datas: Sequence[bytes | None], method: str) -> list[Wire]:
    """The pieces of a connection, head and framing included."""
    veil, answer = Veil(), WireAnswer(method)
    shown: list[Wire] = [given(piece) if data is None else None for piece, data in zip(pieces, datas, strict=True)]
    for number, data in enumerate(datas):
        if data is not None:
            answer.feed(data)
            headers = None if answer.head is None else answer.head.headers
            _put(shown, veil.wire(number, data, answer.body_spans, headers, is_end=answer.is_complete or not data))
    _put(shown, veil.end())
    return shown


def _put(shown: list[Wire], kept: Iterable[Kept]) -> None:
    for piece in kept:
        shown[piece.number] = WITHHELD if piece.data is None else encode(piece.data)


def _bytes_of(piece: Wire) -> bytes | None:
    """The bytes that a piece is; None of another value."""
    if isinstance(piece, dict) and piece.get(TYPE) == "bytes" and isinstance(packed := piece.get(VALUE), str):
        try:
            return base64.b64decode(packed)
        except (ValueError, binascii.Error):
            return None
    return None
