"""Words that a text must hold to hold a secret: one pass tells which of all of them are there.

Most texts hold none, and are asked nothing else. Whoever looks for something says here what has to be there: a shape
its prefix, a name of a field a part of it. A word that is held proves nothing; one that is not held rules out all that
needs it.
"""

from __future__ import annotations

import enum
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

__all__ = ["ANCHORS", "BESIDE_WORDS", "Place"]

_NONE: Final[frozenset[str]] = frozenset()
_SMALL_A, _SMALL_Z, _BACKSLASH, _SPACE = b"az\\ "


class Place(enum.IntEnum):
    """Where a word has to stand to count."""

    ANYWHERE = 0
    BEGINS = 1
    """Not where a word in small letters goes on with it: `pin` in `userPin` and `user_pin`, not in `shipping`."""
    WHOLE = 2
    """As `BEGINS`, and no small letter follows: `name` in `nameOf`, not in `names`."""
    BESIDE = 3
    """As `WHOLE`, and not where it is all that stands there: `number` in `account_number`, not in `the number of`."""


_WHOLE, _BESIDE = int(Place.WHOLE), int(Place.BESIDE)
BESIDE_WORDS: Final = " \n,:"
"""What stands beside most words, and is part of no name."""
_BESIDE_WORDS: Final = frozenset(BESIDE_WORDS.encode())


class _Anchors:
    """The words that are looked for in this process."""

    def __init__(self) -> None:
        self._words: dict[str, Mapping[str, Place]] = {}
        self._search: Callable[[str], AbstractSet[str]] | None = None

    def use(self, whose: str, words: Mapping[str, Place]) -> None:
        """Look for these from now on, in place of what the same one has said before.

        Args:
            whose: who says it.
            words: in small letters, ASCII, none of them empty, and where each has to stand.
        """
        self._words[whose] = words
        self._search = None

    @property
    def words(self) -> AbstractSet[str]:
        """All of the words."""
        return frozenset().union(*self._words.values())

    def held_in(self, text: str) -> AbstractSet[str]:
        """Which of the words a text holds, in any case. Only ASCII letters have cases here.

        Args:
            text: any text.
        """
        search = self._search
        if search is None:
            places: dict[str, Place] = {}
            for words in self._words.values():
                for word, place in words.items():
                    places[word] = min(place, places.get(word, place))
            search = self._search = _search_for(places)
        return search(text)


def _search_for(places: Mapping[str, Place]) -> Callable[[str], AbstractSet[str]]:
    words = list(places)
    find = _finder([word.encode() for word in words])
    kinds = [int(places[word]) for word in words]

    def search(text: str) -> AbstractSet[str]:
        written = text.encode("utf-8", "surrogatepass")
        found = find(written.lower())
        if not found:
            return _NONE
        held, seen, size = set(), set(), len(written)
        for index, start, end in found:
            if index in seen:
                continue
            if kind := kinds[index]:  # here and not in a function, which would take twice as long
                before = written[start - 1] if start else _SPACE
                after = written[end] if end < size else _SPACE
                if kind == _BESIDE and before in _BESIDE_WORDS and after in _BESIDE_WORDS:
                    continue
                if _SMALL_A <= before <= _SMALL_Z and _goes_on(written, start):
                    continue
                if kind >= _WHOLE and _SMALL_A <= after <= _SMALL_Z:
                    continue
            seen.add(index)
            held.add(words[index])
        return held

    return search


def _goes_on(text: bytes, start: int) -> bool:
    r"""Whether a small letter goes on a word, and no line: what `\n` ends begins anew, as JSON writes that."""
    return text[start] >= _SMALL_A and (start == 1 or text[start - 2] != _BACKSLASH)


def _finder(words: list[bytes]) -> Callable[[bytes], list[tuple[int, int, int]]]:
    """What finds words in a text: which, and where each begins and ends."""
    if find_spec("ahocorasick_rs") is None:
        return lambda text: _found_one_by_one(words, text)
    library: Any = import_module("ahocorasick_rs")
    search = library.BytesAhoCorasick(words, implementation=library.Implementation.DFA).find_matches_as_indexes
    return lambda text: search(text, overlapping=True)


def _found_one_by_one(words: list[bytes], text: bytes) -> list[tuple[int, int, int]]:
    """The same, in ten times the time, where the library has not been built for the machine."""
    found = []
    for index, word in enumerate(words):
        at = text.find(word)
        while at >= 0:
            found.append((index, at, at + len(word)))
            at = text.find(word, at + 1)
    return found


ANCHORS: Final = _Anchors()
