"""Which threads cannot hold some words, told from their stored bytes alone: that takes a tenth of reading them.

A thread is passed over only where that is certain. All that is stored of it has to be as LangGraph writes it and open,
and nothing in it may stand there otherwise than it is read: JSON and msgpack keep texts as they are but for the escapes
of JSON, and typed values of Python's own may be read as texts that are spelled otherwise. What no row says but any run
may show, because this reader says so itself, is `_OUR_WORDS`.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

from agent_tt.interop.langgraph.decode import MSGPACK_LEVELS
from agent_tt.interop.langgraph.envelopes import is_plainly_constructed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows, WriteRow

__all__ = ["Sieve"]

_OUR_WORDS: Final = (
    "input update fork loop task model tool interrupt exception toolerror not in the database too deep bytes "
    "redacted eyj true false null nan infinity"
)
"""What names, calls, errors and values of a run may say that no row says: also marks in the place of secrets."""

_OUR_FORMS: Final = re.compile(r"[\de]*|(?:r?e?d?a?c?t?e?d)?a*")
"""Numbers, and what stands for the signature of a token."""

_ESCAPE: Final = re.compile(r"[bfnrt]|u?0{0,2}[01]?[\da-f]")
"""How a word may begin where a text with a control character before it is shown as JSON: `\\nword`, `\\u001fword`."""

_LONGEST_ESCAPE: Final = 5
_VALUES: Final = "channel_values"
_SMALL_IN_ASCII: Final = tuple(letter.encode() for letter in "\N{KELVIN SIGN}\N{LATIN SMALL LETTER LONG S}")
"""The letters beyond ASCII whose folded form is in it."""


class Sieve:
    """Takes in what is stored of threads, and knows which of them may hold all words, or cannot be told about.

    Args:
        words: of letters and digits of ASCII, folded; all of them are to stand in one text.

    Attributes:
        held: the threads that are not passed over.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [_Word(word) for word in words if word not in _OUR_WORDS and not _OUR_FORMS.fullmatch(word)]
        self._known: dict[int, bool] = {}
        self.held: set[str] = set()

    @property
    def tells(self) -> bool:
        """Whether it tells anything: a word that runs show of themselves may be anywhere."""
        return bool(self._words)

    def take_rows(self, threads: Mapping[str, ThreadRows]) -> None:
        """Take in all but the values."""
        for name, thread in threads.items():
            if name not in self.held and any(map(self._holds_row, thread.checkpoints.values())):
                self.held.add(name)
            if name not in self.held and any(map(self._holds_write, chain(*thread.writes.values()))):
                self.held.add(name)

    def take_checkpoints(self, rows: Iterable[tuple[object, object, object]]) -> None:
        """Take in checkpoints: thread, how the bytes are written, and the bytes."""
        for thread, encoding, blob in rows:
            if isinstance(thread, str) and thread not in self.held and not self._passes(encoding, blob, _VALUES):
                self.held.add(thread)

    def take_values(self, rows: Iterable[tuple[object, object, object]]) -> None:
        """Take in what tasks wrote: thread, how the bytes are written, and the bytes."""
        for thread, encoding, blob in rows:
            if isinstance(thread, str) and thread not in self.held and not self._passes(encoding, blob):
                self.held.add(thread)

    def _holds_row(self, row: CheckpointRow) -> bool:
        if row.flaw or row.delta_counts or self._may_hold(row.thread, row.namespace, row.id, row.parent or ""):
            return True
        known = self._known.get(id(row.metadata))  # which many rows share
        if known is None:
            known = self._known[id(row.metadata)] = self._may_hold(json.dumps(row.metadata, ensure_ascii=False))
        return known

    def _holds_write(self, write: WriteRow) -> bool:
        return write.channel == "__error__" or self._may_hold(write.task_id, write.task_path, write.channel)

    def _passes(self, encoding: object, blob: object, needed: str | None = None) -> bool:
        """Whether a value can be read to its end, and the words are not in it.

        Args:
            encoding: how it is written.
            blob: its bytes.
            needed: an entry that it has to have.
        """
        if encoding == "null":
            return needed is None
        if not isinstance(blob, bytes) or encoding not in ("msgpack", "json") or b"\\u" in blob or b"\\x" in blob:
            return False
        is_json = encoding == "json" or blob[:1] == b"{"
        if (is_json and (b'"lc"' in blob or b"\0" in blob)) or self._may_stand_in(blob):
            return False
        try:
            value = _read(encoding, blob)
        except (ValueError, RecursionError):
            return False
        return needed is None or (isinstance(value, dict) and isinstance(value.get(needed), dict))

    def _may_hold(self, *texts: str) -> bool:
        return self._may_stand_in("\0".join(texts).encode("utf-8", "replace"))

    def _may_stand_in(self, data: bytes) -> bool:
        """Whether all words may stand in some bytes."""
        small = data.lower()
        return all(word.is_in(small) for word in self._words) or any(letter in data for letter in _SMALL_IN_ASCII)


class _Word:
    """A word, and how it stands in bytes of which a text may be shown as JSON."""

    def __init__(self, word: str) -> None:
        ends = [at for at in range(1, _LONGEST_ESCAPE + 1) if _ESCAPE.fullmatch(word[:at])]
        escaped = [b"[\0-\x1f]" + word[at:].encode() for at in ends if at <= len(word)]
        self._whole = word.encode()
        self._end = word[max(ends, default=0) :].encode()
        self._escaped = re.compile(b"|".join(escaped)) if escaped else None

    def is_in(self, data: bytes) -> bool:
        """Whether it may stand in some bytes, whose letters are small."""
        if self._end not in data:
            return False
        return self._whole in data or (self._escaped is not None and self._escaped.search(data) is not None)


def _read(encoding: object, blob: bytes) -> object:
    """What bytes hold: JSON may be called msgpack, see `decode.read_value`."""
    if encoding == "json":
        return json.loads(blob)
    if blob[:1] == b"{":
        with suppress(ValueError):
            return json.loads(blob)
    return _unpacked(blob)


def _unpacked(blob: bytes) -> object:
    """What msgpack holds, without its typed values, which are looked into.

    Raises:
        ValueError: it cannot be read, or holds a typed value that is not plainly constructed.
        RecursionError: it is too deep.
    """
    import ormsgpack

    todo: list[tuple[int, bytes]] = []

    def unpacked(data: bytes) -> object:
        hook = lambda code, inner: todo.append((code, inner))  # noqa: E731  # one name for what both calls need
        found: object = ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)
        return found

    whole = unpacked(blob)
    for _ in range(MSGPACK_LEVELS):  # level by level: what lies in an extension is msgpack again
        level, todo = todo, []
        for code, data in level:
            if not is_plainly_constructed(code, unpacked(data)):
                raise ValueError("a typed value that is read otherwise than it stands there")
        if not todo:
            return whole
    raise ValueError("typed values lie too deep")
