"""Words that a text must hold for anything to be found in it; one pass tells which of all of them are there.

Most texts hold none, and are asked nothing else. Whoever looks for something says here what has to be there: a shape
its prefix, a name of a field a part of it. A word that is held proves nothing; one that is not held rules out all that
needs it.
"""

from __future__ import annotations

import enum
import string
from functools import lru_cache
from itertools import chain
from re import _parser as parser  # type: ignore[attr-defined]  # how wide a pattern is, which `re` tells nowhere else
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agent_tt.redaction.multiple_search import is_at_once, patterns_in, signs_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    _Said: TypeAlias = tuple[tuple["Place", frozenset[str]], ...]
    _Forms: TypeAlias = tuple[tuple[str, bytes], ...]

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
    """As `WHOLE`, in a name of several words, or before what ends a name in JSON: `number` in `account_number`,
    `accountNumber` and `"account number"`, not in `the number of`."""


_AS_WRITTEN, _BEGINS, _WHOLE, _BESIDE = map(int, (Place.AS_WRITTEN, Place.BEGINS, Place.WHOLE, Place.BESIDE))
BESIDE_WORDS: Final = " \n,:"
"""What stands beside most words, and is part of no name."""

_SMALL: Final = frozenset(string.ascii_lowercase.encode())
_LETTERS: Final = frozenset(string.ascii_letters.encode())
_NO_LETTERS: Final = bytes(set(range(128)) - _LETTERS)
_BEFORE_IN_NAME: Final = b"_-.?0123456789"
_AFTER_IN_NAME: Final = _BEFORE_IN_NAME + b'\\"'
"""What parts the words of a name, or ends it in JSON. A question mark stands for a letter that is not ASCII."""
_ESCAPES: Final = (rb"\n", rb"\r", rb"\t")
"""How JSON writes what ends a line, after which a word begins, although a letter is before it."""
_SMALL_A: Final = min(_SMALL)
_RARE: Final = 5
"""Letters from which on a word is in few others."""
_VOWELS: Final = frozenset(b"aeiouy")
"""One of these is in nearly every word, and in what is in many."""
_NOTHING: Final[frozenset[str]] = frozenset()


def as_searched(text: str) -> bytes:
    """A text as it is searched: with a space at each end, so that every place has something before and behind it.

    Args:
        text: any text; a question mark stands for what of it is not ASCII.
    """
    return f" {text} ".encode("ascii", "replace")


class _Anchors:
    """The words that are looked for in this process."""

    def __init__(self) -> None:
        self._words: dict[str, _Said] = {}
        self._forms: dict[str, _Forms] = {}
        self._beside: dict[str, str] = {}
        self._searches: _Searches | None = None

    def use(
        self,
        whose: str,
        words: Mapping[Place, frozenset[str]],
        forms: Mapping[str, bytes] = MappingProxyType({}),
        *,
        beside: str = "",
    ) -> None:
        """Look for these from now on, in place of what the same one has said before.

        Args:
            whose: who says it.
            words: by where they have to stand; ASCII, none of them empty, all but those `AS_WRITTEN` in small letters.
            forms: what no word tells: patterns that are found in a text as it is searched, by what counts as the word
                that it then holds; see `multiple_search`. Those that one says together are looked for in one pass.
            beside: who else says forms that are looked for in the same pass; "" for nobody.
        """
        self._words[whose] = tuple((place, said) for place, said in words.items() if said)
        self._forms[whose] = tuple(forms.items())
        self._beside[whose] = beside or whose
        self._searches = None

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
        return (self._searches or self._made()).all(text)

    def words_in(self, text: str) -> AbstractSet[str]:
        """As `held_in`, without what forms tell.

        Args:
            text: any text.
        """
        return (self._searches or self._made()).words(text)

    def _made(self) -> _Searches:
        passes: dict[str, _Forms] = {}
        for whose, forms in self._forms.items():
            name = self._beside[whose]
            passes[name] = passes.get(name, ()) + forms
        words = chain.from_iterable(self._words.values())
        self._searches = _searches_for(tuple(words), tuple(filter(None, passes.values())))
        return self._searches


class _Searches(NamedTuple):
    """What tells which words a text holds: all of them, and those without a form."""

    all: Callable[[str], AbstractSet[str]]
    words: Callable[[str], AbstractSet[str]]


def _either(one: Place, other: Place) -> Place:
    """Where a word has to stand that counts at one of two places."""
    return one if one is other else Place.ANYWHERE if Place.AS_WRITTEN in (one, other) else min(one, other)


