"""Where a text stood before: an index of short pieces of all that entered a run, with every source of each.

Pieces of 12 characters are kept at every 13th place of a text. So any 24 characters that two texts share hold a piece
that is kept, and memory and time of keeping are a thirteenth of those of an index of all places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LEAST", "Found", "TextIndex"]

LEAST: Final = 24
"""Characters that two texts must share for that to say anything; shorter texts are only found whole."""

_PIECE: Final = 12
_STRIDE: Final = LEAST - _PIECE + 1
_FIRST_BLOCK: Final = 64
_LAST_BLOCK: Final = 4_096
"""Places that are looked at together: few behind a part that was found, where the next is often near."""

_MOST_PLACES: Final = 24
"""Places of one piece that are kept: indentation and JSON's own words stand everywhere, and tell nothing."""


class Found(NamedTuple):
    """A part of a text that stands in others.

    Attributes:
        start, end: the part.
        texts: the numbers of the texts, in their order.
    """

    start: int
    end: int
    texts: tuple[int, ...]


class TextIndex:
    """Keeps texts by number, each once, and finds the longest parts of a new text that stand in them."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._whole: dict[str, int] = {}
        self._pieces: dict[str, list[tuple[int, int]]] = {}

    def add(self, text: str) -> int:
        """Keep a text, and give its number; that of the same text where it is kept already."""
        known = self._whole.get(text)
        if known is not None:
            return known
        number = self._whole[text] = len(self._texts)
        self._texts.append(text)
        pieces = self._pieces
        for place in range(0, len(text) - _PIECE + 1, _STRIDE):
            piece = text[place : place + _PIECE]
            places = pieces.get(piece)
            if places is None:
                pieces[piece] = [(number, place)]
            elif len(places) < _MOST_PLACES:
                places.append((number, place))
        return number

    def whole(self, text: str) -> int | None:
        """The number of a text that is kept as it is."""
        return self._whole.get(text)

    def parts(self, text: str) -> list[Found]:
        """Find the parts of a text that stand in kept ones, from left to right, none over another.

        Each begins where the first 24 characters stand in a kept text, and is as long as any of those allow. A text is
        named beside the longest if it has that part but for less than 24 characters at an end: what stands beside a
        copied part may be alike by chance, and so decides nothing. A text that is kept as it is, is one part, and only
        those are named that hold all of it.
        """
        known = self._whole.get(text)
        if known is not None:
            near = self._matches(text, 0, _STRIDE, 0) if len(text) >= LEAST else []
            holding = {number for first, last, number in near if (first, last) == (0, len(text))}
            return [Found(0, len(text), tuple(sorted({known, *holding})))] if text else []
        found: list[Found] = []
        pieces, end, at, begin = self._pieces, len(text) - _PIECE + 1, 0, 0
        if len(text) < LEAST or not pieces:
            return found
        block = _FIRST_BLOCK
        while at < end:
            till = min(at + block, end)
            # A comprehension, as most places of a new text are looked at for nothing.
            for place in [each for each in range(at, till) if text[each : each + _PIECE] in pieces]:
                if self._matches(text, place, place + 1, begin):
                    part = self._part(text, place, begin)
                    found.append(part)
                    at = begin = part.end
                    block = _FIRST_BLOCK
                    break
            else:
                at, block = till, min(2 * block, _LAST_BLOCK)
        return found

    def _part(self, text: str, at: int, begin: int) -> Found:
        """The longest part that begins where the leftmost match around a place does, and all that have it."""
        start = min(first for first, *_ in self._matches(text, at, at + _STRIDE, begin))
        chance = LEAST - 1
        near = self._matches(text, start, max(start + chance, at) + _STRIDE, begin)
        stop = max(last for first, last, _ in near if first <= start)
        holding = {number for first, last, number in near if first <= start + chance and last >= stop - chance}
        return Found(start, stop, tuple(sorted(holding)))

    def _matches(self, text: str, first: int, last: int, begin: int) -> list[tuple[int, int, int]]:
        """The parts of 24 characters and more with a kept piece at first..last-1, no sooner than `begin`."""
        found: list[tuple[int, int, int]] = []
        looked: dict[tuple[int, int], int] = {}
        """Up to where it was compared, by text and by how far its places are from ours."""
        for at in range(first, min(last, len(text) - _PIECE + 1)):
            for number, place in self._pieces.get(text[at : at + _PIECE], ()):
                if looked.get((number, place - at), 0) >= at + _PIECE:
                    continue
                kept = self._texts[number]
                start = at - _alike_before(text, at, kept, place, at - begin)
                stop = at + _PIECE + _alike_after(text, at + _PIECE, kept, place + _PIECE)
                looked[number, place - at] = stop
                if stop - start >= LEAST:
                    found.append((start, stop, number))
        return found


def _alike_after(text: str, at: int, kept: str, place: int) -> int:
    """How many characters from two places on are alike."""
    return _alike(
        min(len(text) - at, len(kept) - place), lambda i, j: text[at + i : at + j] == kept[place + i : place + j]
    )


def _alike_before(text: str, at: int, kept: str, place: int, most: int) -> int:
    """How many characters before two places are alike."""
    return _alike(min(most, place), lambda i, j: text[at - j : at - i] == kept[place - j : place - i])


def _alike(most: int, are_alike: Callable[[int, int], bool]) -> int:
    """How far two texts are alike, by comparing ever longer parts, then halves of the one that differs."""
    count, step = 0, 16
    while count < most and are_alike(count, min(count + step, most)):
        count = min(count + step, most)
        step *= 2
    differs = min(count + step, most)
    while differs - count > 1:
        middle = (count + differs) // 2
        if are_alike(count, middle):
            count = middle
        else:
            differs = middle
    return count
