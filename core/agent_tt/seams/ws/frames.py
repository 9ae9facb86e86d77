"""Messages of WebSockets as a recording keeps them, and the bytes that a server says (RFC 6455, sections 4 and 5).

A message that was received is a piece of an answer:

- `{"text": "…"}` and `{"bytes": …}` (a `bytes` envelope): a whole message.
- `{"json": …, "written": "compact" | "spaced", "ascii": true | false}`: a whole message of text that Python's `json`
  writes exactly so from an object. Secrets in it are found as in any other object.
- `{"text"}` or `{"bytes"}` with `"more": true`: the first fragment of a message. `{"next": …}` is a further one, the
  last without `more`. A fragment of text that ends inside a character is a `bytes` envelope.
- `{"ping": "…"}` and `{"pong": "…"}`, of a connection whose agent is given them: their payload as text or bytes.
- `{"close": code, "reason": "…"}`: the other side closes; the code is null where it gave none.
- `{"status", "reason", "headers", "body"}`: the answer to the opening handshake.

Elsewhere pings and pongs are not kept.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode, encode_with_plainness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire

NEXT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

_NAMES: Final = {NEXT: "next", TEXT: "text", BINARY: "bytes", PING: "ping", PONG: "pong"}
_OPCODES: Final = {name: opcode for opcode, name in _NAMES.items()}
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
NO_CODE: Final = 1005
_SEPARATORS: Final = {"compact": (",", ":"), "spaced": (", ", ": ")}


@dataclass(frozen=True, slots=True)
class Frame:
    """A message that was received, or a fragment of one.

    Attributes:
        opcode: `TEXT`, `BINARY`, `NEXT`, `CLOSE`, `PING` or `PONG`.
        data: its payload.
        is_last: whether its message ends with it.
    """

    opcode: int
    data: bytes
    is_last: bool = True

    def to_wire(self) -> dict[str, Wire]:
        """As a recording keeps it."""
        if self.opcode == CLOSE:
            code = struct.unpack("!H", self.data[:2])[0] if len(self.data) > 1 else None
            return {"close": code, "reason": self.data[2:].decode("utf-8", "replace")}
        event = event_in(self.data) if self.opcode == TEXT and self.is_last else None
        written = None if event is None else _as_json(event, self.data)
        if written is not None:
            return written
        data = encode(self.data) if self.opcode == BINARY else kept_payload(self.data)
        kept: dict[str, Wire] = {_NAMES[self.opcode]: data}
        return kept if self.is_last else {**kept, "more": True}


def event_in(data: bytes) -> dict[str, Any] | None:
    """The JSON object that a message is; None for any other."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _as_json(event: dict[str, Any], data: bytes) -> dict[str, Wire] | None:
    """A message as the object that it is; None where it is not written as we would write it."""
    wire, is_plain = encode_with_plainness(event)
    with contextlib.suppress(RecursionError):
        for name in _SEPARATORS if is_plain else ():
            for is_ascii in (False, True):
                if _written(event, name, is_ascii=is_ascii) == data:
                    return {"json": wire, "written": name, "ascii": is_ascii}
    return None


def _written(event: object, how: str, *, is_ascii: bool) -> bytes:
    text = json.dumps(event, ensure_ascii=is_ascii, separators=_SEPARATORS[how])
    return text.encode("utf-8", "surrogatepass")


def frame_of(kept: Wire) -> Frame | None:
    """The frame that a piece is; None for a piece that is none, such as one that is not kept."""
    if not isinstance(kept, dict):
        return None
    if "close" in kept:
        code = kept["close"]
        reason = str(kept.get("reason", "")).encode()
        return Frame(CLOSE, struct.pack("!H", code) + reason if isinstance(code, int) and code != NO_CODE else b"")
    if "json" in kept and kept.get("written") in _SEPARATORS:
        return Frame(TEXT, _written(kept["json"], str(kept["written"]), is_ascii=kept.get("ascii") is True))
    for name, opcode in _OPCODES.items():
        if name in kept:
            return Frame(opcode, payload_of(kept[name]), is_last=kept.get("more") is not True)
    return None


def kept_payload(data: bytes) -> Wire:
    """Text as text, anything else as bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return encode(data)


def payload_of(kept: Wire) -> bytes:
    """The bytes that are kept as text or as bytes."""
    return kept.encode("utf-8", "surrogatepass") if isinstance(kept, str) else cast("bytes", decode(kept))


def from_server(frame: Frame) -> bytes:
    """The bytes of a frame as a server sends it: not masked."""
    first, size = frame.opcode | (0x80 if frame.is_last else 0), len(frame.data)
    if size < 126:
        return struct.pack("!BB", first, size) + frame.data
    if size < 1 << 16:
        return struct.pack("!BBH", first, 126, size) + frame.data
    return struct.pack("!BBQ", first, 127, size) + frame.data


def control_in(written: bytes) -> tuple[int, bytes] | None:
    """The opcode and payload of the control frame that a client has written, if it has written just one."""
    if len(written) < 6 or written[0] & 0x7F not in (CLOSE, PING, PONG):
        return None
    mask, data = written[2:6], written[6:]
    return written[0] & 0x7F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))


def handshake_key(written: bytes) -> str:
    """The key in the opening handshake of a client; "" where it sends none."""
    for line in written.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"sec-websocket-key":
            return value.strip().decode("latin-1")
    return ""


def handshake_answer(head: Mapping[str, Wire], key: str) -> bytes:
    """The bytes of a recorded answer to the opening handshake, for a client that has sent another key.

    Args:
        head: `{"status", "reason", "headers", "body"}`.
        key: the client's.
    """
    accepted = base64.b64encode(hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()
    kept = head.get("body")
    body = payload_of(kept) if kept is not None else b""
    pairs = cast("Sequence[Sequence[str]]", head["headers"])
    lines = [f"HTTP/1.1 {head['status']} {head.get('reason') or ''}"]
    names = [name.lower() for name, _ in pairs]
    for (name, value), lowered in zip(pairs, names, strict=True):
        if lowered == "sec-websocket-accept":
            lines.append(f"{name}: {accepted}")
        elif lowered == "content-length" and body:
            lines.append(f"{name}: {len(body)}")
        elif lowered != "transfer-encoding":
            lines.append(f"{name}: {value}")
    if body and "content-length" not in names:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body
