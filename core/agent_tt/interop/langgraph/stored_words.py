"""Which of some words may stand in what is stored, told without the runs: most of it is never made a value of ours.

It may say yes for too much, and never no for a word that a run shows. Texts are looked at as JSON writes them, because
errors show values so; numbers, names and typed values of Python's own, such as dates, as they are read.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import orjson

from agent_tt.codec.folding import fold
from agent_tt.codec.texts import texts
from agent_tt.errors import Damaged
from agent_tt.history.payloads.damage import find_placeholder
from agent_tt.interop.langgraph.calls import error_info, tool_error
from agent_tt.interop.langgraph.decode import MSGPACK_LEVELS, Extension, read_value
from agent_tt.interop.langgraph.envelopes import is_plainly_constructed, to_wire
from agent_tt.interop.langgraph.messages import messages_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["StoredWords", "Unclear"]

_FAILED: Final = b'"status":"error"'
_CONSTRUCTED: Final = b'"lc"'
_OF_ANSWERS: Final = (b"ai", b"assistant")
"""What stands in every message of a model: its type or its class."""

_NAMELESS: Final = "model"
"""What a call of a model is named that does not say which model it was."""

_NUMBER: Final = re.compile(r"[\da-fx]*")
"""What may stand in a number as it is shown: one of more than 64 bits is in hexadecimal digits."""

_WRITTEN_OTHERWISE: Final = re.compile(rb'(?:^|[:\[,{]"?)-?(?:0\.0000|\d(?:\.\d+)?e-|\d{19})')
"""What stands in JSON of orjson where a number is shown in another way."""

_NO_NUMBER: Final = ("nan", "infinity")
"""What is shown of floats that orjson writes as null."""

_SMALL_IN_ASCII: Final = (("\N{KELVIN SIGN}".encode(), b"k"), ("\N{LATIN SMALL LETTER LONG S}".encode(), b"s"))
"""The letters beyond ASCII whose folded form is in it."""

_REMEMBERED: Final = 20_000
_SENDS: Final = "pending_sends"


class Unclear(Exception):
    """A value is not as LangGraph writes it, or cannot be read: what it shows is not known."""


class StoredWords:
    """Says in numbers which words may stand in a value: a word has the bit of its place.

    Args:
        words: folded, each of letters, digits and `_`.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [(1 << place, word.encode()) for place, word in enumerate(words)]
        self._is_ascii = all(map(str.isascii, words))
        self._has_numbers = any(map(_NUMBER.fullmatch, words))
        self._has_no_numbers = any(word in each for word in words for each in _NO_NUMBER)
        self._nameless = sum(1 << place for place, word in enumerate(words) if word in _NAMELESS)
        self._texts: dict[str, int] = {}
        self._extensions: dict[tuple[int, bytes], tuple[int, int]] = {}

    def in_text(self, text: str) -> int:
        """Which stand in a text that many rows share."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self._in(text.encode("utf-8", "replace"))
        return known

    def in_wire(self, value: Wire) -> int:
        """Which stand in a value that was read."""
        return self._in(_json(value))

    def in_value(self, encoding: object, blob: object) -> int:
        """Which stand in what a task wrote.

        Raises:
            Unclear: that is not known.
        """
        return self._in_stored(encoding, blob, is_checkpoint=False)

    def in_checkpoint(self, encoding: object, blob: object) -> int:
        """Which stand in the values of a checkpoint, or may be names of nodes.

        Raises:
            Unclear: that is not known.
        """
        return self._in_stored(encoding, blob, is_checkpoint=True)

    def in_error(self, encoding: object, blob: object) -> int:
        """Which stand in an error of a task, as it is shown.

        Raises:
            Unclear: that is not known.
        """
        error = error_info(self._wire(encoding, blob))
        return self._in(f"{error.short}\n{error.message}".encode("utf-8", "replace"))

    # ---------------------------------------------------------------- stored values

    def _in_stored(self, encoding: object, blob: object, *, is_checkpoint: bool) -> int:
        data = blob.encode() if isinstance(blob, str) else blob
        if encoding == "null" and not is_checkpoint:
            return 0
        if not isinstance(data, bytes) or encoding not in ("msgpack", "json", ""):
            raise Unclear
        if encoding != "msgpack" or data[:1] == b"{":
            with suppress(ValueError, RecursionError):
                value = json.loads(data)
                return self._in_wire_of(encoding, data, is_checkpoint=is_checkpoint) if _CONSTRUCTED in data else (
                    self._in_plain(value, encoding, data, is_checkpoint=is_checkpoint)
                )  # fmt: skip
            if encoding != "msgpack":
                raise Unclear
        found, inner = _unpacked(data)
        mask = self._in_plain(found, encoding, data, is_checkpoint=is_checkpoint)
        for code, part in inner:
            mask |= self._in_extension(code, part, 1)[0]
        return mask

    def _in_plain(self, value: object, encoding: object, data: bytes, *, is_checkpoint: bool) -> int:
        """Which stand in a value, without what is typed in it."""
        written = self._written(_shown_of(value) if is_checkpoint else value)
        if written is None:
            return self._in_wire_of(encoding, data, is_checkpoint=is_checkpoint)
        mask = self._in(written)
        if _FAILED in written and not is_checkpoint:
            mask |= self.in_failures(self._wire(encoding, data))
        return mask

    def _in_extension(self, code: int, data: bytes, level: int) -> tuple[int, int]:
        """Which stand in a typed value, and how many such lie in each other there."""
        known = self._extensions.get((code, data))
        if known is None:
            known = self._look_into(code, data, level)
            if len(self._extensions) >= _REMEMBERED:
                self._extensions.clear()
            self._extensions[code, data] = known
        if level + known[1] > MSGPACK_LEVELS:
            raise Unclear
        return known

    def _look_into(self, code: int, data: bytes, level: int) -> tuple[int, int]:
        if level > MSGPACK_LEVELS:
            raise Unclear
        content, inner = _unpacked(data)
        written = None
        if is_plainly_constructed(code, content):
            written = self._written(content[2])  # type: ignore[index]  # a list
        if written is None:
            return self._in(_texts_of(to_wire(Extension(code, data)))), 1
        mask, height = self._in(written), 0
        if self._nameless and "ai" in content[1].lower():  # type: ignore[index]  # the name of its class
            mask |= self._nameless
        if _FAILED in written:
            mask |= self.in_failures(to_wire(Extension(code, data)))
        for each, part in inner:
            found, deep = self._in_extension(each, part, level + 1)
            mask, height = mask | found, max(height, deep)
        return mask, height + 1

    def _in_wire_of(self, encoding: object, data: bytes, *, is_checkpoint: bool) -> int:
        """Which stand in a value that has to be read as it is shown."""
        wire = self._wire(encoding, data)
        shown = _shown_of(wire) if is_checkpoint else wire
        mask = self._in(_texts_of(shown)) | self._nameless
        return mask if is_checkpoint else mask | self.in_failures(wire)

    def _written(self, value: object) -> bytes | None:
        """A value as JSON, without what is typed in it and bytes; None where that would not be as it is shown."""
        try:
            data = orjson.dumps(value, default=_nothing, option=orjson.OPT_NON_STR_KEYS)
            if self._has_no_numbers and b"null" in data:
                data = _json(value)
        except (TypeError, ValueError, RecursionError):
            return None
        return None if self._has_numbers and _WRITTEN_OTHERWISE.search(data) else data

    def _wire(self, encoding: object, blob: object) -> Wire:
        data = blob.encode() if isinstance(blob, str) else blob
        if not isinstance(data, bytes | None) or not isinstance(encoding, str | None):
            raise Unclear
        try:
            wire = to_wire(read_value(encoding or "", data))
        except Damaged as error:
            raise Unclear from error
        if find_placeholder(wire) is not None:
            raise Unclear
        return wire

    def in_failures(self, wire: Wire) -> int:
        """Which stand in the errors of tools in what was written: they show what the tool said as JSON."""
        errors = filter(None, map(tool_error, messages_in(wire)))
        return self._in("\n".join(f"{each.short}\n{each.message}" for each in errors).encode("utf-8", "replace"))

    def _in(self, data: bytes) -> int:
        """Which stand in some text."""
        if self._is_ascii:
            small = data.lower()
            if not small.isascii():
                for letter, written in _SMALL_IN_ASCII:
                    small = small.replace(letter, written)
        else:
            small = fold(data.decode("utf-8", "replace")).encode("utf-8", "replace")
        mask = 0
        for bit, word in self._words:
            if word in small:
                mask |= bit
        if self._nameless and any(each in small for each in _OF_ANSWERS):
            mask |= self._nameless
        return mask


def _shown_of(checkpoint: object) -> object:
    """What of a checkpoint may be shown: its values, its nodes, and what it sends them.

    Raises:
        Unclear: it is none.
    """
    values = checkpoint.get("channel_values") if isinstance(checkpoint, dict) else None
    if not isinstance(checkpoint, dict) or not isinstance(values, dict):
        raise Unclear
    seen = checkpoint.get("versions_seen")
    return [values, list(seen) if isinstance(seen, dict) else None, checkpoint.get(_SENDS)]


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_nothing).encode("utf-8", "replace")


def _nothing(_: object) -> None:
    """What is shown of bytes."""


def _texts_of(wire: Any) -> bytes:
    if find_placeholder(wire) is not None:
        raise Unclear
    return "\n".join(text for _, text in texts(wire)).encode("utf-8", "replace")


def _unpacked(data: bytes) -> tuple[object, Iterable[tuple[int, bytes]]]:
    """What msgpack holds, without its typed values, and these."""
    import ormsgpack

    inner: list[tuple[int, bytes]] = []
    hook = lambda code, part: inner.append((code, part))  # noqa: E731  # what it gives stands for nothing
    try:
        value = ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)
    except (ValueError, RecursionError) as error:
        raise Unclear from error
    return value, inner
