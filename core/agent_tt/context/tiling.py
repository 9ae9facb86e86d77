"""Parts a text into tiles by where each part stood before: every character is in exactly one."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from agent_tt.context.index import LEAST, TextIndex
from agent_tt.context.shown import Tile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.context.shown import Origin, Place

__all__ = ["Entered", "own_texts"]


class Entered:
    """All texts that entered a run so far, each with all that brought it."""

    def __init__(self) -> None:
        self._index = TextIndex()
        self._origins: list[_Origins] = []

    def add(self, origin: Origin, texts: Iterable[str]) -> None:
        """Write down that something brought some texts."""
        for text in texts:
            if not text:
                continue
            number = self._index.add(text)
            if number == len(self._origins):
                self._origins.append(_Origins())
            self._origins[number].add(origin)

    def holds(self, text: str) -> bool:
        """Whether a text was brought just as it is."""
        return self._index.whole(text) is not None

    def tiles(
        self, text: str, own: Origin | None, since: Place = (0, 0), known: Origin | None = None
    ) -> tuple[Tile, ...]:
        """Part a text into tiles.

        Args:
            text: the text.
            own: what is told of the parts that nothing brought; None where nobody knows. Parts that are too short to be
                told apart stay open, where the rest of the text was brought.
            since: of several origins those from this call on stand before the others.
            known: which of several it is, where it is one of them.
        """
        parts = self._index.parts(text)
        if not parts:
            return (Tile(0, len(text), () if own is None else (own,)),) if text else ()
        tiles: list[Tile] = []
        end = 0
        for part in (*parts, None):
            start = len(text) if part is None else part.start
            if start > end:
                tiles.append(Tile(end, start, () if own is None or start - end < LEAST else (own,)))
            if part is not None:
                tiles.append(Tile(start, part.end, self._all(part.texts, since, known)))
                end = part.end
        return tuple(tiles)

    def _all(self, numbers: Sequence[int], since: Place, known: Origin | None) -> tuple[Origin, ...]:
        found = [self._origins[number] for number in numbers]
        if known is not None and any(known in each for each in found):
            return (known,)
        if len(found) > 1:
            both = _Origins()
            for origin in {origin: None for each in found for origin in each.ordered}:
                both.add(origin)
            found = [both]
        return found[0].from_place(since)


class _Origins:
    """All that brought one text, in the order of the run: very many where a tool often gives the same."""

    def __init__(self) -> None:
        self.ordered: list[Origin] = []
        self._known: set[Origin] = set()

    def __contains__(self, origin: Origin) -> bool:
        return origin in self._known

    def add(self, origin: Origin) -> None:
        """Write down one more, once."""
        if origin not in self._known:
            self._known.add(origin)
            insort(self.ordered, origin, key=_order)

    def from_place(self, since: Place) -> tuple[Origin, ...]:
        """Give those from a call on, then those before it."""
        at = bisect_left(self.ordered, (since, False), key=_order)
        return (*self.ordered[at:], *self.ordered[:at])


def _order(origin: Origin) -> tuple[Place, bool]:
    return origin.place, origin.is_request


def own_texts(text: str, tiles: Iterable[Tile], own: Origin) -> list[str]:
    """The parts that nothing brought before: from now on they can be found."""
    return [text[tile.start : tile.end] for tile in tiles if tile.origins == (own,)]
