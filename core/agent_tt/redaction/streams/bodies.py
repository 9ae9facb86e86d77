"""The body of an answer as it arrives, and which of its bytes are secrets.

A body is one text, in UTF-8 or in what looks like it byte for byte. A stream of events, server-sent or JSON by lines,
is many texts: what the events say under one name is joined, as clients join it, and judged so.
"""

from __future__ import annotations

import codecs
import itertools
import re
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt._pattern import lazy_re
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.marks import same_digits
from agent_tt.redaction.streams.channels import Channel, Channels, leaves_of, named_leaves
from agent_tt.redaction.streams.event_forms import EventForm, Frame, may_name
from agent_tt.redaction.texts import is_binary, redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire

__all__ = ["Body"]

_NO_TEXT: Final = ("image/", "audio/", "video/", "font/")
_EVENTS: Final = ("event-stream", "ndjson", "jsonl", "json-seq", "json-lines", "jsonlines", "stream+json")
_SHORTEST_KEY: Final = 8
"""Characters of a key of JSON that may be a secret itself."""
_LONGEST_LINE: Final = 1 << 20
_DATA: Final = lazy_re(r"[ \t]{0,40}data:[ ]?")
_NO_LINE: Final = (b"\n", b"\r\n")
_DATA_KEY: Final = ("data",)
"""What events say that are no JSON, or nothing but a text."""
_TOKEN: Final = lazy_re(r"\"(?P<text>[^\"\\]*(?:\\.[^\"\\]*)*)(?:\"(?P<colon>\s*:)?|\\?\Z)|-?\d[\d.eE+-]*", re.DOTALL)
_WRITTEN: Final = lazy_re(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]")


