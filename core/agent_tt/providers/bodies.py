"""From the bytes of an answer to the JSON objects in it: content encodings, event streams, lists sent piece by piece.

A body that ends early (the agent left, the connection broke) gives what is whole in it.
"""

from __future__ import annotations

import json
import sys
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.providers.aws_events import aws_events
from agent_tt.providers.loose import dicts, mapping, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.providers.shapes import Json

__all__ = ["Pieces", "decoded", "header", "pieces_of"]

_MOST_BYTES: Final = 256 * 1024 * 1024
"""A body that unpacks to more is not read: what is shown is not worth the memory."""

_AWS_STREAM: Final = "application/vnd.amazon.eventstream"
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_SEPARATORS: Final = " \t\r\n,[]"


class Pieces(NamedTuple):
    """The JSON values of an answer, in order.

    Attributes:
        values: each piece of a stream, or the one value of a plain answer.
        streamed: whether it came as a stream of events or as a list.
    """

    values: tuple[Json, ...] = ()
    streamed: bool = False

    @property
    def whole(self) -> dict[str, Json]:
        """The first value, where it is an object; an empty one else."""
        return mapping(self.values[0]) if self.values else {}

    @property
    def events(self) -> list[dict[str, Json]]:
        """The values that are objects."""
        return dicts(list(self.values))


def header(headers: Mapping[str, str] | Iterable[tuple[str, str]], name: str) -> str:
    """The last value of a header, in lower case and without parameters; empty where there is none.

    Args:
        headers: a mapping, or pairs of names and values.
        name: in lower case.
    """
    pairs = headers.items() if hasattr(headers, "items") else headers
    found = ""
    for key, value in pairs:
        if key.lower() == name:
            found = value
    return found.partition(";")[0].strip().lower()


def decoded(body: bytes, encoding: str) -> bytes | None:
    """The body without its content encodings; None where one of them cannot be undone here.

    Args:
        body: as it was received; may end early.
        encoding: the header `Content-Encoding`: the encodings in the order in which they were applied.
    """
    for name in reversed([part.strip() for part in encoding.split(",") if part.strip()]):
        unpacked = _unpacked(body, name)
        if unpacked is None:
            return None
        body = unpacked
    return body


def pieces_of(body: bytes, content_type: str) -> Pieces:
    """The JSON values in an answer, whatever form it has."""
    if content_type == _AWS_STREAM:
        return Pieces(tuple(aws_events(body)), streamed=True)
    text = body.decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip()[:1] in ("{", "["):
        whole = parse(text)
        if isinstance(whole, list):
            return Pieces(tuple(whole), streamed=True)
        if whole is not None:
            return Pieces((whole,))
        values = tuple(_values_in(text))
        return Pieces(values, streamed=len(values) != 1 or text.lstrip().startswith("["))
    return Pieces(tuple(_events(text)), streamed=True)


def _events(text: str) -> list[Json]:
    """The JSON data of server-sent events (WHATWG HTML, 9.2.6); `[DONE]` and comments are left out.

    An event whose data has no `type` gets its name as one, as Anthropic's and OpenAI's have it anyway.
    """
    found: list[Json] = []
    name, data = "", list[str]()
    # `splitlines` would also part lines at characters that may stand in a JSON string, such as U+2028.
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith(":"):
            continue
        if line:
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "data":
                data.append(value)
            elif key == "event":
                name = value
            continue
        value = "\n".join(data)
        if value and value.strip() != "[DONE]":
            parsed = parse(value)
            if isinstance(parsed, dict) and name and "type" not in parsed:
                parsed = {"type": name, **parsed}
            if parsed is not None:
                found.append(parsed)
        name, data = "", []
    return found


def _values_in(text: str) -> list[Json]:
    """The values of a JSON list, or of lines of JSON, as far as they are whole."""
    decoder, found, at = json.JSONDecoder(), list["Json"](), 0
    while True:
        while at < len(text) and text[at] in _SEPARATORS:
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found
        found.append(value)


def _unpacked(body: bytes, name: str) -> bytes | None:
    try:
        match name:
            case "identity":
                return body
            case "gzip" | "x-gzip":
                return _inflated(body, _GZIP_OR_ZLIB)
            case "deflate":
                try:
                    return _inflated(body, zlib.MAX_WBITS)
                except zlib.error:  # many servers send it without its header
                    return _inflated(body, -zlib.MAX_WBITS)
            case "br":
                return _with_loaded(("brotli", "brotlicffi"), body)
            case "zstd":
                return _with_zstandard(body)
    except Exception:  # noqa: BLE001  a foreign decoder on foreign bytes; then there is nothing to show
        return None
    return None


def _inflated(body: bytes, bits: int) -> bytes | None:
    inflater = zlib.decompressobj(bits)
    plain = inflater.decompress(body, _MOST_BYTES)
    return None if inflater.unconsumed_tail else plain


def _with_loaded(modules: tuple[str, ...], body: bytes) -> bytes | None:
    """What a decoder makes of it that the agent's own client has loaded; nothing is imported for this."""
    for name in modules:
        module = sys.modules.get(name)
        if module is not None:
            decompressor = module.Decompressor()
            plain: bytes = (getattr(decompressor, "process", None) or decompressor.decompress)(body)
            return plain
    return None


def _with_zstandard(body: bytes) -> bytes | None:
    module = sys.modules.get("zstandard")
    if module is None:
        return None
    plain: bytes = module.ZstdDecompressor().decompressobj().decompress(body)
    return plain
