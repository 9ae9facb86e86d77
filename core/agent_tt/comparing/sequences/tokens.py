"""A text as the words that people see in it, in any script.

A word is what has no break inside for a reader: letters with their combining marks; one ideograph, kana or letter of a
script that writes no spaces; one emoji with all that belongs to it; a run of blanks; any other single sign. Together
they are the text again.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from agent_tt._pattern import lazy_re

__all__ = ["common_ends", "common_length", "split_phrases", "split_words"]

_ASCII: Final = lazy_re(r"\w+|\s+|[^\w\s]")

_PHRASE: Final = lazy_re(r"(?s:.{1,400}?(?:[sdy0-2.]\s+|[,;:!?)}\]\u3000-\u3002\uff00-\uff20]\s*|\n)|.{400}|.+)")
"""A few words, to the first that ends in one of these characters: where one ends does not hang on what is before it."""

_JOINER: Final = "\u200d"
_PARTS_OF_EMOJI: Final = "\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
"""Joiner, variation selectors, keycap, skin tones, tags of regional flags: never alone."""

_FLAG: Final = "[\U0001f1e6-\U0001f1ff]{2}"

_ALONE: Final = ("CJK ", "HIRAGANA ", "THAI ", "LAO ", "KHMER ", "MYANMAR ", "TIBETAN ")
"""Scripts without spaces between words, by the beginning of their characters' names."""

_FURTHEST: Final = 2_000
"""Characters that are gone back to find the edge of a word."""


def split_words(text: str) -> list[str]:
    """The words of a text, blanks included, in order."""
    return (_ASCII if text.isascii() else _pattern(*_unusual(text))).findall(text)


def split_phrases(text: str) -> list[str]:
    """A long text in pieces of a few words, which end in blanks where the text has any, in order."""
    return _PHRASE.findall(text)


def common_ends(old: str, new: str) -> tuple[int, int, int]:
    """Where a common beginning ends, and where a common end begins on each side, all at the edges of words."""
    start = _edge_before(old, common_length(old, new))
    tail = common_length(old[start:][::-1], new[start:][::-1])
    edge = _edge_after(old, len(old) - tail)
    return start, edge, len(new) - (len(old) - edge)


def _unusual(text: str) -> tuple[str, str]:
    """The combining marks in a text, and the characters that are words by themselves, as insides of classes."""
    marks, alone = [], []
    for char in sorted(set(text)):
        if char.isascii():
            continue
        if unicodedata.category(char)[0] == "M":
            marks.append(char)
        elif char.isalpha() and unicodedata.name(char, "").startswith(_ALONE):
            alone.append(char)
    return "".join(marks), "".join(alone)


@lru_cache(maxsize=32)
def _pattern(marks: str, alone: str) -> re.Pattern[str]:
    bound = f"[{_PARTS_OF_EMOJI}{marks}]"
    cluster = rf"(?:{bound}|(?<={_JOINER})\S)*"
    letter = rf"(?![{alone}])\w" if alone else r"\w"
    return re.compile(rf"(?:{letter}{bound}*)+|\s+|{_FLAG}|\S{cluster}")


def common_length(a: str, b: str) -> int:
    """How many characters two texts have in common at the start, by halving: slices are compared fast."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _edge_before(text: str, at: int) -> int:
    """The last place before `at` at which blanks begin, which always is an edge; else the start of the text."""
    for place in range(at - 1, max(at - _FURTHEST, 0), -1):
        if text[place].isspace() and not text[place - 1].isspace():
            return place
    return 0


def _edge_after(text: str, at: int) -> int:
    """The first place after `at` at which blanks end, else the end of the text."""
    for place in range(at + 1, min(at + _FURTHEST, len(text))):
        if text[place - 1].isspace() and not text[place].isspace():
            return place
    return len(text)