class Body:
    """One body.

    Args:
        content_type: what the head says of it, in lower case.
    """

    def __init__(self, content_type: str) -> None:
        self._is_text = not content_type.startswith(_NO_TEXT)
        self._is_events = any(word in content_type for word in _EVENTS)
        self._whole = Channel("&" if "form-urlencoded" in content_type else "")
        self._events = Channels()
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._covers: list[tuple[int, int, bytes]] = []
        self._line = bytearray()
        self._size = 0
        self._read = 0
        self._is_start = True
        self._form = EventForm.latest
        self._frame: Frame | None = None
        self._framed: list[int | None] = []

    def feed(self, data: bytes, *, is_end: bool = False) -> bool:
        """Take the next bytes.

        Args:
            data: the bytes.
            is_end: whether they are the last.

        Returns:
            Whether more may be known of the body now: not while a line of events has no end.
        """
        read = self._read
        self._size += len(data)
        if self._is_start and data:
            self._is_start = False
            self._is_text = self._is_text and not is_binary(data)
        if not self._is_text:
            self._read = self._size
        elif self._is_events:
            self._feed_lines(data, is_end=is_end)
        else:
            text = self._decode(data, is_end)
            self._whole.feed(text, _Stretch(self._covers, text, self._read), is_end=is_end)
            self._read += len(text.encode("utf-8", "surrogateescape"))
        if is_end:
            self._events.end()
        return is_end or not self._is_events or self._read != read

    def passes(self, data: bytes) -> bool:
        """Take the next bytes where they are events as the latest, of which nothing is to be covered or waited for.

        Args:
            data: the bytes.

        Returns:
            Whether it was so; if not, nothing was taken.
        """
        frame = self._frame
        if frame is None or self._line:
            return False
        said = frame.said_in(data) or frame.all_said_in(data)
        if said is None or not self._events.passes(frame.key, said):
            return False
        self._size += len(data)
        self._read = self._size
        return True

    def open_stretches(self) -> list[tuple[int, int, int]]:
        """Where it is not known yet what is secret: the first byte of each stretch, its end, and from where on."""
        return [
            (part.first, part.last, part.byte(at))
            for part, at in itertools.chain(self._whole.open_parts, self._events.open_parts)
            if isinstance(part, _Stretch)
        ]

    def has_read(self, end: int) -> bool:
        """Whether the bytes up to `end` were looked at: not while a line of events has no end."""
        return end <= self._read

    def is_covered(self, start: int, end: int) -> bool:
        """Whether any of the bytes from `start` to `end` are covered."""
        return next(self._within(start, end), None) is not None

    def shown(self, data: bytes, start: int = 0) -> bytes:
        """Bytes of the body with what is covered in them.

        Args:
            data: the bytes.
            start: where they begin in the body.
        """
        shown: bytearray | None = None
        for first, last, cover in self._within(start, start + len(data)):
            shown = bytearray(data) if shown is None else shown
            low, high = max(first, start), min(last, start + len(data))
            shown[low - start : high - start] = cover[low - first : high - first]
        return data if shown is None else bytes(shown)

    def _within(self, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
        return ((first, last, cover) for first, last, cover in self._covers if first < end and last > start)

    # ---------------------------------------------------------------- events

    def _feed_lines(self, data: bytes, *, is_end: bool) -> None:
        frame = None if self._line else self._frame
        said = None if frame is None else frame.said_in(data)
        if frame is not None and said is not None:
            self._events.feed(frame.key, said, _Stretch(self._covers, said, self._read + len(frame.before)))
            self._read = self._size
            return
        begin, first, is_begun = 0, self._read, bool(self._line)
        self._line += data
        self._framed = []
        while (at := self._line.find(b"\n", begin)) >= 0:
            self._take_line(bytes(self._line[begin : at + 1]))
            begin = at + 1
        if is_end or len(self._line) - begin > _LONGEST_LINE:
            self._take_line(bytes(self._line[begin:]))
            begin = len(self._line)
        del self._line[:begin]
        events = self._framed
        if self._form is not None and not (is_begun or self._line) and len(events) == 1 and events[0] is not None:
            self._frame = self._form.framed(data, events[0] - first)

    def _take_line(self, line: bytes) -> None:
        start = self._read
        self._read += len(line)
        if line in _NO_LINE:  # every other one of server-sent events
            return
        text = line.decode("utf-8", "surrogateescape")
        data = _DATA.match(text)
        begin = 0 if data is None else data.end()
        payload = text[begin:].rstrip("\r\n")
        if not payload:
            return
        at = start + len(text[:begin].encode("utf-8", "surrogateescape"))
        shown = payload.lstrip(" \x1e")
        at_event = at + len(payload) - len(shown)
        if shown[:1] in ("{", "[", '"') and self._take_event(shown, at_event):
            self._framed.append(at_event)
            return
        if data is not None or redact_text(payload) != payload:  # where it is as before, it is nothing to look at
            self._framed.append(None)
        self._events.feed(None if data is None else _DATA_KEY, payload, _Stretch(self._covers, payload, at))

    def _take_event(self, text: str, at: int) -> bool:
        """Take an event that is JSON; False where it is not, or names a field twice."""
        texts = None if self._form is None else self._form.texts_in(text)
        if texts is not None:
            offsets = _Bytes(text, at)
            for of_text, said, first in texts:
                self._events.feed(of_text, said, _Stretch(self._covers, said, 0, offsets, first))
            return True
        try:
            event: Wire = orjson.loads(text.encode("utf-8", "surrogateescape"))
        except ValueError:
            return False
        leaves = [*leaves_of(event)]
        tokens = [*_TOKEN.finditer(text)]
        written = [token for token in tokens if token["colon"] is None]
        if len(leaves) != len(written):
            return False
        keys = [token["text"] for token in tokens if token["colon"] is not None]
        named = named_leaves(event) if may_name(text, keys, leaves) else {}
        offsets = _Bytes(text, at)
        for token in tokens:
            key = token["text"]
            if token["colon"] is not None and len(key) >= _SHORTEST_KEY and not key.replace("_", "").isalpha():
                stretch = _Stretch(self._covers, key, 0, offsets, token.start("text"))
                self._events.feed(None, orjson.loads(f'"{key}"'), stretch)
        for leaf, token in zip(leaves, written, strict=True):
            name, held = named.get(leaf.path), leaf.held
            if not isinstance(held, str):
                if name is not None:
                    self._cover(offsets, token.start(), token.end(), same_digits(token[0]))
                continue
            first = token.start("text")
            if name is None:
                self._events.feed(
                    leaf.key if leaf.path else _DATA_KEY, held, _Stretch(self._covers, token["text"], 0, offsets, first)
                )
            elif isinstance(name, str) and name != held:
                raw = token["text"]
                size = offsets.of(token.end("text")) - offsets.of(first)
                is_plain = len(name) == len(raw) == size
                self._cover(offsets, first, token.end("text"), name if is_plain else GIVEN.hide(raw, size=size))
        self._form = EventForm.of(text, leaves, written, keys)
        return True

    def _cover(self, offsets: _Bytes, start: int, end: int, shown: str) -> None:
        self._covers.append((offsets.of(start), offsets.of(end), shown.encode("latin-1", "replace")))


class _Bytes:
    """Where the characters of a text stand among the bytes of the body.

    Args:
        text: the text, as it is written there.
        first: where its first byte stands.
    """

    __slots__ = ("_at", "_first")

    def __init__(self, text: str, first: int) -> None:
        self._first = first
        self._at: list[int] | None = None
        if not text.isascii():
            self._at = [0, *itertools.accumulate(map(_width, text))]

    def of(self, place: int) -> int:
        """Where the character stands that has this place in the text."""
        return self._first + (place if self._at is None else self._at[place])


class _Stretch:
    """A stretch of a text, as it is written in the body.

    Attributes:
        first: its first byte.
        last: one after its last.
    """

    __slots__ = ("_bytes", "_covers", "_places", "_raw", "_shift", "first", "last")

    def __init__(
        self,
        covers: list[tuple[int, int, bytes]],
        raw: str,
        first: int,
        offsets: _Bytes | None = None,
        shift: int = 0,
    ) -> None:
        self._covers = covers
        self._raw = raw
        self._bytes = _Bytes(raw, first) if offsets is None else offsets
        self._shift = shift
        # Of JSON a character may be written as several.
        self._places = _places(raw) if offsets is not None and "\\" in raw else None
        self.first = self._bytes.of(shift)
        self.last = self._bytes.of(shift + len(raw))

    def byte(self, place: int) -> int:
        """Where the character stands that has this place in the stretch."""
        return self._bytes.of(self._shift + self._written(place))

    def raw(self, start: int, end: int) -> str:
        """See `Part`."""
        return self._raw[self._written(start) : self._written(end)]

    def size(self, start: int, end: int) -> int:
        """See `Part`."""
        return self.byte(end) - self.byte(start)

    def cover(self, start: int, end: int, shown: str) -> None:
        """See `Part`."""
        self._covers.append((self.byte(start), self.byte(end), shown.encode("latin-1", "replace")))

    def _written(self, place: int) -> int:
        return place if self._places is None else self._places[min(place, len(self._places) - 1)]


def _places(raw: str) -> list[int]:
    return [found.start() for found in _WRITTEN.finditer(raw)] + [len(raw)]


def _width(letter: str) -> int:
    """Bytes of a character in UTF-8; one of a byte that is none."""
    code = ord(letter)
    if code < 0x80 or 0xDC80 <= code <= 0xDCFF:
        return 1
    return 2 if code < 0x800 else 3 if code < 0x10000 else 4
