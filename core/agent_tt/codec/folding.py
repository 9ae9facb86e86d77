"""Upper and lower case, and words: what it means that a text holds another one.

Folding never changes how long a text is, so that a place in a folded text is the same place in the text. It goes
character by character: letters whose lower case is more than one character stay as they are.
"""

from __future__ import annotations

from typing import Final

__all__ = ["find_word", "fold", "is_word_at", "same_letters"]

_SAME: Final = {"ς": "σ", "ſ": "s", "µ": "μ", "\0": "\N{REPLACEMENT CHARACTER}"}
"""Letters of two shapes; and the character that ends a text for SQLite's tokenizers."""

_SAME_TABLE: Final = str.maketrans(_SAME)
_MOST_PLACES: Final = 100
"""Places of a word in a text that are looked at for one where it stands as a whole word."""


def fold(text: str) -> str:
    """A text whose letters are small, as long as it was."""
    low = text.lower()
    if text.isascii():
        return low.replace("\0", _SAME["\0"]) if "\0" in low else low
    if len(low) != len(text):
        low = "".join(small if len(small := each.lower()) == 1 else each for each in text)
    return low.translate(_SAME_TABLE)


def same_letters(text: str) -> str:
    """A text with one shape for letters that have two in lower case; capitals stay."""
    return text if text.isascii() else text.translate(_SAME_TABLE)


def is_word_at(text: str, start: int, end: int) -> bool:
    """Whether what stands from `start` to `end` is not part of a longer word."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    return not (
        (before and _in_word(before) and _in_word(text[start]))
        or (after and _in_word(after) and _in_word(text[end - 1]))
    )


def find_word(text: str, words: str) -> tuple[int, bool]:
    """Where a text holds some words, as a whole word where it does so, and whether it does; -1 for nowhere."""
    first = at = text.find(words)
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        if is_word_at(text, at, at + len(words)):
            return at, True
        at = text.find(words, at + 1)
    return first, False


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
