"""What is answered to exporters, as the protocol has it: in JSON to who sent JSON, else in protocol buffers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.serving.otlp.bodies import JSON

if TYPE_CHECKING:
    from agent_tt.serving.otlp.bodies import Sent, Signal

__all__ = ["failed", "taken"]

_VARINT: Final = 0
_SIZED: Final = 2
_REJECTED: Final = {"traces": "rejectedSpans", "logs": "rejectedLogRecords"}
_CODES: Final = {400: 3, 403: 7, 404: 5, 413: 8, 415: 3, 429: 8, 503: 14, 501: 12}
"""The codes of gRPC that statuses of HTTP stand for."""


def taken(sent: Sent, content: str, signal: Signal) -> bytes:
    """Say that what was sent is kept, and how much of it is not."""
    if content == JSON:
        partial = {_REJECTED[signal]: str(sent.rejected), "errorMessage": sent.why}
        return json.dumps({"partialSuccess": partial} if sent.rejected else {}).encode()
    if not sent.rejected:
        return b""
    return _sized(1, _tag(1, _VARINT) + _varint(sent.rejected) + _sized(2, sent.why.encode()))


def failed(status: int, kind: str, message: str, hint: str, content: str) -> bytes:
    """Say that nothing was kept: `google.rpc.Status`; in JSON with our own error beside."""
    code = _CODES.get(status, 13)
    said = f"{message}. {hint}" if hint else message
    if content == JSON:
        error = {"kind": kind, "message": message, "hint": hint}
        return json.dumps({"code": code, "message": said, "error": error}).encode()
    return _tag(1, _VARINT) + _varint(code) + _sized(2, said.encode())


def _tag(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _sized(number: int, body: bytes) -> bytes:
    return _tag(number, _SIZED) + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
