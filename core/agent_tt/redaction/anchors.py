"""Words that a text must hold to hold a secret: one pass tells which of all of them are there.

Most texts hold none, and are asked nothing else. Whoever looks for something says here what has to be there: a shape
its prefix, a name of a field a part of it. A word that is held proves nothing; one that is not held rules out all that
needs it.
"""

from __future__ import annotations

import enum
import string
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    _Form: TypeAlias = tuple[str, int, int, int]  # a word, its place, and how much stands before and behind it

__all__ = ["ANCHORS", "BESIDE_WORDS", "Place", "as_searched"]


class Place(enum.IntEnum):
    """Where and how a word has to stand to count.

    A word in any case is one in small letters, one that begins with a large letter, or one in large letters: the words
    of a name are written so, and `tOkEn` is three of them.
    """

    ANYWHERE = 0
    """In any case, wherever it is."""
    AS_WRITTEN = 1
    """In the case in which it is said, wherever it is."""
    BEGINS = 2
    """In any case, not where a word goes on with it: `pin` in `userPin` and `user_pin`, not in `shipping`."""
    WHOLE = 3
    """As `BEGINS`, and no word goes on with it: `name` in `name_2`, not in `names` and `nameOf`."""
    BESIDE = 4
    """As `WHOLE`, and not where it is all that stands there: `number` in `account_number`, not in `the number of`."""


_AS_WRITTEN, _WHOLE, _BESIDE = int(Place.AS_WRITTEN), int(Place.WHOLE), int(Place.BESIDE)
BESIDE_WORDS: Final = " \n,:"
"""What stands beside most words, and is part of no name."""

_SMALL: Final = string.ascii_lowercase.encode()
_LARGE: Final = string.ascii_uppercase.encode()
_BESIDE_WORDS: Final = b" :,"
_IN_NAMES: Final = b'-_./+@~0\\"'
_SIGNS: Final = _BESIDE_WORDS + _IN_NAMES
_SAME: Final = {"\n": ",", "(": ".", ")": ".", "%": "@"}
"""What is searched as another sign."""


def _sign(byte: int) -> int:
    sign = bytes([byte])
    if sign in _SMALL + _LARGE + _SIGNS:
        return byte
    return ord("0" if sign.isdigit() else _SAME.get(chr(byte), '"'))


_AS_SEARCHED: Final = bytes(map(_sign, range(256)))
_ESCAPES: Final = (rb"\n", rb"\r", rb"\t")
"""How JSON writes what ends a line, after which a word begins, although a letter is before it."""
_SMALL_A: Final = _SMALL[0]
_RARE: Final = 5
"""Letters from which on a word is in few others."""


def as_searched(text: str) -> bytes:
    """A text as it is searched, with one sign more at each end than it has characters.

    Every digit is `0`, what stands beside words is a space, colon or comma, and most of what is in no word and beside
    none is a quote. So few things can stand before and behind a word, and the one search passes over most words that do
    not count there: `pin` in `shipping`, `number` in `the number of`. At each end stands what parts words, so that
    every place has something before and behind it.

    Args:
        text: any text.
    """
    return b" %b " % text.encode("latin-1", "replace").translate(_AS_SEARCHED)


class _Anchors:
    """The words that are looked for in this process."""

    def __init__(self) -> None:
        self._words: dict[str, tuple[tuple[Place, frozenset[str]], ...]] = {}
        self._forms: dict[str, tuple[tuple[str, re.Pattern[bytes]], ...]] = {}
        self._search: Callable[[str], AbstractSet[str]] | None = None

    def use(
        self,
        whose: str,
        words: Mapping[Place, frozenset[str]],
        forms: Mapping[str, re.Pattern[bytes]] = MappingProxyType({}),
    ) -> None:
        """Look for these from now on, in place of what the same one has said before.

        Args:
            whose: who says it.
            words: by where they have to stand; ASCII, none of them empty, all but those `AS_WRITTEN` in small letters.
                A digit stands for any digit.
            forms: what no word tells: patterns that are found in a text as it is searched, by what counts as the word
                that it then holds.
        """
        self._words[whose] = tuple(words.items())
        self._forms[whose] = tuple(forms.items())
        self._search = None

    @property
    def words(self) -> AbstractSet[str]:
        """All of the words."""
        said = [words for places in self._words.values() for _, words in places]
        return frozenset(word for forms in self._forms.values() for word, _ in forms).union(*said)

    def held_in(self, text: str) -> AbstractSet[str]:
        """Which of the words a text holds.

        Args:
            text: any text.
        """
        search = self._search
        if search is None:
            words, forms = chain.from_iterable(self._words.values()), chain.from_iterable(self._forms.values())
            search = self._search = _search_for(tuple(words), tuple(forms))
        return search(text)


