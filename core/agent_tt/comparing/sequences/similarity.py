"""How much two items of a list have in common, by what they hold: to know an item again after it was edited.

An item is taken apart into *features*: each short value with the path at which it stands (positions in lists left out,
so that a part put in before does not hide those after it), and the words of each longer text. The likeness of two items
is the share of the weight of their features that they have in common (Dice's coefficient), from 0 to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias
from zlib import crc32

from agent_tt._dataclass import dataclass
from agent_tt._pattern import lazy_re
from agent_tt.codec.tlv import tlv
from agent_tt.comparing.sequences.tokens import split_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire

__all__ = ["Features", "Item", "likeness"]

Features: TypeAlias = "dict[int, float]"
"""Checksum of a feature to its weight. The same in every process, unlike Python's own hashes of texts."""

_ASCII: Final = lazy_re(rb"\w+")
_MOST_LEAVES: Final = 200
_MOST_TEXT: Final = 20_000
_MOST_WORDS: Final = 48
"""Of a long text as many words, those with the smallest checksums: the same ones on both sides, wherever they stand."""

_MOST_SIGNS: Final = 6
"""Of each longer text so many stretches of three words are looked for among other items."""

_LITTLE: Final = 0.1
"""The weight of what very different items have in common too: None, booleans, what is empty."""

_HEAVIEST_TEXT: Final = 6.0
_WORDS_A_POINT: Final = 6


@dataclass(frozen=True, slots=True)
class Item:
    """What an item is known by.

    Attributes:
        features: Its features; of a very large item, those of its first values.
        signs: Checksums by which items that may be alike are looked for: of its features, and of some stretches of
            words in its texts, the same ones for as long as they are in it.
        weight: What the features weigh together.
    """

    features: Features
    signs: set[int]
    weight: float

    @classmethod
    def of(cls, wire: Wire) -> Item:
        """Take an item apart."""
        found: Features = {}
        stretches: set[int] = set()
        for number, (at, leaf) in enumerate(_leaves(wire, 0)):
            if number >= _MOST_LEAVES:
                break
            words = [crc32(word, at) for word in _words(leaf)]
            several = dict.fromkeys(words)
            if len(several) > 1:
                weight = min(_HEAVIEST_TEXT, 1 + len(several) / _WORDS_A_POINT) / min(len(several), _MOST_WORDS)
                kept = several if len(several) <= _MOST_WORDS else sorted(several)[:_MOST_WORDS]
                for feature in kept:
                    found[feature] = found.get(feature, 0.0) + weight
                # Python's hashes of numbers are the same in every process.
                stretches.update(sorted(set(map(hash, zip(words, words[1:], words[2:], strict=False))))[:_MOST_SIGNS])
            else:
                little = leaf is None or isinstance(leaf, (bool, list, dict)) or leaf == ""
                feature = crc32(tlv(leaf), at)
                found[feature] = found.get(feature, 0.0) + (_LITTLE if little else 1.0)
        return cls(found, found.keys() | stretches, sum(found.values()))


def likeness(item: Item, with_item: Item) -> float:
    """The share of their weight that two items have in common, from 0 to 1."""
    one, other = item.features, with_item.features
    if len(other) < len(one):
        one, other = other, one
    common = 0.0
    find = other.get
    for feature, weight in one.items():
        there = find(feature)
        if there is not None:
            common += min(weight, there)
    return 2 * common / (item.weight + with_item.weight)


def _words(leaf: Wire) -> list[bytes]:
    if not isinstance(leaf, str):
        return []
    if leaf.isascii():
        return _ASCII.findall(leaf[:_MOST_TEXT].encode())
    return [word.encode("utf-8", "replace") for word in split_words(leaf[:_MOST_TEXT]) if word[0].isalnum()]


def _leaves(value: Wire, at: int) -> Iterator[tuple[int, Wire]]:
    """The values that hold no others, each with a checksum of the way to it."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _leaves(below, crc32(key.encode("utf-8", "replace"), at + 1))
    elif isinstance(value, list) and value:
        for below in value:
            yield from _leaves(below, crc32(b"[", at))
    else:
        yield at, value
