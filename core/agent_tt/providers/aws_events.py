"""The event streams of Amazon: binary frames of headers and a payload.

A frame is: its whole length and the length of its headers (4 bytes each, big-endian), a checksum of these two, the
headers, the payload, a checksum of everything. (Smithy specification, `application/vnd.amazon.eventstream`.) Checksums
are not verified: the bytes were recorded as they came.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import TYPE_CHECKING, Final

from agent_tt.providers.loose import parse, text

if TYPE_CHECKING:
    from agent_tt.providers.shapes import Json

__all__ = ["aws_events"]

_PRELUDE: Final = struct.Struct(">II4x")
_CHECKSUM_BYTES: Final = 4
_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""How many bytes a header's value of each type has; types 6 (bytes) and 7 (text) begin with their length."""
_TEXT: Final = 7
_COUNTED: Final = frozenset({6, _TEXT})


def aws_events(body: bytes) -> list[Json]:
    """The payloads of the whole frames in `body`, each as `{event-type: payload}`.

    Payloads that wrap a model's own JSON in base 64 (`{"bytes": …}`, as `invoke-with-response-stream` does) are
    unwrapped.
    """
    found: list[Json] = []
    at = 0
    while at + _PRELUDE.size <= len(body):
        length, headers = _PRELUDE.unpack_from(body, at)
        start, end = at + _PRELUDE.size + headers, at + length - _CHECKSUM_BYTES
        if end < start or at + length > len(body):
            break
        names = _headers(body[at + _PRELUDE.size : start])
        payload = parse(body[start:end])
        kind = names.get(":event-type") or names.get(":exception-type") or ""
        if isinstance(payload, dict):
            inner = _wrapped(payload)
            found.append(inner if inner is not None else {kind: payload})
        at += length
    return found


def _wrapped(payload: dict[str, Json]) -> Json:
    try:
        return parse(base64.b64decode(text(payload.get("bytes")), validate=True))
    except (binascii.Error, ValueError):
        return None


def _headers(data: bytes) -> dict[str, str]:
    """The headers that are text; reading stops where they make no sense."""
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name, kind = data[at + 1 : name_end].decode("utf-8", "replace"), data[name_end]
            at = name_end + 1
            if kind in _COUNTED:
                (size,) = struct.unpack_from(">H", data, at)
                at += 2
            else:
                size = _SIZES[kind]
            if kind == _TEXT:
                found[name] = data[at : at + size].decode("utf-8", "replace")
            at += size
    except (IndexError, KeyError, struct.error):
        pass
    return found
