"""Compression: every payload is one zstd frame with a content checksum, small ones with a shared dictionary.

Dictionaries are raw content, kept twice in `dicts` because many rows need them; their id comes from their own hash.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import zstandard

from agent_tt.errors import Damaged, StoreUnreadable
from agent_tt.history.hashing import content_hash, row_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.history.rows import LogRows, LogTransaction

__all__ = ["DICTIONARY_SIZE", "MOST_PLAIN", "Frames", "dictionary_content", "newest_dictionary", "store_dictionary"]

DICTIONARY_SIZE: Final = 12 * 1024
"""Bytes of raw content in a dictionary: more come too late for most runs to make up for them. A file has it twice."""

MOST_PLAIN: Final = 256 * 1024 * 1024
"""Bytes of content that a frame may hold: a few kilobytes in a file can name any number of them."""

_LEVEL: Final = 3
_SMALL: Final = 4096
"""Bytes up to which looking harder costs little: 30 µs at most, for a tenth less to store."""
_LOGS_OF_SMALL: Final = {"window_log": 15, "chain_log": 14, "hash_log": 14, "search_log": 5}
"""Tables that hold a dictionary and a small row. Level 9 takes three times as long, for a fiftieth less to store."""
_MOST_DICTIONARY: Final = 1 << 20


class _Machines(threading.local):
    """Compressors and decompressors by dictionary; zstd contexts must not be shared between threads."""

    def __init__(self) -> None:
        self.compressors: dict[tuple[int, bool], zstandard.ZstdCompressor] = {}
        self.decompressors: dict[int, zstandard.ZstdDecompressor] = {0: zstandard.ZstdDecompressor()}


class Frames:
    """Packs and unpacks the frames of one file. Safe to use from several threads."""

    def __init__(self, rows: LogRows) -> None:
        self._rows = rows
        self._machines = _Machines()
        self._dictionaries: dict[int, zstandard.ZstdCompressionDict] = {}

    def compress(self, plain: bytes, dictionary: int = 0) -> bytes:
        """One frame that holds `plain`.

        Raises:
            Damaged: no copy of the dictionary can be read.
            StoreUnreadable: it holds more than is ever read back.
        """
        if len(plain) > MOST_PLAIN:
            raise StoreUnreadable(
                f"a value of {len(plain):,} bytes is more than a store takes, which is {MOST_PLAIN:,}",
                hint="Keep it in a file, and the file's name in the state.",
            )
        is_small = len(plain) <= _SMALL
        machine = self._machines.compressors.get((dictionary, is_small))
        if machine is None:
            machine = _compressor(self._dictionary(dictionary) if dictionary else None, is_small=is_small)
            self._machines.compressors[dictionary, is_small] = machine
        return machine.compress(plain)

    def decompress(self, data: object, size: object, what: str, dictionary: int = 0) -> bytes:
        """The content of a frame.

        Args:
            data: the frame, as it came out of the file.
            size: the length that the content must have; bounds the memory that a hostile frame can ask for.
            what: names the thing in errors.
            dictionary: id of the dictionary, 0 for none.

        Raises:
            Damaged: it is not a whole frame of that length.
        """
        if not isinstance(data, bytes):
            raise Damaged(f"{what} is damaged: it is not a compressed frame", hint=_HINT)
        machine = self._decompressor(dictionary)
        try:
            found = zstandard.frame_content_size(data)
            if found != size:
                raise Damaged(f"{what} is damaged: it holds {found} bytes where {size} are named", hint=_HINT)
            if found > MOST_PLAIN:
                raise Damaged(f"{what} is damaged: it says to hold {found:,} bytes, more than any does", hint=_HINT)
            return machine.decompress(data)
        except zstandard.ZstdError as error:
            raise Damaged(f"{what} is damaged: {error}", hint=_HINT) from error

    def decompress_all(
        self, frames: Sequence[object], sizes: Sequence[object], dictionaries: Sequence[int]
    ) -> list[bytes] | None:
        """What `decompress` gives of each of some frames; None where it would refuse one, and say why."""
        try:
            held = [*map(zstandard.frame_content_size, frames)]  # type: ignore[arg-type]  # of a file: see below
            if held != [*sizes] or max(held) > MOST_PLAIN:
                return None
            machines = {number: self._decompressor(number).decompress for number in {*dictionaries}}
            return [machines[number](frame) for number, frame in zip(dictionaries, frames, strict=True)]  # type: ignore[arg-type]
        except (zstandard.ZstdError, TypeError, ValueError, Damaged):
            return None

    def _decompressor(self, dictionary: int) -> zstandard.ZstdDecompressor:
        """What unpacks frames that were packed with a dictionary; each thread has its own."""
        machine = self._machines.decompressors.get(dictionary)
        if machine is None:
            machine = zstandard.ZstdDecompressor(dict_data=self._dictionary(dictionary))
            self._machines.decompressors[dictionary] = machine
        return machine

    def _dictionary(self, number: int) -> zstandard.ZstdCompressionDict:
        known = self._dictionaries.get(number)
        if known is not None:
            return known
        for _, data in self._rows.dictionary(number):
            content = dictionary_content(data, number)
            if content is not None:
                known = zstandard.ZstdCompressionDict(content, zstandard.DICT_TYPE_RAWCONTENT)
                self._dictionaries[number] = known
                return known
        raise Damaged(f"dictionary {number} is missing or damaged in all its copies", hint=_HINT)


def _compressor(words: zstandard.ZstdCompressionDict | None, *, is_small: bool) -> zstandard.ZstdCompressor:
    if not is_small:
        return zstandard.ZstdCompressor(_LEVEL, dict_data=words, write_checksum=True)
    looking = zstandard.ZstdCompressionParameters(
        **_LOGS_OF_SMALL, min_match=5, target_length=64, strategy=zstandard.STRATEGY_GREEDY, write_checksum=True
    )
    return zstandard.ZstdCompressor(dict_data=words, compression_params=looking)


def dictionary_content(data: object, number: int) -> bytes | None:
    """The content of one copy, None if that copy is damaged."""
    if not isinstance(data, bytes):
        return None
    try:
        if not 0 <= zstandard.frame_content_size(data) <= _MOST_DICTIONARY:
            return None
        content = zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError:
        return None
    return content if row_id(content_hash(content)) == number else None


def newest_dictionary(rows: LogRows, agent: str) -> int:
    """Id of the dictionary that the agent's runs share, 0 when there is none yet."""
    found = rows.dictionary(agent)
    return int(found[0][0]) if found else 0


def store_dictionary(tx: LogTransaction, frames: Frames, content: bytes, agent: str) -> int:
    """Keep `content` as the agent's dictionary and give its id."""
    number = row_id(content_hash(content))
    tx.put_dictionary(number, agent, frames.compress(content))
    return number


_HINT: Final = "Run `agent-tt verify` to see what else is affected."
