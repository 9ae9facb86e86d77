"""Bodies of requests in the form in which two equal questions are equal.

JSON is parsed (numbers keep their type, arrays their order), forms are sorted, the parts of a multipart body lose their
boundary, other text stays text, and what is not text stays bytes. Large bytes are told apart by their digest.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from agent_tt._pattern import lazy_re
from agent_tt.codec.encode import encode
from agent_tt.codec.plain import is_own_wire
from agent_tt.codec.wire import MAX_DEPTH
from agent_tt.redaction.marks import MARK
from agent_tt.redaction.names import is_secret_field
from agent_tt.redaction.texts import asked_bytes, asked_parameters

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

_LARGEST_KEPT: Final = 64 * 1024
"""Bytes that are kept of a body that is neither JSON nor a form; of a larger one its size and digest."""

_LARGEST_SEARCHED: Final = 1024 * 1024
"""Bytes of a body in which secrets are searched for, where only its digest is kept."""

_DEEPEST: Final = MAX_DEPTH - 10
"""Containers of a body inside each other: whoever keeps it puts it into some of their own."""

_BOUNDARY: Final = lazy_re(r'boundary=(?:"([^"]*)"|([^;\s]*))', re.IGNORECASE)

_FIELD: Final = lazy_re(r'(?<![*\w])name="([^"]*)"')


def canonical_body(content_type: str, body: bytes) -> Wire:
    """What a request's body asks, as a wire value; None for no body.

    Args:
        content_type: the request's header, with its parameters; "" where it has none.
        body: as it is sent, without transfer coding.
    """
    if not body:
        return None
    kind = content_type.partition(";")[0].strip().lower()
    if "json" in kind or body[:1] in b"{[":
        found = parsed_json(body)
        if found is not None:
            return found[0]
    if kind == "application/x-www-form-urlencoded":
        form = _form(body)
        if form is not None:
            return form
    if kind.startswith("multipart/"):
        parts = _multipart(content_type, body)
        if parts is not None:
            return parts
    return text_or_bytes(body)


def parsed_json(body: bytes | str) -> tuple[Wire] | None:
    """The JSON value of a body, in a tuple because it may be null; None where it is not JSON."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # broken or far too deep; also integers of more digits than Python parses
        return None
    if is_own_wire(value, deepest=_DEEPEST):
        return (value,)
    return (encode(value),) if _is_shallow(value) else None


def text_or_bytes(body: bytes, largest: int = _LARGEST_KEPT) -> Wire:
    """A body as text where it is UTF-8, else as bytes; `{"size", "blake2b"}` for more than `largest` bytes."""
    if len(body) > largest:
        return _told_apart(body)
    try:
        return body.decode()
    except UnicodeDecodeError:
        return encode(body)


def _is_shallow(value: object) -> bool:
    """Whether the codec keeps all of a JSON value: it stops at a depth that only a hostile body reaches."""
    level = [value]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += [part for part in item.values() if isinstance(part, (dict, list))]
            elif isinstance(item, list):
                inner += [part for part in item if isinstance(part, (dict, list))]
        if not inner:
            return True
        level = inner
    return False


def _form(body: bytes) -> Wire:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:  # not ASCII, not pairs, or bytes that are no text
        return None
    return encode([list(pair) for pair in sorted(asked_parameters(pairs))])


def _multipart(content_type: str, body: bytes) -> Wire:
    found = _BOUNDARY.search(content_type)
    boundary = (found[1] or found[2] or "").encode("latin-1", "replace") if found else b""
    if not boundary:
        return None
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary)
    if len(pieces) == 1 or not pieces[-1].startswith(b"--"):
        return None
    return [_part(piece) for piece in pieces[1:-1]]


def _part(piece: bytes) -> Wire:
    """One part: its disposition (names of field and file), its type, and the digest of what it holds."""
    head, _, payload = piece.partition(b"\r\n\r\n")
    headers: dict[str, str] = {}
    for line in head.decode("utf-8", "backslashreplace").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    field = _FIELD.search(headers.get("content-disposition", ""))
    if field is not None and is_secret_field(field[1]):
        return {"disposition": headers["content-disposition"], "redacted": MARK}
    return {
        "disposition": headers.get("content-disposition"),
        "type": headers.get("content-type"),
        **_told_apart(payload),
    }


def _told_apart(payload: bytes) -> dict[str, Wire]:
    """Size and digest of bytes, in which a secret counts as what stands for it."""
    asked = asked_bytes(payload) if len(payload) <= _LARGEST_SEARCHED else payload
    return {"size": len(asked), "blake2b": hashlib.blake2b(asked, digest_size=16).hexdigest()}
