r"""Many signs and patterns looked for in one pass over a text.

Hyperscan does it (its sibling Vectorscan, on all systems but Windows): a byte of a text takes a third of a nanosecond,
whether a hundred signs are looked for or a thousand. Without it the same is found, in ten times the time and more.

A pattern means the same to Hyperscan and to `re`: it looks neither ahead nor back, refers to no group, says the
characters that it means (`[0-9]`, not `\d`), and fits a thousand of them at most.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    Found: TypeAlias = list[tuple[int, int]]
    Find: TypeAlias = Callable[[bytes], Found]
    FindPlaces: TypeAlias = Callable[[bytes, int], Found | None]

__all__ = ["is_at_once", "patterns_in", "places_in", "signs_in"]

_LOG = logging.getLogger(__name__)
_LIBRARY: Final = "hyperscan"
_MOST: Final = 1 << 30
"""Bytes that the library searches in one go; it takes no more than four times as many."""
_LONGEST_FOUND: Final = 1 << 10
_AS_PATTERN: Final = [bytes([byte]) if chr(byte).isalnum() and byte < 128 else rb"\x%02x" % byte for byte in range(256)]


@cache
def is_at_once() -> bool:
    """Whether one pass finds all: the library is there, and made for this machine."""
    if find_spec(_LIBRARY) is None:
        return False
    library: Any = import_module(_LIBRARY)
    try:
        library.Database().compile(expressions=[b"a"], ids=[0], flags=[0])
    except library.error as error:
        _LOG.warning("texts are searched for secrets slowly, because Hyperscan does not work here: %s", error)
        return False
    return True


def signs_in(signs: Sequence[bytes], once: Collection[int] = ()) -> Find:
    """Make what finds signs in a text: the index and end of each, wherever it stands.

    Args:
        signs: the signs, none of them empty.
        once: indexes of those of which one place is enough. Each place that is told costs as much as 500 bytes.
    """
    if is_at_once():
        return _at_once([_as_pattern(sign) for sign in signs], once)

    def find(text: bytes) -> Found:
        found = []
        for index, sign in enumerate(signs):
            at = text.find(sign)
            while at >= 0:
                found.append((index, at + len(sign)))
                at = -1 if index in once else text.find(sign, at + 1)
        return found

    return find


def patterns_in(patterns: Sequence[bytes]) -> Find:
    """Make what finds patterns in a text: the index of each that fits anywhere, and an end.

    Args:
        patterns: the patterns.
    """
    if is_at_once():
        return _at_once(patterns, range(len(patterns)))
    searches = [re.compile(pattern, re.DOTALL).search for pattern in patterns]

    def find(text: bytes) -> Found:
        matches = ((index, search(text)) for index, search in enumerate(searches))
        return [(index, match.end()) for index, match in matches if match is not None]

    return find


def places_in(patterns: Sequence[bytes]) -> FindPlaces:
    """Make what finds patterns in a text wherever they end: the index and end of each, as `signs_in` tells.

    It is given the text, and how many places are worth telling apart: it gives None where there are more, and where no
    search at once tells them, because the library is not there or the text too long for it.

    Args:
        patterns: the patterns.
    """
    if not is_at_once():
        return lambda _text, _most: None
    library: Any = import_module(_LIBRARY)
    scan, spare, scratch_of = _compiled(patterns, ())

    def find(text: bytes, most: int) -> Found | None:
        if len(text) > _MOST:
            return None
        found: Found = []
        scratch = spare.pop() if spare else scratch_of()
        try:
            scan(text, _note_few, 0, (found, most), scratch)
        except library.ScanTerminated:
            return None
        finally:
            spare.append(scratch)
        return found

    return find


def _at_once(patterns: Sequence[bytes], once: Collection[int]) -> Find:
    """What finds patterns with the library; of those that are told `once` one place each."""
    scan, spare, scratch_of = _compiled(patterns, once)

    def find(text: bytes) -> Found:
        if len(text) > _MOST:
            return _in_parts(find, text)
        found: Found = []
        scratch = spare.pop() if spare else scratch_of()
        try:
            scan(text, _note, 0, found, scratch)
        finally:
            spare.append(scratch)
        return found

    return find


def _compiled(
    patterns: Sequence[bytes], once: Collection[int]
) -> tuple[Callable[..., None], list[object], Callable[[], object]]:
    """What has the library search a text, what nobody uses of what a search needs, and what makes more of that.

    It takes one that nobody uses: other threads search meanwhile, and so may what interrupts this one.
    """
    library: Any = import_module(_LIBRARY)
    each = range(len(patterns))
    flags = [library.HS_FLAG_DOTALL | (library.HS_FLAG_SINGLEMATCH if index in once else 0) for index in each]
    database = library.Database()
    database.compile(expressions=[*patterns], ids=[*each], flags=flags)
    return database.scan, [library.Scratch(database)], lambda: library.Scratch(database)


def _in_parts(find: Find, text: bytes) -> Found:
    """Search a text that is longer than one search may be, in parts that overlap."""
    return [
        (index, start + end)
        for start in range(0, len(text), _MOST - _LONGEST_FOUND)
        for index, end in find(text[start : start + _MOST])
    ]


def _note(index: int, _start: int, end: int, _flags: int, found: Found) -> None:
    found.append((index, end))


def _note_few(index: int, _start: int, end: int, _flags: int, told: tuple[Found, int]) -> bool:
    """Note a place, and have the search end after too many."""
    found, most = told
    found.append((index, end))
    return len(found) > most


def _as_pattern(sign: bytes) -> bytes:
    """A sign as a pattern that fits it alone. No byte of it may be a NUL, at which the library would stop reading."""
    return b"".join(map(_AS_PATTERN.__getitem__, sign))