def _either(one: Place, other: Place) -> Place:
    """Where a word has to stand that counts at one of two places."""
    return one if one is other else Place.ANYWHERE if Place.AS_WRITTEN in (one, other) else min(one, other)


@lru_cache(8)
def _search_for(
    said: tuple[tuple[Place, frozenset[str]], ...], forms: tuple[tuple[str, re.Pattern[bytes]], ...]
) -> Callable[[str], AbstractSet[str]]:
    """What searches a text; made once for the same words, because that takes as long as many texts."""
    places: dict[str, Place] = {}
    for place, words in said:
        for word in words:
            places[word] = _either(place, places.get(word, place))
    find, which = _finder([(word, int(place), form) for word, place in places.items() for form in _forms(word, place)])
    others = [(word, form.search) for word, form in forms]

    def search(text: str) -> AbstractSet[str]:
        written = as_searched(text)
        held = {word for word, holds in others if holds(written)}
        for index, start, end in find(written):
            word, kind, before, after = which[index]
            if word not in held and (kind <= _AS_WRITTEN or _counts(written, start + before, end - after, kind)):
                held.add(word)
        return held

    return search


def _forms(word: str, place: Place) -> frozenset[bytes]:
    """How a word may be written in the texts that are searched for it."""
    cases = {word} if place is Place.AS_WRITTEN else {word, word.title(), word.upper()}
    return frozenset(case.encode().translate(_AS_SEARCHED) for case in cases)


def _counts(text: bytes, start: int, end: int, kind: int) -> bool:
    """Whether a word counts where it stands, of those that do not count everywhere."""
    before, after = text[start - 1], text[end]
    if kind == _BESIDE and before in _BESIDE_WORDS and after in _BESIDE_WORDS:
        return False
    if text[start] < _SMALL_A:  # with a large letter a word begins, and others may be part of it
        return kind < _WHOLE or after not in _SMALL
    return (kind < _WHOLE or after in _SIGNS) and (before in _SIGNS or text[start - 2 : start] in _ESCAPES)


def _finder(words: list[tuple[str, int, bytes]]) -> tuple[Callable[[bytes], list[tuple[int, int, int]]], list[_Form]]:
    """What finds words in a text: which form, and where each begins and ends; and the forms."""
    if find_spec("ahocorasick_rs") is None:
        forms = [form for _, _, form in words]
        return lambda text: _found_one_by_one(forms, text), [(word, kind, 0, 0) for word, kind, _ in words]
    patterns: list[bytes] = []
    which: list[_Form] = []
    for word, kind, form in words:
        for before, after in _around(form, kind):
            patterns.append(before + form + after)
            which.append((word, kind, len(before), len(after)))
    library: Any = import_module("ahocorasick_rs")
    search = library.BytesAhoCorasick(patterns, implementation=library.Implementation.DFA).find_matches_as_indexes
    return lambda text: search(text, overlapping=True), which


def _around(form: bytes, kind: int) -> Iterator[tuple[bytes, bytes]]:
    """What has to stand before and behind a form of a word, where it is mostly found as it does not count.

    Of others that is looked at when they are found: large letters are rare, and few words hold `address`.
    """
    if kind <= _AS_WRITTEN or form[0] < _SMALL_A or (kind != _BESIDE and len(form) >= _RARE):
        yield b"", b""
        return
    yield from ((escape, b"") for escape in _ESCAPES)
    for sign in _SIGNS:
        if kind == _BESIDE and sign in _BESIDE_WORDS:
            yield from ((bytes([sign]), bytes([after])) for after in _IN_NAMES)
        else:
            yield bytes([sign]), b""


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