class _Meant(NamedTuple):
    """What is said where certain signs stand.

    Attributes:
        word: the word.
        kind: its place, where that is still to be looked at; else that of a word that counts anywhere.
        first: how far before the end of the signs it begins.
        last: how far before that it ends.
    """

    word: str
    kind: int
    first: int
    last: int


@lru_cache(8)
def _searches_for(said: _Said, forms: tuple[_Forms, ...]) -> _Searches:
    """What searches a text; made once for the same words, because that takes as long as many texts."""
    places: dict[str, Place] = {}
    for place, words in said:
        for word in words:
            places[word] = _either(place, places.get(word, place))
    letters = [(word, word.encode()) for word in places if len(word) == 1]
    signs, meant = _signs_of({word: place for word, place in places.items() if len(word) > 1})
    find_signs = signs_in(signs, {index for index, each in enumerate(meant) if each.kind == _AS_WRITTEN})
    searches = [
        (_least([pattern for _, pattern in each]), [word for word, _ in each], patterns_in([form for _, form in each]))
        for each in forms
    ]

    def words_of(written: bytes) -> set[str]:
        held: set[str] = set()
        for word, letter in letters:
            if letter in written:
                held.add(word)
        for index, end in find_signs(written):
            word, kind, first, last = meant[index]
            if word not in held and (kind == _AS_WRITTEN or _counts(written, end - first, end - last, kind)):
                held.add(word)
        return held

    def all_of(text: str) -> AbstractSet[str]:
        written = f" {text} ".encode("ascii", "replace")  # as `as_searched` has it
        held = words_of(written)
        for least, names, find in searches:
            if len(written) >= least:
                for index, _ in find(written):
                    held.add(names[index])
        return held

    return _Searches(all_of, lambda text: words_of(as_searched(text)))


def _least(patterns: list[bytes]) -> int:
    """How long a text is at least that a pattern fits."""
    widths: list[int] = [parser.parse(pattern.decode("latin-1")).getwidth()[0] for pattern in patterns]
    return min(widths)


def _signs_of(places: Mapping[str, Place]) -> tuple[list[bytes], list[_Meant]]:
    """What is looked for of words, and what each of that says.

    Args:
        places: where each word has to stand.
    """
    signs, meant = list[bytes](), list[_Meant]()
    for word, place in places.items():
        kind = _AS_WRITTEN if place <= _AS_WRITTEN else int(place)
        for form in _forms(word, place):
            for before, after in _around(form, place):
                signs.append(before + form + after)
                meant.append(_Meant(word, kind, len(form) + len(after), len(after)))
    return signs, meant


def _forms(word: str, place: Place) -> Iterator[bytes]:
    """How a word may be written in the texts that are searched for it."""
    cases = {word} if place is Place.AS_WRITTEN else {word, word.title(), word.upper()}
    yield from (case.encode() for case in sorted(cases))


def _counts(text: bytes, start: int, end: int, kind: int) -> bool:
    """Whether a word counts where it stands, of those that do not count everywhere."""
    before, after, is_small = text[start - 1], text[end], text[start] >= _SMALL_A
    # With a large letter a word begins, whatever is before it.
    if is_small and before in _LETTERS and text[start - 2 : start] not in _ESCAPES:
        return False
    if kind >= _WHOLE and after in (_LETTERS if is_small else _SMALL):
        return False
    return kind != _BESIDE or before in _LETTERS or before in _BEFORE_IN_NAME or after in _AFTER_IN_NAME


def _around(form: bytes, place: Place) -> Iterator[tuple[bytes, bytes]]:
    """What has to stand before and behind a form of a word, where it is mostly found as it does not count.

    Of others that is looked at when they are found: large letters are rare, few words hold `address`, and none that
    people write `pwd` or `jwt`. A search for fewer than 250 signs takes much less, and so does making it.
    """
    is_rare = form[0] < _SMALL_A or (place is not Place.BESIDE and (len(form) >= _RARE or _VOWELS.isdisjoint(form)))
    if place < _BEGINS or is_rare or not is_at_once():
        yield b"", b""
        return
    yield from ((escape, b"") for escape in _ESCAPES)
    before = _BEFORE_IN_NAME if place is Place.BESIDE else _NO_LETTERS
    yield from ((bytes([sign]), b"") for sign in before)
    if place is Place.BESIDE:
        yield from ((b"", bytes([sign])) for sign in _AFTER_IN_NAME)


ANCHORS: Final = _Anchors()
