"""Answers of servers without their secrets, byte for byte as long as they were.

A replay serves them to the same client, whose parser counts: lengths that a head announces, sizes of chunks, quotes of
JSON. So a mark is as long as what it stands for and stands in the same piece, and of JSON only what is said by fields
with secret names, or looks like a key, is replaced. A compressed body is packed anew where it came in one piece; a
piece of one that came in several is not kept if it holds a secret.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.marks import same_digits
from agent_tt.redaction.packing import is_at_end, is_gzip, packed_as_long, unpacker
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.spans import Span, apart
from agent_tt.redaction.values import header_value, is_binary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_KEPT: Final = 2048
"""Characters of what came before that are looked at again: a secret may lie across the border of two pieces."""

_NO_TEXT: Final = ("image/", "audio/", "video/", "font/")
_LINE: Final = re.compile(r"^(?P<name>[\w!#$%&'*+.^`|~-]+):[ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)


class Veil:
    """One answer, piece by piece."""

    def __init__(self) -> None:
        self._line = ""
        self._body: _Body | None = None

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The headers of the answer, for one that is kept apart from its head."""
        received = list(headers)
        self._begin_body(received)
        return [(name, header_value(name, value, GIVEN.hide)) for name, value in received]

    def wire(
        self, data: bytes, spans: Sequence[tuple[int, int]], headers: Iterable[tuple[str, str]] | None
    ) -> bytes | None:
        """Bytes of a connection, as long as before; None where they cannot be kept.

        Args:
            data: the bytes.
            spans: where in them those of the body are: first, and one after the last.
            headers: what the head says, once it is complete.
        """
        shown = bytearray(data)
        if self._body is None:
            end = spans[0][0] if spans else len(data)
            shown[:end] = self._head(data[:end])
            if headers is not None:
                self._begin_body(headers)
        body = self.body(b"".join(data[first:last] for first, last in spans))
        if body is None:
            return None
        at = 0
        for first, last in spans:
            shown[first:last] = body[at : at + last - first]
            at += last - first
        return bytes(shown)

    def _head(self, data: bytes) -> bytes:
        text = self._line + data.decode("latin-1")
        shown = _LINE.sub(_covered_line, text)[len(self._line) :]
        self._line = text[text.rfind("\n") + 1 :][-_KEPT:]
        return shown.encode("latin-1")

    def _begin_body(self, headers: Iterable[tuple[str, str]]) -> None:
        said = {name.lower(): value.strip().lower() for name, value in headers}
        self._body = _Body(said.get("content-type", ""), said.get("content-encoding", ""))

    def body(self, data: bytes) -> bytes | None:
        """Bytes of the body, as long as before; None where they cannot be kept."""
        return data if self._body is None else self._body.covered(data)


def _covered_line(match: re.Match[str]) -> str:
    value = match["value"]
    start = match.start("value") - match.start()
    return match[0][:start] + header_value(match["name"], value, GIVEN.hide)


class _Body:
    """One body.

    Args:
        content_type: what the head says of it, in lower case.
        coding: its content coding.
    """

    def __init__(self, content_type: str, coding: str) -> None:
        self._is_text = not content_type.startswith(_NO_TEXT)
        self._is_form = "form-urlencoded" in content_type
        self._is_gzip = is_gzip(coding)
        self._unpacker = unpacker(coding)
        self._before = ""
        self._is_first = True
        self._is_start = True

    def covered(self, data: bytes) -> bytes | None:
        if not self._is_text or not data:
            return data
        if self._unpacker is None:
            return self._plain(data) or data
        try:
            plain = self._unpacker.decompress(data)
        except Exception:  # noqa: BLE001  each library has errors of its own; the agent's client will see to it
            self._is_text = False
            return data
        is_whole = self._is_first and self._is_gzip and is_at_end(self._unpacker)
        self._is_first = False
        shown = self._plain(plain)
        if shown is None:
            return data
        return packed_as_long(shown, len(data)) if is_whole else None

    def _plain(self, data: bytes) -> bytes | None:
        """The bytes with marks in them; None where no secret is."""
        text = data.decode("latin-1")
        if self._is_start:
            self._is_start = False
            self._is_text = not is_binary(data)
            if not self._is_text:
                return None
            self._before = "&" if self._is_form else ""
        before = len(self._before)
        whole = self._before + text
        # Only a private key goes on in the next line.
        start = 0 if "PRIVATE KEY" in whole else whole.rfind("\n") + 1
        self._before = whole[start:][-_KEPT:]
        spans = apart([*secrets_in(whole), *_given_in(whole)])
        found = [span for span in spans if span.end > before]
        if not found:
            return None
        parts, at = [], 0
        for start, end, quote in found:
            secret, begun = whole[start:end], whole[start:before] if start < before else ""
            shown = same_digits(secret) if quote else GIVEN.hide(secret, begun, is_begun=end == len(whole))
            parts += [whole[at:start], shown]
            at = end
        return "".join([*parts, whole[at:]])[before:].encode("latin-1")


def _given_in(text: str) -> Iterator[Span]:
    for secret in GIVEN.secrets:
        if secret in text:
            yield from (Span(*match.span()) for match in re.finditer(re.escape(secret), text))
