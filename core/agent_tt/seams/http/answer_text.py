"""An answer as a person reads it: what a run keeps as the result of a call, beside its exact bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.encode import encode
from agent_tt.redaction.streams.packing import unpacker
from agent_tt.seams.http.http_body import parsed_json, text_or_bytes
from agent_tt.seams.http.http_request import joined_headers, shown_headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.seams.http.wire_answer import Head

LARGEST_READ: Final = 1024 * 1024
"""Bytes of a body that are read for display; of a longer one only its size is shown."""


def readable_answer(head: Head | None, body: bytes, size: int, *, shown: Callable[[bytes], bytes] = bytes) -> Wire:
    """`{"status", "headers", "body"}`: JSON as values, text as text, the rest as bytes.

    Args:
        head: the head, None where it never came.
        body: what arrived of the body, or its beginning; still encoded.
        size: how many bytes arrived of it.
        shown: gives the body, decoded, as it is kept.
    """
    if head is None:
        return None
    headers = shown_headers(head.headers)
    answer: dict[str, Wire] = {"status": head.status, "headers": encode(headers)}
    if size > len(body):
        answer["size"] = size
    elif size:
        answer["body"] = _readable(headers.get("content-type", ""), shown(decoded_body(head, body)))
    return answer


def decoded_body(head: Head, body: bytes) -> bytes:
    """A body without its content coding; as it is where that is unknown, broken or cut off."""
    coding = joined_headers(head.headers).get("content-encoding", "").strip().lower()
    try:
        unpacked = unpacker(coding)
        return body if unpacked is None else unpacked.decompress(body)
    except Exception:  # noqa: BLE001  each library has errors of its own; the agent's client reads the bytes itself
        return body


def _readable(content_type: str, body: bytes) -> Wire:
    if "json" in content_type or body[:1] in (b"{", b"["):
        found = parsed_json(body)
        if found is not None:
            return found[0]
    return text_or_bytes(body, LARGEST_READ)
